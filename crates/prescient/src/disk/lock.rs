//! One process at a time writes a folder: the folder itself is locked, and the lock goes where the folder goes.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a folder is tried that another process has.
const AGAIN: Duration = Duration::from_millis(50);

/// Held until it is dropped, or until the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _folder: File,
}

impl Lock {
    /// Locks `folder`. None where another process has it.
    pub(crate) fn take(folder: &Path) -> io::Result<Option<Self>> {
        let handle = super::open_folder(folder)?;
        match handle.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Some network file systems have no locks: better without one than not at all.
            Err(TryLockError::Error(_)) | Ok(()) => {}
        }
        // Who held it may have given the folder its name between our opening and our locking it.
        let place = |about: fs::Metadata| (about.dev(), about.ino());
        let ours = handle.metadata().map(place)?;
        Ok(match fs::metadata(folder).map(place) {
            Ok(there) if there == ours => Some(Self { _folder: handle }),
            _ => None,
        })
    }

    /// The same, and where another process has it, tried again for so long.
    pub(crate) fn wait(folder: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let begun = Instant::now();
        loop {
            match Self::take(folder)? {
                None if begun.elapsed() < patience => std::thread::sleep(AGAIN),
                taken => return Ok(taken),
            }
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
        let lock = Lock::take(&before).expect("a folder").expect("nobody has it");
        fs::rename(&before, &after).expect("another name");
        assert!(Lock::take(&after).expect("a folder").is_none(), "somebody has it");
        drop(lock);
        assert!(Lock::take(&after).expect("a folder").is_some(), "it was given back");
    }

    #[test]
    fn who_waits_gets_it_once_it_is_given_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let lock = Lock::take(folder.path()).expect("a folder");
        assert!(Lock::wait(folder.path(), AGAIN).expect("a folder").is_none());
        let later = std::thread::spawn(move || {
            std::thread::sleep(3 * AGAIN);
            drop(lock);
        });
        assert!(Lock::wait(folder.path(), Duration::from_secs(60)).expect("a folder").is_some());
        later.join().expect("it does nothing else");
    }
}
