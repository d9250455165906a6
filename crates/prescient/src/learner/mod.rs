//! What learns task by task.

pub mod ghost;
pub mod observer;

pub use ghost::{
    CalibrateSettings, CompleteSettings, FinetuneSettings, GhostLearner, GhostSettings, LearnSettings, TrainSettings,
};
pub use observer::{Event, Observer, Silent};

use crate::classifier::Similarity;
use crate::extractor::Backbone;
use serde::{Deserialize, Serialize};

/// What the model is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// `f`.
    pub backbone: Backbone,
    /// How features and proxies are compared.
    pub similarity: Similarity,
    /// Whether the scale `η` learns; `false` is the paper's Eq. 1 to the letter.
    pub learned_scale: bool,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self { backbone: Backbone::default(), similarity: Similarity::default(), learned_scale: true }
    }
}
