//! The generator `g` and what it learns from: the features of all seen classes.

use super::GhostLearner;
use super::imagination::Imagination;
use super::lesson::{Lesson, features};
use crate::class::{Slot, Slots};
use crate::engine::Pass;
use crate::engine::norm::unit_rows;
use crate::error::LearnError;
use crate::ghost::{FeatureBank, Generator};
use crate::learner::{Event, Observer};
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
    let (task, seed) = (lesson.number(), model.seeds.number("generator", lesson.number()));
    match &mut model.imagination {
        Imagination::Generator(generator) => {
            fit(&mut **generator, bank, seed, "generator", task, &mut *lesson.observer)
        }
        Imagination::Nothing | Imagination::Real => Ok(()),
    }
}

/// `count` ghosts of each of `slots`.
pub(super) fn draw_ghosts(generator: &dyn Generator, slots: Slots, count: usize, seeds: Seeds) -> FeatureBank {
    slots.iter().map(|slot| (slot, generator.draw(slot, count, seeds.number("class", slot.index())))).collect()
}

/// Fits a generator, with progress and a check that every loss is a number.
pub(super) fn fit(
    generator: &mut dyn Generator,
    bank: &FeatureBank,
    seed: i64,
    stage: &'static str,
    task: usize,
    observer: &mut dyn Observer,
) -> Result<(), LearnError> {
    let (of, lr) = (generator.epochs(), generator.rate());
    observer.on_event(&Event::StageStarted { stage, steps: of });
    let mut failed = None;
    let mut told = |epoch: usize, loss: f64| {
        if !loss.is_finite() && failed.is_none() {
            failed = Some(LearnError::NotFinite { term: "mmd".to_owned(), value: loss, task, epoch, batch: 1 });
        }
        observer.on_event(&Event::Step);
        // A generator's epoch is short: one line in fifty tells as much.
        if epoch.is_multiple_of(50) || epoch == of {
            observer.on_event(&Event::Epoch { task, stage, epoch, of, lr, terms: &[("mmd", loss)] });
        }
    };
    generator.fit(bank, seed, &mut told);
    failed.map_or(Ok(()), Err)
}
