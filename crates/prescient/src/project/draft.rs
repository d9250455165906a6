//! A version in the making. It is put together beside the others, synced, and given its name; then `HEAD` is replaced, and that
//! moment it answers. Killed before, the project is the version before; killed after, it is this one.

use super::version::{self, Version};
use crate::disk::{self, Lock};
use crate::error::{ProjectError, Result, RunError};
use crate::predictor::place::{HEAD, VERSIONS, head, version_folder};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A version in the making.
pub(super) struct Draft {
    project: PathBuf,
    pub(super) number: usize,
    folder: Scratch,
    /// The version before: what is equal is linked and not written again.
    before: Option<(PathBuf, BTreeMap<String, String>)>,
    files: BTreeMap<String, String>,
    _lock: Lock,
}

/// A folder that goes again unless it was given another name.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// At `path`, where a killed command may have left one.
    pub(super) fn new(path: PathBuf) -> Result<Self> {
        fs::create_dir_all(&path).map_err(RunError::io(&path))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Takes away what lies in it.
    pub(super) fn clear(&self) -> Result<()> {
        for entry in fs::read_dir(&self.0).map_err(RunError::io(&self.0))? {
            let path = entry.map_err(RunError::io(&self.0))?.path();
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(RunError::io(&path))?;
        }
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is taken away by the next command that writes.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Nobody else writes to `project` from here on. Who does is waited for.
pub(super) fn lock(project: &Path, patience: Duration) -> Result<Lock> {
    let lock = Lock::wait(project, patience).map_err(RunError::io(project))?;
    let locked = || ProjectError::Locked { path: project.to_owned(), seconds: patience.as_secs() };
    Ok(lock.ok_or_else(locked)?)
}

impl Draft {
    /// The first version of a project that is itself in the making.
    pub(super) fn first(project: &Path, lock: Lock) -> Result<Self> {
        let versions = project.join(VERSIONS);
        fs::create_dir(&versions).map_err(RunError::io(&versions))?;
        Self::begin(project, 0, None, lock)
    }

    /// The version after `before`, which is the last. What killed commands left behind is taken away.
    pub(super) fn after(project: &Path, before: &Version, lock: Lock) -> Result<Self> {
        Self::from_version(project, before.number, before, lock)
    }

    /// The version after version `last`, to be made of the files of `source`, an earlier one.
    pub(super) fn from_version(project: &Path, last: usize, source: &Version, lock: Lock) -> Result<Self> {
        clean(project)?;
        let folder = version_folder(project, source.number);
        Self::begin(project, last, Some((folder, source.files.clone())), lock)
    }

    fn begin(
        project: &Path,
        before: usize,
        files: Option<(PathBuf, BTreeMap<String, String>)>,
        lock: Lock,
    ) -> Result<Self> {
        let number = before + 1;
        let folder = project.join(VERSIONS).join(format!(".{number:04}.tmp"));
        fs::create_dir(&folder).map_err(RunError::io(&folder))?;
        let folder = Scratch(folder);
        Ok(Self { project: project.to_owned(), number, folder, before: files, files: BTreeMap::new(), _lock: lock })
    }

    /// Where its files go.
    pub(super) fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Takes a file over from the version before.
    pub(super) fn keep(&mut self, name: &str) -> Result<()> {
        let (folder, files) = self.before.as_ref().expect("there is a version before");
        let digest = files.get(name).expect("a file of the version before").clone();
        let (from, to) = (folder.join(name), self.place(name)?);
        link(&from, &to)?;
        self.files.insert(name.to_owned(), digest);
        Ok(())
    }

    /// A file with these bytes; linked where the version before has the same.
    pub(super) fn put(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        if self.files.contains_key(name) {
            return Ok(());
        }
        let digest = disk::digest(bytes);
        let same = self.before.as_ref().is_some_and(|(_, files)| files.get(name) == Some(&digest));
        if same {
            return self.keep(name);
        }
        let to = self.place(name)?;
        fs::write(&to, bytes).map_err(RunError::io(&to))?;
        self.files.insert(name.to_owned(), digest);
        Ok(())
    }

    /// Takes notice of a file that something else has written here.
    pub(super) fn wrote(&mut self, name: &str) -> Result<()> {
        let path = self.folder().join(name);
        let digest = disk::digest(&disk::read(&path, disk::RUN).map_err(RunError::io(&path))?);
        self.files.insert(name.to_owned(), digest);
        Ok(())
    }

    fn place(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder().join(name);
        let parent = path.parent().expect("a file below a folder");
        fs::create_dir_all(parent).map_err(RunError::io(parent))?;
        Ok(path)
    }

    /// Gives it its name, and lets it answer.
    pub(super) fn commit(self, version: Version) -> Result<Version> {
        let version = Version { number: self.number, when: now(), files: self.files, ..version };
        let path = self.folder.0.join(version::FILE);
        fs::write(&path, disk::signed(&version)).map_err(RunError::io(&path))?;
        disk::sync_tree(&self.folder.0).map_err(RunError::io(&self.folder.0))?;
        let place = version_folder(&self.project, self.number);
        fs::rename(&self.folder.0, &place).map_err(RunError::io(&place))?;
        let versions = self.project.join(VERSIONS);
        disk::sync_folder(&versions).map_err(RunError::io(&versions))?;
        let path = self.project.join(HEAD);
        disk::replace(&path, format!("{}\n", self.number).as_bytes()).map_err(RunError::io(&path))?;
        Ok(version)
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// One file under two names; a copy where the file system has no such links.
fn link(from: &Path, to: &Path) -> Result<()> {
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).map_err(RunError::io(from))?;
    }
    Ok(())
}

/// Takes away what killed commands left behind: versions in the making, and versions that never answered.
fn clean(project: &Path) -> Result<()> {
    let (versions, last) = (project.join(VERSIONS), head(project)?);
    for entry in fs::read_dir(&versions).map_err(RunError::io(&versions))? {
        let entry = entry.map_err(RunError::io(&versions))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let unfinished = name.starts_with('.') && name.ends_with(".tmp");
        if unfinished || name.parse::<usize>().is_ok_and(|number| number > last) {
            fs::remove_dir_all(entry.path()).map_err(RunError::io(&entry.path()))?;
        }
    }
    Ok(())
}
