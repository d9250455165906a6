//! Asks for the class of every test image, of all classes.

use super::observer::Event;
use super::{Learner, Lesson};
use crate::class::{Slot, Slots};
use crate::error::LearnError;
use crate::evaluation::{Answers, Best};
use tch::{Device, Kind, Tensor, no_grad};

/// Images looked at together when nothing is kept for gradients.
pub(super) const BATCH: usize = 256;

impl Learner {
    /// All classes compete; of the seen and of the unseen ones the best is kept with its score.
    pub(super) fn evaluate(&self, lesson: &mut Lesson<'_>) -> Result<Answers, LearnError> {
        let loader = lesson.loader.with_batch_size(BATCH);
        let steps = loader.batches(loader.data().test().len());
        lesson.observer.notice(&Event::StageStarted { stage: "evaluate", steps });

        let mut answers = Answers::default();
        for batch in loader.test() {
            let batch = batch?;
            let similarities = no_grad(|| {
                let features = self.network.look(&self.images(batch.look())).features;
                self.classifier.similarities(&features).to_device(Device::Cpu).to_kind(Kind::Float)
            });
            answers.truth.extend(&batch.look().slots);
            extend(&mut answers.seen, &similarities, lesson.task.seen())?;
            lesson.observer.notice(&Event::Step);
        }
        lesson.observer.notice(&Event::Evaluated { task: lesson.task.number(), answers: &answers });
        Ok(answers)
    }
}

/// Adds the best of `slots` for each row of `similarities`, `[batch, classes]`.
fn extend(best: &mut Best, similarities: &Tensor, slots: Slots) -> Result<(), LearnError> {
    let columns = similarities.narrow(1, slots.range().start as i64, slots.len() as i64);
    let (scores, places) = columns.max_dim(1, false);
    let places = Vec::<i64>::try_from(places)?;
    best.slots.extend(places.into_iter().map(|place| Slot((slots.range().start as i64 + place) as u16)));
    best.scores.extend(Vec::<f32>::try_from(scores)?);
    Ok(())
}
