//! What learns task by task.

pub mod ghost;
pub mod observer;

pub use ghost::{
    CalibrateSettings, CompleteSettings, FinetuneSettings, GhostLearner, GhostSettings, LearnSettings, ModelSettings,
    Oracle, Reduction, TrainSettings,
};
pub use observer::{Event, Observer, Silent};
