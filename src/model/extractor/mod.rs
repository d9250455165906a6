//! The feature extractor `f`.

mod folded;
mod normed;
mod resnet;
mod small_cnn;

pub use resnet::{ResNet18, Stem};
pub use small_cnn::SmallCnn;

use serde::{Deserialize, Serialize};
use tch::nn::Path;
use tch::{Kind, Tensor};

/// What an extractor makes of a batch of images.
#[derive(Debug)]
pub struct Representation {
    /// `h`: `[batch, width]`, signed.
    pub features: Tensor,
    /// The maps that POD compares, each `[batch, channels, height, width]`.
    pub stages: Vec<Tensor>,
}

/// `f`: images to features.
pub trait Extractor: Send {
    /// The length of a feature.
    fn width(&self) -> usize;

    /// Features and maps of normalized images, `[batch, channels, size, size]`. With `train`, BatchNorm uses the batch
    /// and updates its statistics.
    fn extract(&self, images: &Tensor, train: bool) -> Representation;

    /// The same as it is now, in numbers of `kind`, made for looking only: what is the same for every image is worked out
    /// beforehand. None where there is nothing to gain.
    fn folded(&self, _kind: Kind) -> Option<Box<dyn Extractor>> {
        None
    }
}

/// Which extractor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Backbone {
    /// The paper's, for photos.
    #[serde(rename = "resnet18")]
    ResNet18(ResNet18),
    /// The paper's, for MNIST.
    SmallCnn(SmallCnn),
}

impl Default for Backbone {
    fn default() -> Self {
        Backbone::ResNet18(ResNet18::default())
    }
}

impl Backbone {
    /// The extractor, its weights drawn and registered under `path`, for images of `channels × size × size`.
    pub fn build(self, path: &Path<'_>, channels: i64, size: i64) -> Box<dyn Extractor> {
        match self {
            Backbone::ResNet18(settings) => Box::new(resnet::Net::new(path, settings, channels)),
            Backbone::SmallCnn(settings) => Box::new(small_cnn::Net::new(path, settings, channels, size)),
        }
    }
}
