//! Which columns of class information come from which source.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a source says of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockKind {
    /// Numbers that somebody gave: attributes, word vectors.
    Attributes,
    /// A description in words, embedded.
    Text,
    /// The name of the class, embedded.
    Names,
}

/// The columns of one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// What the source is called: the name of its file, or `names`.
    pub name: String,
    /// What it says.
    pub kind: BlockKind,
    /// Which columns of a class's row.
    pub columns: Range<usize>,
    /// A hash of the words and of the weights that embedded them. It stands for the numbers in a fingerprint: another
    /// processor may round them differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Block {
    /// Numbers that somebody gave.
    pub(super) fn of_attributes(name: &str, columns: Range<usize>) -> Self {
        Self { name: name.to_owned(), kind: BlockKind::Attributes, columns, digest: None }
    }

    /// The same, so many columns further on.
    pub(super) fn moved(&self, by: usize) -> Self {
        Self { columns: self.columns.start + by..self.columns.end + by, ..self.clone() }
    }

    /// Whether its numbers were computed from words.
    pub fn is_words(&self) -> bool {
        self.kind != BlockKind::Attributes
    }
}
