//! What an audit has to go by: the record, and the files of each task beside it.

use crate::class::Slot;
use crate::error::{AuditError, Result, RunError};
use crate::experiment::record::{Evaluation, Images, Line};
use crate::experiment::{Recipe, Record, RunFolder, images};
use crate::protocol::{Reading, Usage};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The names of the images of each class.
pub(super) type Names = BTreeMap<Slot, Vec<String>>;

/// All that a run left behind, without its model.
pub(super) struct Evidence {
    pub(super) record: Record,
    pub(super) recipe: Recipe,
    /// The text of `record.jsonl` behind its first line.
    pub(super) record_text: String,
    /// The text of `recipe.toml`.
    pub(super) recipe_text: String,
    /// The first line of the record whose digests are not what they should be.
    pub(super) changed_line: Option<usize>,
    /// Files that are not as they were written.
    pub(super) faults: Vec<PathBuf>,
    /// The finished tasks.
    pub(super) tasks: Vec<TaskEvidence>,
}

/// What one task left behind.
pub(super) struct TaskEvidence {
    /// From 1.
    pub(super) number: usize,
    /// The text of the task's own `record.jsonl`.
    pub(super) record_text: String,
    /// What the record says of its images.
    pub(super) summary: Images,
    /// The digest that `images.jsonl` has now.
    pub(super) digest: String,
    /// What `images.jsonl` says.
    pub(super) images: Vec<Reading>,
    /// What was kept of the new classes, as the record says.
    pub(super) kept: Vec<(Slot, Vec<String>)>,
    /// What is in memory after the task, as `memory.json` says.
    pub(super) memory: Names,
    pub(super) evaluation: Evaluation,
}

#[derive(Deserialize)]
struct Remembered {
    slot: Slot,
    images: Vec<Exemplar>,
}

#[derive(Deserialize)]
struct Exemplar {
    name: String,
}

impl Evidence {
    pub(super) fn read(run: &Path) -> Result<Self> {
        let folder = RunFolder::open(run)?;
        let (text, recipe_text) = (read(&folder.record())?, read(&folder.recipe())?);
        let record = Record::parse_unchecked(&text, &folder.record())?;
        let recipe = Recipe::parse(&record.start.recipe, &folder.record())?;
        if !record.lines.iter().any(|line| matches!(line, Line::Images(_))) && record.evaluations().next().is_some() {
            return Err(AuditError::NoImages { path: run.to_owned() }.into());
        }
        let evaluations = record.evaluations().cloned();
        let tasks = evaluations.map(|evaluation| TaskEvidence::read(&folder, &record, evaluation));
        let tasks = tasks.collect::<Result<Vec<_>>>()?;
        let record_text = text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        let changed_line = record.changed(&text);
        let faults = folder.faults(&record)?;
        Ok(Self { record, recipe, record_text, recipe_text, tasks, changed_line, faults })
    }

    /// What the record says is in memory after task `task`: nothing before the first.
    pub(super) fn memory_after(&self, task: usize) -> Names {
        let kept = self.tasks.iter().take(task).flat_map(|task| task.kept.iter().cloned());
        kept.fold(Names::new(), |mut memory, (slot, mut names)| {
            memory.entry(slot).or_default().append(&mut names);
            memory
        })
    }

    /// What a class is called.
    pub(super) fn class(&self, slot: Slot) -> &str {
        self.record.start.classes.get(slot.index()).map_or("?", String::as_str)
    }
}

impl TaskEvidence {
    fn read(folder: &RunFolder, record: &Record, evaluation: Evaluation) -> Result<Self> {
        let number = evaluation.task;
        let path = folder.images(number);
        let summary = record.lines.iter().find_map(|line| match line {
            Line::Images(images) if images.task == number => Some(images.clone()),
            _ => None,
        });
        let summary = summary.ok_or_else(|| RunError::Damaged {
            path: folder.record(),
            line: None,
            reason: format!("expected a line `images` of task {number}, found none"),
        })?;
        let text = read(&path)?;
        let kept = record.lines.iter().filter_map(|line| match line {
            Line::Memory(kept) if kept.task == number => Some(kept.exemplars.clone()),
            _ => None,
        });
        Ok(Self {
            number,
            record_text: read(&folder.task_record(number))?,
            summary,
            digest: crate::disk::digest(text.as_bytes()),
            images: images::parse(&text, &path)?,
            kept: kept.flatten().collect(),
            memory: memory(&folder.task(number).join("memory.json"))?,
            evaluation,
        })
    }

    /// The images that were used so.
    pub(super) fn used(&self, usage: Usage) -> impl Iterator<Item = &Reading> {
        self.images.iter().filter(move |image| image.usage == usage)
    }
}

fn read(path: &Path) -> Result<String> {
    Ok(crate::disk::read_run_text(path).map_err(RunError::io(path))?)
}

fn memory(path: &Path) -> Result<Names> {
    let classes: Vec<Remembered> = serde_json::from_str(&read(path)?).map_err(|error| RunError::Damaged {
        path: path.to_owned(),
        line: Some(error.line()),
        reason: error.to_string(),
    })?;
    let names = |class: Remembered| (class.slot, class.images.into_iter().map(|image| image.name).collect());
    Ok(classes.into_iter().map(names).collect())
}
