//! What happens while a model learns, told to whoever looks on. An observer looks; it cannot touch.

use crate::class::Slot;
use crate::evaluation::{Answers, Points, Promise, Scatter, Worth, Zone};
use crate::protocol::Reading;

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run begins, or goes on.
    Started {
        /// What it is about to do, in one line.
        summary: &'a str,
    },
    /// A task begins.
    TaskStarted {
        /// From 1.
        task: usize,
        /// `T`.
        of: usize,
    },
    /// A stage of it begins, or goes on where another has come between.
    StageStarted {
        /// The stage's name.
        stage: &'static str,
        /// How often [`Event::Step`] will follow before it is over.
        steps: usize,
    },
    /// A step is done.
    Step,
    /// An epoch is done.
    Epoch {
        /// The task, from 1.
        task: usize,
        /// The stage's name.
        stage: &'static str,
        /// From 1.
        epoch: usize,
        /// The stage's number of epochs.
        of: usize,
        /// The learning rate it ran at.
        lr: f64,
        /// The mean of each term of the loss over its batches.
        terms: &'a [(&'static str, f64)],
    },
    /// Exemplars were chosen.
    Remembered {
        /// The task, from 1.
        task: usize,
        /// The images kept of each class, by name.
        exemplars: &'a [(Slot, Vec<String>)],
    },
    /// Some ghosts, to be drawn.
    Imagined {
        /// The task, from 1.
        task: usize,
        /// Ghosts of seen and future classes.
        ghosts: &'a Points,
        /// Where future classes are expected, in a plane.
        zones: &'a [Zone],
    },
    /// The closed form was fitted.
    Fitted {
        /// What class information is worth.
        worth: &'a Worth,
    },
    /// The Ghost model chose an offset.
    Calibrated {
        /// What it promises.
        promise: &'a Promise,
    },
    /// All test images were answered.
    Evaluated {
        /// The task, from 1.
        task: usize,
        /// The answers.
        answers: &'a Answers,
    },
    /// Some features were kept, to be drawn.
    Scattered {
        /// The task, from 1.
        task: usize,
        /// The features.
        scatter: &'a Scatter,
    },
    /// The task is over, and these images were read for it.
    Read {
        /// The task, from 1.
        task: usize,
        /// Its stages, in order.
        stages: &'a [&'static str],
        /// The images, by use, slot and name.
        images: &'a [Reading],
    },
}

/// Looks on.
pub trait Observer {
    /// Takes notice.
    fn on_event(&mut self, event: &Event<'_>);

    /// Whether the run is to stop at the next chance, to be gone on with later.
    fn stops(&self) -> bool {
        false
    }
}

/// Takes no notice.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn on_event(&mut self, _: &Event<'_>) {}
}

/// Several that look on, one after the other.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn on_event(&mut self, event: &Event<'_>) {
        self.0.on_event(event);
        self.1.on_event(event);
    }

    fn stops(&self) -> bool {
        self.0.stops() || self.1.stops()
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn on_event(&mut self, event: &Event<'_>) {
        (**self).on_event(event);
    }

    fn stops(&self) -> bool {
        (**self).stops()
    }
}

/// One that may not be there.
impl<O: Observer> Observer for Option<O> {
    fn on_event(&mut self, event: &Event<'_>) {
        if let Some(observer) = self {
            observer.on_event(event);
        }
    }

    fn stops(&self) -> bool {
        self.as_ref().is_some_and(Observer::stops)
    }
}
