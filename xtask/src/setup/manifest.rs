//! The list of what was unpacked, with sizes: a file cut short or gone is noticed before a linker or loader trips over it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::error::Error;

/// The name of the list inside a libtorch folder that set-up made.
const NAME: &str = "prescient-manifest";

/// Each file, as a path from the libtorch folder with forward slashes, and its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest(BTreeMap<String, u64>);

impl Manifest {
    /// What lies in these parts of `folder` now.
    pub(super) fn of(folder: &Path, parts: &[&str]) -> Result<Self, Error> {
        let mut manifest = Self::default();
        for part in parts {
            manifest.add(folder, part)?;
        }
        Ok(manifest)
    }

    fn add(&mut self, folder: &Path, part: &str) -> Result<(), Error> {
        let path = folder.join(part);
        for entry in fs::read_dir(&path).map_err(Error::io("read", &path))? {
            let entry = entry.map_err(Error::io("read", &path))?;
            let name = format!("{part}/{}", entry.file_name().to_string_lossy());
            let metadata = fs::metadata(entry.path()).map_err(Error::io("read", &entry.path()))?;
            if metadata.is_dir() {
                self.add(folder, &name)?;
            } else {
                self.0.insert(name, metadata.len());
            }
        }
        Ok(())
    }

    /// The list that `folder` carries; a libtorch from elsewhere has none.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join(NAME)).ok()?;
        let files = text.lines().filter_map(|line| {
            let (size, name) = line.split_once(' ')?;
            Some((name.to_owned(), size.parse().ok()?))
        });
        Some(Self(files.collect()))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(NAME);
        let text: String = self.0.iter().map(|(name, size)| format!("{size} {name}\n")).collect();
        fs::write(&path, text).map_err(Error::io("write", &path))
    }

    /// The first file that is not as listed.
    pub(super) fn fault(&self, folder: &Path) -> Option<String> {
        if self.0.is_empty() {
            return Some(format!("`{NAME}` is empty"));
        }
        self.0.iter().find_map(|(name, expected)| match fs::metadata(folder.join(name)) {
            Err(_) => Some(format!("`{name}` is missing")),
            Ok(file) if file.len() != *expected => {
                Some(format!("`{name}`: expected {expected} bytes, found {}", file.len()))
            }
            Ok(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written_and_finds_what_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::create_dir_all(folder.join("lib/deep")).expect("a folder");
        fs::write(folder.join("lib/a b.so"), "1234").expect("a file");
        fs::write(folder.join("lib/deep/c.h"), "12").expect("a file");

        let manifest = Manifest::of(folder, &["lib"]).expect("a list");
        manifest.write(folder).expect("written");
        assert_eq!(Manifest::read(folder).expect("read"), manifest);
        assert_eq!(manifest.0.len(), 2);
        assert_eq!(manifest.fault(folder), None);

        fs::write(folder.join("lib/a b.so"), "12").expect("a file");
        assert_eq!(manifest.fault(folder).expect("a fault"), "`lib/a b.so`: expected 4 bytes, found 2");
        fs::remove_file(folder.join("lib/a b.so")).expect("removed");
        assert_eq!(manifest.fault(folder).expect("a fault"), "`lib/a b.so` is missing");
    }

    #[test]
    fn an_empty_list_vouches_for_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(Manifest::default().fault(folder.path()).is_some());
    }
}
