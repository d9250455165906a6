//! Tables that cannot be reproduced in full.

use std::path::PathBuf;

/// A table that cannot be reproduced in full.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// A folder that has a run in it, and not the one asked for.
    #[error("`{path}` holds a run of another recipe: {differences}")]
    OtherRun {
        /// The folder.
        path: PathBuf,
        /// The keys that differ.
        differences: String,
    },
    /// Somebody works in the folder already.
    #[error("another `prescient reproduce` is at work in `{path}`")]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// A run that ended in an error.
    #[error("{message}")]
    Run {
        /// What it said.
        message: String,
    },
    /// Rows that failed.
    #[error("{failed} of {of} runs failed{}", data(missing))]
    Failed {
        /// How many failed.
        failed: usize,
        /// How many the tables have.
        of: usize,
        /// Datasets that are not there.
        missing: Vec<String>,
    },
    /// Rows that nobody has run yet, where nothing was to be run.
    #[error("{left} of {of} runs are not there yet")]
    NotRun {
        /// How many are not finished.
        left: usize,
        /// How many the tables have.
        of: usize,
    },
    /// Rows whose data is not there; nothing else is wrong.
    #[error("the tables are not complete{}", data(missing))]
    NoData {
        /// The datasets.
        missing: Vec<String>,
    },
}

fn data(missing: &[String]) -> String {
    match missing {
        [] => String::new(),
        missing => format!(": there is no data for {}", missing.join(", ")),
    }
}

impl ReproduceError {
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::OtherRun { .. } => {
                "a folder holds runs of one setting: choose another with `--out`, or take that run away".into()
            }
            Self::Busy { .. } => "wait for it, or choose another folder with `--out`".into(),
            Self::Run { .. } => return None,
            Self::Failed { .. } => {
                "each is named above; mend the cause and give the same command again: finished runs are kept".into()
            }
            Self::NotRun { .. } => "the same command without `--no-run` runs them".into(),
            Self::NoData { .. } => {
                "fetch it as said above and give the same command again, or use what is at hand: `--dataset animals50`"
                    .into()
            }
        })
    }
}
