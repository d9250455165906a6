//! The record: what happened in a run, as JSON lines. Training writes it; everything that is shown is made from it.
//!
//! It holds facts that the seed decides, no times: the same seed on the same CPU, with as many threads, gives the same
//! bytes.

use crate::class::{Slot, Slots};
use crate::error::RunError;
use crate::evaluation::{Answers, Confusion, Judged, Promise, Run, Worth};
use crate::experiment::Recipe;
pub use crate::experiment::digests::Digests;
use crate::extractor::Provenance;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The version of this format. Version 1 had no digests; it is still read.
pub const FORMAT: u32 = 2;

/// One line of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// The first: what the run is about.
    Start(Start),
    /// An epoch's losses.
    Epoch(Epoch),
    /// What was kept of new classes.
    Memory(Kept),
    /// What class information was worth, in the closed form.
    Worth(Worth),
    /// What the Ghost model promises of its guesses, where it chose an offset.
    Promise(Promise),
    /// What was answered after a task.
    Evaluation(Evaluation),
    /// Which images the task read. Records of early versions have none.
    Images(Images),
    /// The digests of what the task left behind: its last line. Records of format 1 have none.
    Digests(Digests),
}

/// What the run is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of the program.
    pub version: String,
    /// The effective recipe, as TOML.
    pub recipe: String,
    /// The seed.
    pub seed: u32,
    /// Where it ran: a CPU and a GPU round differently.
    pub device: String,
    /// How the run breaks the rules of the setting, if it does: an upper bound, not a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle: Option<String>,
    /// The share of training images that was held out and answered in place of the test images, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validated: Option<f64>,
    /// The weights that the extractor began with, where they were trained elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Provenance>,
    /// A hash of what the dataset holds.
    pub data: String,
    /// A hash of which images it holds and what each shows, whatever is known of their classes. Early versions had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<String>,
    /// The digest of the file that lists all photos, where they were checked before the first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub photos: Option<String>,
    /// The classes' names in order of arrival, then those that never arrive: they are described and have no images.
    pub classes: Vec<String>,
    /// How many arrive with each task.
    pub tasks: Vec<usize>,
}

/// An epoch's losses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Epoch {
    /// From 1.
    pub task: usize,
    /// The stage's name.
    pub stage: String,
    /// From 1.
    pub epoch: usize,
    /// The learning rate.
    pub lr: f64,
    /// The mean of each term.
    pub terms: BTreeMap<String, f64>,
}

/// What was kept of new classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// From 1.
    pub task: usize,
    /// The images of each class.
    pub exemplars: Vec<(Slot, Vec<String>)>,
}

/// What was answered after a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// From 1.
    pub task: usize,
    /// `confusion[truth][answer]`, all classes.
    pub confusion: Confusion,
    /// Answer by answer, with scores.
    pub answers: Answers,
}

/// Which images a task read: how many, and the digest of the file that names each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Images {
    /// From 1.
    pub task: usize,
    /// How many it learned from.
    pub learned: usize,
    /// How many are in memory after it.
    pub kept: usize,
    /// How many it was tested on.
    pub tested: usize,
    /// Its stages, in order.
    pub stages: Vec<String>,
    /// The BLAKE3 digest of `images.jsonl`.
    pub digest: String,
}

/// A record, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its first line.
    pub start: Start,
    /// The rest.
    pub lines: Vec<Line>,
}

impl Start {
    /// How many classes arrive: those with images.
    pub fn arriving(&self) -> usize {
        self.tasks.iter().fold(0, |sum, classes| sum.saturating_add(*classes))
    }

    /// Whether both learn the same classes in the same tasks; one may know of more that never arrive.
    pub fn same_tasks(&self, other: &Self) -> bool {
        let arriving = |start: &Self| start.classes.get(..start.arriving()).map(<[String]>::to_vec);
        self.tasks == other.tasks && arriving(self) == arriving(other)
    }

    /// Whether both runs are on the same images, whatever each knows of their classes.
    pub fn same_images(&self, other: &Self) -> bool {
        match (&self.images, &other.images) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => self.data == other.data,
        }
    }

    /// What the run is about, whatever its seed: what runs of one kind share. A recipe of another version that cannot be
    /// read is taken as it stands.
    pub fn recipe_without_seed(&self) -> String {
        Recipe::parse(&self.recipe, Path::new("record.jsonl"))
            .map_or_else(|_| self.recipe.clone(), |recipe| Recipe { seed: 0, ..recipe }.to_toml())
    }

    /// What a reader has to know of pretrained weights: everything that shows the run's numbers says this, too.
    pub fn pretrained(&self) -> Option<String> {
        let Provenance { name, digest } = self.weights.as_ref()?;
        let digest = digest.get(..12).unwrap_or(digest);
        Some(format!("a pretrained extractor may have met future classes: {name} (SHA-256 {digest}…)"))
    }

    /// Why the run's numbers are no result, where they are none: everything that shows them shows this, too.
    pub fn stamp(&self) -> Option<String> {
        match (&self.oracle, self.validated) {
            (Some(oracle), _) => Some(format!("ORACLE, not a result: {oracle}")),
            (None, Some(share)) => Some(format!(
                "VALIDATION, not a result: {:.0} % of the training images were held out and answered",
                100.0 * share
            )),
            (None, None) => None,
        }
    }
}

impl Line {
    /// The line as it is written.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a line is plain data")
    }
}

impl Record {
    /// Reads a record file.
    pub fn read(path: &Path) -> Result<Self, RunError> {
        let text = crate::disk::read_run_text(path).map_err(RunError::io(path))?;
        Self::parse(&text, path)
    }

    /// Reads a record's text; `path` is named in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Self, RunError> {
        let record = Self::parse_unchecked(text, path)?;
        match record.changed(text) {
            None => Ok(record),
            Some(line) => {
                let reason = "it is not as it was written: the digests of its tasks are others".to_owned();
                Err(RunError::Damaged { path: path.to_owned(), line: Some(line), reason })
            }
        }
    }

    /// The same, whether its digests are right or not.
    pub(crate) fn parse_unchecked(text: &str, path: &Path) -> Result<Self, RunError> {
        let damaged =
            |line: usize, reason: String| RunError::Damaged { path: path.to_owned(), line: Some(line), reason };
        let mut lines = Vec::new();
        for (index, text) in text.lines().enumerate() {
            let line: Line = serde_json::from_str(text).map_err(|error| damaged(index + 1, error.to_string()))?;
            lines.push(line);
        }
        let start = match lines.first() {
            Some(Line::Start(start)) if (1..=FORMAT).contains(&start.format) => start.clone(),
            Some(Line::Start(start)) => {
                return Err(damaged(1, format!("expected record format 1 to {FORMAT}, found {}", start.format)));
            }
            Some(_) => return Err(damaged(1, "expected the line `start`, found another".to_owned())),
            None => return Err(damaged(1, "expected the line `start`, found an empty file".to_owned())),
        };
        lines.remove(0);
        let record = Self { start, lines };
        record.check().map_err(|reason| RunError::Damaged { path: path.to_owned(), line: None, reason })?;
        Ok(record)
    }

    /// The first line at which the digests of `text`, which this record was read from, are not what they should be.
    pub(crate) fn changed(&self, text: &str) -> Option<usize> {
        let (mut at, mut whole) = (0, true);
        for (index, raw) in text.split_inclusive('\n').enumerate() {
            // The first line is the start.
            if let Some(line) = index.checked_sub(1).and_then(|index| self.lines.get(index)) {
                whole =
                    matches!(line, Line::Digests(digests) if digests.fits(&text[..at]) && line.to_json() + "\n" == raw);
                if !whole && matches!(line, Line::Digests(_)) {
                    return Some(index + 1);
                }
            }
            at += raw.len();
        }
        (self.start.format > 1 && !whole).then_some(self.lines.len() + 1)
    }

    /// The digests of task `task`, where the record has any.
    pub fn digests(&self, task: usize) -> Option<&Digests> {
        self.lines.iter().find_map(|line| match line {
            Line::Digests(digests) if digests.task == task => Some(digests),
            _ => None,
        })
    }

    /// What only a damaged or edited file gets wrong, so that metrics need not ask.
    fn check(&self) -> Result<(), String> {
        let (classes, arriving) = (self.start.classes.len(), self.start.arriving());
        if arriving > classes {
            return Err("the tasks bring more classes than there are".to_owned());
        }
        let digests = self.lines.iter().filter_map(|line| match line {
            Line::Digests(digests) => Some(&digests.files),
            _ => None,
        });
        // Each is read, wherever it is said to lie.
        let is_plain = |name: &str| Path::new(name).file_name().is_some_and(|file| file == name);
        if let Some(name) = digests.flat_map(BTreeMap::keys).find(|name| !is_plain(name)) {
            return Err(format!("expected the name of a file of the task, found `{name}`"));
        }
        for (index, evaluation) in self.evaluations().enumerate() {
            let answers = &evaluation.answers;
            let count = answers.truth.len();
            let fits = |best: &crate::evaluation::Best| best.slots.len() == count && best.scores.len() == count;
            let bests = || [Some(&answers.seen), answers.unseen.as_ref()].into_iter().flatten();
            let slots = || answers.truth.iter().chain(bests().flat_map(|best| &best.slots));
            if evaluation.task != index + 1 || index >= self.start.tasks.len() {
                return Err(format!(
                    "expected the evaluation of task {}, found that of task {}",
                    index + 1,
                    evaluation.task
                ));
            }
            let unknown = slots().any(|slot| slot.index() >= classes);
            let likely = answers.probabilities.as_ref().is_none_or(|all| all.fit(count));
            if !bests().all(fits) || !likely || unknown || answers.truth.iter().any(|slot| slot.index() >= arriving) {
                return Err(format!("the answers of task {} do not fit together", index + 1));
            }
            if answers.confusion(arriving) != evaluation.confusion {
                return Err(format!("the confusion of task {} is not that of its answers", index + 1));
            }
        }
        Ok(())
    }

    /// The epochs of all stages, in order.
    pub fn epochs(&self) -> impl Iterator<Item = &Epoch> {
        self.lines.iter().filter_map(|line| match line {
            Line::Epoch(epoch) => Some(epoch),
            _ => None,
        })
    }

    /// What class information was worth after each task, in the closed form.
    pub fn worths(&self) -> impl Iterator<Item = &Worth> {
        self.lines.iter().filter_map(|line| match line {
            Line::Worth(worth) => Some(worth),
            _ => None,
        })
    }

    /// What the Ghost model promised of its guesses after each task.
    pub fn promises(&self) -> impl Iterator<Item = &Promise> {
        self.lines.iter().filter_map(|line| match line {
            Line::Promise(promise) => Some(promise),
            _ => None,
        })
    }

    /// What was answered after each finished task.
    pub fn evaluations(&self) -> impl Iterator<Item = &Evaluation> {
        self.lines.iter().filter_map(|line| match line {
            Line::Evaluation(evaluation) => Some(evaluation),
            _ => None,
        })
    }

    /// The classes of task `task`, from 1.
    pub fn present(&self, task: usize) -> Slots {
        let start = self.start.tasks[..task - 1].iter().sum();
        Slots::new(start, start + self.start.tasks[task - 1])
    }

    /// The run as metrics see it.
    pub fn run(&self) -> Run {
        let tasks = self.evaluations().map(|evaluation| Judged {
            present: self.present(evaluation.task),
            confusion: evaluation.confusion.clone(),
            answers: evaluation.answers.clone(),
        });
        Run { classes: self.start.arriving(), tasks: tasks.collect() }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{FORMAT, Start};

    /// The first line of a made-up record.
    pub(crate) fn start<const N: usize>(classes: [&str; N], tasks: &[usize]) -> Start {
        Start {
            format: FORMAT,
            version: "0.1.0".to_owned(),
            recipe: String::new(),
            seed: 1,
            device: "cpu".to_owned(),
            oracle: None,
            validated: None,
            weights: None,
            data: "0".to_owned(),
            images: None,
            photos: None,
            classes: classes.map(String::from).to_vec(),
            tasks: tasks.to_vec(),
        }
    }
}
