//! The folder of an export: put together beside its place, synced, and renamed when it is whole.

use crate::disk;
use crate::error::ExportError;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The file that lists all others with their digests: what has it is an export.
pub(super) const SUMS: &str = "SHA256SUMS";

/// A folder in the making. It goes when it is dropped before it is finished; what a killed process left behind, the next export to
/// the same place takes away.
pub(super) struct Folder {
    made: PathBuf,
    place: PathBuf,
    force: bool,
    /// Held while it is being made, so that nobody takes it for something left behind.
    _lock: File,
}

impl Folder {
    /// A folder that will be `place`. Nothing may be there, or an older export if `force` says that it can go.
    pub(super) fn create(place: &Path, force: bool) -> Result<Self, ExportError> {
        free(place, force)?;
        let name = place.file_name().ok_or_else(|| ExportError::NoName { path: place.to_owned() })?;
        let name = name.to_string_lossy();
        let parent = parent(place);
        fs::create_dir_all(parent).map_err(ExportError::io(parent))?;
        clear(parent, &name)?;
        let made = parent.join(format!(".{name}.{}.tmp", std::process::id()));
        // By the name that was asked for: nobody has typed the other.
        fs::create_dir(&made).map_err(ExportError::io(place))?;
        let lock = disk::open_folder(&made).map_err(ExportError::io(&made))?;
        // Some network file systems have no locks: better without one than not at all.
        let _ = lock.try_lock();
        Ok(Self { made, place: place.to_owned(), force, _lock: lock })
    }

    /// Where a file of this name is to be written.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.made.join(name)
    }

    /// Writes a file.
    pub(super) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<(), ExportError> {
        let path = self.file(name);
        fs::write(&path, bytes).map_err(ExportError::io(&path))
    }

    /// Adds the digests, and gives the folder its name. Answers its files with their lengths.
    pub(super) fn finish(self) -> Result<Vec<(String, u64)>, ExportError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.made).map_err(ExportError::io(&self.made))? {
            names.push(entry.map_err(ExportError::io(&self.made))?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        let mut sums = String::new();
        for name in &names {
            sums.push_str(&format!("{}  {name}\n", crate::weights::sha256(&self.file(name))?));
        }
        self.write(SUMS, sums)?;
        names.push(SUMS.to_owned());
        let length = |name: String| {
            let path = self.file(&name);
            fs::metadata(&path).map(|about| (name, about.len())).map_err(ExportError::io(&path))
        };
        let files = names.into_iter().map(length).collect::<Result<_, _>>()?;
        disk::sync_tree(&self.made).map_err(ExportError::io(&self.made))?;
        free(&self.place, self.force)?;
        let left = match self.place.exists() {
            true => Some(replace(&self.made, &self.place)?),
            false => {
                fs::rename(&self.made, &self.place).map_err(ExportError::io(&self.place))?;
                None
            }
        };
        let parent = parent(&self.place);
        disk::sync_folder(parent).map_err(ExportError::io(parent))?;
        if let Some(left) = left {
            fs::remove_dir_all(&left).map_err(ExportError::io(&left))?;
        }
        Ok(files)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Not there any more once it has its name.
        let _ = fs::remove_dir_all(&self.made);
    }
}

fn parent(place: &Path) -> &Path {
    place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives `made` the name of what is at `place`, and says where that is now. In one step where the file system can: killed at any
/// moment, the one or the other is there.
fn replace(made: &Path, place: &Path) -> Result<PathBuf, ExportError> {
    #[cfg(target_os = "linux")]
    if rustix::fs::renameat_with(rustix::fs::CWD, made, rustix::fs::CWD, place, rustix::fs::RenameFlags::EXCHANGE)
        .is_ok()
    {
        return Ok(made.to_owned());
    }
    let before = made.with_extension("before.tmp");
    fs::rename(place, &before).map_err(ExportError::io(place))?;
    if let Err(error) = fs::rename(made, place) {
        // As it was: whoever asked to replace it did not ask to lose it.
        let _ = fs::rename(&before, place);
        return Err(ExportError::io(place)(error));
    }
    Ok(before)
}

/// Whether an export may take this place: an empty folder is as good as none.
fn free(place: &Path, force: bool) -> Result<(), ExportError> {
    let is_empty = || fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none());
    if fs::symlink_metadata(place).is_err() || is_empty() {
        return Ok(());
    }
    match (place.join(SUMS).is_file(), force) {
        (true, true) => Ok(()),
        (is_export, _) => Err(ExportError::Exists { path: place.to_owned(), is_export }),
    }
}

/// Takes away what killed processes left behind of an export called `name`.
fn clear(parent: &Path, name: &str) -> Result<(), ExportError> {
    for entry in fs::read_dir(parent).map_err(ExportError::io(parent))?.flatten() {
        let (path, found) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let ours = found.strip_prefix(&format!(".{name}.")).and_then(|rest| rest.strip_suffix(".tmp"));
        let is_ours =
            ours.is_some_and(|rest| rest.trim_end_matches(".before").bytes().all(|byte| byte.is_ascii_digit()));
        if is_ours && disk::open_folder(&path).is_ok_and(|folder| folder.try_lock().is_ok()) {
            fs::remove_dir_all(&path).map_err(ExportError::io(&path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<_> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn made(place: &Path, force: bool, text: &str) -> Result<Vec<(String, u64)>, ExportError> {
        let folder = Folder::create(place, force)?;
        folder.write("a", text)?;
        folder.finish()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_place_where_nothing_can_be_made_is_named_as_it_was_asked_for() {
        let error = made(Path::new("/proc/out"), false, "one").expect_err("no folders there").to_string();
        assert!(error.starts_with("`/proc/out`: "), "{error}");
    }

    #[test]
    fn an_export_is_replaced_only_when_asked_and_nothing_else_ever_is() {
        let parent = tempfile::tempdir().expect("a folder");
        let place = parent.path().join("out");
        assert_eq!(made(&place, false, "one").expect("free"), [("a".to_owned(), 3), (SUMS.to_owned(), 68)]);
        assert!(matches!(made(&place, false, "two"), Err(ExportError::Exists { is_export: true, .. })));
        made(&place, true, "three").expect("an export may be replaced");
        assert_eq!(fs::read(place.join("a")).expect("a file"), b"three");
        fs::remove_file(place.join(SUMS)).expect("a file");
        assert!(matches!(made(&place, true, "four"), Err(ExportError::Exists { is_export: false, .. })));
        assert_eq!(names(parent.path()), ["out"], "nothing is left beside it");
    }

    #[test]
    fn what_a_killed_export_left_is_taken_away_and_what_another_makes_is_not() {
        let parent = tempfile::tempdir().expect("a folder");
        for left in [".out.4000000.tmp", ".out.4000000.before.tmp", ".out.mine.tmp", ".other.1.tmp"] {
            fs::create_dir(parent.path().join(left)).expect("a folder");
        }
        let other = fs::File::open(parent.path().join(".out.4000000.tmp")).expect("a folder");
        other.try_lock().expect("nobody has it");
        made(&parent.path().join("out"), false, "one").expect("free");
        assert_eq!(names(parent.path()), [".other.1.tmp", ".out.4000000.tmp", ".out.mine.tmp", "out"]);
        drop(other);
        made(&parent.path().join("out"), true, "two").expect("an export may be replaced");
        assert_eq!(names(parent.path()), [".other.1.tmp", ".out.mine.tmp", "out"]);
    }

    /// `printf one | sha256sum`
    #[test]
    fn the_digests_are_those_of_sha256sum() {
        let parent = tempfile::tempdir().expect("a folder");
        made(&parent.path().join("out"), false, "one").expect("free");
        let sums = fs::read_to_string(parent.path().join("out").join(SUMS)).expect("a file");
        assert_eq!(sums, "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed  a\n");
    }
}
