//! The feature extractor `f`.

mod convolution;
mod efficientnet_lite;
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
mod side_by_side;
mod small_cnn;
mod torchscript;

pub use efficientnet_lite::EfficientNetLite0;
pub use feature_cache::FeatureCache;
pub use mlp::Mlp;
pub use mobilenet::MobileNetV2;
pub use network::Network;
pub use pretrained::{IMAGENET, PUBLISHED, PretrainedInput, Provenance};
pub use resnet::{ResNet18, Stem};
pub use resnet50::ResNet50;
pub use small_cnn::SmallCnn;
pub use torchscript::{NormalizationName, TorchScript};

use crate::error::WeightsError;
use layers::Layers;
use serde::{Deserialize, Serialize};
use tch::nn::Path;
use tch::{Kind, Tensor};

/// A network may have as many weights: a gigabyte.
const MOST_WEIGHTS: f64 = 250e6;

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
    /// The same with better blocks; meant to be pretrained.
    #[serde(rename = "efficientnet-lite0")]
    EfficientNetLite0(EfficientNetLite0),
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
            ExtractorKind::EfficientNetLite0(_) => "efficientnet-lite0",
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

    /// About how many weights it has, before any is made; an error where they are more than anybody means, or where a layer has
    /// none: torch cannot draw those.
    pub(crate) fn check_size(&self, channels: usize, size: usize) -> Result<(), WeightsError> {
        let least = match self {
            ExtractorKind::ResNet18(settings) => settings.width,
            // Each of its two stages halves the image.
            ExtractorKind::SmallCnn(SmallCnn { features, width }) => (size as u32 / 4).min(*features).min(*width),
            ExtractorKind::Mlp(Mlp { features, width }) => (*features).min(*width),
            _ => 1,
        };
        if least == 0 {
            return Err(WeightsError::Empty { network: self.name(), size });
        }
        let (channels, size) = (channels as f64, size as f64);
        let weights = match self {
            // 11.2 million at 64 channels, almost all of them in convolutions between as many.
            ExtractorKind::ResNet18(settings) => 2_730.0 * f64::from(settings.width).powi(2),
            ExtractorKind::SmallCnn(SmallCnn { features, width }) => {
                let (width, features) = (f64::from(*width), f64::from(*features));
                25.0 * width * (channels + 2.0 * width) + 2.0 * width * (size / 4.0).powi(2) * features
            }
            ExtractorKind::Mlp(Mlp { features, width }) => f64::from(*width) * (size + f64::from(*features)),
            ExtractorKind::ResNet50(_)
            | ExtractorKind::MobileNetV2(_)
            | ExtractorKind::EfficientNetLite0(_)
            | ExtractorKind::TorchScript(_)
            | ExtractorKind::Identity(_) => 0.0,
        };
        match weights <= MOST_WEIGHTS {
            true => Ok(()),
            false => Err(WeightsError::TooLarge { millions: weights / 1e6, most: MOST_WEIGHTS / 1e6 }),
        }
    }

    /// The extractor, its weights drawn and registered under `path`, for images of `channels × size × size` or rows of
    /// `size` numbers. Pretrained weights are not read yet, nor is an exported network.
    pub(crate) fn build(&self, path: &Path<'_>, channels: i64, size: i64) -> Box<dyn Extractor> {
        match self {
            ExtractorKind::ResNet18(settings) => Box::new(resnet::Net::new(path, settings.clone(), channels)),
            ExtractorKind::ResNet50(_) => Box::new(resnet50::Net::new(path, channels)),
            ExtractorKind::MobileNetV2(_) => Box::new(mobilenet::Net::new(path, channels)),
            ExtractorKind::EfficientNetLite0(_) => Box::new(efficientnet_lite::net(path, channels)),
            ExtractorKind::TorchScript(_) => Box::new(torchscript::Net::empty()),
            ExtractorKind::SmallCnn(settings) => Box::new(small_cnn::Net::new(path, *settings, channels, size)),
            ExtractorKind::Mlp(settings) => Box::new(mlp::Net::new(path, *settings, size)),
            ExtractorKind::Identity(Identity {}) => Box::new(identity::Net { width: size as usize }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Device;
    use tch::nn::VarStore;

    /// The estimate is that of the network that is built, to a tenth; one of a hundred gigabytes is refused unbuilt.
    #[test]
    fn a_network_that_no_machine_holds_is_refused_before_it_is_made() {
        let weights = |kind: &ExtractorKind| {
            let store = VarStore::new(Device::Cpu);
            let _network = kind.build(&store.root(), 3, 32);
            store.variables().values().map(|tensor| tensor.numel() as f64).sum::<f64>()
        };
        for (kind, estimate) in [
            (ExtractorKind::ResNet18(ResNet18::default()), 2_730.0 * 64.0 * 64.0),
            (ExtractorKind::SmallCnn(SmallCnn { features: 16, width: 32 }), 25.0 * 32.0 * 67.0 + 64.0 * 64.0 * 16.0),
            (ExtractorKind::Mlp(Mlp { width: 100, features: 50 }), 100.0 * 82.0),
        ] {
            let found = weights(&kind);
            assert!((0.9..1.1).contains(&(found / estimate)), "{}: {found}, expected about {estimate}", kind.name());
            kind.check_size(3, 32).expect("a small one");
        }
        let wide = ExtractorKind::SmallCnn(SmallCnn { features: 2, width: 65_536 });
        let error = wide.check_size(3, 32).expect_err("a large one");
        assert_eq!(error.to_string(), "the network would have 214770 million weights; expected at most 250 million");
        assert!(error.hint().expect("a way out").contains("model.extractor.width"));
    }
}
