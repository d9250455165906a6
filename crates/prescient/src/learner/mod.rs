//! What learns task by task.
//!
//! A [`Learner`] is taught one task after the other and hands out a [`Predictor`] after each. Everything above it
//! (experiments, reports, audits, the command) knows the trait alone.

mod evaluate;
pub mod ghost;
mod observer;
mod scatter;

pub use evaluate::Evaluator;
pub use ghost::{
    CalibrateSettings, CompleteSettings, FinetuneSettings, GhostLearner, GhostSettings, LearnSettings, ModelSettings,
    Oracle, Reduction, TrainSettings,
};
pub use observer::{Event, Observer, Silent};

use crate::error::{LearnError, RunError};
use crate::evaluation::Likeness;
use crate::memory::Memory;
use crate::predictor::Predictor;
use crate::protocol::TaskData;
use crate::scenario::Task;
use std::path::Path;

/// What learns task by task.
pub trait Learner {
    /// Learns one task from what it may read; comes back with what answers afterwards.
    fn learn(&mut self, data: &TaskData, observer: &mut dyn Observer) -> Result<Predictor, LearnError>;

    /// The images that it keeps of the past: the next task may read them.
    fn memory(&self) -> &Memory;

    /// Compares what it imagines of each class after `task` with test images. None where it imagines nothing.
    fn inspect(&self, task: Task<'_>) -> Result<Option<Vec<Likeness>>, LearnError>;

    /// Writes all that the next task needs into `folder`.
    fn save(&self, folder: &Path) -> Result<(), RunError>;

    /// Takes over what [`Learner::save`] wrote after task `finished`.
    fn load(&mut self, folder: &Path, finished: usize) -> Result<(), RunError>;
}
