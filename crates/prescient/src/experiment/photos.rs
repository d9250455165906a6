//! The photos that a run began with, by digests of their files: also those that no task has read yet, and those that no later task
//! will read again.
//!
//! The check before the first step computes them, for it reads every file anyhow. A run without that check has none, nor has one
//! whose images lie together in one file; then only exemplars and test images are compared when it goes on.

use crate::disk;
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

    /// The file's text.
    pub(super) fn to_json(&self) -> String {
        disk::signed(self)
    }

    /// Reads the file's text; `path` is named in errors.
    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, RunError> {
        // There never was one without a digest.
        let signed = |opened: &String| opened.len() < text.len();
        let opened =
            disk::opened(text).and_then(|opened| Some(opened).filter(signed).ok_or("it has no digest".to_owned()));
        let read = opened.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
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
        assert_eq!(error, "2 photos of this run have changed since it began: `bee/1.jpg` and others");
    }

    #[test]
    fn the_file_is_read_as_it_was_written_and_not_otherwise() {
        let (digests, path) = (digests(&[("ant/1.jpg", "a")]), Path::new("photos.json"));
        let text = digests.to_json();
        assert_eq!(PhotoDigests::parse(&text, path).expect("as written"), digests);
        for changed in [text.replace("ant", "bee"), "{\"photos\": {}}\n".to_owned(), String::new()] {
            assert!(PhotoDigests::parse(&changed, path).is_err(), "{changed}");
        }
    }
}
