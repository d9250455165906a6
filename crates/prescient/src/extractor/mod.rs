//! The feature extractor `f`.

mod convolution;
pub mod feature_cache;
pub(crate) mod feature_file;
mod folded;
mod identity;
pub mod layers;
mod mlp;
mod mobilenet;
mod network;
mod normed;
mod pretrained;
mod resnet;
mod resnet50;
mod small_cnn;
mod torchscript;

pub use feature_cache::FeatureCache;
pub use mlp::Mlp;
pub use mobilenet::MobileNetV2;
pub use network::Network;
pub use pretrained::{IMAGENET, PUBLISHED, PretrainedInput, Provenance};
pub use resnet::{ResNet18, Stem};
pub use resnet50::ResNet50;
pub use small_cnn::SmallCnn;
pub use torchscript::{NormalizationName, TorchScript};

use layers::Layers;
use serde::{Deserialize, Serialize};
use tch::nn::Path;
use tch::{Kind, Tensor};

/// What an extractor makes of a batch of images.
#[derive(Debug)]
pub struct Representation {
    /// `h`: `[batch, width]`, signed.
    pub features: Tensor,
    /// The maps that POD compares, each `[batch, channels, height, width]`; none where rows of numbers come in.
    pub stages: Vec<Tensor>,
}

/// `f`: images to features.
pub trait Extractor: Send {
    /// The length of a feature.
    fn width(&self) -> usize;

    /// Features and maps of normalized images, `[batch, channels, size, size]`, or of rows, `[batch, size]`. With `train`, BatchNorm uses the batch
    /// and updates its statistics.
    fn extract(&self, images: &Tensor, train: bool) -> Representation;

    /// The same as it is now, in numbers of `kind`, made for looking only: what is the same for every image is worked out
    /// beforehand. None where there is nothing to gain.
    fn folded(&self, _kind: Kind) -> Option<Box<dyn Extractor>> {
        None
    }

    /// What it computes, step by step; none where only its file knows, or where it is folded already.
    fn layers(&self) -> Option<Layers> {
        None
    }

    /// Another handle to the same network, where it never changes and its weights are its own.
    fn shared(&self) -> Option<Box<dyn Extractor>> {
        None
    }
}

/// Which extractor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ExtractorKind {
    /// The paper's, for photos.
    #[serde(rename = "resnet18")]
    ResNet18(ResNet18),
    /// torchvision's, larger.
    #[serde(rename = "resnet50")]
    ResNet50(ResNet50),
    /// torchvision's, small and quick; meant to be pretrained.
    #[serde(rename = "mobilenet-v2")]
    MobileNetV2(MobileNetV2),
    /// Any network that was exported as TorchScript.
    #[serde(rename = "torchscript")]
    TorchScript(TorchScript),
    /// The paper's, for MNIST.
    SmallCnn(SmallCnn),
    /// For features that were computed elsewhere.
    Mlp(Mlp),
    /// The same, taken as they are.
    Identity(Identity),
}

/// What is taken as it is has no settings; a type of its own, so that a typo is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {}

impl Default for ExtractorKind {
    fn default() -> Self {
        ExtractorKind::ResNet18(ResNet18::default())
    }
}

impl ExtractorKind {
    /// Its name in a recipe.
    pub fn name(&self) -> &'static str {
        match self {
            ExtractorKind::ResNet18(_) => "resnet18",
            ExtractorKind::ResNet50(_) => "resnet50",
            ExtractorKind::MobileNetV2(_) => "mobilenet-v2",
            ExtractorKind::TorchScript(_) => "torchscript",
            ExtractorKind::SmallCnn(_) => "small-cnn",
            ExtractorKind::Mlp(_) => "mlp",
            ExtractorKind::Identity(_) => "identity",
        }
    }

    /// Whether rows of numbers come in, and not images. There are no maps on the way then.
    pub fn takes_rows(&self) -> bool {
        matches!(self, ExtractorKind::Mlp(_) | ExtractorKind::Identity(_))
    }

    /// The extractor, its weights drawn and registered under `path`, for images of `channels × size × size` or rows of
    /// `size` numbers. Pretrained weights are not read yet, nor is an exported network.
    pub(crate) fn build(&self, path: &Path<'_>, channels: i64, size: i64) -> Box<dyn Extractor> {
        match self {
            ExtractorKind::ResNet18(settings) => Box::new(resnet::Net::new(path, settings.clone(), channels)),
            ExtractorKind::ResNet50(_) => Box::new(resnet50::Net::new(path, channels)),
            ExtractorKind::MobileNetV2(_) => Box::new(mobilenet::Net::new(path, channels)),
            ExtractorKind::TorchScript(_) => Box::new(torchscript::Net::empty()),
            ExtractorKind::SmallCnn(settings) => Box::new(small_cnn::Net::new(path, *settings, channels, size)),
            ExtractorKind::Mlp(settings) => Box::new(mlp::Net::new(path, *settings, size)),
            ExtractorKind::Identity(Identity {}) => Box::new(identity::Net { width: size as usize }),
        }
    }
}
