//! The last line of a task in the record: the digest of each file that the task left behind, and of all that the record says
//! up to there. So neither a file nor a line can change without being noticed.

use crate::disk::digest;
use crate::error::RunError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The digests of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digests {
    /// From 1.
    pub task: usize,
    /// The BLAKE3 digest of each file in the task's folder, but for its record and its times.
    pub files: BTreeMap<String, String>,
    /// The digest of every line before this one and of the digests above.
    pub record: String,
}

impl Digests {
    /// Of a task with these files, where `before` is the text of the record up to here.
    pub fn new(task: usize, files: BTreeMap<String, String>, before: &str) -> Self {
        let listed = serde_json::to_string(&(task, &files)).expect("plain data");
        let record = digest(format!("{before}{listed}").as_bytes());
        Self { task, files, record }
    }

    /// Whether the record still has the text `before` in front of it.
    pub(super) fn fits(&self, before: &str) -> bool {
        *self == Self::new(self.task, self.files.clone(), before)
    }

    /// Whether the file at `path` is the one that was written; `bytes` are what is there now.
    pub fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), RunError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match self.files.get(name.as_ref()) {
            Some(expected) if *expected != digest(bytes) => Err(RunError::Changed { path: path.to_owned() }),
            _ => Ok(()),
        }
    }
}
