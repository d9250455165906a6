//! The generator `g` and what it learns from: the features of all seen classes.

use super::GhostLearner;
use super::following::{Following, Tells};
use super::imagination::Imagination;
use super::lesson::{Lesson, features};
use crate::class::{Slot, Slots};
use crate::engine::norm::unit_rows;
use crate::engine::{Pass, Processes};
use crate::error::LearnError;
use crate::ghost::{FeatureBank, Generator};
use crate::seeds::Seeds;
use std::collections::BTreeMap;
use tch::{Tensor, no_grad};

/// The features of all seen classes under the present `f`: of every image of the new ones, of the memory of the old ones;
/// mirrored too, where mirroring is allowed.
pub(super) fn feature_bank(model: &GhostLearner, lesson: &Lesson<'_>) -> Result<FeatureBank, LearnError> {
    let samples = lesson.readable();
    let mut bank: BTreeMap<Slot, Vec<Tensor>> = BTreeMap::new();
    let mirrored = model.settings.view.augmentation.flip.then_some(Pass::EvalMirrored);
    for pass in [Some(Pass::Eval), mirrored].into_iter().flatten() {
        for (slot, class) in features(model, lesson, &samples, pass)? {
            bank.entry(slot).or_default().push(class.features);
        }
    }
    Ok(bank.into_iter().map(|(slot, parts)| (slot, unit_if_wanted(model, &Tensor::cat(&parts, 0)))).collect())
}

/// Features as `g` learns from them: of length 1, where the settings say so.
pub(super) fn unit_if_wanted(model: &GhostLearner, features: &Tensor) -> Tensor {
    match model.settings.ghosts.l2_normalize {
        true => no_grad(|| unit_rows(features)),
        false => features.shallow_clone(),
    }
}

/// Trains `g` on the features of all seen classes.
pub(super) fn train_generator(
    model: &mut GhostLearner,
    lesson: &mut Lesson<'_>,
    bank: &FeatureBank,
) -> Result<(), LearnError> {
    let (seed, processes) = (model.seeds.number("generator", lesson.number()), model.processes.clone());
    match &mut model.imagination {
        Imagination::Generator(generator) => {
            fit(&mut **generator, bank, seed, ("generator", Tells::OneInFifty), processes, lesson)
        }
        Imagination::Nothing | Imagination::Real => Ok(()),
    }
}

/// `count` ghosts of each of `slots`.
pub(super) fn draw_ghosts(generator: &dyn Generator, slots: Slots, count: usize, seeds: Seeds) -> FeatureBank {
    slots.iter().map(|slot| (slot, generator.draw(slot, count, seeds.number("class", slot.index())))).collect()
}

/// Fits a generator in a stage of its own.
pub(super) fn fit(
    generator: &mut dyn Generator,
    bank: &FeatureBank,
    seed: i64,
    (stage, tells): (&'static str, Tells),
    processes: Processes,
    lesson: &mut Lesson<'_>,
) -> Result<(), LearnError> {
    let (epochs, lr, state) = (generator.epochs(), generator.rate(), Default::default());
    let mut following = Following { lesson, processes, stage, epochs, lr, term: "mmd", steps: 1, tells, state };
    generator.fit(bank, seed, &mut following);
    following.result()
}
