//! `images.jsonl`: each image that a task learned from, kept and was tested on, a line each; and its line in the record.
//!
//! The record has the digest of the file. So the record stays small, and the file cannot change without being noticed.

use crate::disk::digest;
use crate::error::RunError;
use crate::experiment::record::Images;
use crate::protocol::{Reading, Usage};
use std::path::Path;

/// The file's text.
pub(super) fn to_jsonl(images: &[Reading]) -> String {
    images.iter().map(|image| serde_json::to_string(image).expect("plain data") + "\n").collect()
}

/// The line of the record that goes with the file's text.
pub(super) fn summary(task: usize, stages: &[&str], images: &[Reading], text: &str) -> Images {
    Images {
        task,
        learned: count(images, Usage::Learn),
        kept: count(images, Usage::Keep),
        tested: count(images, Usage::Test),
        stages: stages.iter().map(|stage| (*stage).to_owned()).collect(),
        digest: digest(text.as_bytes()),
    }
}

/// How many images were used so.
pub fn count(images: &[Reading], usage: Usage) -> usize {
    images.iter().filter(|image| image.usage == usage).count()
}

/// Reads the file's text; `path` is named in errors.
pub fn parse(text: &str, path: &Path) -> Result<Vec<Reading>, RunError> {
    let line = |(index, text): (usize, &str)| {
        serde_json::from_str(text).map_err(|error| RunError::Damaged {
            path: path.to_owned(),
            line: Some(index + 1),
            reason: error.to_string(),
        })
    };
    text.lines().enumerate().map(line).collect()
}
