//! What learns task by task.
//!
//! A [`Learner`] is taught one task after the other and hands out a [`Predictor`] after each. Everything above it
//! (experiments, reports, audits, the command) knows the trait alone.

pub mod closed_form;
mod evaluate;
pub(crate) mod frozen;
pub mod ghost;
mod likeness;
mod observer;
mod scatter;
mod split;

pub use closed_form::{ClosedFormLearner, ClosedFormSettings};
pub use evaluate::Evaluator;
pub use ghost::{
    CalibrateSettings, CompleteSettings, FinetuneSettings, GhostLearner, GhostSettings, LearnSettings, ModelSettings,
    Oracle, Reduction, TrainSettings,
};
pub use observer::{Event, Observer, Silent};
pub(crate) use split::share_readings;

use crate::error::{LearnError, RunError};
use crate::evaluation::Likeness;
use crate::memory::Memory;
use crate::predictor::Predictor;
use crate::protocol::TaskData;
use crate::scenario::Task;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// What learns task by task.
pub trait Learner {
    /// Learns one task from what it may read; comes back with what answers afterwards.
    fn learn(&mut self, data: &TaskData, observer: &mut dyn Observer) -> Result<Predictor, LearnError>;

    /// The images that it keeps of the past: the next task may read them.
    fn memory(&self) -> &Memory;

    /// Compares what it imagines of each class after `task` with test images. None where it imagines nothing.
    fn inspect(&self, task: Task<'_>) -> Result<Option<Vec<Likeness>>, LearnError>;

    /// The next task is to be kept in the file at `path` while it is half learned, at most so often; what the file has of it is
    /// taken up. A learner whose tasks are short keeps nothing.
    fn keep_in(&mut self, _path: &Path, _every: Duration) {}

    /// Writes all that the next task needs into `folder`.
    fn save(&self, folder: &Path) -> Result<(), RunError>;

    /// Takes over what [`Learner::save`] wrote after task `finished`.
    fn load(&mut self, folder: &Path, finished: usize) -> Result<(), RunError>;
}

/// Which learner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LearnerKind {
    /// The paper's model: the extractor is trained task by task.
    Ghost(Plain),
    /// Means and one covariance on a frozen extractor.
    ClosedForm(Plain),
}

/// A learner without settings of its own; a type, so that a typo is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plain {}

impl Default for LearnerKind {
    fn default() -> Self {
        Self::Ghost(Plain {})
    }
}

impl LearnerKind {
    /// Whether it is the closed form.
    pub fn is_closed_form(self) -> bool {
        matches!(self, Self::ClosedForm(_))
    }
}

/// What the offset between classes with photos and classes without is chosen for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Target {
    /// The accuracy over all classes that is to be expected.
    Accuracy,
    /// The harmonic mean of seen and unseen accuracy.
    Balance,
    /// The accuracy over unseen classes, while seen classes lose at most this share of their right answers.
    Price(f64),
    /// No offset.
    #[default]
    None,
}

impl Target {
    /// As a recipe names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::Balance => "balance",
            Self::Price(_) => "price",
            Self::None => "none",
        }
    }
}

/// The same as a recipe names it: `calibrate.target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetName {
    /// [`Target::Accuracy`].
    Accuracy,
    /// [`Target::Balance`].
    Balance,
    /// [`Target::Price`], of `calibrate.max_seen_drop`.
    Price,
    /// [`Target::None`].
    None,
}
