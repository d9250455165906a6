//! Which model a folder would give now, told without reading weights: for a program that waits for the next one.

use super::Predictor;
use super::file::ABOUT;
use super::place::find;
use crate::error::RunError;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Stands for the model that [`Predictor::load_on`] would give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    folder: PathBuf,
    written: SystemTime,
    bytes: u64,
}

impl Predictor {
    /// The stamp of the model at `run`: another one once a later task is finished, or a version published. Cheap enough for every
    /// second.
    pub fn stamp(run: &Path, task: Option<usize>) -> Result<Stamp, RunError> {
        let folder = find(run, task)?;
        let path = folder.join(ABOUT);
        let about = std::fs::metadata(&path).map_err(RunError::io(&path))?;
        let written = about.modified().map_err(RunError::io(&path))?;
        Ok(Stamp { folder, written, bytes: about.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files are empty: nothing of them is read.
    #[test]
    fn the_next_finished_task_has_another_stamp() {
        let run = tempfile::tempdir().expect("a folder");
        let finish = |task: &str| {
            let folder = run.path().join("tasks").join(task);
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join(ABOUT), "").expect("a file");
        };
        let stamp = |task| Predictor::stamp(run.path(), task).expect("a run");
        assert!(Predictor::stamp(run.path(), None).is_err(), "nothing is finished");
        finish("01");
        let first = stamp(None);
        assert_eq!(stamp(None), first);
        finish("02");
        assert_ne!(stamp(None), first);
        assert_eq!(stamp(Some(1)), first, "a task that was asked for stays");
    }
}
