//! One process at a time writes a run: the folder itself is locked, and the lock goes where the folder goes.

use crate::error::RunError;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Held until it is dropped, or until the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    _folder: File,
}

impl Lock {
    /// Locks `folder`, which is called `path` in errors.
    pub(super) fn take(folder: &Path, path: &Path) -> Result<Self, RunError> {
        let handle = File::open(folder).map_err(RunError::io(folder))?;
        let locked = || RunError::Locked { path: path.to_owned() };
        match handle.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(locked()),
            // Some network file systems have no locks: better without one than not at all.
            Err(TryLockError::Error(_)) | Ok(()) => {}
        }
        // Who held it may have given the folder its name between our opening and our locking it.
        let place = |about: fs::Metadata| (about.dev(), about.ino());
        let ours = handle.metadata().map(place).map_err(RunError::io(folder))?;
        match fs::metadata(folder).map(place) {
            Ok(there) if there == ours => Ok(Self { _folder: handle }),
            _ => Err(locked()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_locked_once_and_stays_so_when_it_is_renamed() {
        let parent = tempfile::tempdir().expect("a folder");
        let [before, after] = ["before", "after"].map(|name| parent.path().join(name));
        fs::create_dir(&before).expect("a folder");
        let lock = Lock::take(&before, &before).expect("nobody has it");
        let refused = || Lock::take(&after, &after).expect_err("somebody has it").to_string();
        fs::rename(&before, &after).expect("another name");
        assert_eq!(refused(), format!("another process is writing `{}`", after.display()));
        drop(lock);
        Lock::take(&after, &after).expect("it was given back");
    }
}
