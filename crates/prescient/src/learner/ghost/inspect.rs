//! Ghosts beside real features: whether they are any good, before anybody trusts them.

use super::GhostLearner;
use super::imagination::Imagination;
use crate::class::Slot;
use crate::engine::TaskBatches;
use crate::engine::norm::unit_rows;
use crate::error::LearnError;
use crate::evaluation::Likeness;
use crate::learner::likeness::Real;
use crate::predictor::BATCH_SIZE;
use crate::scenario::Task;
use std::collections::BTreeMap;
use std::sync::Arc;
use tch::{Tensor, no_grad};

/// Every class with test images, after `task`, whose model must be loaded. None where nothing is imagined.
pub(super) fn inspect(model: &GhostLearner, task: Task<'_>) -> Result<Option<Vec<Likeness>>, LearnError> {
    let Imagination::Generator(generator) = &model.imagination else { return Ok(None) };
    let data = Arc::new(model.sealed.open(&task, model.memory.samples()));
    let batches = TaskBatches::for_test(data, model.input.clone(), BATCH_SIZE, model.settings.threads);
    let mut real: BTreeMap<Slot, Vec<Tensor>> = BTreeMap::new();
    for batch in batches.test(None, BATCH_SIZE, 0..batches.data().test().len()) {
        let batch = batch?;
        let features =
            unit_rows(&model.network.forward_eval(&batch.batch().images(model.network.image_kind())).features);
        for (row, slot) in batch.batch().slots.iter().enumerate() {
            real.entry(*slot).or_default().push(features.get(row as i64));
        }
    }
    let real = Real::new(real.into_iter().map(|(slot, rows)| (slot, Tensor::stack(&rows, 0))).collect());
    let seeds = model.seeds.child("inspect", task.number());
    let one = |(place, slot): (usize, &Slot)| -> Result<Likeness, LearnError> {
        let count = model.settings.ghosts.per_class;
        let ghosts = unit_rows(&generator.draw(*slot, count, seeds.number("class", slot.index())));
        let class = model.sealed.scenario().class(*slot);
        let name = model.sealed.catalogue().name(class).to_owned();
        real.like(place, &ghosts, (name, task.seen().contains(*slot)))
    };
    no_grad(|| real.slots().iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()).map(Some)
}
