//! A task half learned, as a file: how far each stage with epochs is, and what it needs to go on.
//!
//! ```text
//! {"task": 2, "stages": [{"stage": "train", "next": 7, "done": false, "reads": false, "told": […]}],
//!  "pages": 0, "rest": "DIGEST", "digest": "DIGEST"} | which images were read, as JSON | tensors, as safetensors
//! ```
//!
//! A tensor's name begins with the place of its stage: `0/extractor.stem.weight`.

use crate::disk;
use crate::engine::{TensorFile, tensor_bytes};
use crate::error::RunError;
use crate::learner::{Event, Observer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tch::Tensor;

/// Between the words and the rest.
const END: &[u8] = b"\n}\n";

/// Where a task half learned is kept, and how often.
#[derive(Debug)]
pub(super) struct Partial {
    path: PathBuf,
    every: Duration,
    written: Instant,
}

/// A stage that has begun.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) about: AboutStage,
    /// Copies of what it changes, as they were before the epoch that comes next.
    pub(super) tensors: BTreeMap<String, Tensor>,
}

/// How far a stage is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AboutStage {
    pub(super) stage: String,
    /// The epoch that comes next, from 0.
    pub(super) next: usize,
    pub(super) done: bool,
    /// Whether the images that are named are those that were read up to its end.
    pub(super) reads: bool,
    /// What was told of its epochs so far.
    pub(super) told: Vec<Told>,
}

/// What was told of an epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Told {
    stage: String,
    epoch: usize,
    of: usize,
    lr: f64,
    terms: Vec<(String, f64)>,
}

/// What a file has.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) stages: Vec<Kept>,
    /// Which images were read, up to the end of the last stage that is done and reads some.
    pub(super) pages: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    task: usize,
    stages: Vec<AboutStage>,
    /// How many bytes name the images that were read.
    pages: usize,
    /// The digest of what follows.
    rest: String,
}

impl Partial {
    /// In the file at `path`, at most once in a while.
    pub(super) fn new(path: PathBuf, every: Duration) -> Self {
        Self { path, every, written: Instant::now() }
    }

    /// Whether it is time to write.
    pub(super) fn is_due(&self) -> bool {
        self.written.elapsed() >= self.every
    }

    /// Writes how far task `task` is.
    pub(super) fn write(&mut self, task: usize, stages: &[Kept], pages: &[u8]) -> Result<(), RunError> {
        let named = |(place, kept): (usize, &Kept)| -> Vec<(String, Tensor)> {
            kept.tensors.iter().map(|(name, tensor)| (format!("{place}/{name}"), tensor.shallow_clone())).collect()
        };
        let tensors: BTreeMap<String, Tensor> = stages.iter().enumerate().flat_map(named).collect();
        let rest = [pages, &tensor_bytes(&tensors)].concat();
        let stages = stages.iter().map(|kept| kept.about.clone()).collect();
        let about = disk::signed(&About { task, stages, pages: pages.len(), rest: disk::digest(&rest) });
        disk::replace(&self.path, &[about.as_bytes(), &rest].concat()).map_err(RunError::io(&self.path))?;
        self.written = Instant::now();
        Ok(())
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What was written; nothing where nothing was.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, RunError> {
        match disk::read(&self.path, disk::RUN) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(RunError::io(&self.path)),
        }
    }
}

impl Contents {
    /// Of task `task`, from the bytes of the file at `path`.
    pub(super) fn parse(path: &Path, bytes: &[u8], task: usize) -> Result<Self, RunError> {
        let damaged = |reason: &str| RunError::Damaged { path: path.to_owned(), line: None, reason: reason.to_owned() };
        let end = bytes.windows(END.len()).position(|part| part == END).ok_or_else(|| damaged("it is cut short"))?;
        let (words, rest) = bytes.split_at(end + END.len());
        let words = std::str::from_utf8(words).map_err(|_| damaged("it is not as it was written"))?;
        let words = disk::opened(words).map_err(|reason| damaged(&reason))?;
        let about: About = serde_json::from_str(&words).map_err(|error| damaged(&error.to_string()))?;
        if disk::digest(rest) != about.rest || about.task != task || about.pages > rest.len() {
            return Err(damaged("it is not as it was written: its digest is another"));
        }
        let (pages, tensors) = rest.split_at(about.pages);
        let file = TensorFile::from_bytes(path, tensors.to_vec())?;
        let kept = |about: AboutStage| Kept { about, tensors: BTreeMap::new() };
        let mut stages: Vec<Kept> = about.stages.into_iter().map(kept).collect();
        for name in file.names()? {
            let of_stage = name.split_once('/').and_then(|(place, short)| Some((place.parse::<usize>().ok()?, short)));
            let stage = of_stage.and_then(|(place, short)| Some((stages.get_mut(place)?, short)));
            let (stage, short) = stage.ok_or_else(|| damaged("it has a tensor of no stage"))?;
            stage.tensors.insert(short.to_owned(), file.read(&name, None)?);
        }
        Ok(Self { stages, pages: pages.to_vec() })
    }
}

impl Told {
    /// What `event` tells of an epoch.
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        let Event::Epoch { stage, epoch, of, lr, terms, .. } = *event else { return None };
        let terms = terms.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Some(Self { stage: stage.to_owned(), epoch, of, lr, terms })
    }

    /// Tells it once more.
    pub(super) fn again(&self, task: usize, observer: &mut dyn Observer) {
        // Names of stages and terms are few, and a run goes on once: what is not given back is nothing.
        let kept = |name: &String| -> &'static str { name.clone().leak() };
        let terms: Vec<(&'static str, f64)> = self.terms.iter().map(|(name, value)| (kept(name), *value)).collect();
        let (stage, epoch, of, lr) = (kept(&self.stage), self.epoch, self.of, self.lr);
        observer.on_event(&Event::Epoch { task, stage, epoch, of, lr, terms: &terms });
    }
}
