//! What the next task needs, sent from the process that has the run's folder to those that have not.

use crate::disk;
use crate::error::RunError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

#[derive(Serialize, Deserialize)]
struct Message {
    recipe: String,
    finished: usize,
    /// Names and lengths of the files that follow.
    files: Vec<(String, usize)>,
}

/// A file's name and bytes.
pub(super) type Packed = (String, Vec<u8>);

/// The files of a finished task.
pub(super) fn packed(folder: &Path) -> Result<Vec<Packed>, RunError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(RunError::io(folder))? {
        let path = entry.map_err(RunError::io(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push((name, disk::read(&path, disk::RUN).map_err(RunError::io(&path))?));
    }
    Ok(files)
}

/// A recipe, how many tasks are finished, and the files of the last one: as bytes.
pub(super) fn message(recipe: &str, finished: usize, files: Vec<Packed>) -> Vec<u8> {
    let lengths = files.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect();
    let message = Message { recipe: recipe.to_owned(), finished, files: lengths };
    let head = serde_json::to_vec(&message).expect("plain data");
    let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
    bytes.extend(head);
    files.into_iter().for_each(|(_, file)| bytes.extend(file));
    bytes
}

/// What [`message`] put together.
pub(super) fn read(bytes: &[u8]) -> Result<(String, usize, Vec<Packed>), String> {
    let short = || "less came than was sent".to_owned();
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
    let (head, mut rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or_else(short)?;
    let message: Message = serde_json::from_slice(head).map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    for (name, length) in message.files {
        let (file, after) = rest.split_at_checked(length).ok_or_else(short)?;
        files.push((name, file.to_vec()));
        rest = after;
    }
    Ok((message.recipe, message.finished, files))
}

/// Lays the files out in a folder of this process, for as long as `load` takes.
pub(super) fn unpacked(
    files: &[Packed],
    rank: usize,
    load: impl FnOnce(&Path) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let folder = std::env::temp_dir().join(format!("prescient-{}-{rank}", std::process::id()));
    fs::create_dir_all(&folder).map_err(RunError::io(&folder))?;
    let written = files.iter().try_for_each(|(name, bytes)| {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(RunError::io(&path))
    });
    let loaded = written.and_then(|()| load(&folder));
    let _ = fs::remove_dir_all(&folder);
    loaded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_arrives_and_what_is_cut_is_told() {
        let files = vec![("a".to_owned(), vec![1, 2, 3]), ("b".to_owned(), Vec::new())];
        let bytes = message("seed = 1\n", 2, files.clone());
        assert_eq!(read(&bytes), Ok(("seed = 1\n".to_owned(), 2, files.clone())));
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end]).is_err(), "{end} of {} bytes", bytes.len());
        }
        let mut found = Vec::new();
        unpacked(&files, 7, |folder| {
            found = packed(folder)?;
            Ok(())
        })
        .expect("a folder for a while");
        found.sort();
        assert_eq!(found, files);
    }
}
