//! ResNet50, as torchvision has it, with its names of weights: features of 2048.
//!
//! ```text
//! block:  x ─► 1×1 ─► 3×3 ─► 1×1, 4 times as wide ─► + x, or a 1×1 of it where shapes change ─► ReLU
//!              ReLU    ReLU
//! ```

use crate::extractor::convolution::{ConvNorm, Shape};
use crate::extractor::folded;
use crate::extractor::layers::{Layer, Layers};
use crate::extractor::normed::POOLED;
use crate::extractor::{Extractor, Representation};
use serde::{Deserialize, Serialize};
use tch::nn::Path;
use tch::{Kind, Tensor, no_grad};
use torch_shim::After;

/// ResNet50's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResNet50 {
    /// `imagenet`, or a file of weights with torchvision's names; unless given, training starts from random ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// Whether pretrained weights stay as they are; unless given, they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<bool>,
}

/// Blocks of each stage.
const BLOCKS: [usize; 4] = [3, 4, 6, 3];
/// Channels of the first stage inside its blocks.
const WIDTH: i64 = 64;
/// How much wider a block is outside.
const EXPANSION: i64 = 4;
const FEATURES: usize = ((WIDTH * EXPANSION) << 3) as usize;

#[derive(Debug)]
struct Block {
    convolutions: [ConvNorm; 3],
    shortcut: Option<ConvNorm>,
}

impl Block {
    fn new(path: &Path<'_>, from: i64, inner: i64, stride: i64) -> Self {
        let to = inner * EXPANSION;
        let part = |number: usize, from, to, kernel, stride| {
            let shape = Shape { from, to, kernel, stride, groups: 1 };
            ConvNorm::new(path / format!("conv{number}"), path / format!("bn{number}"), shape)
        };
        let shortcut = (stride != 1 || from != to).then(|| {
            let path = path / "downsample";
            ConvNorm::new(&path / "0", &path / "1", Shape { from, to, kernel: 1, stride, groups: 1 })
        });
        let convolutions = [part(1, from, inner, 1, 1), part(2, inner, inner, 3, stride), part(3, inner, to, 1, 1)];
        Self { convolutions, shortcut }
    }

    fn forward(&self, x: &Tensor, train: bool) -> Tensor {
        let around = self.shortcut.as_ref().map(|shortcut| shortcut.forward(x, After::default(), train));
        let relu = || After { relu: true, ..Default::default() };
        let [first, second, third] = &self.convolutions;
        let inner = second.forward(&first.forward(x, relu(), train), relu(), train);
        third.forward(
            &inner,
            After { around: Some(around.as_ref().unwrap_or(x)), relu: true, ..Default::default() },
            train,
        )
    }
}

#[derive(Debug)]
pub(crate) struct Net {
    stem: ConvNorm,
    stages: Vec<Vec<Block>>,
}

impl Net {
    pub(crate) fn new(path: &Path<'_>, channels: i64) -> Self {
        let shape = Shape { from: channels, to: WIDTH, kernel: 7, stride: 2, groups: 1 };
        let stem = ConvNorm::new(path / "conv1", path / "bn1", shape);
        let mut from = WIDTH;
        let stages = BLOCKS.iter().enumerate().map(|(stage, count)| {
            let (path, inner) = (path / format!("layer{}", stage + 1), WIDTH << stage);
            let blocks = (0..*count).map(|number| {
                let stride = if stage > 0 && number == 0 { 2 } else { 1 };
                let block = Block::new(&(&path / number.to_string()), from, inner, stride);
                from = inner * EXPANSION;
                block
            });
            blocks.collect()
        });
        let stages = stages.collect();
        Self { stem, stages }
    }
}

impl Extractor for Net {
    fn width(&self) -> usize {
        FEATURES
    }

    fn extract(&self, images: &Tensor, train: bool) -> Representation {
        let mut x = self.stem.forward(images, POOLED, train);
        let mut stages = Vec::with_capacity(self.stages.len());
        for blocks in &self.stages {
            x = blocks.iter().fold(x, |x, block| block.forward(&x, train));
            stages.push(x.shallow_clone());
        }
        Representation { features: x.mean_dim([2i64, 3].as_slice(), false, Kind::Float), stages }
    }

    fn layers(&self) -> Option<Layers> {
        let mut layers = Layers::default();
        let stem = layers.conv(0, self.stem.layer(), Some(Layer::Relu));
        let mut x = layers.add(stem, Layer::MaxPool { kernel: 3, stride: 2, padding: 1 });
        for block in self.stages.iter().flatten() {
            let around = block.shortcut.as_ref().map_or(x, |shortcut| layers.conv(x, shortcut.layer(), None));
            let [first, second, third] = &block.convolutions;
            let inner = layers.conv(x, first.layer(), Some(Layer::Relu));
            let inner = layers.conv(inner, second.layer(), Some(Layer::Relu));
            let inner = layers.conv(inner, third.layer(), None);
            let sum = layers.add(inner, Layer::Add { other: around });
            x = layers.add(sum, Layer::Relu);
        }
        layers.add(x, Layer::Mean);
        Some(layers)
    }

    fn folded(&self, kind: Kind) -> Option<Box<dyn Extractor>> {
        let block = |block: &Block| folded::Block {
            convolutions: block.convolutions.iter().map(|convolution| convolution.folded(kind)).collect(),
            shortcut: block.shortcut.as_ref().map(|shortcut| shortcut.folded(kind)),
            relu: true,
        };
        Some(no_grad(|| {
            Box::new(folded::Net {
                stem: self.stem.folded(kind),
                stages: self.stages.iter().map(|blocks| blocks.iter().map(block).collect()).collect(),
                width: FEATURES,
                kind,
            }) as Box<dyn Extractor>
        }))
    }
}
