//! Classes that cannot be dealt out to tasks.

use std::io;
use std::path::PathBuf;

/// A scenario that cannot be dealt out.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A split that cannot be read.
    #[error("the split `{text}` cannot be read: {reason}")]
    Split {
        /// As written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A split for another number of classes.
    #[error("the split `{split}` deals out {sum} classes, but the dataset has {classes}")]
    SplitSum {
        /// As written.
        split: String,
        /// What it adds up to.
        sum: usize,
        /// What it should.
        classes: usize,
        /// How many more are described and have no photos.
        described: usize,
    },
    /// An order that cannot be read.
    #[error("the order `{text}` cannot be read: expected {expected}")]
    Order {
        /// As written.
        text: String,
        /// What can be read.
        expected: &'static str,
    },
    /// An order that the dataset does not know.
    #[error("the dataset has no order called `{order}`")]
    OrderUnknown {
        /// Its name.
        order: &'static str,
    },
    /// An order file that cannot be opened.
    #[error("`{path}`: {source}")]
    OrderFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A line of an order file that is wrong.
    #[error("`{path}`, line {line}: {reason}")]
    OrderLine {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// An order file that leaves classes out.
    #[error("`{path}`: expected {expected} classes, found {found}; `{missing}` is missing")]
    OrderIncomplete {
        /// The file.
        path: PathBuf,
        /// The dataset's number of classes.
        expected: usize,
        /// The file's.
        found: usize,
        /// One class that is left out.
        missing: String,
    },
}

impl ScenarioError {
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Split { .. } => "`25+5x5` is 25 classes, then 5 tasks of 5; `6+2+2` is three tasks".into(),
            Self::SplitSum { classes, described, .. } => {
                let (first, second) = (classes - classes / 2, (classes / 2).max(1));
                let more = match *described {
                    0 => String::new(),
                    _ => format!("; {described} described without photos do not count: no task brings them"),
                };
                format!("the parts of a split must add up to {classes}, for example `{first}+{second}`{more}")
            }
            Self::OrderUnknown { .. } => {
                "only `awa2` and `apy` know `standard` and `proposed`; `order = \"file order.txt\"` names any order"
                    .into()
            }
            Self::Order { .. } => "`order = \"file order.txt\"` reads an order from a file, one class a line".into(),
            Self::OrderFile { .. } | Self::OrderLine { .. } | Self::OrderIncomplete { .. } => {
                "an order file has the name of every class of the dataset once, one a line".into()
            }
        })
    }
}
