//! Ghosts beside real features: whether they are any good, before anybody trusts them.

use super::GhostLearner;
use super::imagination::Imagination;
use crate::class::Slot;
use crate::engine::TaskBatches;
use crate::engine::norm::{norm, unit_rows};
use crate::error::LearnError;
use crate::evaluation::Likeness;
use crate::ghost::Scaler;
use crate::loss::Mmd;
use crate::predictor::BATCH_SIZE;
use crate::scenario::Task;
use std::collections::BTreeMap;
use std::sync::Arc;
use tch::{Kind, Tensor, no_grad};

/// Every class with test images, after `task`, whose model must be loaded. None where nothing is imagined.
pub(super) fn inspect(model: &GhostLearner, task: Task<'_>) -> Result<Option<Vec<Likeness>>, LearnError> {
    let Imagination::Generator(generator) = &model.imagination else { return Ok(None) };
    let data = Arc::new(model.sealed.open(&task, model.memory.samples()));
    let batches = TaskBatches::for_test(data, model.input.clone(), BATCH_SIZE, model.settings.threads);
    let mut real: BTreeMap<Slot, Vec<Tensor>> = BTreeMap::new();
    for batch in batches.test(None, BATCH_SIZE) {
        let batch = batch?;
        let features =
            unit_rows(&model.network.forward_eval(&batch.batch().images(model.network.image_kind())).features);
        for (row, slot) in batch.batch().slots.iter().enumerate() {
            real.entry(*slot).or_default().push(features.get(row as i64));
        }
    }
    let real: BTreeMap<Slot, Tensor> = real.into_iter().map(|(slot, rows)| (slot, Tensor::stack(&rows, 0))).collect();
    let slots: Vec<Slot> = real.keys().copied().collect();
    let means = no_grad(|| {
        let means: Vec<Tensor> = real.values().map(mean).collect();
        unit_rows(&Tensor::stack(&means, 0))
    });
    let scaler = Scaler::fit(&Tensor::cat(&real.values().collect::<Vec<_>>(), 0));
    let seeds = model.seeds.child("inspect", task.number());
    let one = |(place, slot): (usize, &Slot)| -> Result<Likeness, LearnError> {
        let features = &real[slot];
        let count = model.settings.ghosts.per_class;
        let ghosts = unit_rows(&generator.draw(*slot, count, seeds.number("class", slot.index())));
        let ghost_mean = unit_rows(&mean(&ghosts).unsqueeze(0));
        let to_means = ghost_mean.matmul(&means.tr()).squeeze_dim(0);
        let own = means.get(place as i64);
        let to_others = Vec::<f32>::try_from(means.mv(&own))?;
        let others = to_others.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, cosine)| *cosine);
        let nearest = others.fold(-1.0f32, f32::max);
        let answers = ghosts.matmul(&means.tr()).argmax(1, false).eq(place as i64);
        let (scaled_real, scaled_ghosts) = (scaler.scale(features), scaler.scale(&ghosts));
        let class = model.sealed.scenario().class(*slot);
        Ok(Likeness {
            class: model.sealed.catalogue().name(class).to_owned(),
            seen: task.seen().contains(*slot),
            turned: degrees(to_means.double_value(&[place as i64])),
            nearest: degrees(f64::from(nearest)),
            spread: spread(&ghosts)? / spread(features)?.max(1e-12),
            mmd: f64::try_from(Mmd::default().loss(&scaled_real, &scaled_ghosts))?,
            agree: f64::try_from(answers.mean(Kind::Float))?,
        })
    };
    no_grad(|| slots.iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()).map(Some)
}
fn mean(rows: &Tensor) -> Tensor {
    rows.mean_dim([0i64].as_slice(), false, Kind::Float)
}

/// The root mean square of the distances from the mean.
fn spread(rows: &Tensor) -> Result<f64, LearnError> {
    Ok(f64::try_from(norm(&(rows - mean(rows))).square().mean(Kind::Float).sqrt())?)
}

fn degrees(cosine: f64) -> f64 {
    cosine.clamp(-1.0, 1.0).acos().to_degrees()
}
