//! The photos that a run began with, by digests of their files: also those that no task has read yet, and those that no later task
//! will read again.
//!
//! The check before the first step computes them, for it reads every file anyhow. A run without that check has none, nor has one
//! whose images lie together in one file; then only exemplars and test images are compared when it goes on.

use crate::error::RunError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The BLAKE3 digest of each photo's file, by the name that a dataset gives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhotoDigests {
    photos: BTreeMap<String, String>,
}

impl PhotoDigests {
    /// Of files with these digests.
    pub fn new(files: impl IntoIterator<Item = (String, blake3::Hash)>) -> Self {
        Self { photos: files.into_iter().map(|(name, digest)| (name, digest.to_hex().to_string())).collect() }
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.photos.is_empty()
    }

    /// Whether photos that are `now` there are those of the run.
    pub fn check(&self, now: &Self) -> Result<(), RunError> {
        let mut changed = self.photos.iter().filter(|(name, digest)| now.photos.get(*name) != Some(digest));
        match changed.next() {
            None => Ok(()),
            Some((first, _)) => Err(RunError::OtherPhotos { first: first.clone(), count: 1 + changed.count() }),
        }
    }

    /// The file's text. The record has its digest.
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }

    /// Reads the file's text; `path` is named in errors.
    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, RunError> {
        let read = serde_json::from_str(text).map_err(|error| error.to_string());
        read.map_err(|reason| RunError::Damaged { path: path.to_owned(), line: None, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(photos: &[(&str, &str)]) -> PhotoDigests {
        PhotoDigests::new(photos.iter().map(|(name, bytes)| ((*name).to_owned(), blake3::hash(bytes.as_bytes()))))
    }

    #[test]
    fn changed_and_missing_photos_are_named_and_new_ones_are_not_asked_about() {
        let then = digests(&[("ant/1.jpg", "a"), ("bee/1.jpg", "b"), ("cat/1.jpg", "c")]);
        let says = |now: &[(&str, &str)]| then.check(&digests(now)).map_err(|error| error.to_string());
        assert_eq!(says(&[("ant/1.jpg", "a"), ("bee/1.jpg", "b"), ("cat/1.jpg", "c"), ("dog/1.jpg", "d")]), Ok(()));
        let error = says(&[("ant/1.jpg", "a"), ("bee/1.jpg", "changed")]).expect_err("one changed, one is gone");
        assert_eq!(error, "2 photos of this run have changed since it began, `bee/1.jpg` among them");
    }

    #[test]
    fn the_file_is_read_as_it_was_written() {
        let (digests, path) = (digests(&[("ant/1.jpg", "a")]), Path::new("photos.json"));
        assert_eq!(PhotoDigests::parse(&digests.to_json(), path).expect("as written"), digests);
        assert!(PhotoDigests::parse("", path).is_err());
    }
}
