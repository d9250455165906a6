//! Ghosts drawn anew while a task trains: `f` moves on, and so does what it would make of the future.

use super::{GhostLearner, Lesson};
use crate::error::LearnError;
use crate::learner::observer::Event;

/// What records call `g`'s learning in the middle of a training.
const STAGE: &str = "catch-up";

impl GhostLearner {
    /// Whether ghosts are drawn anew before `epoch` of a training, counted from 0.
    pub(super) fn refreshes(&self, epoch: usize) -> bool {
        let every = self.settings.ghosts.refresh_epochs;
        every > 0 && epoch > 0 && epoch.is_multiple_of(every)
    }

    /// Draws the ghosts that take part anew, after `epoch` of `of` epochs. Answers whether the observer was told of other stages
    /// meanwhile.
    pub(super) fn refresh(&mut self, lesson: &mut Lesson<'_>, epoch: usize, of: usize) -> Result<bool, LearnError> {
        let learned = self.catch_up(lesson, epoch, of)?;
        let task = lesson.task;
        let seeds = self.seeds.child("training ghosts", task.number()).child("epoch", epoch);
        let by_class = self.ghosts_for_training(lesson, seeds)?;
        let planes = self.planes(lesson, &by_class)?;
        let told = learned || planes.is_some();
        lesson.ghosts.as_ref().expect("ghosts take part").renew(by_class, planes);
        Ok(told)
    }

    /// `g` learns the features of seen classes as they are after `epoch` of `of` epochs of the training. Answers whether it
    /// did: actual images of the future need no `g`.
    pub(super) fn catch_up(&mut self, lesson: &mut Lesson<'_>, epoch: usize, of: usize) -> Result<bool, LearnError> {
        self.prepare_generator()?;
        let task = lesson.task.number();
        if self.generator.is_none() {
            return Ok(false);
        }
        let bank = self.bank(lesson)?;
        let generator = self.generator.as_mut().expect("there is one");
        let observer = &mut *lesson.observer;
        observer.notice(&Event::StageStarted { stage: STAGE, steps: generator.epochs() });
        let seed = self.seeds.child(STAGE, task).number("generator", epoch);
        let mut mmd = 0.0;
        generator.fit(&bank, seed, &mut |_, loss| {
            mmd = loss;
            observer.notice(&Event::Step);
        });
        if !mmd.is_finite() {
            return Err(LearnError::NotFinite { term: "mmd".to_owned(), value: mmd, task, epoch, batch: 1 });
        }
        // One line for all its epochs: an epoch of the training is what a reader counts here.
        observer.notice(&Event::Epoch { task, stage: STAGE, epoch, of, lr: generator.rate(), terms: &[("mmd", mmd)] });
        Ok(true)
    }
}
