//! An audit that fails, or cannot be held.

use std::path::PathBuf;

/// An audit that fails, or cannot be held.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// A run that broke a rule.
    #[error("the audit of `{path}` fails: {failed} of {of} checks do not hold")]
    Fails {
        /// The run.
        path: PathBuf,
        /// How many checks do not hold.
        failed: usize,
        /// How many there are.
        of: usize,
    },
    /// A split whose sides share images.
    #[error("the split `{path}` leaks: {shared} of {test} test images are, or look like, training images")]
    Leaks {
        /// The list.
        path: PathBuf,
        /// Test images that are on the other side as well.
        shared: usize,
        /// All test images.
        test: usize,
    },
    /// A run that did not record which images it read.
    #[error("`{path}` cannot be audited: its record does not say which images it read")]
    NoImages {
        /// The run.
        path: PathBuf,
    },
}

impl AuditError {
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Fails { .. } => "each one is named above; a number from such a run is no result".to_owned(),
            Self::Leaks { .. } => {
                "what was learned from tests nothing: take it off one side, and measure anew".to_owned()
            }
            Self::NoImages { .. } => {
                "an early version of the program wrote it: run its recipe again; `prescient report` still shows it"
                    .to_owned()
            }
        })
    }
}
