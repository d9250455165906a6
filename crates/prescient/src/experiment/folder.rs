//! The run folder: the run's record, and the model that can learn its next task.
//!
//! ```text
//! RUN/recipe.toml              the effective recipe
//! RUN/photos.json              a digest of each photo's file, where they were checked before the first step
//! RUN/record.jsonl             what happened, up to the last finished task
//! RUN/events.out.tfevents.prescient   losses and accuracies for TensorBoard, with times: no part of the record
//! RUN/tasks/02/                the model after task 2: weights.safetensors, memory.json
//!              record.jsonl    what happened in task 2
//!              images.jsonl    which images it learned from, kept and was tested on
//!              features.safetensors  a few features of each class, for figures
//!              telemetry.json  how long it took and how much memory
//! ```
//!
//! Everything is written under a temporary name, synced, and renamed when it is whole. The folder itself appears with its first
//! finished task, so a run that fails before leaves nothing behind; one that is killed before leaves `RUN.unfinished`, which the
//! next run into `RUN` takes away. Who writes holds a lock on the folder.

mod faults;
mod places;
#[cfg(test)]
mod tests;

use crate::disk::{self, Lock};
use crate::error::RunError;
use crate::evaluation::Scatter;
use crate::experiment::photos::PhotoDigests;
use crate::experiment::record::{Digests, Line, Record, Start};
use crate::experiment::scatter;
use crate::experiment::telemetry::Spent;
use places::{finished_name, name, nursery, partial_name, remove, task_name, temporary, write};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The effective recipe.
pub(super) const RECIPE: &str = "recipe.toml";
/// The photos that the run began with.
const PHOTOS: &str = "photos.json";
/// The record.
pub(super) const RECORD: &str = "record.jsonl";
/// All that lies in a run folder.
const OURS: [&str; 6] = [RECIPE, PHOTOS, RECORD, EVENTS, TASKS, "record.jsonl.tmp"];
/// Which images a task read.
const IMAGES: &str = "images.jsonl";
/// A few features of each class.
const FEATURES: &str = "features.safetensors";
const TASKS: &str = "tasks";
const TELEMETRY: &str = "telemetry.json";
/// For TensorBoard, which looks for `tfevents` in a name. Neither host nor time, so that equal runs have equal folders.
const EVENTS: &str = "events.out.tfevents.prescient";

/// What a task leaves behind beside its model and its lines.
pub(super) struct Kept<'a> {
    /// The text of the file that names each image.
    pub(super) images: &'a str,
    /// A few features of each class.
    pub(super) scatter: &'a Scatter,
    /// How long it took and how much memory.
    pub(super) telemetry: &'a str,
}

/// A run folder.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Where the first task is put together; gone once the folder has its name.
    nursery: Option<PathBuf>,
    /// Held by who writes.
    lock: Option<Lock>,
}

impl RunFolder {
    /// A folder to be: nothing may be at `path` yet, and it must be possible to write there.
    pub fn create(path: &Path, recipe: &str) -> Result<Self, RunError> {
        if path.exists() {
            return Err(RunError::Exists { path: path.to_owned() });
        }
        let nursery = nursery(path);
        let lock = Self::clear(&nursery, path)?;
        let folder = Self { path: path.to_owned(), nursery: Some(nursery.clone()), lock: Some(lock) };
        let tasks = nursery.join(TASKS);
        fs::create_dir(&tasks).map_err(RunError::io(&tasks))?;
        let file = nursery.join(RECIPE);
        fs::write(&file, recipe).map_err(RunError::io(&file))?;
        Ok(folder)
    }

    /// An empty folder at `nursery`, locked. What a killed run left there is taken away, what another program has there is not.
    fn clear(nursery: &Path, path: &Path) -> Result<Lock, RunError> {
        // Where nothing can be made, it is called as it was asked for.
        let made = fs::create_dir_all(nursery).map_err(RunError::io(path));
        let lock = made.and_then(|()| locked(nursery, path))?;
        // Who held it before may have been done in the meantime.
        if path.exists() {
            let _ = fs::remove_dir(nursery);
            return Err(RunError::Exists { path: path.to_owned() });
        }
        if has_begun(nursery) {
            return Err(RunError::Unfinished { path: path.to_owned(), unfinished: nursery.to_owned() });
        }
        let here = || fs::read_dir(nursery).map_err(RunError::io(nursery)).map(|entries| entries.flatten());
        if here()?.any(|entry| !OURS.iter().any(|ours| entry.file_name() == *ours)) {
            return Err(RunError::Exists { path: nursery.to_owned() });
        }
        for left in here()?.map(|entry| entry.path()) {
            let removed = if left.is_dir() { fs::remove_dir_all(&left) } else { fs::remove_file(&left) };
            removed.map_err(RunError::io(&left))?;
        }
        Ok(lock)
    }

    /// Nobody else may write from here on. What a killed run left unfinished is taken away.
    pub(super) fn lock(&mut self) -> Result<(), RunError> {
        self.lock = Some(locked(self.here(), &self.path)?);
        // A kill may have come between the first task and the name.
        if self.finished() > 0 {
            self.take_name()?;
        }
        let tasks = self.here().join(TASKS);
        let over: Vec<String> = (1..=self.finished()).map(partial_name).collect();
        for entry in fs::read_dir(&tasks).map_err(RunError::io(&tasks))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".tmp") || over.contains(&name) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Whether there is a run at `path`, or one whose first task is half learned.
    pub fn can_go_on(path: &Path) -> bool {
        Self::open(path).is_ok() || Self::unfinished(path)
    }

    /// A run whose first task is half learned.
    pub fn open_unfinished(path: &Path) -> Option<Self> {
        Self::unfinished(path).then(|| Self { path: path.to_owned(), nursery: Some(nursery(path)), lock: None })
    }

    /// The run at `path` that can be gone on with, whether its first task is finished or not.
    pub fn to_go_on(path: &Path) -> Result<Self, RunError> {
        // What lies there until the first task is finished is part of the run that will be called otherwise.
        let meant = finished_name(path).filter(|run| Self::unfinished(run));
        let path = meant.as_deref().unwrap_or(path);
        let unfinished = |error| Self::open_unfinished(path).ok_or_else(|| Self::nothing_at(path, error));
        Self::open(path).or_else(unfinished)
    }

    /// Why there is nothing to go on with at `path`.
    fn nothing_at(path: &Path, error: RunError) -> RunError {
        let nursery = nursery(path);
        match !path.exists() && nursery.is_dir() {
            true => match locked(&nursery, path) {
                Ok(_) => RunError::NothingKept { path: path.to_owned() },
                Err(taken) => taken,
            },
            false => error,
        }
    }

    fn unfinished(path: &Path) -> bool {
        let nursery = nursery(path);
        !path.exists() && nursery.join(RECORD).is_file() && has_begun(&nursery)
    }

    /// Where task `task` is kept while it is half learned.
    pub(super) fn partial(&self, task: usize) -> PathBuf {
        self.here().join(TASKS).join(partial_name(task))
    }

    /// A folder that is there.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        for missing in [RECIPE, RECORD] {
            if !path.join(missing).is_file() {
                return Err(RunError::NotARun { path: path.to_owned(), missing });
            }
        }
        Ok(Self { path: path.to_owned(), nursery: None, lock: None })
    }

    /// Where it is, or will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The recipe's file.
    pub fn recipe(&self) -> PathBuf {
        self.here().join(RECIPE)
    }

    /// The record's file.
    pub fn record(&self) -> PathBuf {
        self.here().join(RECORD)
    }

    /// What TensorBoard reads.
    pub fn events(&self) -> PathBuf {
        self.here().join(EVENTS)
    }

    /// What task `task` left behind.
    pub fn task(&self, task: usize) -> PathBuf {
        self.here().join(TASKS).join(task_name(task))
    }

    /// Which images task `task` read.
    pub fn images(&self, task: usize) -> PathBuf {
        self.task(task).join(IMAGES)
    }

    /// What happened in task `task`.
    pub fn task_record(&self, task: usize) -> PathBuf {
        self.task(task).join(RECORD)
    }

    /// What task `task` took, where that was noted.
    pub fn spent(&self, task: usize) -> Result<Option<Spent>, RunError> {
        let path = self.task(task).join(TELEMETRY);
        match disk::read_run_text(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => Spent::parse(&read.map_err(RunError::io(&path))?, &path).map(Some),
        }
    }

    /// The features that were kept of task `task` of `record`; none in runs of early versions.
    pub fn scatter(&self, record: &Record, task: usize) -> Result<Option<Scatter>, RunError> {
        let path = self.task(task).join(FEATURES);
        let bytes = match disk::read(&path, disk::RUN) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(RunError::io(&path))?,
        };
        record.digests(task).map_or(Ok(()), |digests| digests.check(&path, &bytes))?;
        let images = record.evaluations().nth(task - 1).map_or(0, |evaluation| evaluation.answers.truth.len());
        scatter::parse(&bytes, &path, record.start.classes.len(), images).map(Some)
    }

    /// Notes the photos that the run begins with.
    pub(super) fn write_photos(&self, photos: &PhotoDigests) -> Result<(), RunError> {
        write(&self.here().join(PHOTOS), photos.to_json().as_bytes())
    }

    /// The photos that the run began with; none where `start` says that they were not checked.
    pub(super) fn photos(&self, start: &Start) -> Result<Option<PhotoDigests>, RunError> {
        let Some(expected) = &start.photos else { return Ok(None) };
        let path = self.here().join(PHOTOS);
        let text = disk::read_run_text(&path).map_err(RunError::io(&path))?;
        match disk::digest(text.as_bytes()) == *expected {
            true => PhotoDigests::parse(&text, &path).map(Some),
            false => Err(RunError::Changed { path }),
        }
    }

    /// How many tasks are finished.
    pub fn finished(&self) -> usize {
        (1..).take_while(|&task| self.task_record(task).is_file()).count()
    }

    /// Adds a finished task: `save` writes the model, then come its other files and its lines, then the whole record.
    pub(super) fn finish(
        &mut self,
        start: &Start,
        task: usize,
        lines: &[Line],
        kept: &Kept<'_>,
        save: impl FnOnce(&Path) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let (place, made) = (self.task(task), temporary(&self.task(task)));
        remove(&made)?;
        fs::create_dir_all(&made).map_err(RunError::io(&made))?;
        save(&made)?;
        let features = scatter::to_bytes(kept.scatter);
        let files: [(&str, &[u8]); 2] = [(IMAGES, kept.images.as_bytes()), (FEATURES, &features)];
        for (name, bytes) in files {
            write(&made.join(name), bytes)?;
        }
        let mut text: String = lines.iter().map(|line| line.to_json() + "\n").collect();
        let before = self.record_text(start)? + &text;
        let digests = Digests::new(task, digests(&made)?, &before);
        text.push_str(&(Line::Digests(digests).to_json() + "\n"));
        // It has times, which a record has not: so it carries a digest of its own.
        write(&made.join(TELEMETRY), kept.telemetry.as_bytes())?;
        write(&made.join(RECORD), text.as_bytes())?;
        disk::sync_tree(&made).map_err(RunError::io(&made))?;
        fs::rename(&made, &place).map_err(RunError::io(&place))?;
        disk::sync_folder(&self.here().join(TASKS)).map_err(RunError::io(&place))?;
        remove(&self.partial(task))?;
        self.write_record(start)?;
        self.take_name()
    }

    /// Gives the folder its name, now that it has a finished task.
    fn take_name(&mut self) -> Result<(), RunError> {
        let Some(nursery) = self.nursery.take() else { return Ok(()) };
        disk::sync_tree(&nursery).map_err(RunError::io(&nursery))?;
        fs::rename(&nursery, &self.path).map_err(RunError::io(&self.path))?;
        let parent = self.path.parent().unwrap_or(Path::new("."));
        disk::sync_folder(parent).map_err(RunError::io(parent))
    }

    /// Writes the record anew from what the finished tasks left behind. After a run was killed between a task and the
    /// record, this puts the record right.
    pub fn write_record(&self, start: &Start) -> Result<(), RunError> {
        let (text, path) = (self.record_text(start)?, self.record());
        // Not one that cannot be read again in place of one that can.
        Record::parse(&text, &path)?;
        disk::replace(&path, text.as_bytes()).map_err(RunError::io(&path))
    }

    /// The record that the finished tasks make up.
    pub(super) fn record_text(&self, start: &Start) -> Result<String, RunError> {
        let mut text = Line::Start(start.clone()).to_json() + "\n";
        for task in 1..=self.finished() {
            let file = self.task_record(task);
            text.push_str(&disk::read_run_text(&file).map_err(RunError::io(&file))?);
        }
        Ok(text)
    }

    /// The record, where everything in the folder is as it was written; with the tasks that a kill kept from it.
    pub(super) fn checked(&self) -> Result<Record, RunError> {
        let path = self.record();
        let before = disk::read_run_text(&path).map_err(RunError::io(&path))?;
        let text = self.record_text(&Record::parse(&before, &path)?.start)?;
        let tasks = self.here().join(TASKS);
        let reason = || "what its tasks recorded is not what `record.jsonl` has".to_owned();
        // Whoever takes the last tasks away goes back to those before.
        if !text.starts_with(&before) && !before.starts_with(&text) {
            return Err(RunError::Damaged { path: tasks, line: None, reason: reason() });
        }
        let record = Record::parse(&text, &tasks)?;
        self.verify(&record)?;
        Ok(record)
    }

    fn here(&self) -> &Path {
        self.nursery.as_deref().unwrap_or(&self.path)
    }
}

impl Drop for RunFolder {
    /// A run that failed before its first task was finished leaves nothing behind, unless it can be gone on with.
    fn drop(&mut self) {
        // Whoever only looked into it takes nothing away: another process may be writing.
        if let Some(nursery) = self.nursery.as_ref().filter(|_| self.lock.is_some())
            && !has_begun(nursery)
        {
            let _ = fs::remove_dir_all(nursery);
        }
    }
}

/// Whether the first task is learned, or half learned.
fn has_begun(nursery: &Path) -> bool {
    [partial_name(1), task_name(1)].iter().any(|name| nursery.join(TASKS).join(name).exists())
}

/// Locks `folder`, which is called `path` in errors.
fn locked(folder: &Path, path: &Path) -> Result<Lock, RunError> {
    let taken = Lock::take(folder).map_err(RunError::io(folder))?;
    taken.ok_or_else(|| RunError::Locked { path: path.to_owned() })
}

/// The digest of every file of a folder.
fn digests(folder: &Path) -> Result<BTreeMap<String, String>, RunError> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(RunError::io(folder))? {
        let path = entry.map_err(RunError::io(folder))?.path();
        found.insert(name(&path), disk::digest(&disk::read(&path, disk::RUN).map_err(RunError::io(&path))?));
    }
    Ok(found)
}
