//! The run folder: the run's record, and the model that can learn its next task.
//!
//! ```text
//! RUN/recipe.toml              the effective recipe
//! RUN/record.jsonl             what happened, up to the last finished task
//! RUN/events.out.tfevents.prescient   losses and accuracies for TensorBoard, with times: no part of the record
//! RUN/tasks/02/                the model after task 2: weights.safetensors, memory.json
//!              record.jsonl    what happened in task 2
//!              images.jsonl    which images it learned from, kept and was tested on
//!              features.safetensors  a few features of each class, for figures
//!              telemetry.json  how long it took and how much memory
//! ```
//!
//! Everything is written under a temporary name and renamed when it is whole. The folder itself appears with its first
//! finished task, so a run that fails before leaves nothing behind; one that is killed before leaves `RUN.NUMBER.tmp`.

use crate::error::RunError;
use crate::evaluation::Scatter;
use crate::experiment::record::{Line, Record, Start};
use crate::experiment::scatter;
use crate::experiment::telemetry::Spent;
use std::fs;
use std::path::{Path, PathBuf};

/// The effective recipe.
pub(super) const RECIPE: &str = "recipe.toml";
/// The record.
pub(super) const RECORD: &str = "record.jsonl";
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
}

impl RunFolder {
    /// A folder to be: nothing may be at `path` yet, and it must be possible to write there.
    pub fn create(path: &Path, recipe: &str) -> Result<Self, RunError> {
        if path.exists() {
            return Err(RunError::Exists { path: path.to_owned() });
        }
        // With our number in it: what another program or another run has there is not ours to touch.
        let nursery = path.with_file_name(format!("{}.{}.tmp", name(path), std::process::id()));
        let folder = Self { path: path.to_owned(), nursery: Some(nursery.clone()) };
        fs::create_dir_all(nursery.join(TASKS)).map_err(RunError::io(&nursery))?;
        let file = nursery.join(RECIPE);
        fs::write(&file, recipe).map_err(RunError::io(&file))?;
        Ok(folder)
    }

    /// A folder that is there.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        for missing in [RECIPE, RECORD] {
            if !path.join(missing).is_file() {
                return Err(RunError::NotARun { path: path.to_owned(), missing });
            }
        }
        Ok(Self { path: path.to_owned(), nursery: None })
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
        self.here().join(TASKS).join(format!("{task:02}"))
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
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => Spent::parse(&read.map_err(RunError::io(&path))?, &path).map(Some),
        }
    }

    /// The features that were kept of task `task` of `record`; none in runs of early versions.
    pub fn scatter(&self, record: &Record, task: usize) -> Result<Option<Scatter>, RunError> {
        let path = self.task(task).join(FEATURES);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(RunError::io(&path))?,
        };
        let images = record.evaluations().nth(task - 1).map_or(0, |evaluation| evaluation.answers.truth.len());
        scatter::parse(&bytes, &path, record.start.classes.len(), images).map(Some)
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
        let text: String = lines.iter().map(|line| line.to_json() + "\n").collect();
        let features = scatter::to_bytes(kept.scatter);
        let files: [(&str, &[u8]); 4] = [
            (IMAGES, kept.images.as_bytes()),
            (FEATURES, &features),
            (TELEMETRY, kept.telemetry.as_bytes()),
            (RECORD, text.as_bytes()),
        ];
        for (name, bytes) in files {
            let file = made.join(name);
            fs::write(&file, bytes).map_err(RunError::io(&file))?;
        }
        fs::rename(&made, &place).map_err(RunError::io(&place))?;
        self.write_record(start)?;
        if let Some(nursery) = self.nursery.take() {
            fs::rename(&nursery, &self.path).map_err(RunError::io(&self.path))?;
        }
        Ok(())
    }

    /// Writes the record anew from what the finished tasks left behind. After a run was killed between a task and the
    /// record, this puts the record right.
    pub fn write_record(&self, start: &Start) -> Result<(), RunError> {
        let mut text = Line::Start(start.clone()).to_json() + "\n";
        for task in 1..=self.finished() {
            let file = self.task_record(task);
            text.push_str(&fs::read_to_string(&file).map_err(RunError::io(&file))?);
        }
        let (file, made) = (self.record(), temporary(&self.record()));
        fs::write(&made, text).map_err(RunError::io(&made))?;
        fs::rename(&made, &file).map_err(RunError::io(&file))
    }

    fn here(&self) -> &Path {
        self.nursery.as_deref().unwrap_or(&self.path)
    }
}

impl Drop for RunFolder {
    /// A run that failed before its first task was finished leaves nothing behind.
    fn drop(&mut self) {
        if let Some(nursery) = &self.nursery {
            let _ = fs::remove_dir_all(nursery);
        }
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Inside a run folder, where all names are ours.
fn temporary(path: &Path) -> PathBuf {
    path.with_file_name(name(path) + ".tmp")
}

fn remove(folder: &Path) -> Result<(), RunError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(RunError::io(folder)(error)),
        _ => Ok(()),
    }
}
