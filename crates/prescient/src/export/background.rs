//! What is known of a model beyond itself: where it comes from, what it learned from, and how good it was found to be.

use crate::class::Slots;
use crate::error::{Error, ProjectError, Result, RunError};
use crate::experiment::{Record, RunFolder, images};
use crate::extractor::Provenance;
use crate::project::{Project, Version};
use crate::protocol::Usage;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What is known of a model. All of it may be missing: a predictor can be shipped without its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Background {
    /// What it comes from, such as "the run `mine`, seed 1, after task 3 of 5".
    pub source: Option<String>,
    /// How many photos of each class it learned from, by name.
    pub photos: Option<BTreeMap<String, usize>>,
    /// The weights that the extractor began with.
    pub weights: Option<Provenance>,
    /// Why its numbers are no result, where they are none.
    pub stamp: Option<String>,
    /// How often it was right, and on what.
    pub measured: Vec<Measured>,
}

/// How often a model was right.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// On photos of which classes.
    pub of: String,
    /// How many photos.
    pub photos: usize,
    /// The share that was right, from 0 to 1; all classes compete.
    pub accuracy: f64,
}

impl Background {
    /// Of the model in `path`: a project or one of its versions, or a run or the folder of one of its tasks, after `task`.
    pub fn of(path: &Path, task: usize) -> Result<Self> {
        match Project::open(path) {
            Err(Error::Project(ProjectError::NotAProject { .. })) => {}
            project => return Ok(Self::of_project(&project?)),
        }
        let above = std::path::absolute(path).map_err(RunError::io(path))?;
        let run = above.ancestors().step_by(2).take(2).find_map(|folder| RunFolder::open(folder).ok());
        Ok(run.map_or(Ok(Self::default()), |run| Self::of_run(&run, task))?)
    }

    fn of_run(run: &RunFolder, task: usize) -> Result<Self, RunError> {
        let record = Record::read(&run.record())?;
        let start = &record.start;
        let name = run.path().file_name().unwrap_or_default().to_string_lossy();
        let source = format!("the run `{name}`, seed {}, after task {task} of {}", start.seed, start.tasks.len());
        Ok(Self {
            source: Some(source),
            photos: photos(run, task)?,
            weights: start.weights.clone(),
            stamp: start.stamp(),
            measured: measured(&record, task),
        })
    }
}

impl Background {
    fn of_project(project: &Project) -> Self {
        let version = project.version();
        let name = project.path().file_name().unwrap_or_default().to_string_lossy();
        Self {
            source: Some(format!("the project `{name}`, version {}: {}", version.number, version.made)),
            photos: Some(version.classes.iter().map(|class| (class.name.clone(), class.photos as usize)).collect()),
            // Where the file with the weights is not here any more, they cannot be named by their digest.
            weights: project.settings().extractor.provenance().ok().flatten(),
            stamp: None,
            measured: held_out(version),
        }
    }
}

/// What a version of a project was found to be worth.
fn held_out(version: &Version) -> Vec<Measured> {
    let tested = version.tested.as_ref().map(|tested| ("photos that are only measured by", tested.all));
    let held_out = version.held_out.as_ref();
    let held_out =
        held_out.map(|held_out| ("seen classes, a twin that has not learned from these photos", held_out.all));
    let arrived =
        version.arrived.map(|arrived| ("classes without photos, before it had learned from those", arrived.guessed));
    let parts = tested.into_iter().chain(held_out).chain(arrived);
    let measured = |(of, tally): (&str, crate::project::Tally)| {
        Some(Measured { of: of.to_owned(), photos: tally.of as usize, accuracy: tally.share()? })
    };
    parts.filter_map(measured).collect()
}

/// The photos of each class that were learned from up to `task`, each counted once; none where a task did not note them.
fn photos(run: &RunFolder, task: usize) -> Result<Option<BTreeMap<String, usize>>, RunError> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for task in 1..=task {
        let path = run.images(task);
        if !path.is_file() {
            return Ok(None);
        }
        let text = crate::disk::read_run_text(&path).map_err(RunError::io(&path))?;
        for image in images::parse(&text, &path)?.into_iter().filter(|image| image.usage == Usage::Learn) {
            found.entry(image.class).or_default().insert(image.hash);
        }
    }
    Ok(Some(found.into_iter().map(|(class, images)| (class, images.len())).collect()))
}

/// What the run found on its test photos after `task`.
fn measured(record: &Record, task: usize) -> Vec<Measured> {
    let Some(evaluation) = record.evaluations().find(|evaluation| evaluation.task == task) else { return Vec::new() };
    let (seen, all) = (record.present(task).range().end, record.start.arriving());
    let parts = [("all classes", 0, all), ("seen classes", 0, seen), ("classes not yet photographed", seen, all)];
    let parts = parts.into_iter().filter_map(|(of, from, to)| {
        let slots = Slots::new(from, to);
        let photos = evaluation.answers.truth.iter().filter(|slot| slots.range().contains(&slot.index())).count();
        Some(Measured { of: of.to_owned(), photos, accuracy: evaluation.confusion.accuracy(slots)? })
    });
    // After the last task all classes are seen ones: once is enough.
    parts.filter(|measured| seen < all || measured.of == "all classes").collect()
}
