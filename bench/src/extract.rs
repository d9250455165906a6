//! Features of images by a frozen network: an item is an image. Weights are random, for speed does not depend on them.

use clap::Args;
use prescient::engine::{Compute, Precision};
use prescient::extractor::{ExtractorKind, MobileNetV2, Network, ResNet18, ResNet50};
use tch::{Kind, Tensor};

#[derive(Debug, Args)]
pub(super) struct Extract {
    /// `mobilenet-v2`, `resnet18` or `resnet50`
    #[arg(long, default_value = "mobilenet-v2")]
    net: String,
    #[arg(long, default_value_t = 224)]
    size: usize,
    #[arg(long, default_value_t = 32)]
    batch: i64,
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Single precision on a GPU too
    #[arg(long)]
    fp32: bool,
    /// Batches a round
    #[arg(long, default_value_t = 2)]
    steps: usize,
}

impl Extract {
    pub(super) fn run(self) {
        let device = super::device(&self.device);
        // `weights` is named for torchvision's stem and ReLU; the file is never read.
        let weights = Some("none".to_owned());
        let kind = match self.net.as_str() {
            "resnet18" => ExtractorKind::ResNet18(ResNet18 { weights, ..Default::default() }),
            "resnet50" => ExtractorKind::ResNet50(ResNet50 { weights, freeze: None }),
            _ => ExtractorKind::MobileNetV2(MobileNetV2 { weights, freeze: None }),
        };
        let precision = if self.fp32 { Precision::Fp32 } else { Precision::Auto };
        let compute = Compute { precision, ..Default::default() };
        let network = Network::new(kind, 3, self.size, compute, device, 0).frozen();
        let shape = [self.batch, 3, self.size as i64, self.size as i64];
        let images = Tensor::randn(shape, (Kind::Float, device)).to_kind(network.image_kind());
        for _ in 0..3 {
            network.forward_eval(&images);
        }
        super::serve(device, || {
            for _ in 0..self.steps {
                network.forward_eval(&images);
            }
            self.steps * self.batch as usize
        });
    }
}
