//! A file as bytes in memory, mapped and not read: it takes no room of its own, and loads as fast as memory does.
//!
//! A crate of its own because mapping is `unsafe`, and the rest of the project is not.

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// A mapped file.
#[derive(Debug)]
pub struct Mapped(Mmap);

impl Mapped {
    /// Maps a file for reading.
    ///
    /// The file must not be changed in place while it is mapped. Write a new one and rename it, as `prescient data pack`
    /// does: whoever has the old one mapped keeps it.
    pub fn open(path: &Path) -> io::Result<Self> {
        // To open a pipe is to wait for who writes to it.
        if !path.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "expected a regular file, found another kind"));
        }
        let file = File::open(path)?;
        // SAFETY: the bytes are only read, and nobody of ours writes to a file once it has its name. A stranger who cuts the
        // file short under us can end the process, but cannot make it read what is not the file's.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self(map))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_reads_as_its_bytes() {
        let path = std::env::temp_dir().join(format!("mapped-{}", std::process::id()));
        for bytes in [&b"some bytes"[..], b""] {
            std::fs::write(&path, bytes).expect("a file");
            assert_eq!(&*Mapped::open(&path).expect("a map"), bytes);
        }
        std::fs::remove_file(&path).expect("our file");
        assert!(Mapped::open(&path).is_err());
        for other in ["/dev/zero", "/"] {
            assert_eq!(Mapped::open(Path::new(other)).expect_err("no file").kind(), io::ErrorKind::InvalidInput);
        }
    }
}
