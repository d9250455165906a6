//! Regular files, up to a size: a pipe would never end, a device neither.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// As large as a text may be that is read as a whole: a recipe, a table, a list.
const TEXT: u64 = 64 << 20;
/// As large as the file of an image may be.
pub const IMAGE: u64 = 256 << 20;
/// As large as a table of numbers may be.
pub(crate) const TABLE: u64 = 1 << 30;
/// As large as a file of a run may be: sums of many classes take gigabytes.
pub const RUN: u64 = 16 << 30;

/// What so many packed bytes may unpack to, and no more than `most`. Photos and numbers hardly shrink: what is a sixteenth of its
/// size and large is made to fill memory.
pub(crate) fn unpacked(packed: u64, most: u64) -> u64 {
    most.min((16 << 20).max(packed.saturating_mul(16)))
}

/// A regular file, to be read. Another one is not even opened: a pipe waits for who writes to it.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    let about = fs::metadata(path)?;
    if about.is_dir() {
        return Err(refused("expected a file, found a folder".to_owned()));
    }
    if !about.is_file() {
        return Err(refused("expected a regular file, found a pipe, a socket or a device".to_owned()));
    }
    Ok((File::open(path)?, about.len()))
}

/// A folder, to be locked or synced.
pub fn open_folder(path: &Path) -> io::Result<File> {
    match fs::metadata(path)?.is_dir() {
        true => File::open(path),
        false => Err(refused("expected a folder".to_owned())),
    }
}

/// The bytes of a regular file of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, length) = open(path)?;
    let too_large = || refused(format!("expected a file of at most {} MiB, found a larger one", most >> 20));
    if length > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(length as usize);
    // Some files say that they are empty and are not, those below `/proc` for one.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// The text of a regular file of at most 64 MiB.
pub fn read_text(path: &Path) -> io::Result<String> {
    text(read(path, TEXT)?)
}

/// The text of a file of a run: its answers may be many.
pub(crate) fn read_run_text(path: &Path) -> io::Result<String> {
    text(read(path, TABLE)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "expected UTF-8 text, found bytes that are not"))
}

fn refused(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kilobyte may become 16 MiB, 2 MiB 32, and nothing more than the cap.
    #[test]
    fn what_unpacks_to_much_more_is_refused() {
        assert_eq!([1 << 10, 2 << 20, 1 << 30].map(|packed| unpacked(packed, IMAGE) >> 20), [16, 32, 256]);
    }

    #[test]
    fn only_regular_files_up_to_the_cap_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        fs::write(&path, [7; 100]).expect("a file");
        assert_eq!(read(&path, 100).expect("it fits"), [7; 100]);
        let says = |path: &Path, most| read(path, most).expect_err("refused").to_string();
        assert_eq!(says(&path, 99), "expected a file of at most 0 MiB, found a larger one");
        assert_eq!(says(Path::new("/dev/zero"), 99), "expected a regular file, found a pipe, a socket or a device");
        assert_eq!(says(folder.path(), 99), "expected a file, found a folder");
        assert!(read(Path::new("/proc/self/status"), 1 << 20).is_ok_and(|bytes| !bytes.is_empty()));
        assert!(says(Path::new("/proc/self/status"), 10).contains("a larger one"));
    }
}
