//! In place of archives where they are not built in (the feature `archives`): none can be opened.

use crate::error::DataError;
use std::collections::BTreeSet;
use std::path::Path;

/// No archive.
pub(crate) enum Archive {}

impl Archive {
    pub(crate) fn open(path: &Path) -> Result<Self, DataError> {
        Err(DataError::Malformed {
            path: path.to_owned(),
            line: None,
            expected: "a folder".to_owned(),
            found: "a file".to_owned(),
            hint: "archives are not built in: unpack it and name the folder, or build with the feature `archives`"
                .to_owned(),
        })
    }

    pub(crate) fn children(&self, _within: &str) -> Result<BTreeSet<&str>, DataError> {
        match *self {}
    }

    pub(crate) fn has(&self, _name: &str) -> bool {
        match *self {}
    }

    pub(crate) fn read(&self, _name: &str) -> Result<Vec<u8>, DataError> {
        match *self {}
    }
}
