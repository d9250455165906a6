//! The Ghost model of the paper, and its base model: PODNet or UCIR, with a generator that imagines the future.

mod algorithm;
mod calibrate;
mod checkpoint;
mod complete;
mod epochs;
mod finetune;
mod following;
mod generator;
mod held_out;
mod imagination;
mod imprint;
mod inspect;
mod lesson;
mod offset;
mod partial;
mod plan;
mod progress;
mod remember;
mod restarts;
mod scatter;
mod settings;
mod shards;
mod stopping;
mod train;
mod training_ghosts;

pub use plan::{Complete, Imprint, Plan, Training};
pub use settings::{
    CalibrateSettings, CompleteSettings, FinetuneSettings, GhostSettings, LearnSettings, ModelSettings, Oracle,
    Reduction, TrainSettings,
};

use crate::classifier::CosineClassifier;
use crate::engine::{Preprocessing, Processes, TaskBatches};
use crate::error::{LearnError, RunError};
use crate::evaluation::Likeness;
use crate::extractor::Network;
use crate::learner::{Event, Learner, Observer};
use crate::memory::Memory;
use crate::predictor::{About, Calibration, Head, HeadKind, Input, Predictor};
use crate::protocol::{Sealed, TaskData};
use crate::scenario::Task;
use crate::seeds::Seeds;
use held_out::HeldOut;
use imagination::Imagination;
use lesson::Lesson;
use partial::Partial;
use progress::Progress;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tch::{Device, Kind, Tensor};

/// A model that learns task by task, as Algorithm 1 says.
pub struct GhostLearner {
    settings: LearnSettings,
    sealed: Sealed,
    seeds: Seeds,
    device: Device,
    /// `f`.
    network: Network,
    /// `clf`, for the classes seen so far.
    classifier: CosineClassifier,
    memory: Memory,
    /// `g`.
    imagination: Imagination,
    /// The proxies that ghosts trained in the last task, `[future, width]`: those to arrive next come first.
    ghost_proxies: Tensor,
    /// The proxies of all classes that the last task was answered with, `[classes, width]`; none, `[0, width]`, where it guessed at
    /// nothing. Images that arrive show what its guesses were worth.
    complete: Tensor,
    /// The training images that train nothing.
    held_out: Rc<HeldOut>,
    input: Preprocessing,
    /// Where the next task is kept while it is half learned.
    partial: Option<Partial>,
    processes: Processes,
}

/// What a task answers with.
struct Answering {
    /// `θ` of the classes that compete, in order of arrival: `[classes, width]`.
    proxies: Tensor,
    calibration: Calibration,
}

impl Answering {
    /// With the classes seen so far, and no offset.
    fn seen(proxies: Tensor) -> Self {
        Self { proxies: proxies.detach().copy(), calibration: Calibration::default() }
    }
}

impl GhostLearner {
    /// A model that knows nothing yet.
    pub fn new(settings: LearnSettings, sealed: Sealed, seeds: Seeds, device: Device) -> Result<Self, LearnError> {
        Self::among(Processes::alone(), settings, sealed, seeds, device)
    }

    /// The same as one of several processes, whose number divides `train.shards`.
    pub fn among(
        processes: Processes,
        settings: LearnSettings,
        sealed: Sealed,
        seeds: Seeds,
        device: Device,
    ) -> Result<Self, LearnError> {
        let (network, classifier, imagination) = beginning(&settings, &sealed, seeds, device)?;
        let input = Preprocessing::new(settings.view, settings.normalization, sealed.channels(), device);
        let none = || Tensor::zeros([0, network.width() as i64], (Kind::Float, device));
        let (ghost_proxies, complete) = (none(), none());
        let held_out = Rc::new(HeldOut::new(&sealed, &settings));
        let memory = Memory::default();
        Ok(Self {
            settings,
            sealed,
            seeds,
            device,
            network,
            classifier,
            memory,
            imagination,
            ghost_proxies,
            complete,
            held_out,
            input,
            partial: None,
            processes,
        })
    }

    /// Makes weights the same in all processes. They are computed alike, but machines may round differently.
    fn become_the_same(&self) -> Result<(), LearnError> {
        let tensors = self.named_tensors().into_iter().map(|(_, tensor)| tensor);
        for tensor in tensors.chain([self.ghost_proxies.shallow_clone()]).filter(|tensor| tensor.numel() > 0) {
            self.processes.broadcast(&tensor)?;
        }
        Ok(())
    }

    /// All that training changes, by name.
    fn named_tensors(&self) -> Vec<(String, Tensor)> {
        named_tensors(&self.network, &self.classifier, &self.imagination)
    }

    /// The proxies, by name.
    fn named_proxies(&self) -> Vec<(String, Tensor)> {
        named_blocks(&self.classifier).collect()
    }

    /// Knows nothing again.
    fn reset(&mut self) -> Result<(), LearnError> {
        self.take_model().map(drop)
    }

    /// Hands out `f`, `clf` and `g`, and knows nothing again.
    fn take_model(&mut self) -> Result<(Network, CosineClassifier, Imagination), LearnError> {
        let (network, classifier, imagination) = beginning(&self.settings, &self.sealed, self.seeds, self.device)?;
        Ok((
            std::mem::replace(&mut self.network, network),
            std::mem::replace(&mut self.classifier, classifier),
            std::mem::replace(&mut self.imagination, imagination),
        ))
    }

    /// What answers after `task`.
    fn predictor(&self, task: Task<'_>, answering: Answering) -> Result<Predictor, LearnError> {
        let LearnSettings { model, view, normalization, compute, .. } = &self.settings;
        let (scenario, catalogue) = (task.scenario(), self.sealed.catalogue());
        let about = About {
            task: task.number(),
            classes: scenario.order().iter().map(|class| catalogue.name(*class).to_owned()).collect(),
            seen: task.seen().len(),
            head: HeadKind::Cosine,
            scale: f64::try_from(self.classifier.scale().detach().to_device(Device::Cpu))? as f32,
            novelty: None,
            calibration: answering.calibration,
            input: Input {
                channels: self.sealed.channels(),
                size: view.size,
                resize: view.resize,
                normalization: *normalization,
            },
            extractor: model.extractor.clone(),
            precision: compute.precision,
            abstain: Vec::new(),
        };
        Ok(Predictor::new(self.network.snapshot(), &Head::Cosine(answering.proxies), about))
    }
}

/// `f`, `clf` and `g` before the first task.
fn beginning(
    settings: &LearnSettings,
    sealed: &Sealed,
    seeds: Seeds,
    device: Device,
) -> Result<(Network, CosineClassifier, Imagination), LearnError> {
    let ModelSettings { extractor } = settings.model.clone();
    let (channels, size) = (sealed.channels().count(), settings.view.size as usize);
    let first_weights = seeds.number("first weights", 0);
    let network = Network::pretrained(extractor, channels, size, settings.compute, device, first_weights)?;
    let imagination = Imagination::new(settings, sealed, network.width(), seeds, device)?;
    Ok((network, CosineClassifier::new(settings.loss.classification.form.learns_scale(), device), imagination))
}

/// All of a model that training changes, by name.
fn named_tensors(network: &Network, classifier: &CosineClassifier, imagination: &Imagination) -> Vec<(String, Tensor)> {
    let below = |what: &'static str, tensors: BTreeMap<String, Tensor>| {
        tensors.into_iter().map(move |(name, tensor)| (format!("{what}.{name}"), tensor))
    };
    let generator = match imagination {
        Imagination::Generator(generator) => generator.tensors(),
        Imagination::Nothing | Imagination::Real => BTreeMap::new(),
    };
    let scale = ("classifier.raw_scale".to_owned(), classifier.raw_scale().shallow_clone());
    let model = below("extractor", network.variables()).chain(below("generator", generator));
    model.chain(named_blocks(classifier)).chain([scale]).collect()
}

/// The proxies of each task, by name.
fn named_blocks(classifier: &CosineClassifier) -> impl Iterator<Item = (String, Tensor)> {
    let blocks = classifier.blocks().iter().enumerate();
    blocks.map(|(task, block)| (format!("classifier.proxies.{}", task + 1), block.shallow_clone()))
}

impl Learner for GhostLearner {
    fn learn(&mut self, data: &TaskData, observer: &mut dyn Observer) -> Result<Predictor, LearnError> {
        let sealed = self.sealed.clone();
        let task = sealed.scenario().task(data.number());
        observer.on_event(&Event::TaskStarted { task: task.number(), of: task.scenario().tasks() });
        let (batch_size, threads) = (self.settings.train.batch_size, self.settings.threads);
        let batches = TaskBatches::new(Arc::new(data.clone()), self.input.clone(), batch_size, threads)?;
        let plan = Plan::new(&task, &self.settings);
        self.become_the_same()?;
        let progress = Progress::open(self.partial.take(), &self.processes, task.number())?;
        let (batches, held_out) = (Rc::new(batches), self.held_out.clone());
        let mut lesson = Lesson { task, plan, batches, held_out, progress, observer };
        let answering = algorithm::learn(self, &mut lesson)?;
        self.predictor(task, answering)
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn inspect(&self, task: Task<'_>) -> Result<Option<Vec<Likeness>>, LearnError> {
        inspect::inspect(self, task)
    }

    fn keep_in(&mut self, path: &Path, every: Duration) {
        self.partial = Some(Partial::new(path.to_owned(), every));
    }

    fn save(&self, folder: &Path) -> Result<(), RunError> {
        checkpoint::save(self, folder)
    }

    fn load(&mut self, folder: &Path, finished: usize) -> Result<(), RunError> {
        checkpoint::load(self, folder, finished)
    }
}
