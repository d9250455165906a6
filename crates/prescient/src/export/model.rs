//! A predictor as plain parts, ready to be written in any format.
//!
//! ```text
//!  pixels ─► ·scale + bias ─► [x, mirrored x] ─► f ─► mean of both ─► u = h / ‖h‖ ─► A (u − c) + b ─► softmax(η ·)
//!  bytes                      closed form alone                                       scores        probabilities
//! ```
//!
//! Both heads are linear in `u`, so one layer does: for the cosine head `A` has the proxies at length 1; for the Gaussian one
//! `A = (whiten μᵀ)ᵀ`, worked out in double precision, and `c` its centre. The offset of seen classes is in `b`; where a model has a
//! [`Novelty`], it stands between the linear layer and both outputs, and the offset is taken off after it.

use crate::data::{Channels, Normalization};
use crate::engine::norm::unit_rows;
use crate::extractor::layers::{Conv, EPSILON, Layers, Then};
use crate::extractor::{ExtractorKind, Network};
use crate::predictor::{About, Head, HeadKind, Input, Novelty, Predictor};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tch::{Device, Kind, Tensor, no_grad};

/// A predictor, taken apart.
pub(super) struct Model {
    pub(super) about: About,
    pub(super) body: Body,
    pub(super) width: i64,
    pub(super) head: Linear,
    /// How scores become probabilities where classes without photos have a way of their own.
    pub(super) novelty: Option<Apart>,
    /// What pixels are multiplied by, and what is added then, for each channel; none where rows come in.
    pub(super) pixels: Option<[Vec<f32>; 2]>,
    /// Whether the mirror image is looked at as well.
    pub(super) mirrored: bool,
}

/// `f`.
pub(super) enum Body {
    /// Step by step.
    Steps(Layers, BTreeMap<String, Tensor>),
    /// A TorchScript file.
    File(PathBuf),
}

/// A [`Novelty`], and what is taken off the scores that it makes, `[classes]`.
pub(super) struct Apart {
    pub(super) novelty: Novelty,
    pub(super) offset: Tensor,
}

/// `A (u − c) + b`, all in single precision.
pub(super) struct Linear {
    /// `c`, `[width]`.
    pub(super) centre: Option<Tensor>,
    /// `A`, `[classes, width]`.
    pub(super) weight: Tensor,
    /// `b`, `[classes]`.
    pub(super) bias: Tensor,
}

impl Model {
    pub(super) fn of(predictor: &Predictor) -> Self {
        let (about, network) = (predictor.about().clone(), predictor.network());
        let Input { channels, normalization, .. } = about.input;
        let is_rows = channels == Channels::Features;
        let novelty = about.novelty.filter(|_| !predictor.future().is_empty());
        let offset = offset(&about, predictor.head().rows().size()[0]);
        let (inside, after) = if novelty.is_some() { (offset.zeros_like(), offset) } else { (offset, Tensor::new()) };
        Self {
            body: Body::of(network),
            width: network.width() as i64,
            head: no_grad(|| Linear::of(predictor.head(), &inside)),
            novelty: novelty.map(|novelty| Apart { novelty, offset: after.to_kind(Kind::Float) }),
            pixels: (!is_rows).then(|| affine(normalization, channels)),
            mirrored: !is_rows && predictor.head().kind() == HeadKind::Gaussian,
            about,
        }
    }

    /// How many classes have a score.
    pub(super) fn classes(&self) -> usize {
        self.head.weight.size()[0] as usize
    }
}

impl Body {
    fn of(network: &Network) -> Self {
        let plain = |tensor: Tensor| tensor.detach().to_device(Device::Cpu).to_kind(Kind::Float).contiguous();
        match (network.kind(), network.layers()) {
            (_, Some(layers)) => {
                let variables = network.variables().into_iter().map(|(name, tensor)| (name, plain(tensor)));
                Body::Steps(layers, variables.collect())
            }
            (ExtractorKind::TorchScript(settings), None) => Body::File(settings.file()),
            (kind, None) => unreachable!("`{}` says what it computes", kind.name()),
        }
    }
}

impl Linear {
    fn of(head: &Head, offset: &Tensor) -> Self {
        let double = |tensor: &Tensor| tensor.to_device(Device::Cpu).to_kind(Kind::Double);
        let (centre, weight, bias) = match head {
            Head::Cosine(proxies) => {
                let directions = unit_rows(&double(proxies));
                let bias = Tensor::zeros([directions.size()[0]], (Kind::Double, Device::Cpu));
                (None, directions, bias)
            }
            Head::Gaussian(gaussian) => {
                let weight = double(&gaussian.means).matmul(&double(&gaussian.whiten).tr());
                (Some(double(&gaussian.centre)), weight, double(&gaussian.bias))
            }
        };
        let single = |tensor: Tensor| tensor.to_kind(Kind::Float).contiguous();
        Self { centre: centre.map(single), weight: single(weight), bias: single(bias - offset) }
    }
}

/// What is taken off the score of each class.
fn offset(about: &About, classes: i64) -> Tensor {
    let own = f64::from(about.calibration.own.unwrap_or(0.0));
    let less = |slot: usize| if slot < about.seen { own } else { 0.0 };
    Tensor::from_slice(&(0..classes as usize).map(less).collect::<Vec<_>>())
}

/// Normalization of pixels from 0 to 255 as a factor and a summand.
fn affine(Normalization { mean, std }: Normalization, channels: Channels) -> [Vec<f32>; 2] {
    let count = channels.count();
    let scale = (0..count).map(|channel| (1.0 / (255.0 * std[channel])) as f32);
    let bias = (0..count).map(|channel| (-mean[channel] / std[channel]) as f32);
    [scale.collect(), bias.collect()]
}

/// Weight and bias of a convolution, with the BatchNorm after it folded in.
pub(super) fn folded(conv: &Conv, variables: &BTreeMap<String, Tensor>) -> [Tensor; 2] {
    let variable = |name: &str, part: &str| variables[&format!("{name}.{part}")].to_kind(Kind::Double);
    let weight = variable(&conv.name, "weight");
    let (weight, bias) = match &conv.then {
        Then::Bias => (weight, variable(&conv.name, "bias")),
        Then::Norm(norm) => {
            let factor = variable(norm, "weight") / (variable(norm, "running_var") + EPSILON).sqrt();
            let bias = variable(norm, "bias") - variable(norm, "running_mean") * &factor;
            (weight * factor.reshape([-1, 1, 1, 1]), bias)
        }
    };
    [weight, bias].map(|tensor| tensor.to_kind(Kind::Float).contiguous())
}
