//! The generator `g(ξ, E_c)`: features of a class that nobody has seen, imagined from its attributes.

mod gaussian;
mod gmmn;
mod scaler;

pub use gaussian::Gaussian;
pub use gmmn::Gmmn;
pub use scaler::Scaler;

use crate::class::Slot;
use crate::engine::Follow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tch::{Device, Tensor};

/// Features of seen classes, `[images, width]` each.
pub type FeatureBank = BTreeMap<Slot, Tensor>;

/// Imagines features.
pub trait Generator: Send {
    /// Learns from the features of all seen classes; goes on from what it learned before.
    fn fit(&mut self, seen: &FeatureBank, seed: i64, follow: &mut dyn Follow);

    /// How many epochs [`Generator::fit`] takes.
    fn epochs(&self) -> usize;

    /// The learning rate; 0 where it learns at one stroke.
    fn rate(&self) -> f64 {
        0.0
    }

    /// `count` ghosts of the class in `slot`, `[count, width]`. The same seed draws the same ghosts.
    fn draw(&self, slot: Slot, count: usize, seed: i64) -> Tensor;

    /// What it has learned, by name.
    fn tensors(&self) -> BTreeMap<String, Tensor>;

    /// Takes over what [`Generator::tensors`] gave; the names that are missing come back as an error.
    fn restore(&mut self, tensors: &BTreeMap<String, Tensor>) -> Result<(), String>;
}

/// Which generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum GeneratorKind {
    /// None: the base model, which knows nothing of the future.
    #[default]
    None,
    /// The paper's: a generative moment matching network.
    Gmmn(Gmmn),
    /// Mean and spread by ridge regression from the attributes: the simple rival.
    Gaussian(Gaussian),
    /// Features of actual future images: an oracle, which breaks the seal by name.
    Real,
}

/// `E`: the attributes of all classes in order of arrival, `[classes, attributes]`.
pub fn attribute_rows(rows: &[Vec<f32>], device: Device) -> Tensor {
    let width = rows.first().map_or(0, Vec::len) as i64;
    Tensor::from_slice(&rows.concat()).reshape([rows.len() as i64, width]).to_device(device)
}

impl GeneratorKind {
    /// Whether it imagines from attributes.
    pub fn needs_attributes(&self) -> bool {
        matches!(self, GeneratorKind::Gmmn(_) | GeneratorKind::Gaussian(_))
    }

    /// The generator, knowing nothing yet: for features of `width`, from `attributes` `[classes, attributes]`. With
    /// `records` a GPU records an epoch and starts it again with one call.
    pub fn build(&self, attributes: &Tensor, width: usize, seed: i64, records: bool) -> Option<Box<dyn Generator>> {
        match self {
            GeneratorKind::None | GeneratorKind::Real => None,
            GeneratorKind::Gmmn(settings) => {
                Some(Box::new(gmmn::Net::new(settings.clone(), attributes, width, seed, records)))
            }
            GeneratorKind::Gaussian(settings) => {
                Some(Box::new(gaussian::Regression::new(*settings, attributes, width)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::with_seed;
    use tch::{Kind, no_grad};

    const CLASSES: i64 = 20;
    const WIDTH: i64 = 8;

    /// Toy classes: attributes at random, means a linear map of them, spread 0.1. The last two classes are unseen.
    fn toy() -> (Tensor, Tensor, FeatureBank) {
        with_seed(7, || {
            let options = (Kind::Float, Device::Cpu);
            let raw = Tensor::randn([CLASSES, 5], options);
            let attributes = crate::engine::norm::unit_rows(&raw);
            let means = attributes.matmul(&Tensor::randn([5, WIDTH], options));
            let bank = (0..CLASSES - 2)
                .map(|class| (Slot(class as u32), means.get(class) + Tensor::randn([60, WIDTH], options) * 0.1))
                .collect();
            (attributes, means, bank)
        })
    }

    fn mean_distance(kind: &GeneratorKind) -> f64 {
        let (attributes, means, bank) = toy();
        let mut generator = kind.build(&attributes, WIDTH as usize, 1, false).expect("a generator");
        generator.fit(&bank, 2, &mut |_: usize, loss: f64| assert!(loss.is_finite()));
        let distances = (CLASSES - 2..CLASSES).map(|class| {
            let ghosts = no_grad(|| generator.draw(Slot(class as u32), 200, 3));
            let gap = ghosts.mean_dim([0i64].as_slice(), false, Kind::Float) - means.get(class);
            f64::try_from(gap.square().sum(Kind::Float).sqrt()).expect("a number")
        });
        distances.fold(0.0, f64::max)
    }

    /// A spread of 0.1 in 8 dimensions: a sample lies 0.28 from its mean.
    #[test]
    fn an_unseen_class_is_placed_within_its_spread() {
        let spread = 0.1 * (WIDTH as f64).sqrt();
        let gmmn = GeneratorKind::Gmmn(Gmmn { epochs: 250, lr: 1e-3, hidden: 128, dropout: 0.0, ..Default::default() });
        for kind in [GeneratorKind::Gaussian(Gaussian { ridge: 1e-3 }), gmmn] {
            let distance = mean_distance(&kind);
            assert!(distance < spread, "{kind:?}: {distance:.3}, spread {spread:.3}");
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_ghosts_also_after_a_restart() {
        let (attributes, _, bank) = toy();
        let gmmn = GeneratorKind::Gmmn(Gmmn { epochs: 2, hidden: 16, ..Default::default() });
        for kind in [GeneratorKind::Gaussian(Gaussian::default()), gmmn] {
            let mut one = kind.build(&attributes, WIDTH as usize, 1, false).expect("a generator");
            one.fit(&bank, 2, &mut |_: usize, _: f64| {});
            let mut two = kind.build(&attributes, WIDTH as usize, 9, false).expect("a generator");
            two.restore(&one.tensors()).expect("all tensors");
            let ghosts = |generator: &dyn Generator, seed| generator.draw(Slot(19), 5, seed);
            assert_eq!(ghosts(&*one, 4), ghosts(&*one, 4));
            assert_eq!(ghosts(&*one, 4), ghosts(&*two, 4));
            assert_ne!(ghosts(&*one, 4), ghosts(&*one, 5));
        }
    }

    #[test]
    fn a_generator_goes_on_from_what_it_knows() {
        let (attributes, _, bank) = toy();
        let kind = GeneratorKind::Gmmn(Gmmn { epochs: 40, lr: 1e-3, hidden: 64, ..Default::default() });
        let mut generator = kind.build(&attributes, WIDTH as usize, 1, false).expect("a generator");
        let mut losses = Vec::new();
        for _ in 0..2 {
            generator.fit(&bank, 2, &mut |epoch: usize, loss: f64| {
                if epoch == 1 {
                    losses.push(loss)
                }
            });
        }
        assert!(losses[1] < losses[0] / 2.0, "{losses:?}");
    }
}
