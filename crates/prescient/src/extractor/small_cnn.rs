//! Two convolutions and one linear layer: the paper's net for MNIST ("two conv layers, one FC to 2 dims").
//!
//! The paper gives no sizes. Ours: 5×5 convolutions of 32 and 64 channels, each with ReLU and 2×2 pooling. POD compares
//! the outputs of the convolutions before ReLU.

use crate::extractor::layers::{Conv, Layer, Layers, Then};
use crate::extractor::{Extractor, Representation};
use serde::{Deserialize, Serialize};
use tch::Tensor;
use tch::nn::{self, ConvConfig, Module, Path};

/// The small net's settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmallCnn {
    /// The length of a feature; 2 in the paper's pictures.
    pub features: u32,
    /// Channels of the first convolution; the second has twice as many.
    pub width: u32,
}

impl Default for SmallCnn {
    fn default() -> Self {
        Self { features: 2, width: 32 }
    }
}

#[derive(Debug)]
pub(crate) struct Net {
    convolutions: [nn::Conv2D; 2],
    linear: nn::Linear,
    features: usize,
}

impl Net {
    pub(crate) fn new(path: &Path<'_>, settings: SmallCnn, channels: i64, size: i64) -> Self {
        let (width, features) = (i64::from(settings.width), i64::from(settings.features));
        let config = ConvConfig { padding: 2, ..Default::default() };
        let convolutions = [
            nn::conv2d(path / "conv1", channels, width, 5, config),
            nn::conv2d(path / "conv2", width, 2 * width, 5, config),
        ];
        let side = size / 2 / 2;
        let linear = nn::linear(path / "linear", 2 * width * side * side, features, Default::default());
        Self { convolutions, linear, features: settings.features as usize }
    }
}

impl Extractor for Net {
    fn width(&self) -> usize {
        self.features
    }

    fn extract(&self, images: &Tensor, _train: bool) -> Representation {
        let mut stages: Vec<Tensor> = Vec::with_capacity(2);
        let mut x = images.shallow_clone();
        for convolution in &self.convolutions {
            let map = convolution.forward(&x);
            x = map.relu().max_pool2d_default(2);
            stages.push(map);
        }
        Representation { features: self.linear.forward(&x.flatten(1, -1)), stages }
    }

    fn layers(&self) -> Option<Layers> {
        let (mut layers, mut x) = (Layers::default(), 0);
        for name in ["conv1", "conv2"] {
            let conv = Conv { name: name.to_owned(), then: Then::Bias, stride: 1, padding: 2, groups: 1 };
            x = layers.conv(x, conv, Some(Layer::Relu));
            x = layers.add(x, Layer::MaxPool { kernel: 2, stride: 2, padding: 0 });
        }
        x = layers.add(x, Layer::Flatten);
        layers.add(x, Layer::Linear { name: "linear".to_owned() });
        Some(layers)
    }
}
