//! Goes over images epoch by epoch: the loop that the main training and the fine-tune share. It can be stopped after any epoch and
//! gone on with later.

use super::GhostLearner;
use super::lesson::Lesson;
use super::shards::Shards;
use super::training_ghosts::{TrainingGhosts, refresh};
use crate::data::Sample;
use crate::engine::{Changing, DeviceBatch, Pass, Schedule, Sgd, Steps, Values};
use crate::error::LearnError;
use crate::learner::Event;
use crate::loss::Terms;
use tch::{Kind, Tensor};

/// A stage that goes over its images several times.
#[derive(Clone, Copy)]
pub(super) struct Epochs<'a> {
    pub(super) name: &'static str,
    pub(super) epochs: usize,
    pub(super) lr: f64,
    pub(super) schedule: Schedule,
    /// The ghosts that take part.
    pub(super) ghosts: Option<&'a TrainingGhosts>,
    /// The images.
    pub(super) samples: &'a [Sample],
    /// What learns.
    pub(super) sgd: &'a Sgd,
    /// What of the model it changes.
    pub(super) left: fn(&GhostLearner) -> Vec<(String, Tensor)>,
}

impl Epochs<'_> {
    /// All that it changes.
    fn changing(&self, model: &GhostLearner) -> Changing {
        let (mut left, mut meanwhile) = ((self.left)(model), self.sgd.state());
        if let Some(ghosts) = self.ghosts {
            left.push(("ghosts.proxies".to_owned(), ghosts.proxies.shallow_clone()));
            // Ghosts that are never drawn anew are those that the stage begins with.
            if model.settings.ghosts.refresh_epochs > 0 {
                meanwhile.extend(ghosts.state());
            }
        }
        Changing { left, meanwhile }
    }
}

/// Minimizes the sum of `terms` over batches of `samples`.
pub(super) fn run_epochs(
    model: &mut GhostLearner,
    lesson: &mut Lesson<'_>,
    stage: Epochs<'_>,
    terms: impl Fn(&GhostLearner, &DeviceBatch<'_>) -> Terms,
) -> Result<(), LearnError> {
    let Epochs { samples, sgd, .. } = stage;
    let seeds = model.seeds.child(stage.name, lesson.number());
    let (batches, batch_size) = (lesson.batches.clone(), model.settings.train.batch_size);
    let per_epoch = samples.len().div_ceil(batch_size);
    let refresh_epochs = model.settings.ghosts.refresh_epochs;
    let shards = Shards::new(model.processes.clone(), model.settings.train.shards.unwrap_or(1), model.device);
    let mut steps = Steps::new(model.device, model.settings.compute.cuda_graphs && shards.can_be_recorded());
    let own = shards.pieces(samples.len(), batch_size);
    let open = lesson.begin(stage.name, stage.epochs, &stage.changing(model))?;
    let mut begins = true;
    for epoch in open.first..stage.epochs {
        let lr = stage.schedule.rate(stage.lr, epoch, stage.epochs);
        sgd.set_rate(lr);
        if let Some(ghosts) = stage.ghosts
            && refresh_epochs > 0
            && epoch > 0
            && epoch.is_multiple_of(refresh_epochs)
        {
            begins = refresh(model, lesson, ghosts, epoch, stage.epochs)?;
        }
        if std::mem::take(&mut begins) {
            lesson.start(stage.name, per_epoch * (stage.epochs - epoch));
        }
        let mut tally = Tally::default();
        let seeds = seeds.child("epoch", epoch);
        for (number, batch) in batches.pieces(samples, Pass::Train(seeds), own.clone()).enumerate() {
            let (mut batch, images) = (batch?, batch_size.min(samples.len() - number * batch_size));
            batch.ghosts =
                stage.ghosts.map(|ghosts| ghosts.pick(images, &mut seeds.child("batch", number).stream("ghosts", 0)));
            let mut stops = lesson.observer.stops();
            // BatchNorm has no variance of a single value: a batch of one, left over at the end, sits out.
            if images > 1 || samples.len() == 1 {
                shards.stopping.ask(stops);
                let step = |batch: &DeviceBatch<'_>, recording: bool| match shards.is_one() {
                    true => {
                        let terms = terms(model, batch);
                        sgd.step(&terms.total());
                        Ok(Values { names: terms.names(), values: terms.values() })
                    }
                    false => shards.step((&*model, sgd), batch, (images, recording), &terms),
                };
                tally.add(steps.take((images, &batch), step, |recorded| shards.all(recorded))?);
                if !shards.is_one() {
                    stops = shards.stopping.stops(number, number + 1 == per_epoch);
                }
            } else {
                stops = model.processes.any(stops)?;
            }
            lesson.observer.on_event(&Event::Step);
            if stops {
                return Err(lesson.progress.stop());
            }
        }
        let terms = tally.means(lesson.number(), epoch + 1)?;
        lesson.tell(&Event::Epoch {
            task: lesson.number(),
            stage: stage.name,
            epoch: epoch + 1,
            of: stage.epochs,
            lr,
            terms: &terms,
        });
        lesson.progress.epoch(&open, epoch + 1, &stage.changing(model), Some(lesson.data()))?;
    }
    Ok(())
}

/// The terms of an epoch's batches. They stay on the device until the epoch is over, so that no step waits for them.
#[derive(Default)]
struct Tally {
    names: Vec<&'static str>,
    batches: Vec<Tensor>,
}

impl Tally {
    fn add(&mut self, step: Values) {
        if !step.names.is_empty() {
            self.names = step.names;
        }
        self.batches.push(step.values);
    }

    /// The mean of each term; an error if one was no number.
    fn means(&self, task: usize, epoch: usize) -> Result<Vec<(&'static str, f64)>, LearnError> {
        if self.batches.is_empty() {
            return Ok(Vec::new());
        }
        let values = Tensor::stack(&self.batches, 0).to_kind(Kind::Double);
        let rows = Vec::<Vec<f64>>::try_from(values)?;
        for (batch, row) in rows.iter().enumerate() {
            if let Some((term, &value)) = self.names.iter().zip(row).find(|(_, value)| !value.is_finite()) {
                return Err(LearnError::NotFinite { term: (*term).to_owned(), value, task, epoch, batch: batch + 1 });
            }
        }
        let mean = |term: usize| rows.iter().map(|row| row[term]).sum::<f64>() / rows.len() as f64;
        Ok(self.names.iter().enumerate().map(|(term, &name)| (name, mean(term))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(terms: &[(&'static str, f64)]) -> Values {
        let numbers: Vec<f64> = terms.iter().map(|(_, value)| *value).collect();
        Values { names: terms.iter().map(|(name, _)| *name).collect(), values: Tensor::from_slice(&numbers) }
    }

    #[test]
    fn a_term_that_is_no_number_is_named_with_its_place() {
        let mut tally = Tally::default();
        for pod in [0.5, f64::NAN] {
            tally.add(values(&[("nca", 1.0), ("pod", pod)]));
        }
        let error = tally.means(2, 7).expect_err("a NaN");
        assert_eq!(error.to_string(), "`pod` is NaN in task 2, epoch 7, batch 2");
    }

    #[test]
    fn terms_are_averaged_over_batches() {
        let mut tally = Tally::default();
        for nca in [1.0, 2.0, 6.0] {
            tally.add(values(&[("nca", nca)]));
        }
        assert_eq!(tally.means(1, 1).expect("finite"), [("nca", 3.0)]);
    }
}
