//! `events.out.tfevents.prescient`: losses, learning rates and accuracies for TensorBoard, while they come.
//!
//! The file is a view on the run, not part of its record: it has times in it, and its bytes are not promised. Its name has
//! neither host nor time, so that equal runs have equal folders. It is the one file that is written bit by bit, because that is
//! how TensorBoard follows a run; a reader knows an unfinished end by its frame ([`frame`]).
//!
//! What an interrupted task left in it is taken back when the run goes on ([`kept`]), and what is missing is made again from the
//! record.

mod frame;
mod message;

use crate::error::RunError;
use crate::evaluation::{Answers, Confusion};
use crate::experiment::Record;
use crate::experiment::record::Line;
use crate::learner::{self, Observer};
use message::Event;
use prost::Message;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The last number of a task.
const LAST: &str = "accuracy/all";

/// Writes what happens.
pub(super) struct Events {
    path: PathBuf,
    file: File,
    /// How many classes each task brings.
    tasks: Vec<usize>,
    /// Why nothing more can be written.
    failed: Option<std::io::Error>,
}

impl Events {
    /// Goes on with the file at `path`: what it has of the finished tasks of `record` stays, the rest is taken back. A file
    /// that is not there, or lacks something, is made from the record.
    pub(super) fn open(path: &Path, tasks: &[usize], record: Option<&Record>) -> Result<Self, RunError> {
        let finished = record.map_or(0, |record| record.evaluations().count());
        let before = crate::disk::read(path, crate::disk::TABLE)
            .ok()
            .and_then(|bytes| Some(bytes[..kept(&bytes, finished)?].to_vec()));
        let bytes = before.unwrap_or_else(|| from_record(tasks, record));
        // In its place, and not into it: a pipe of that name would wait for a reader.
        crate::disk::replace(path, &bytes).map_err(RunError::io(path))?;
        let file = OpenOptions::new().append(true).open(path).map_err(RunError::io(path))?;
        Ok(Self { path: path.to_owned(), file, tasks: tasks.to_vec(), failed: None })
    }

    /// Whether all could be written.
    pub(super) fn check(&mut self) -> Result<(), RunError> {
        self.failed.take().map_or(Ok(()), |error| Err(RunError::io(&self.path)(error)))
    }

    fn write(&mut self, numbers: Numbers) {
        let event = Event::numbers(now(), numbers.step, &numbers.values);
        if self.failed.is_none() {
            self.failed = self.file.write_all(&frame::framed(&event.encode_to_vec())).err();
        }
    }
}

impl Observer for Events {
    fn on_event(&mut self, event: &learner::Event<'_>) {
        match *event {
            learner::Event::Epoch { task, stage, epoch, of, lr, terms } => {
                self.write(of_epoch((task - 1) * of + epoch, stage, lr, terms.iter().copied()));
            }
            learner::Event::Evaluated { task, answers } => {
                let numbers = of_answers(&self.tasks, task, answers);
                self.write(numbers);
            }
            _ => {}
        }
    }
}

/// Numbers of one step.
struct Numbers {
    step: usize,
    values: Vec<(String, f64)>,
}

/// The terms of a loss, and their sum: what was minimized. The learning rate, too, where it has a schedule.
fn of_epoch<'a>(step: usize, stage: &str, lr: f64, terms: impl Iterator<Item = (&'a str, f64)>) -> Numbers {
    let mut values: Vec<(String, f64)> = terms.map(|(term, value)| (format!("{stage}/{term}"), value)).collect();
    if values.len() > 1 {
        values.push((format!("{stage}/total"), values.iter().map(|(_, value)| value).sum()));
    }
    if stage == "train" {
        values.push((format!("{stage}/lr"), lr));
    }
    Numbers { step, values }
}

/// Accuracies after a task, in percent.
fn of_answers(tasks: &[usize], task: usize, answers: &Answers) -> Numbers {
    let (classes, seen): (usize, usize) = (tasks.iter().sum(), tasks[..task].iter().sum());
    let confusion: Confusion = answers.confusion(classes);
    let slots = |from, to| confusion.accuracy(crate::class::Slots::new(from, to));
    let named =
        [("accuracy/seen", slots(0, seen)), ("accuracy/unseen", slots(seen, classes)), (LAST, slots(0, classes))];
    let values = named.into_iter().filter_map(|(name, share)| Some((name.to_owned(), 100.0 * share?)));
    Numbers { step: task, values: values.collect() }
}

/// How many bytes of a file belong to the first `finished` tasks; none where they are not all there.
fn kept(file: &[u8], finished: usize) -> Option<usize> {
    let (bytes, mut rest) = frame::first(file)?;
    Event::decode(bytes).ok()?.file_version?;
    let mut done = 0;
    while done < finished {
        let (bytes, after) = frame::first(rest)?;
        let event = Event::decode(bytes).ok()?;
        done += usize::from(event.has(LAST));
        rest = after;
    }
    Some(file.len() - rest.len())
}

/// The file that a record tells of; its times are now, for the record has none.
fn from_record(tasks: &[usize], record: Option<&Record>) -> Vec<u8> {
    let lines = || record.iter().flat_map(|record| &record.lines);
    // The record does not say how many epochs a stage has. Its last one is always told of.
    let mut of: BTreeMap<(&str, Vec<&String>), usize> = BTreeMap::new();
    for line in lines() {
        if let Line::Epoch(epoch) = line {
            let max_norm = of.entry((&epoch.stage, epoch.terms.keys().collect())).or_default();
            *max_norm = epoch.epoch.max(*max_norm);
        }
    }
    let now = now();
    let mut file = frame::framed(&Event::version(now).encode_to_vec());
    for line in lines() {
        let numbers = match line {
            Line::Epoch(epoch) => {
                let of = of[&(epoch.stage.as_str(), epoch.terms.keys().collect())];
                let terms = epoch.terms.iter().map(|(term, value)| (term.as_str(), *value));
                of_epoch((epoch.task - 1) * of + epoch.epoch, &epoch.stage, epoch.lr, terms)
            }
            Line::Evaluation(evaluation) => of_answers(tasks, evaluation.task, &evaluation.answers),
            Line::Start(_)
            | Line::Memory(_)
            | Line::Worth(_)
            | Line::Promise(_)
            | Line::Images(_)
            | Line::Digests(_) => continue,
        };
        file.extend(frame::framed(&Event::numbers(now, numbers.step, &numbers.values).encode_to_vec()));
    }
    file
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Slot;
    use crate::evaluation::Best;
    use crate::experiment::record::testing::start;
    use crate::experiment::record::{Epoch, Evaluation};

    const TASKS: [usize; 2] = [1, 1];

    fn answers(given: [u32; 4]) -> Answers {
        let seen = Best { slots: given.map(Slot).to_vec(), scores: vec![0.5; 4] };
        Answers { truth: [0, 0, 1, 1].map(Slot).to_vec(), seen, ..Default::default() }
    }

    /// Tells an observer what a task of two epochs would, and notes the record's lines of it.
    fn task(events: &mut Events, number: usize, lines: &mut Vec<Line>) {
        for epoch in 1..=2 {
            let value = number as f64 + epoch as f64 / 10.0;
            let terms: &[(&'static str, f64)] =
                if number == 1 { &[("nca", value)] } else { &[("nca", value), ("pod", 0.5)] };
            events.on_event(&learner::Event::Epoch { task: number, stage: "train", epoch, of: 2, lr: 0.1, terms });
            let terms = terms.iter().map(|(term, value)| ((*term).to_owned(), *value)).collect();
            lines.push(Line::Epoch(Epoch { task: number, stage: "train".to_owned(), epoch, lr: 0.1, terms }));
        }
        let answers = answers([0, 1, 1, 0]);
        events.on_event(&learner::Event::Evaluated { task: number, answers: &answers });
        lines.push(Line::Evaluation(Evaluation { task: number, confusion: answers.confusion(2), answers }));
    }

    fn record(lines: &[Line]) -> Record {
        Record { start: start(["ant", "bee"], &TASKS), lines: lines.to_vec() }
    }

    /// Every event of a file, without its time: tag, step, number.
    fn told(path: &Path) -> Vec<(String, i64, f32)> {
        let bytes = std::fs::read(path).expect("the file");
        let mut rest = &bytes[..];
        let mut told = Vec::new();
        while !rest.is_empty() {
            let (bytes, after) = frame::first(rest).expect("a whole frame");
            let event = Event::decode(bytes).expect("an event");
            for value in event.summary.into_iter().flat_map(|summary| summary.values) {
                told.push((value.tag, event.step, value.simple_value.expect("a number")));
            }
            rest = after;
        }
        told
    }

    /// Half of the images are right after either task: of seen classes 1 of 2 after the first, of unseen ones 1 of 2.
    #[test]
    fn losses_rates_and_accuracies_are_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events.out.tfevents.prescient");
        let mut events = Events::open(&path, &TASKS, None).expect("a file");
        task(&mut events, 1, &mut Vec::new());
        task(&mut events, 2, &mut Vec::new());
        events.check().expect("written");
        let expected = [
            ("train/nca", 1, 1.1),
            ("train/lr", 1, 0.1),
            ("train/nca", 2, 1.2),
            ("train/lr", 2, 0.1),
            ("accuracy/seen", 1, 50.0),
            ("accuracy/unseen", 1, 50.0),
            ("accuracy/all", 1, 50.0),
            ("train/nca", 3, 2.1),
            ("train/pod", 3, 0.5),
            ("train/total", 3, 2.6),
            ("train/lr", 3, 0.1),
            ("train/nca", 4, 2.2),
            ("train/pod", 4, 0.5),
            ("train/total", 4, 2.7),
            ("train/lr", 4, 0.1),
            ("accuracy/seen", 2, 50.0),
            ("accuracy/all", 2, 50.0),
        ];
        assert_eq!(told(&path), expected.map(|(tag, step, value)| (tag.to_owned(), step, value)));
    }

    #[test]
    fn what_an_interrupted_task_told_is_taken_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let [whole, resumed] = ["whole", "resumed"].map(|name| folder.path().join(name));
        let mut lines = Vec::new();
        let mut events = Events::open(&whole, &TASKS, None).expect("a file");
        task(&mut events, 1, &mut lines);
        let first = record(&lines);
        task(&mut events, 2, &mut lines);

        // Killed in task 2, in the middle of a frame.
        let bytes = std::fs::read(&whole).expect("the file");
        std::fs::write(&resumed, &bytes[..bytes.len() - 70]).expect("written");
        let mut events = Events::open(&resumed, &TASKS, Some(&first)).expect("a file");
        assert_eq!(told(&resumed).last().map(|(tag, step, _)| (tag.as_str(), *step)), Some(("accuracy/all", 1)));
        task(&mut events, 2, &mut Vec::new());
        assert_eq!(told(&resumed), told(&whole));
    }

    #[test]
    fn a_file_that_is_lost_or_damaged_is_made_from_the_record() {
        let folder = tempfile::tempdir().expect("a folder");
        let [whole, lost, damaged] = ["whole", "lost", "damaged"].map(|name| folder.path().join(name));
        let mut lines = Vec::new();
        let mut events = Events::open(&whole, &TASKS, None).expect("a file");
        task(&mut events, 1, &mut lines);
        task(&mut events, 2, &mut lines);
        let record = record(&lines);
        std::fs::write(&damaged, b"not events").expect("written");
        for path in [lost, damaged] {
            Events::open(&path, &TASKS, Some(&record)).expect("a file");
            assert_eq!(told(&path), told(&whole), "{}", path.display());
        }
    }
}
