//! Whether a run folder is as it was written.

use super::{PHOTOS, RunFolder, TELEMETRY};
use crate::disk;
use crate::error::RunError;
use crate::experiment::record::Record;
use std::path::PathBuf;

impl RunFolder {
    /// Whether everything in the folder is as it was written: the recipe, and every file of every task that `record` has digests of.
    pub fn verify(&self, record: &Record) -> Result<(), RunError> {
        let faults = self.faults(record)?;
        match faults.into_iter().next() {
            None => Ok(()),
            Some(path) if path == self.recipe() => Err(RunError::OtherRecipe { path }),
            Some(path) => Err(RunError::Changed { path }),
        }
    }

    /// The files that are not as they were written. Those of a model that are not there any more are not among them.
    pub(crate) fn faults(&self, record: &Record) -> Result<Vec<PathBuf>, RunError> {
        let mut faults = Vec::new();
        if disk::read(&self.recipe(), disk::RUN).map_err(RunError::io(&self.recipe()))?
            != record.start.recipe.as_bytes()
        {
            faults.push(self.recipe());
        }
        if self.photos(&record.start).is_err() {
            faults.push(self.here().join(PHOTOS));
        }
        for task in 1..=record.evaluations().count() {
            let names = record.digests(task).into_iter().flat_map(|digests| digests.files.iter());
            for (name, expected) in names {
                let path = self.task(task).join(name);
                let bytes = match disk::read(&path, disk::RUN) {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    read => read.map_err(RunError::io(&path))?,
                };
                if disk::digest(&bytes) != *expected {
                    faults.push(path);
                }
            }
            if self.spent(task).is_err() {
                faults.push(self.task(task).join(TELEMETRY));
            }
        }
        Ok(faults)
    }
}
