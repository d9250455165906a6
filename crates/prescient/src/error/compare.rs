//! Runs that cannot be compared.

use std::path::PathBuf;

/// Runs that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A run with tasks still to come.
    #[error("`{run}` is not finished: {done} of {of} tasks")]
    NotFinished {
        /// The run.
        run: String,
        /// Tasks that are finished.
        done: usize,
        /// All tasks.
        of: usize,
    },
    /// Runs that answered for different images.
    #[error("`{one}` and `{other}` were tested on different data")]
    OtherData {
        /// A run.
        one: String,
        /// Another.
        other: String,
    },
    /// Two runs of one recipe and one seed.
    #[error("`{one}` and `{other}` are runs of the same recipe with the same seed, {seed}")]
    SameSeed {
        /// A run.
        one: String,
        /// Another.
        other: String,
        /// Their seed.
        seed: u32,
    },
    /// Runs that differ in their seeds alone.
    #[error("all runs are of one recipe, `{name}`: there is nothing to compare it with")]
    OneRecipe {
        /// What it is called.
        name: String,
    },
    /// A baseline that is not among the runs.
    #[error("`{path}` is not among the runs to compare")]
    NoBaseline {
        /// As given.
        path: PathBuf,
    },
}

impl CompareError {
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFinished { .. } => "go on with it first: `prescient run --resume RUN`".into(),
            Self::OtherData { .. } => "compare runs on the same dataset, with the same photos on the test side".into(),
            Self::SameSeed { .. } => {
                "name one of them, not both: the same run twice would make chance look smaller".into()
            }
            Self::OneRecipe { .. } => "name runs of at least two recipes; `prescient report RUN…` shows one".into(),
            Self::NoBaseline { .. } => "name the baseline among the runs, too".into(),
        })
    }
}
