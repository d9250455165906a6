//! A zip archive that many threads read at once.
//!
//! What is in it is read once. Each read then has a place of its own in the one open file, so none waits for another
//! and the archive never has to fit in memory. Nothing is written to disk: a name such as `../../x` can do no harm.

use super::tree;
use crate::disk;
use crate::error::DataError;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zip::ZipArchive;
use zip::result::ZipError;

/// An open zip archive.
pub(crate) struct Archive {
    path: PathBuf,
    zip: ZipArchive<Reader>,
    /// Where each name stands in the archive; folders end in `/`.
    names: BTreeMap<String, usize>,
}

impl Archive {
    /// Reads what is in an archive, but no file of it.
    pub(crate) fn open(path: &Path) -> Result<Self, DataError> {
        let (file, length) = disk::open(path).map_err(DataError::io(path))?;
        let reader = Reader { file: Arc::new(file), length, position: 0 };
        let damaged = |error: ZipError| DataError::Malformed {
            path: path.to_owned(),
            line: None,
            expected: "a zip archive".to_owned(),
            found: format!("one that cannot be read: {error}"),
            hint: "the archive may be cut short or of another kind: fetch it again, or unpack it and name the folder"
                .into(),
        };
        let zip = ZipArchive::new(reader).map_err(damaged)?;
        let mut names = BTreeMap::new();
        for index in 0..zip.len() {
            let name = zip.name_for_index(index).expect("an index below the length").map_err(damaged)?;
            // Some archives made on Windows have backslashes.
            names.insert(name.replace('\\', "/"), index);
        }
        Ok(Self { path: path.to_owned(), zip, names })
    }

    /// The names in order; folders, where the archive lists them, end in `/`.
    #[cfg(test)]
    fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// What lies in the folder `within` (`""` is the top), whole names; folders end in `/`, listed or not.
    pub(crate) fn children(&self, within: &str) -> Result<BTreeSet<&str>, DataError> {
        match within.is_empty() || tree::has(&self.names, within) {
            true => Ok(tree::children(&self.names, within)),
            false => Err(self.missing(within)),
        }
    }

    /// Whether there is a file or, if `name` ends in `/`, a folder of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        tree::has(&self.names, name)
    }

    fn missing(&self, name: &str) -> DataError {
        DataError::Io { path: self.path.join(name), source: io::ErrorKind::NotFound.into() }
    }

    /// The bytes of one file, checked against the archive's checksum.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, DataError> {
        let damaged = |error: ZipError| DataError::Malformed {
            path: self.path.join(name),
            line: None,
            expected: "a file that unpacks".to_owned(),
            found: format!("one that does not: {error}"),
            hint: "the archive may be damaged or encrypted: fetch it again, or unpack it and name the folder"
                .to_owned(),
        };
        // A copy shares all but the place at which it reads.
        let mut zip = self.zip.clone();
        let index = *self.names.get(name).ok_or_else(|| self.missing(name))?;
        let mut file = zip.by_index(index).map_err(damaged)?;
        // The archive's word on the size is not to be trusted with memory.
        let mut bytes = Vec::with_capacity(file.size().min(1 << 24) as usize);
        let most = disk::unpacked(file.compressed_size(), disk::IMAGE);
        file.by_ref().take(most + 1).read_to_end(&mut bytes).map_err(|error| damaged(ZipError::Io(error)))?;
        match bytes.len() as u64 > most {
            true => Err(DataError::Malformed {
                path: self.path.join(name),
                line: None,
                expected: format!("a file that unpacks to at most {} MiB", most >> 20),
                found: "a larger one".to_owned(),
                hint: "no image shrinks to so little: is the archive what it should be? if so, unpack it and name the folder".to_owned(),
            }),
            false => Ok(bytes),
        }
    }
}

/// A place in a file that is shared with others.
#[derive(Clone)]
struct Reader {
    file: Arc<File>,
    length: u64,
    position: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.length.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;
    use std::io::Write;
    use zip::CompressionMethod;
    use zip::write::{SimpleFileOptions, ZipWriter};

    /// An archive of these files; every other one is packed, the rest stored.
    fn archive(files: &[(&str, &[u8])]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.zip");
        let mut writer = ZipWriter::new(File::create(&path).expect("a file"));
        for (index, (name, bytes)) in files.iter().enumerate() {
            let method = [CompressionMethod::Stored, CompressionMethod::Deflated][index % 2];
            let options = SimpleFileOptions::default().compression_method(method);
            writer.start_file(*name, options).expect("a name");
            writer.write_all(bytes).expect("a file");
        }
        writer.finish().expect("an archive");
        (folder, path)
    }

    #[test]
    fn stored_and_packed_files_read_alike() {
        let (_folder, path) = archive(&[("b", b"stored"), ("a", &[7; 5000]), ("empty", b"")]);
        let archive = Archive::open(&path).expect("an archive");
        assert_eq!(archive.names().collect::<Vec<_>>(), ["a", "b", "empty"]);
        assert_eq!(archive.read("b").expect("b"), b"stored");
        assert_eq!(archive.read("a").expect("a"), [7; 5000]);
        assert_eq!(archive.read("empty").expect("empty"), b"");
    }

    #[test]
    fn threads_read_at_once() {
        let contents: Vec<(String, Vec<u8>)> = (0..40u8).map(|i| (format!("{i}"), vec![i; 3000])).collect();
        let files: Vec<(&str, &[u8])> = contents.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
        let (_folder, path) = archive(&files);
        let archive = Archive::open(&path).expect("an archive");
        (0..2000).into_par_iter().for_each(|round| {
            let (name, bytes) = &contents[round * 7 % 40];
            assert_eq!(archive.read(name).expect("a file"), *bytes);
        });
    }

    /// 300 MiB of zeros in 300 KiB: what is too much is refused, and little more than the cap was ever held.
    #[test]
    fn a_file_that_unpacks_to_too_much_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("bomb.zip");
        let mut writer = ZipWriter::new(File::create(&path).expect("a file"));
        writer.start_file("cat/1.jpg", SimpleFileOptions::default()).expect("a name");
        let zeros = vec![0; 1 << 20];
        (0..300).for_each(|_| writer.write_all(&zeros).expect("zeros"));
        writer.finish().expect("an archive");
        let error = Archive::open(&path).expect("an archive").read("cat/1.jpg").expect_err("too much").to_string();
        assert!(error.ends_with("expected a file that unpacks to at most 16 MiB, found a larger one"), "{error}");
    }

    #[test]
    fn a_name_that_points_outside_is_only_a_name() {
        let (_folder, path) = archive(&[("../../out", b"x"), ("/absolute", b"y"), ("a\\b", b"z")]);
        let archive = Archive::open(&path).expect("an archive");
        assert_eq!(archive.read("../../out").expect("it"), b"x");
        assert!(archive.names().any(|name| name == "a/b"));
    }

    #[test]
    fn a_cut_archive_is_told() {
        let (_folder, path) = archive(&[("a", &[7; 5000])]);
        let bytes = std::fs::read(&path).expect("bytes");
        for end in [0, 10, bytes.len() - 30] {
            std::fs::write(&path, &bytes[..end]).expect("a cut file");
            let text = Archive::open(&path).err().expect("a fault").to_string();
            assert!(text.contains("a.zip`: expected a zip archive, found one that cannot be read: "), "{text}");
        }
    }

    #[test]
    fn a_damaged_file_is_told_by_name() {
        let (_folder, path) = archive(&[("cat/1.jpg", b"stored bytes")]);
        let mut bytes = std::fs::read(&path).expect("bytes");
        let at = bytes.windows(6).position(|six| six == b"stored").expect("stored as it is");
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).expect("a damaged file");
        let text = Archive::open(&path).expect("an archive").read("cat/1.jpg").expect_err("damage").to_string();
        assert!(text.contains("a.zip/cat/1.jpg`: expected a file that unpacks, found one that does not: "), "{text}");
    }

    /// Whatever the bytes are: an answer, no panic.
    #[test]
    fn damage_anywhere_is_no_crash() {
        let (_folder, path) = archive(&[("a", &[7; 50]), ("b", &[8; 500])]);
        let whole = std::fs::read(&path).expect("bytes");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            std::fs::write(&path, bytes).expect("a damaged file");
            if let Ok(archive) = Archive::open(&path) {
                for name in archive.names() {
                    drop(archive.read(name));
                }
            }
        }
    }
}
