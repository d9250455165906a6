//! Follows a training on features that are there already: tells of it, keeps it, and checks that every loss is a number.

use super::lesson::Lesson;
use super::progress::Open;
use crate::engine::{Changing, Follow, Processes};
use crate::error::LearnError;
use crate::learner::Event;

/// Of which epochs it tells.
#[derive(Clone, Copy)]
pub(super) enum Tells {
    /// Of each.
    Each,
    /// One in fifty tells as much, where an epoch is short.
    OneInFifty,
    /// Of the last one, as of so many epochs of the main training of so many: they are what a reader counts there.
    Last { epoch: usize, of: usize },
}

/// A training that is followed.
pub(super) struct Following<'a, 'l> {
    pub(super) lesson: &'a mut Lesson<'l>,
    pub(super) processes: Processes,
    pub(super) stage: &'static str,
    pub(super) epochs: usize,
    pub(super) lr: f64,
    /// What the loss is called.
    pub(super) term: &'static str,
    /// Steps of an epoch.
    pub(super) steps: usize,
    pub(super) tells: Tells,
    pub(super) state: State,
}

/// How it goes.
#[derive(Default)]
pub(super) struct State {
    open: Option<Open>,
    /// What went wrong first.
    failed: Option<LearnError>,
}

impl Following<'_, '_> {
    /// How it went.
    pub(super) fn result(self) -> Result<(), LearnError> {
        self.state.failed.map_or(Ok(()), Err)
    }

    fn told(&mut self, done: usize, value: f64) -> Result<(), LearnError> {
        let (task, stage, lr) = (self.lesson.number(), self.stage, self.lr);
        if !value.is_finite() {
            let epoch = if let Tells::Last { epoch, .. } = self.tells { epoch } else { done };
            return Err(LearnError::NotFinite { term: self.term.to_owned(), value, task, epoch, batch: self.steps });
        }
        self.lesson.observer.on_event(&Event::Step);
        let last = done == self.epochs;
        let (tells, epoch, of) = match self.tells {
            Tells::Each => (true, done, self.epochs),
            Tells::OneInFifty => (last || done.is_multiple_of(50), done, self.epochs),
            Tells::Last { epoch, of } => (last, epoch, of),
        };
        if tells {
            self.lesson.tell(&Event::Epoch { task, stage, epoch, of, lr, terms: &[(self.term, value)] });
        }
        Ok(())
    }

    fn done(&mut self, done: usize, value: f64, changing: &Changing) -> Result<(), LearnError> {
        self.told(done, value)?;
        let open = self.state.open.as_ref().expect("it has begun");
        self.lesson.progress.epoch(open, done, changing, None)?;
        match self.processes.any(self.lesson.observer.stops())? {
            true => Err(self.lesson.progress.stop()),
            false => Ok(()),
        }
    }
}

impl Follow for Following<'_, '_> {
    fn begin(&mut self, changing: &Changing) -> usize {
        match self.lesson.begin(self.stage, self.epochs, changing) {
            Ok(open) => {
                if open.first < self.epochs {
                    self.lesson.start(self.stage, self.epochs - open.first);
                }
                self.state.open.insert(open).first
            }
            Err(error) => {
                self.state.failed = Some(error);
                self.epochs
            }
        }
    }

    fn epoch(&mut self, done: usize, loss: f64, changing: &Changing) -> bool {
        self.state.failed = self.done(done, loss, changing).err();
        self.state.failed.is_none()
    }
}
