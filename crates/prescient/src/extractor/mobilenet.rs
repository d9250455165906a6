//! MobileNetV2, as torchvision has it, with its names of weights: 3.5 million numbers, features of 1280.
//!
//! ```text
//! block:  x ─► 1×1, t times as wide ─► 3×3, each channel by itself ─► 1×1 ─► + x, where shapes allow
//!              ReLU6                   ReLU6
//! ```

use crate::extractor::convolution::{ConvNorm, Shape};
use crate::extractor::folded::Folded;
use crate::extractor::layers::{Layer, Layers};
use crate::extractor::{Extractor, Representation};
use serde::{Deserialize, Serialize};
use tch::nn::Path;
use tch::{Kind, Tensor, no_grad};
use torch_shim::After;

/// MobileNetV2's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MobileNetV2 {
    /// `imagenet`, or a file of weights with torchvision's names; unless given, training starts from random ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// Whether pretrained weights stay as they are; unless given, they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<bool>,
}

/// Blocks of one kind: `t`, the side of a window, channels, how many blocks, and the stride of the first.
pub(crate) type Stage = (i64, i64, i64, usize, i64);

/// Table 2 of its paper.
const STAGES: [Stage; 7] = [
    (1, 3, 16, 1, 1),
    (6, 3, 24, 2, 2),
    (6, 3, 32, 3, 2),
    (6, 3, 64, 4, 2),
    (6, 3, 96, 3, 1),
    (6, 3, 160, 3, 2),
    (6, 3, 320, 1, 1),
];
const FIRST: i64 = 32;
const LAST: i64 = 1280;
/// After which blocks POD compares maps: the last of each resolution, as with a ResNet.
const COMPARED: [usize; 4] = [3, 6, 13, 17];

/// Which of the network's convolutions, blocks counted from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    First,
    Expand(usize),
    Each(usize),
    Project(usize),
    Last,
}

/// A block; `C` is a convolution with its norm, or both in one.
#[derive(Debug)]
struct Block<C> {
    expand: Option<C>,
    each: C,
    project: C,
    around: bool,
}

/// The whole network.
#[derive(Debug)]
pub(crate) struct Net<C = ConvNorm> {
    first: C,
    blocks: Vec<Block<C>>,
    last: C,
    /// After which blocks maps are compared.
    compared: [usize; 4],
    /// The numbers that the convolutions take, where they are fixed.
    kind: Option<Kind>,
}

/// A convolution with its norm beside it, or folded into it.
pub(crate) trait Convolve {
    fn convolve(&self, x: &Tensor, around: Option<&Tensor>, train: bool) -> Tensor;

    /// Then ReLU6.
    fn convolve_relu6(&self, x: &Tensor, train: bool) -> Tensor;
}

impl Convolve for ConvNorm {
    fn convolve(&self, x: &Tensor, around: Option<&Tensor>, train: bool) -> Tensor {
        self.forward(x, After { around, ..Default::default() }, train)
    }

    fn convolve_relu6(&self, x: &Tensor, train: bool) -> Tensor {
        let mut x = self.convolve(x, None, train);
        // What takes part in gradients is not overwritten: some ways back through BatchNorm need its result.
        if x.requires_grad() { x.clamp(0, 6) } else { x.clamp_(0, 6) }
    }
}

impl Convolve for Folded {
    fn convolve(&self, x: &Tensor, around: Option<&Tensor>, _train: bool) -> Tensor {
        self.forward(x, After { around, ..Default::default() })
    }

    fn convolve_relu6(&self, x: &Tensor, _train: bool) -> Tensor {
        self.forward_relu6(x)
    }
}

impl Net {
    pub(crate) fn new(path: &Path<'_>, channels: i64) -> Self {
        let features = path / "features";
        // A convolution with its norm in a sequence: `N.0` and `N.1`; the last two of a block follow each other.
        let pair = |at: Path<'_>, shape: Shape| ConvNorm::new(&at / "0", &at / "1", shape);
        let blocks: usize = STAGES.iter().map(|stage| stage.3).sum();
        Self::of(&STAGES, COMPARED, channels, |place, shape| {
            let inside = |block: usize| &(&features / block.to_string()) / "conv";
            // Only the first block does not expand.
            let next = |block: usize| if block == 1 { 0 } else { 1 };
            match place {
                Place::First => pair(&features / "0", shape),
                Place::Expand(block) => pair(&inside(block) / "0", shape),
                Place::Each(block) => pair(&inside(block) / next(block).to_string(), shape),
                Place::Project(block) => {
                    let (path, next) = (inside(block), next(block) + 1);
                    ConvNorm::new(&path / next.to_string(), &path / (next + 1).to_string(), shape)
                }
                Place::Last => pair(&features / (blocks + 1).to_string(), shape),
            }
        })
    }

    /// A network of such blocks; `convolution` knows the names of the weights.
    pub(crate) fn of(
        stages: &[Stage],
        compared: [usize; 4],
        channels: i64,
        convolution: impl Fn(Place, Shape) -> ConvNorm,
    ) -> Self {
        let plain = |from, to, kernel, stride| Shape { from, to, kernel, stride, groups: 1 };
        let first = convolution(Place::First, plain(channels, FIRST, 3, 2));
        let (mut from, mut blocks) = (FIRST, Vec::new());
        for &(expansion, kernel, to, count, stride) in stages {
            for number in 0..count {
                let (block, stride) = (blocks.len() + 1, if number == 0 { stride } else { 1 });
                let inner = from * expansion;
                let each = Shape { groups: inner, ..plain(inner, inner, kernel, stride) };
                let expand = (expansion != 1).then(|| convolution(Place::Expand(block), plain(from, inner, 1, 1)));
                blocks.push(Block {
                    expand,
                    each: convolution(Place::Each(block), each),
                    project: convolution(Place::Project(block), plain(inner, to, 1, 1)),
                    around: stride == 1 && from == to,
                });
                from = to;
            }
        }
        let last = convolution(Place::Last, plain(from, LAST, 1, 1));
        Self { first, blocks, last, compared, kind: None }
    }
}

impl<C: Convolve> Block<C> {
    fn forward(&self, x: &Tensor, train: bool) -> Tensor {
        let inner = self.expand.as_ref().map(|expand| expand.convolve_relu6(x, train));
        let inner = self.each.convolve_relu6(inner.as_ref().unwrap_or(x), train);
        self.project.convolve(&inner, self.around.then_some(x), train)
    }
}

impl<C: Convolve> Net<C> {
    fn forward(&self, images: &Tensor, train: bool) -> Representation {
        let images = self.kind.map_or_else(|| images.shallow_clone(), |kind| images.to_kind(kind));
        let mut x = self.first.convolve_relu6(&images, train);
        let mut stages = Vec::with_capacity(self.compared.len());
        for (number, block) in (1..).zip(&self.blocks) {
            x = block.forward(&x, train);
            if self.compared.contains(&number) {
                stages.push(x.shallow_clone());
            }
        }
        let x = self.last.convolve_relu6(&x, train);
        Representation { features: x.mean_dim([2i64, 3].as_slice(), false, Kind::Float), stages }
    }
}

impl Extractor for Net {
    fn width(&self) -> usize {
        LAST as usize
    }

    fn extract(&self, images: &Tensor, train: bool) -> Representation {
        self.forward(images, train)
    }

    fn layers(&self) -> Option<Layers> {
        let mut layers = Layers::default();
        let mut x = layers.conv(0, self.first.layer(), Some(Layer::Relu6));
        for block in &self.blocks {
            let inner = block.expand.as_ref().map_or(x, |expand| layers.conv(x, expand.layer(), Some(Layer::Relu6)));
            let inner = layers.conv(inner, block.each.layer(), Some(Layer::Relu6));
            let narrow = layers.conv(inner, block.project.layer(), None);
            x = if block.around { layers.add(narrow, Layer::Add { other: x }) } else { narrow };
        }
        x = layers.conv(x, self.last.layer(), Some(Layer::Relu6));
        layers.add(x, Layer::Mean);
        Some(layers)
    }

    fn folded(&self, kind: Kind) -> Option<Box<dyn Extractor>> {
        let block = |block: &Block<ConvNorm>| Block {
            expand: block.expand.as_ref().map(|expand| expand.folded(kind)),
            each: block.each.folded(kind),
            project: block.project.folded(kind),
            around: block.around,
        };
        Some(no_grad(|| {
            Box::new(Net {
                first: self.first.folded(kind),
                blocks: self.blocks.iter().map(block).collect(),
                last: self.last.folded(kind),
                compared: self.compared,
                kind: Some(kind),
            }) as Box<dyn Extractor>
        }))
    }
}

impl Extractor for Net<Folded> {
    fn width(&self) -> usize {
        LAST as usize
    }

    /// Never trains, whatever `train` says: it is made for looking.
    fn extract(&self, images: &Tensor, _train: bool) -> Representation {
        self.forward(images, false)
    }

    fn shared(&self) -> Option<Box<dyn Extractor>> {
        let block = |block: &Block<Folded>| Block {
            expand: block.expand.as_ref().map(Folded::shared),
            each: block.each.shared(),
            project: block.project.shared(),
            around: block.around,
        };
        let blocks = self.blocks.iter().map(block).collect();
        let (first, last) = (self.first.shared(), self.last.shared());
        Some(Box::new(Self { first, blocks, last, compared: self.compared, kind: self.kind }))
    }
}
