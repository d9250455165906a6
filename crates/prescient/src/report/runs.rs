//! What a report is made of: the folders of runs, read whole, and the kinds of runs among them.

use crate::class::Slots;
use crate::error::Result;
use crate::evaluation::statistics::Summary;
use crate::evaluation::{Run, Scatter, metrics};
use crate::experiment::{Record, RunFolder, Spent};
use crate::report::kinds::kinds;
use std::path::Path;

/// A run folder, read.
#[derive(Clone, Debug)]
pub struct ReadRun {
    /// What the folder is called.
    pub folder: String,
    /// What happened.
    pub record: Record,
    /// The record as metrics see it.
    pub run: Run,
    /// Features after each finished task; none in runs of early versions.
    pub scatters: Vec<Option<Scatter>>,
    /// What each finished task took.
    pub spent: Vec<Option<Spent>>,
}

/// Runs of one recipe that differ in their seeds alone.
#[derive(Clone, Debug)]
pub struct Kind<'a> {
    /// What it is called.
    pub name: String,
    /// By seed.
    pub runs: Vec<&'a ReadRun>,
}

/// Where a class stands after a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// It came before.
    Past,
    /// It came with the task.
    Present,
    /// It has not come.
    Future,
}

impl Time {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Time::Past => "past",
            Time::Present => "present",
            Time::Future => "future",
        }
    }
}

impl ReadRun {
    /// Reads all that figures need: neither data nor weights.
    pub fn read(path: &Path) -> Result<Self> {
        let folder = RunFolder::open(path)?;
        let record = Record::read(&folder.record())?;
        let run = record.run();
        let tasks = 1..=run.tasks.len();
        let scatters = tasks.clone().map(|task| folder.scatter(&record, task)).collect::<Result<_, _>>()?;
        let spent = tasks.map(|task| folder.spent(task)).collect::<Result<_, _>>()?;
        Ok(Self { folder: called(path), record, run, scatters, spent })
    }

    /// How many tasks are finished.
    pub fn finished(&self) -> usize {
        self.run.tasks.len()
    }

    /// The value of a metric after a task, from 1.
    pub fn value(&self, metric: &str, task: usize) -> Option<f64> {
        metrics::find(metric).and_then(|metric| metric.value(&self.run, task))
    }

    /// Whether the model has answers for classes that have not come.
    pub fn guesses(&self) -> bool {
        self.run.tasks.iter().any(|task| task.answers.unseen.is_some())
    }

    /// Past, present and future of task `task`, from 1.
    pub fn times(&self, task: usize) -> [(Time, Slots); 3] {
        let run = &self.run;
        [(Time::Past, run.past(task)), (Time::Present, run.tasks[task - 1].present), (Time::Future, run.unseen(task))]
    }

    /// Where the class in `slot` stands after task `task`.
    pub fn time(&self, slot: usize, task: usize) -> Time {
        let present = self.run.tasks[task - 1].present.range();
        match slot {
            slot if slot < present.start => Time::Past,
            slot if slot < present.end => Time::Present,
            _ => Time::Future,
        }
    }
}

impl<'a> Kind<'a> {
    /// The kinds among `runs`, in the order in which they are first met.
    pub fn among(runs: &'a [ReadRun]) -> Vec<Self> {
        let kinds = kinds(runs, |run| (&run.folder, &run.record.start));
        kinds.into_iter().map(|(name, runs)| Self { name, runs }).collect()
    }

    /// The run that stands for the kind where one is drawn: that of the lowest seed.
    pub fn first(&self) -> &'a ReadRun {
        self.runs[0]
    }

    /// How many tasks all of its runs have finished.
    pub fn finished(&self) -> usize {
        self.runs.iter().map(|run| run.finished()).min().unwrap_or(0)
    }

    /// A metric after a task, over seeds; none where one of the runs has none.
    pub fn mean(&self, metric: &str, task: usize) -> Option<Summary> {
        let values: Option<Vec<f64>> = self.runs.iter().map(|run| run.value(metric, task)).collect();
        values.and_then(|values| Summary::of(&values))
    }

    /// Its seeds, as people read them.
    pub fn seeds(&self) -> String {
        let seeds: Vec<String> = self.runs.iter().map(|run| run.record.start.seed.to_string()).collect();
        format!("{} {}", if seeds.len() == 1 { "seed" } else { "seeds" }, seeds.join(", "))
    }
}

fn called(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
pub(super) mod testing {
    use crate::report::text::testing::record;
    use crate::report::*;

    /// A made-up run called `folder`, with a seed: `answers[i]` as in [`record`].
    pub(in crate::report) fn read_run(folder: &str, seed: u32, recipe: &str, answers: &[[u32; 8]]) -> ReadRun {
        let mut record = record(answers);
        record.start.seed = seed;
        record.start.recipe = recipe.to_owned();
        let run = record.run();
        let none = answers.len();
        ReadRun { folder: folder.to_owned(), record, run, scatters: vec![None; none], spent: vec![None; none] }
    }
}
