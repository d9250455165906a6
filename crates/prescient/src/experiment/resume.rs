//! A run that is gone on with, or looked into: it must be the same run, with the same data.

use super::images;
use crate::data::check::{QuickCheck, check_photos};
use crate::engine::Processes;
use crate::error::{DataError, ProcessError, Result, RunError};
use crate::evaluation::Inspection;
use crate::experiment::events::Events;
use crate::experiment::output::Output;
use crate::experiment::record::Start;
use crate::experiment::{Experiment, PhotoDigests, Recipe, Record, RunFolder, overridden, resume_files};
use crate::learner::Observer;
use std::path::Path;
use tch::Device;

/// How a run is gone on with.
#[derive(Clone, Copy, Default)]
pub struct Again<'a> {
    /// Where the data lies elsewhere now, `data.path=PATH`, and nothing else. The record stays as it is.
    pub sets: &'a [String],
    /// After which task it stops.
    pub stop_after: Option<usize>,
    /// Compares all photos with those that the run began with, and tells of how many of how many that was done. None: only
    /// exemplars and test images are compared.
    pub check: Option<&'a (dyn Fn(usize, usize) + Sync)>,
}

impl Experiment {
    /// Goes on with the run in `folder` after its last finished task, with the very photos that it began with.
    pub fn resume(
        path: &Path,
        device: Device,
        stop_after: Option<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Record> {
        let again = Again { stop_after, check: Some(&|_, _| ()), ..Again::default() };
        Self::resume_among(&Processes::alone(), path, again, device, observer)
    }

    /// The same as process 0 of several, however many there were before; the others call [`Experiment::help_resume`].
    pub fn resume_among(
        processes: &Processes,
        path: &Path,
        again: Again<'_>,
        device: Device,
        observer: &mut dyn Observer,
    ) -> Result<Record> {
        let Again { sets, stop_after, check } = again;
        let mut folder = RunFolder::to_go_on(path)?;
        folder.lock()?;
        let (experiment, before) = Self::again(&folder, sets, device)?;
        if before.start.device != experiment.start.device {
            let (expected, found) = (before.start.device, experiment.start.device);
            return Err(RunError::OtherDevice { expected, found }.into());
        }
        if let Some(progress) = check {
            experiment.compare_photos(folder.photos(&before.start)?, progress)?;
        }
        // A kill may have come between a task and the record.
        folder.write_record(&before.start)?;
        let finished = folder.finished();
        let files = match (processes.count(), finished) {
            (2.., 1..) => resume_files::packed(&folder.task(finished))?,
            _ => Vec::new(),
        };
        processes.broadcast_bytes(resume_files::message(&before.start.recipe, finished, files))?;
        let experiment = experiment.among(processes.clone())?;
        let mut learner = experiment.learner()?;
        if finished > 0 {
            learner.load(&folder.task(finished), finished)?;
            experiment.check_photos(&folder.images(finished))?;
        }
        let record = Record::read(&folder.record())?;
        let events = Events::open(&folder.events(), &record.start.tasks, Some(&record))?;
        let experiment = Self { start: before.start, ..experiment };
        let out = Output { folder: &mut folder, events };
        experiment.go_on(Some(out), learner, finished, stop_after, observer)?;
        Ok(Record::read(&folder.record())?)
    }

    /// Does its part of a run that process 0 goes on with. The folder need not be on this machine: process 0 sends what the next
    /// task needs.
    pub fn help_resume(
        processes: &Processes,
        sets: &[String],
        device: Device,
        stop_after: Option<usize>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let message = processes.broadcast_bytes(Vec::new())?;
        let broken = |reason: String| ProcessError::Broken { doing: "taking over a run", reason };
        let (recipe, finished, files) = resume_files::read(&message).map_err(broken)?;
        let recipe = overridden(&recipe, Path::new("recipe.toml"), sets)?;
        let experiment = Self::new(recipe, device)?.among(processes.clone())?;
        let mut learner = experiment.learner()?;
        if finished > 0 {
            resume_files::unpacked(&files, processes.rank(), |folder| learner.load(folder, finished))?;
        }
        experiment.go_on(None, learner, finished, stop_after, observer)
    }

    /// Compares what the run in `path` imagined after a task, the last that had a future unless given, with test images.
    pub fn inspect(path: &Path, device: Device, task: Option<usize>) -> Result<Inspection> {
        let folder = RunFolder::open(path)?;
        let (experiment, record) = Self::again(&folder, &[], device)?;
        let (finished, tasks) = (folder.finished(), experiment.sealed.scenario().tasks());
        let number = task.unwrap_or(finished.min(tasks - 1).max(1));
        if number == tasks {
            return Err(RunError::NothingToInspect { task: number, tasks }.into());
        }
        if number > finished {
            return Err(RunError::NoSuchTask { task: number, finished }.into());
        }
        let mut learner = experiment.learner()?;
        learner.load(&folder.task(number), number)?;
        match learner.inspect(experiment.sealed.scenario().task(number))? {
            Some(classes) => Ok(Inspection { task: number, classes }),
            None => {
                let worth = record.worths().find(|worth| worth.task == number);
                let reason =
                    worth.map(|worth| worth.why_not.clone().unwrap_or_else(|| "no class is to come".to_owned()));
                Err(reason.map_or(RunError::NoGhosts, |reason| RunError::BaseModel { task: number, reason }).into())
            }
        }
    }

    /// The run in `folder`, with the data and the recipe that it began with, and all its files as they were written.
    fn again(folder: &RunFolder, sets: &[String], device: Device) -> Result<(Self, Record)> {
        if let Some(set) = sets.iter().find(|set| set.split('=').next().map(str::trim) != Some("data.path")) {
            return Err(RunError::Fixed { set: set.clone() }.into());
        }
        let file = folder.recipe();
        let before = folder.checked()?;
        let experiment = Self::new(overridden(&before.start.recipe, &file, sets)?, device)?;
        let (then, now) = (&before.start, &experiment.start);
        if then.data != now.data {
            return Err(RunError::OtherData { expected: then.data.clone(), found: now.data.clone() }.into());
        }
        if then.weights != now.weights {
            let digest =
                |start: &Start| start.weights.as_ref().map_or_else(String::new, |weights| weights.digest.clone());
            return Err(RunError::OtherWeights { expected: digest(then), found: digest(now) }.into());
        }
        // Not as texts: a run may be older than a key whose default it had all along.
        let recipe = Recipe::parse(&then.recipe, &file)?;
        let now_recipe = match sets {
            [] => experiment.recipe.clone(),
            _ => Recipe { data: recipe.data.clone(), ..experiment.recipe.clone() },
        };
        if recipe != now_recipe || then.classes != now.classes {
            return Err(RunError::OtherRecipe { path: file }.into());
        }
        Ok((experiment, before))
    }

    /// Whether all photos are good, and where the run noted those it began with, `then`, the very same.
    fn compare_photos(&self, then: Option<PhotoDigests>, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<()> {
        let source = &self.recipe.data.source;
        if !source.info().photos || source.info().in_memory {
            return Ok(());
        }
        let QuickCheck { checkup, digests } = check_photos(source, progress);
        match then {
            Some(then) => Ok(then.check(&PhotoDigests::new(digests))?),
            None => {
                tracing::warn!("this run has no list of its photos: only exemplars and test images are compared");
                DataError::try_from(checkup).map_or(Ok(()), |bad| Err(bad.into()))
            }
        }
    }

    /// Whether what the run has kept and was tested on, as the file at `path` lists it, has the same pixels as then.
    fn check_photos(&self, path: &Path) -> Result<()> {
        let text = crate::disk::read_run_text(path).map_err(RunError::io(path))?;
        let changed = self.sealed.changed(&images::parse(&text, path)?)?;
        match changed.first() {
            None => Ok(()),
            Some(first) => Err(RunError::OtherPhotos { first: first.clone(), count: changed.len() }.into()),
        }
    }
}
