//! The runs that tables need, and what is there of them.

use prescient::disk;
use prescient::error::{ReproduceError, Result, RunError, While};
use prescient::experiment::{Recipe, Record, RunFolder, differences, overridden, recipes};
use prescient::report::paper::{Outcome, Outcomes};
use std::path::{Path, PathBuf};

/// A run that a table needs.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The recipe's name.
    pub(super) name: String,
    /// The seed.
    pub(super) seed: u32,
    /// The recipe as it will be followed.
    pub(super) recipe: Recipe,
    /// Where the run is, or will be.
    pub(super) folder: PathBuf,
}

/// What is there of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    New,
    /// It was interrupted.
    Begun,
    /// All of it.
    Finished,
}

impl Wanted {
    /// The run of a recipe that comes along.
    pub(super) fn new(name: &str, seed: u32, sets: &[String], out: &Path) -> Result<Self> {
        let (text, path) = recipes::find(name)?;
        let mut recipe = overridden(&text, &path, sets).when(|| format!("follow the recipe `{name}`"))?;
        recipe.seed = seed;
        Ok(Self { name: name.to_owned(), seed, recipe, folder: out.join(format!("{name}-seed{seed}")) })
    }

    /// As people read it.
    pub(super) fn title(&self) -> String {
        format!("{}, seed {}", self.name, self.seed)
    }

    /// How many classes each task brings: the work of a task is about in proportion to them.
    pub(super) fn tasks(&self) -> &[usize] {
        self.recipe.scenario.split.as_ref().map_or(&[], |split| split.sizes())
    }

    /// The classes of the tasks that are finished.
    pub(super) fn done(&self) -> usize {
        let finished = RunFolder::open(&self.folder).map_or(0, |folder| folder.finished());
        self.tasks().iter().take(finished).sum()
    }

    /// What is there of it. A folder with another run is an error, never a result.
    pub(super) fn state(&self) -> Result<State> {
        let folder = match (self.folder.exists(), RunFolder::open_unfinished(&self.folder)) {
            (true, _) => RunFolder::open(&self.folder)?,
            (false, Some(unfinished)) => unfinished,
            (false, None) => return Ok(State::New),
        };
        let file = folder.recipe();
        let text = disk::read_text(&file).map_err(RunError::io(&file))?;
        let differences = differences(&self.recipe, &Recipe::parse(&text, &file)?);
        if !differences.is_empty() {
            let (path, differences) = (self.folder.clone(), differences.join("; "));
            return Err(ReproduceError::OtherRun { path, differences }.into());
        }
        // The record is what counts: a recipe beside it that was edited to fit would not make it another run.
        let record = Record::read(&folder.record())?;
        if record.start.recipe != text {
            return Err(RunError::OtherRecipe { path: file }.into());
        }
        Ok(if folder.finished() == self.tasks().len() { State::Finished } else { State::Begun })
    }
}

/// What the finished ones among these runs found, by recipe.
pub(super) fn outcomes<'a>(runs: impl Iterator<Item = &'a Wanted>) -> Result<Outcomes> {
    let mut outcomes = Outcomes::new();
    for run in runs.filter(|run| run.folder.exists()) {
        let record = Record::read(&RunFolder::open(&run.folder)?.record())?;
        outcomes.entry(run.name.clone()).or_default().extend(Outcome::of(&record));
    }
    Ok(outcomes)
}
