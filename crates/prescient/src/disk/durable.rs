//! Files that outlast a power cut: a rename is atomic, but only what was synced before it is sure to be behind the name.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Puts `bytes` at `path`: either all of them or what was there before.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let made = path.with_file_name(format!("{}.tmp", path.file_name().unwrap_or_default().to_string_lossy()));
    fs::write(&made, bytes)?;
    sync(&made)?;
    fs::rename(&made, path)?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// All files below a folder, and the folders themselves.
pub(crate) fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { sync_tree(&path)? } else { sync(&path)? }
    }
    sync_folder(folder)
}

/// The names in a folder.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match sync(folder) {
        // Some file systems cannot, and say so.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    #[cfg(test)]
    tests::SYNCED.with_borrow_mut(|synced| synced.push(path.to_owned()));
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::path::PathBuf;

    thread_local! {
        /// What was synced by this thread, in order.
        pub(crate) static SYNCED: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_synced_under_its_temporary_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        fs::write(&path, "before").expect("a file");
        SYNCED.with_borrow_mut(Vec::clear);
        replace(&path, b"after").expect("it can be written");
        assert_eq!(fs::read(&path).expect("a file"), b"after");
        let synced = SYNCED.with_borrow(Clone::clone);
        assert_eq!(synced, [folder.path().join("a.tmp"), folder.path().to_owned()]);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left");
    }
}
