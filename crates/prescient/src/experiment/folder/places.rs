//! What is called how in a run folder, and how it is written and taken away.

use crate::error::RunError;
use std::fs;
use std::path::{Path, PathBuf};

/// What the name of a run ends with until its first task is finished.
const UNFINISHED: &str = ".unfinished";

pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Inside a run folder, where all names are ours.
pub(super) fn temporary(path: &Path) -> PathBuf {
    path.with_file_name(name(path) + ".tmp")
}

/// Where a run is until its first task is finished.
pub(super) fn nursery(path: &Path) -> PathBuf {
    path.with_file_name(name(path) + UNFINISHED)
}

/// The run that `path` is the nursery of, if it is called like one.
pub(super) fn finished_name(path: &Path) -> Option<PathBuf> {
    Some(path.with_file_name(name(path).strip_suffix(UNFINISHED).filter(|name| !name.is_empty())?))
}

pub(super) fn task_name(task: usize) -> String {
    format!("{task:02}")
}

pub(super) fn partial_name(task: usize) -> String {
    format!("{task:02}.part")
}

pub(super) fn remove(path: &Path) -> Result<(), RunError> {
    match if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) } {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(RunError::io(path)(error)),
        _ => Ok(()),
    }
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    fs::write(path, bytes).map_err(RunError::io(path))
}
