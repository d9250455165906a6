//! A task half learned: what the main training needs to go on after an epoch, in one file.
//!
//! ```text
//! {"task": 2, "next": 7, "told": […], "tensors": "DIGEST", "digest": "DIGEST"} | tensors, as safetensors
//! ```
//!
//! What comes before the main training is done again, for it is short. Each epoch draws from a stream of its own, so no state of a
//! generator of random numbers has to be kept. Several starts of the first task are not kept: nobody knows yet which is the one.

use super::GhostLearner;
use super::imagination::Imagination;
use super::training_ghosts::TrainingGhosts;
use crate::disk;
use crate::engine::{Sgd, TensorFile, tensor_bytes};
use crate::error::RunError;
use crate::learner::{Event, Observer};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tch::{Tensor, no_grad};

const GENERATOR: &str = "generator.";
/// Between the words and the tensors.
const END: &[u8] = b"\n}\n";

/// Where a task half learned is kept, and how often.
#[derive(Debug)]
pub(super) struct Partial {
    path: PathBuf,
    every: Duration,
    written: Instant,
    /// After the last epoch, not yet written.
    latest: Option<Snapshot>,
}

/// The main training after an epoch.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) task: usize,
    /// The epoch that comes next, from 0.
    pub(super) next: usize,
    /// What was told of epochs so far.
    pub(super) told: Vec<Told>,
    pub(super) tensors: BTreeMap<String, Tensor>,
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

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    task: usize,
    next: usize,
    told: Vec<Told>,
    /// The digest of what follows.
    tensors: String,
}

impl Partial {
    /// In the file at `path`, at most once in a while.
    pub(super) fn new(path: PathBuf, every: Duration) -> Self {
        Self { path, every, written: Instant::now(), latest: None }
    }

    /// An epoch is done.
    pub(super) fn note(&mut self, snapshot: Snapshot) -> Result<(), RunError> {
        self.latest = Some(snapshot);
        if self.written.elapsed() >= self.every { self.write() } else { Ok(()) }
    }

    /// Writes what was noted last, where that has not been done.
    pub(super) fn write(&mut self) -> Result<(), RunError> {
        let Some(Snapshot { task, next, told, tensors }) = self.latest.take() else { return Ok(()) };
        let tensors = tensor_bytes(&tensors);
        let about = disk::signed(&About { task, next, told, tensors: disk::digest(&tensors) });
        let bytes = [about.as_bytes(), &tensors].concat();
        disk::replace(&self.path, &bytes).map_err(RunError::io(&self.path))?;
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

impl Snapshot {
    /// Of task `task`, from the bytes of the file at `path`.
    pub(super) fn parse(path: &Path, bytes: &[u8], task: usize) -> Result<Self, RunError> {
        let damaged = |reason: &str| RunError::Damaged { path: path.to_owned(), line: None, reason: reason.to_owned() };
        let end = bytes.windows(END.len()).position(|part| part == END).ok_or_else(|| damaged("it is cut short"))?;
        let (words, tensors) = bytes.split_at(end + END.len());
        let words = std::str::from_utf8(words).map_err(|_| damaged("it is not as it was written"))?;
        let words = disk::opened(words).map_err(|reason| damaged(&reason))?;
        let about: About = serde_json::from_str(&words).map_err(|error| damaged(&error.to_string()))?;
        if disk::digest(tensors) != about.tensors || about.task != task {
            return Err(damaged("it is not as it was written: its digest is another"));
        }
        let file = TensorFile::from_bytes(path, tensors.to_vec())?;
        let read = |name: String| file.read(&name, None).map(|tensor| (name, tensor));
        let tensors = file.names()?.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { task, next: about.next, told: about.told, tensors })
    }

    /// A copy of all that the main training changes.
    pub(super) fn of(
        model: &GhostLearner,
        sgd: &Sgd,
        ghosts: Option<&TrainingGhosts>,
        next: usize,
        task: usize,
        told: Vec<Told>,
    ) -> Self {
        let mut tensors: BTreeMap<String, Tensor> =
            changing(model, sgd, ghosts).into_iter().map(|(name, tensor)| (name, tensor.detach().copy())).collect();
        if let Imagination::Generator(generator) = &model.imagination {
            let of_g = generator.tensors().into_iter();
            tensors.extend(of_g.map(|(name, tensor)| (format!("{GENERATOR}{name}"), tensor.detach().copy())));
        }
        Self { task, next, told, tensors }
    }

    /// Puts everything back where it was.
    pub(super) fn restore(
        &self,
        model: &mut GhostLearner,
        sgd: &Sgd,
        ghosts: Option<&TrainingGhosts>,
    ) -> Result<(), String> {
        for (name, mut tensor) in changing(model, sgd, ghosts) {
            let stored = self.tensors.get(&name).filter(|stored| stored.size() == tensor.size());
            let stored = stored.ok_or_else(|| format!("expected the tensor `{name}` in its shape, found none"))?;
            no_grad(|| tensor.copy_(stored));
        }
        if let Imagination::Generator(generator) = &mut model.imagination {
            let of_g = self
                .tensors
                .iter()
                .filter_map(|(name, tensor)| Some((name.strip_prefix(GENERATOR)?.to_owned(), tensor.shallow_clone())));
            generator
                .restore(&of_g.collect())
                .map_err(|name| format!("expected the tensor `{GENERATOR}{name}`, found none"))?;
        }
        Ok(())
    }
}

/// All that the main training changes, by name.
fn changing(model: &GhostLearner, sgd: &Sgd, ghosts: Option<&TrainingGhosts>) -> Vec<(String, Tensor)> {
    let mut tensors: Vec<(String, Tensor)> =
        model.network.variables().into_iter().map(|(name, tensor)| (format!("extractor.{name}"), tensor)).collect();
    let blocks = model.classifier.blocks().iter().enumerate();
    tensors.extend(blocks.map(|(task, block)| (format!("classifier.proxies.{}", task + 1), block.shallow_clone())));
    tensors.push(("classifier.raw_scale".to_owned(), model.classifier.raw_scale().shallow_clone()));
    let velocities = sgd.velocities().iter().enumerate();
    tensors.extend(velocities.map(|(place, velocity)| (format!("velocity.{place}"), velocity.shallow_clone())));
    tensors.extend(ghosts.map(|ghosts| ("ghosts.proxies".to_owned(), ghosts.proxies.shallow_clone())));
    tensors
}

/// Notes what is told of epochs.
pub(super) struct Noting<'a> {
    pub(super) observer: &'a mut dyn Observer,
    pub(super) told: Rc<RefCell<Vec<Told>>>,
}

impl Observer for Noting<'_> {
    fn on_event(&mut self, event: &Event<'_>) {
        if let Event::Epoch { stage, epoch, of, lr, terms, .. } = *event {
            let terms = terms.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            self.told.borrow_mut().push(Told { stage: stage.to_owned(), epoch, of, lr, terms });
        }
        self.observer.on_event(event);
    }

    fn stops(&self) -> bool {
        self.observer.stops()
    }
}

impl Told {
    /// Tells it once more.
    pub(super) fn again(&self, task: usize, observer: &mut dyn Observer) {
        // Names of stages and terms are few, and a run goes on once: what is not given back is nothing.
        let kept = |name: &String| -> &'static str { name.clone().leak() };
        let terms: Vec<(&'static str, f64)> = self.terms.iter().map(|(name, value)| (kept(name), *value)).collect();
        let (stage, epoch, of, lr) = (kept(&self.stage), self.epoch, self.of, self.lr);
        observer.on_event(&Event::Epoch { task, stage, epoch, of, lr, terms: &terms });
    }
}
