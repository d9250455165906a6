//! Ghosts drawn anew while a task trains: `f` moves on, and so does what it would make of the future.

use super::{Learner, Lesson};
use crate::error::LearnError;
use tch::{Tensor, no_grad};

impl Learner {
    /// Whether the ghosts of a training are drawn anew before `epoch`, counted from 0.
    pub(super) fn refreshes(&self, lesson: &Lesson<'_>, epoch: usize) -> bool {
        let every = self.settings.ghosts.refresh;
        lesson.ghosts.is_some() && every > 0 && epoch > 0 && epoch.is_multiple_of(every)
    }

    /// Draws them anew, and lays planes anew: into the place of the old ones, for a recorded step reads that. Answers whether
    /// the observer was told of other stages meanwhile.
    pub(super) fn refresh(&mut self, lesson: &mut Lesson<'_>, epoch: usize) -> Result<bool, LearnError> {
        let learned = self.catch_up(lesson, epoch)?;
        let task = lesson.task;
        let seeds = self.seeds.child("training ghosts", task.number()).child("epoch", epoch);
        let by_class = self.ghosts_of(lesson, task.future(), seeds)?;
        let planes = match lesson.ghosts.as_ref().is_some_and(|ghosts| ghosts.planes.is_some()) {
            true => Some(self.planes(lesson, &by_class)?),
            false => None,
        };
        let told = learned || planes.is_some();
        if let Some(ghosts) = &lesson.ghosts {
            if let Some((old, new)) = ghosts.planes.as_ref().zip(planes) {
                old.move_to(&new);
            }
            let features = Tensor::cat(&by_class.into_values().collect::<Vec<_>>(), 0);
            no_grad(|| ghosts.features.shallow_clone().copy_(&features));
        }
        Ok(told)
    }

    /// `g` learns the features of seen classes as they are now, before the end of the task. Answers whether it did: actual
    /// images of the future need no `g`.
    pub(super) fn catch_up(&mut self, lesson: &mut Lesson<'_>, epoch: usize) -> Result<bool, LearnError> {
        if !self.settings.ghosts.generator.needs_attributes() {
            return Ok(false);
        }
        let seed = self.seeds.child("refresh", lesson.task.number()).number("generator", epoch);
        let bank = self.bank(lesson)?;
        self.fit_generator(lesson, &bank, seed, "refresh")?;
        Ok(true)
    }
}
