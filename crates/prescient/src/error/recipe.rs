//! Recipes that cannot be followed.

use std::io;
use std::path::PathBuf;

/// What is said of a table that only another learner has.
pub(crate) const OF_ANOTHER: &str = "belongs to the learner";

/// A recipe that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// A recipe file that cannot be opened.
    #[error("`{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A recipe that is no TOML, or has a key or value that is not known.
    #[error("`{path}`: {reason}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The parser's words, with line and column.
        reason: String,
    },
    /// A key that is none, or a value that it does not take, with its line.
    #[error("`{path}`, line {line}: {reason}")]
    Key {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong, in words.
        reason: String,
    },
    /// The same in a recipe that was made in code.
    #[error("{reason}")]
    Fault {
        /// What is wrong, in words.
        reason: String,
    },
    /// A `--set` that cannot be read or does not fit.
    #[error("`--set {text}`: {reason}")]
    Override {
        /// As written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value that makes no sense.
    #[error("`{key}` is {found}; expected {expected}")]
    Value {
        /// The key, with its tables.
        key: String,
        /// What was found.
        found: String,
        /// What would do.
        expected: String,
    },
    /// A recipe of ours that does not exist.
    #[error("`{name}` is neither a file nor one of the built-in recipes")]
    Unknown {
        /// As written.
        name: String,
    },
}

impl RecipeError {
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { .. } | Self::Unknown { .. } => "`prescient list` names the recipes that come along".into(),
            Self::Syntax { .. } | Self::Key { .. } | Self::Fault { .. } | Self::Value { .. } => {
                "`prescient list --keys` shows every key, what it takes and its default".into()
            }
            Self::Override { reason, .. } if reason.contains(OF_ANOTHER) => {
                "the learner of this recipe does not have that key: leave it out; `prescient list --keys` shows every key, what \
                 it takes and its default"
                    .into()
            }
            Self::Override { .. } => {
                "write it as `--set train.epochs=3`; `prescient list --keys` shows every key and its default".into()
            }
        })
    }
}
