//! A convolution and the BatchNorm after it, as torchvision's networks have them.

use crate::extractor::folded::Folded;
use crate::extractor::layers::{Conv, Then};
use crate::extractor::normed::{EPSILON, MOMENTUM, normed};
use tch::nn::init::{FanInOut, NonLinearity, NormalOrUniform};
use tch::nn::{self, BatchNorm, BatchNormConfig, Path};
use tch::{Kind, Tensor};
use torch_shim::After;

/// How a convolution lies over its map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) kernel: i64,
    pub(crate) stride: i64,
    /// As many as there are channels: each channel by itself.
    pub(crate) groups: i64,
}

/// A convolution without bias that keeps the size, up to its stride, and its norm.
#[derive(Debug)]
pub(crate) struct ConvNorm {
    weight: Tensor,
    norm: BatchNorm,
    shape: Shape,
    /// What the names of both begin with among the network's variables.
    names: [String; 2],
}

impl ConvNorm {
    pub(crate) fn new(convolution: Path<'_>, norm: Path<'_>, shape: Shape) -> Self {
        let kaiming = nn::Init::Kaiming {
            dist: NormalOrUniform::Normal,
            fan: FanInOut::FanOut,
            non_linearity: NonLinearity::ReLU,
        };
        let Shape { from, to, kernel, groups, .. } = shape;
        let weight = convolution.var("weight", &[to, from / groups, kernel, kernel], kaiming);
        let config =
            BatchNormConfig { ws_init: nn::Init::Const(1.0), eps: EPSILON, momentum: MOMENTUM, ..Default::default() };
        let names = [name(&convolution), name(&norm)];
        Self { weight, norm: nn::batch_norm2d(norm, to, config), shape, names }
    }

    pub(crate) fn forward(&self, x: &Tensor, after: After<'_>, train: bool) -> Tensor {
        let Shape { kernel, stride, groups, .. } = self.shape;
        // A conversion of its own: a graph of recorded steps cannot use what autocast keeps.
        let weight = self.weight.to_kind(x.kind());
        let products = x.conv2d(&weight, None::<Tensor>, stride, kernel / 2, 1, groups);
        normed(&self.norm, &products, after, train)
    }

    pub(crate) fn folded(&self, kind: Kind) -> Folded {
        let Shape { kernel, stride, groups, .. } = self.shape;
        Folded::new(&self.weight, &self.norm, stride, kernel / 2, kind).grouped(groups)
    }

    /// Both as a step of a list.
    pub(crate) fn layer(&self) -> Conv {
        let (Shape { kernel, stride, groups, .. }, [name, norm]) = (self.shape, self.names.clone());
        Conv { name, then: Then::Norm(norm), stride, padding: kernel / 2, groups }
    }
}

/// What the names of a path's variables begin with.
pub(crate) fn name(path: &Path<'_>) -> String {
    path.components().collect::<Vec<_>>().join(".")
}
