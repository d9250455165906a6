//! A ResNet that only looks: BatchNorm, whose statistics no longer change, is part of the convolution before it.
//!
//! ```text
//! γ · (w ∗ x − μ) / √(σ² + ε) + β  =  w' ∗ x + b',      w' = w · γ / √(σ² + ε),      b' = β − μ · γ / √(σ² + ε)
//! ```
//!
//! BatchNorm is nearly a third of the teacher's operations, by number; and weights of the right kind need no conversion
//! at every step.

use crate::extractor::normed::{EPSILON, POOLED, pooled_stem_with_bias, with_bias};
use crate::extractor::{Extractor, Representation};
use std::cell::OnceCell;
use tch::nn::BatchNorm;
use tch::{Kind, Tensor};
use torch_shim::{After, Packed};

/// A convolution with what followed it.
#[derive(Debug)]
pub(crate) struct Folded {
    weight: Tensor,
    bias: Tensor,
    /// Whether the bias is added with what follows rather than with the convolution; it is f32 then.
    apart: bool,
    stride: i64,
    padding: i64,
    groups: i64,
    /// For looking at images one by one on a CPU: laid out for those of the first, where libtorch can.
    packed: Option<OnceCell<Option<Packed>>>,
}

impl Folded {
    pub(crate) fn new(weight: &Tensor, norm: &BatchNorm, stride: i64, padding: i64, kind: Kind) -> Self {
        let ones = || norm.running_mean.ones_like();
        let gamma = norm.ws.as_ref().map_or_else(ones, Tensor::shallow_clone);
        let factor = gamma / (&norm.running_var + EPSILON).sqrt();
        let beta = norm.bs.as_ref().map_or_else(|| ones() * 0.0, Tensor::shallow_clone);
        let bias = beta - &norm.running_mean * &factor;
        let weight = weight * factor.reshape([-1, 1, 1, 1]);
        // Where the weights lie channels last, the product does too.
        let apart = weight.device().is_cuda() && kind == Kind::BFloat16;
        let bias = bias.to_kind(if apart { Kind::Float } else { kind });
        Self { weight: weight.to_kind(kind), bias, apart, stride, padding, groups: 1, packed: None }
    }

    /// Each of `groups` parts of the channels by itself.
    pub(crate) fn grouped(self, groups: i64) -> Self {
        Self { groups, ..self }
    }

    /// Another handle to the same weights, for images one by one.
    pub(crate) fn shared(&self) -> Self {
        let (weight, bias) = (self.weight.shallow_clone(), self.bias.shallow_clone());
        Self { weight, bias, packed: Some(OnceCell::new()), ..*self }
    }

    /// Then ReLU6, in the same pass where it can be.
    pub(crate) fn forward_relu6(&self, x: &Tensor) -> Tensor {
        let packed = self.packed(x).and_then(|packed| packed.forward(x, true).ok());
        packed.unwrap_or_else(|| self.forward(x, After { relu6: true, ..Default::default() }))
    }

    fn packed(&self, x: &Tensor) -> Option<&Packed> {
        let shape = (self.stride, self.padding, self.groups);
        let pack = || Packed::new(x, &self.weight, &self.bias, shape).ok().flatten();
        self.packed.as_ref()?.get_or_init(pack).as_ref()
    }

    /// A first convolution, then ReLU and pooling.
    fn forward_pooled(&self, images: &Tensor) -> Tensor {
        let convolution = (&self.weight, (self.stride, self.padding));
        let alone = self.apart.then(|| pooled_stem_with_bias(images, convolution, &self.bias)).flatten();
        alone.unwrap_or_else(|| self.forward(images, POOLED))
    }

    pub(crate) fn forward(&self, x: &Tensor, after: After<'_>) -> Tensor {
        // libtorch's GPU adds a bias in a pass of its own; ours adds it with what follows.
        let (apart, together) = if self.apart { (Some(&self.bias), None) } else { (None, Some(&self.bias)) };
        let packed = self.packed(x).and_then(|packed| packed.forward(x, false).ok());
        let products =
            packed.unwrap_or_else(|| x.conv2d(&self.weight, together, self.stride, self.padding, 1, self.groups));
        with_bias(products, apart, after)
    }
}

/// Convolutions, two or three, and the way around them.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) convolutions: Vec<Folded>,
    pub(crate) shortcut: Option<Folded>,
    pub(crate) relu: bool,
}

/// The whole network.
#[derive(Debug)]
pub(crate) struct Net {
    pub(crate) stem: Folded,
    pub(crate) stages: Vec<Vec<Block>>,
    pub(crate) width: usize,
    pub(crate) kind: Kind,
}

impl Block {
    fn shared(&self) -> Self {
        Self {
            convolutions: self.convolutions.iter().map(Folded::shared).collect(),
            shortcut: self.shortcut.as_ref().map(Folded::shared),
            relu: self.relu,
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let shortcut = self.shortcut.as_ref();
        let around = shortcut.map_or_else(|| x.shallow_clone(), |shortcut| shortcut.forward(x, After::default()));
        let (last, first) = self.convolutions.split_last().expect("a block has convolutions");
        let relu = || After { relu: true, ..Default::default() };
        let inner = first.iter().fold(x.shallow_clone(), |x, convolution| convolution.forward(&x, relu()));
        last.forward(&inner, After { around: Some(&around), relu: self.relu, ..Default::default() })
    }
}

impl Extractor for Net {
    fn width(&self) -> usize {
        self.width
    }

    /// Never trains, whatever `train` says: it is made for looking.
    fn extract(&self, images: &Tensor, _train: bool) -> Representation {
        let mut x = self.stem.forward_pooled(&images.to_kind(self.kind));
        let mut stages = Vec::with_capacity(self.stages.len());
        for blocks in &self.stages {
            x = blocks.iter().fold(x, |x, block| block.forward(&x));
            stages.push(x.shallow_clone());
        }
        Representation { features: x.mean_dim([2i64, 3].as_slice(), false, Kind::Float), stages }
    }

    fn shared(&self) -> Option<Box<dyn Extractor>> {
        let stage = |blocks: &Vec<Block>| blocks.iter().map(Block::shared).collect();
        Some(Box::new(Self { stem: self.stem.shared(), stages: self.stages.iter().map(stage).collect(), ..*self }))
    }
}
