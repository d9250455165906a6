//! ResNet18, as the authors use it: signed features, and a stem for small images beside torchvision's.
//!
//! Names of weights are torchvision's, so that its weights load.

use crate::extractor::folded::{self, Folded};
use crate::extractor::layers::{Conv, Layer, Layers, Then};
use crate::extractor::normed::{EPSILON, MOMENTUM, POOLED, normed, pooled_stem};
use crate::extractor::{Extractor, Representation};
use serde::{Deserialize, Serialize};
use tch::nn::init::{FanInOut, NonLinearity, NormalOrUniform};
use tch::nn::{self, BatchNormConfig, Path};
use tch::{Kind, Tensor, no_grad};
use torch_shim::After;

/// ResNet18's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResNet18 {
    /// How the image comes in: the authors' stem, or torchvision's with its weights. Not a key of a recipe.
    #[serde(skip)]
    pub stem: Stem,
    /// Channels of the first stage; features are eight times as long. 64 is the paper's.
    pub width: u32,
    /// ReLU after the last block of each stage, as torchvision has it. Without, features and POD maps are signed. Not a
    /// key of a recipe: the authors have none (errata 19).
    #[serde(skip)]
    pub last_relu: bool,
    /// `imagenet`, or a file of weights with torchvision's names: then stem and last ReLU are torchvision's too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// Whether pretrained weights stay as they are; unless given, they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<bool>,
}

impl Default for ResNet18 {
    fn default() -> Self {
        Self { stem: Stem::default(), width: 64, last_relu: false, weights: None, freeze: None }
    }
}

/// How the image comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stem {
    /// torchvision's: 7×7 with stride 2, then pooled.
    Imagenet,
    /// The authors': 3×3 with stride 1, then pooled.
    #[default]
    Small,
}

/// The convolutions' weights, in the order in which they were made.
///
/// They are kept in one list rather than each with its convolution, so that all can be converted at once.
#[derive(Debug, Default)]
struct Weights(Vec<Tensor>);

impl Weights {
    /// A convolution without bias that keeps the size, up to its stride.
    fn convolution(&mut self, path: Path<'_>, from: i64, to: i64, kernel: i64, stride: i64) -> Convolution {
        let kaiming = nn::Init::Kaiming {
            dist: NormalOrUniform::Normal,
            fan: FanInOut::FanOut,
            non_linearity: NonLinearity::ReLU,
        };
        self.0.push(path.var("weight", &[to, from, kernel, kernel], kaiming));
        Convolution { number: self.0.len() - 1, padding: kernel / 2, stride }
    }

    /// All of them in `kind`.
    fn in_kind(&self, kind: Kind) -> Self {
        match kind {
            Kind::BFloat16 => Self(torch_shim::as_bf16(&self.0)),
            _ => Self(self.0.iter().map(Tensor::shallow_clone).collect()),
        }
    }
}

/// A convolution; its weights are number `number` of the list.
#[derive(Clone, Copy, Debug)]
struct Convolution {
    number: usize,
    padding: i64,
    stride: i64,
}

impl Convolution {
    fn forward(self, x: &Tensor, weights: &Weights) -> Tensor {
        x.conv2d(&weights.0[self.number], None::<Tensor>, self.stride, self.padding, 1, 1)
    }

    /// It and its norm as a step of a list, by the names of their variables.
    fn layer(self, name: String, norm: String) -> Conv {
        Conv { name, then: Then::Norm(norm), stride: self.stride, padding: self.padding, groups: 1 }
    }
}

fn batch_norm(path: Path<'_>, channels: i64, weight: f64) -> nn::BatchNorm {
    let ws_init = nn::Init::Const(weight);
    let config = BatchNormConfig { ws_init, eps: EPSILON, momentum: MOMENTUM, ..Default::default() };
    nn::batch_norm2d(path, channels, config)
}

/// Two 3×3 convolutions and the way around them.
#[derive(Debug)]
struct Block {
    convolutions: [Convolution; 2],
    norms: [nn::BatchNorm; 2],
    shortcut: Option<(Convolution, nn::BatchNorm)>,
    relu: bool,
}

impl Block {
    fn new(weights: &mut Weights, path: &Path<'_>, (from, to): (i64, i64), stride: i64, relu: bool) -> Self {
        let shortcut = (stride != 1 || from != to).then(|| {
            let path = path / "downsample";
            (weights.convolution(&path / "0", from, to, 1, stride), batch_norm(&path / "1", to, 1.0))
        });
        Self {
            convolutions: [
                weights.convolution(path / "conv1", from, to, 3, stride),
                weights.convolution(path / "conv2", to, to, 3, 1),
            ],
            // The second starts at 0: a block begins as the way around it, which trains more steadily.
            norms: [batch_norm(path / "bn1", to, 1.0), batch_norm(path / "bn2", to, 0.0)],
            shortcut,
            relu,
        }
    }

    fn forward(&self, x: &Tensor, weights: &Weights, train: bool) -> Tensor {
        let after = After { relu: true, ..Default::default() };
        let inner = normed(&self.norms[0], &self.convolutions[0].forward(x, weights), after, train);
        let around = match &self.shortcut {
            Some((convolution, norm)) => normed(norm, &convolution.forward(x, weights), After::default(), train),
            None => x.shallow_clone(),
        };
        let after = After { around: Some(&around), relu: self.relu, ..Default::default() };
        normed(&self.norms[1], &self.convolutions[1].forward(&inner, weights), after, train)
    }

    /// Adds it to a list, after result `x`; the names of its variables begin with `name`.
    fn write(&self, layers: &mut Layers, x: usize, name: &str) -> usize {
        let part =
            |part: usize| self.convolutions[part - 1].layer(format!("{name}.conv{part}"), format!("{name}.bn{part}"));
        let inner = layers.conv(x, part(1), Some(Layer::Relu));
        let around = self.shortcut.as_ref().map_or(x, |(convolution, _)| {
            let [name, norm] = ["0", "1"].map(|place| format!("{name}.downsample.{place}"));
            layers.conv(x, convolution.layer(name, norm), None)
        });
        let inner = layers.conv(inner, part(2), None);
        let sum = layers.add(inner, Layer::Add { other: around });
        if self.relu { layers.add(sum, Layer::Relu) } else { sum }
    }
}

#[derive(Debug)]
pub(crate) struct Net {
    width: usize,
    weights: Weights,
    stem: Convolution,
    stem_norm: nn::BatchNorm,
    stages: Vec<[Block; 2]>,
}

impl Net {
    pub(crate) fn new(path: &Path<'_>, mut settings: ResNet18, channels: i64) -> Self {
        if settings.weights.is_some() {
            (settings.stem, settings.last_relu) = (Stem::Imagenet, true);
        }
        let width = i64::from(settings.width);
        let (kernel, stride) = match settings.stem {
            Stem::Imagenet => (7, 2),
            Stem::Small => (3, 1),
        };
        let mut weights = Weights::default();
        let stem = weights.convolution(path / "conv1", channels, width, kernel, stride);
        let stages = (0..4)
            .map(|stage| {
                let to = width << stage;
                let (from, stride) = if stage == 0 { (width, 1) } else { (to / 2, 2) };
                let path = path / format!("layer{}", stage + 1);
                [
                    Block::new(&mut weights, &(&path / "0"), (from, to), stride, true),
                    Block::new(&mut weights, &(&path / "1"), (to, to), 1, settings.last_relu),
                ]
            })
            .collect();
        Self {
            width: 8 * settings.width as usize,
            weights,
            stem,
            stem_norm: batch_norm(path / "bn1", width, 1.0),
            stages,
        }
    }
}

impl Extractor for Net {
    fn width(&self) -> usize {
        self.width
    }

    fn extract(&self, images: &Tensor, train: bool) -> Representation {
        let weights = &self.weights.in_kind(images.kind());
        let Convolution { number, stride, padding } = self.stem;
        let mut x = pooled_stem(images, (&weights.0[number], (stride, padding)), &self.stem_norm, train)
            .unwrap_or_else(|| normed(&self.stem_norm, &self.stem.forward(images, weights), POOLED, train));
        let mut stages = Vec::with_capacity(self.stages.len());
        for [first, second] in &self.stages {
            x = second.forward(&first.forward(&x, weights, train), weights, train);
            stages.push(x.shallow_clone());
        }
        Representation { features: x.mean_dim([2i64, 3].as_slice(), false, Kind::Float), stages }
    }

    fn layers(&self) -> Option<Layers> {
        let mut layers = Layers::default();
        let mut x = layers.conv(0, self.stem.layer("conv1".to_owned(), "bn1".to_owned()), Some(Layer::Relu));
        x = layers.add(x, Layer::MaxPool { kernel: 3, stride: 2, padding: 1 });
        for (stage, blocks) in self.stages.iter().enumerate() {
            for (number, block) in blocks.iter().enumerate() {
                x = block.write(&mut layers, x, &format!("layer{}.{number}", stage + 1));
            }
        }
        layers.add(x, Layer::Mean);
        Some(layers)
    }

    fn folded(&self, kind: Kind) -> Option<Box<dyn Extractor>> {
        let fold = |convolution: Convolution, norm: &nn::BatchNorm| {
            Folded::new(&self.weights.0[convolution.number], norm, convolution.stride, convolution.padding, kind)
        };
        let block = |block: &Block| folded::Block {
            convolutions: (0..2).map(|part| fold(block.convolutions[part], &block.norms[part])).collect(),
            shortcut: block.shortcut.as_ref().map(|(convolution, norm)| fold(*convolution, norm)),
            relu: block.relu,
        };
        Some(no_grad(|| {
            Box::new(folded::Net {
                stem: fold(self.stem, &self.stem_norm),
                stages: self.stages.iter().map(|blocks| blocks.iter().map(block).collect()).collect(),
                width: self.width(),
                kind,
            }) as Box<dyn Extractor>
        }))
    }
}
