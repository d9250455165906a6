//! Asks for the class of every test image, of all classes.

use super::scatter::Collector;
use super::{GhostLearner, Lesson};
use crate::class::Slot;
use crate::classifier::cosines;
use crate::error::LearnError;
use crate::evaluation::{Answers, Best};
use crate::learner::observer::Event;
use std::ops::Range;
use tch::{Device, Kind, Tensor, no_grad};

/// Images looked at together when nothing is kept for gradients.
pub(super) const BATCH: usize = 256;

impl GhostLearner {
    /// All classes compete; of the seen and of the unseen ones the best is kept with its score.
    pub(super) fn evaluate(&self, lesson: &mut Lesson<'_>) -> Result<Answers, LearnError> {
        let album = lesson.album.clone();
        let steps = album.loader.data().test().len().div_ceil(BATCH);
        lesson.observer.notice(&Event::StageStarted { stage: "evaluate", steps });

        let all: Vec<Slot> = (0..lesson.task.scenario().classes()).map(|slot| Slot(slot as u16)).collect();
        let mut answers = Answers { offset: lesson.offset, own_offset: lesson.own_offset, ..Default::default() };
        let mut collector = Collector::new(&album, self.seeds);
        for shown in self.show_test(&album, BATCH) {
            let shown = shown?;
            let features = self.network.look(&self.images(shown.look())).features;
            collector.take(&features, &shown.look().slots)?;
            let similarities = no_grad(|| {
                let similarities = match &lesson.complete {
                    Some(proxies) => cosines(&features, proxies),
                    None => self.classifier.similarities(&features),
                };
                similarities.to_device(Device::Cpu).to_kind(Kind::Float)
            });
            answers.truth.extend(&shown.look().slots);
            extend(&mut answers.seen, &similarities, lesson.task.seen().range(), &all)?;
            if lesson.complete.is_some() && self.imagines() {
                let unseen = answers.unseen.get_or_insert_default();
                extend(unseen, &similarities, lesson.task.future().range(), &all)?;
            }
            lesson.observer.notice(&Event::Step);
        }
        let scores = answers.unseen.iter().chain([&answers.seen]).flat_map(|best| &best.scores);
        if scores.into_iter().any(|score| !score.is_finite()) {
            return Err(LearnError::Diverged { task: lesson.task.number() });
        }
        lesson.observer.notice(&Event::Evaluated { task: lesson.task.number(), answers: &answers });
        let scatter = self.scatter(lesson, collector)?;
        lesson.observer.notice(&Event::Scattered { task: lesson.task.number(), scatter: &scatter });
        Ok(answers)
    }
}

/// Adds the best of some `columns` of `similarities`, `[batch, classes]`, for each row; `slots` says what columns mean.
pub(super) fn extend(
    best: &mut Best,
    similarities: &Tensor,
    columns: Range<usize>,
    slots: &[Slot],
) -> Result<(), LearnError> {
    let start = columns.start;
    let columns = similarities.narrow(1, start as i64, columns.len() as i64);
    let (scores, places) = columns.max_dim(1, false);
    let places = Vec::<i64>::try_from(places)?;
    best.slots.extend(places.into_iter().map(|place| slots[start + place as usize]));
    best.scores.extend(Vec::<f32>::try_from(scores)?);
    Ok(())
}
