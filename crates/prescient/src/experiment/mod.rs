//! A recipe carried out, from the first task to the last, and kept on disk.

mod check;
mod data;
mod difference;
mod digests;
#[cfg(feature = "tensorboard")]
mod events;
#[cfg(not(feature = "tensorboard"))]
#[path = "no_events.rs"]
mod events;
mod folder;
pub mod images;
mod keys;
mod overrides;
mod preset;
mod recipe;
pub mod recipes;
pub mod record;
mod scatter;
mod summary;
mod telemetry;

pub use data::DataSettings;
pub use difference::differences;
pub use folder::RunFolder;
pub use keys::{Allowed, KEYS, Key, keys_text};
pub use overrides::overridden;
pub use preset::{PRESETS, Preset, tuned_changes};
pub use recipe::{ImageSettings, Recipe, ScenarioSettings};
pub use record::Record;
pub use telemetry::{Spent, StageSeconds};

use crate::class::ClassId;
use crate::data::{CachedDataset, Dataset, Subset, fingerprint, image_fingerprint};
use crate::engine::Precision;
use crate::error::{LearnError, Result, RunError, ScenarioError, While};
use crate::evaluation::{Inspection, Scatter};
use crate::ghost::GeneratorKind;
use crate::learner::{ClosedFormLearner, Evaluator, Event, GhostLearner, Learner, LearnerKind, Observer};
use crate::protocol::TaskData;
use crate::protocol::{FewShots, HeldOut, Sealed};
use crate::scenario::{Order, Scenario, Split};
use crate::seeds::Seeds;
use events::Events;
use record::{Epoch, Evaluation, FORMAT, Kept, Line, Start};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tch::Device;
use telemetry::Telemetry;

/// A recipe with its data, ready to run.
pub struct Experiment {
    recipe: Recipe,
    sealed: Sealed,
    start: Start,
    device: Device,
}

impl Experiment {
    /// Opens the recipe's data and checks all that can be checked before the first step.
    pub fn new(recipe: Recipe, device: Device) -> Result<Self> {
        recipe.check()?;
        let dataset = recipe.data.open().when(|| format!("open the dataset `{}`", recipe.data.name()))?;
        let dataset: Arc<dyn Dataset> = match recipe.data.info().in_memory {
            true => dataset,
            false => Arc::new(CachedDataset::new(dataset, u64::from(recipe.compute.cache_mib) << 20)),
        };
        Self::with_dataset(recipe, dataset, device)
    }

    /// The same on a dataset that is open already.
    pub fn with_dataset(recipe: Recipe, dataset: Arc<dyn Dataset>, device: Device) -> Result<Self> {
        let recipe = recipe.effective(dataset.as_ref())?;
        let dataset = match recipe.scenario.val_fraction {
            Some(share) => Arc::new(HeldOut::new(dataset, share)),
            None => dataset,
        };
        if recipe.ghosts.generator.needs_attributes() && dataset.catalogue().attribute_names().is_empty() {
            return Err(LearnError::NoAttributes.into());
        }
        let split = recipe.scenario.split.clone().expect("an effective recipe has a split");
        let order = match &recipe.scenario.order {
            Order::File { path } => Order::File { path: crate::data::resolve(path) },
            other => other.clone(),
        };
        let scenario = scenario(dataset.as_ref(), &order, &split).when(|| "deal out the classes".to_owned())?;
        // Of all images: which of them are left is the seed's choice, and the same data for each seed.
        let (data, images) = (fingerprint(dataset.as_ref()), Some(image_fingerprint(dataset.as_ref())));
        let dataset: Arc<dyn Dataset> = match recipe.data.shots {
            Some(shots) => Arc::new(FewShots::new(dataset, &scenario, shots, Seeds::new(u64::from(recipe.seed)))),
            None => dataset,
        };
        let catalogue = dataset.catalogue();
        let start = Start {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            recipe: recipe.to_toml(),
            seed: recipe.seed,
            device: if device.is_cuda() { "cuda" } else { "cpu" }.to_owned(),
            oracle: recipe.oracle(),
            validated: recipe.scenario.val_fraction,
            weights: recipe.model.extractor.provenance()?,
            data,
            images,
            classes: scenario.order().iter().map(|class| catalogue.name(*class).to_owned()).collect(),
            tasks: split.sizes().to_vec(),
        };
        Ok(Self { recipe, sealed: Sealed::new(dataset, scenario), start, device })
    }

    /// The recipe with nothing left open.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Runs every task into the new folder `out`, or stops after task `stop_after`.
    pub fn run(&self, out: &Path, stop_after: Option<usize>, observer: &mut dyn Observer) -> Result<Record> {
        let mut folder = RunFolder::create(out, &self.start.recipe)?;
        folder.write_record(&self.start)?;
        let events = Events::open(&folder.events(), &self.start.tasks, None)?;
        self.go_on(&mut folder, self.learner()?, events, stop_after, observer)
    }

    /// Goes on with the run in `folder` after its last finished task.
    pub fn resume(
        path: &Path,
        device: Device,
        stop_after: Option<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Record> {
        Self::resume_moved(path, &[], device, stop_after, observer)
    }

    /// The same where the data lies elsewhere now: `sets` may have `data.path=PATH`, and nothing else. The record stays as it is.
    pub fn resume_moved(
        path: &Path,
        sets: &[String],
        device: Device,
        stop_after: Option<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Record> {
        let mut folder = RunFolder::open(path).or_else(|error| RunFolder::open_unfinished(path).ok_or(error))?;
        folder.lock()?;
        let (experiment, before) = Self::again(&folder, sets, device)?;
        if before.start.device != experiment.start.device {
            let (expected, found) = (before.start.device, experiment.start.device);
            return Err(RunError::OtherDevice { expected, found }.into());
        }
        // A kill may have come between a task and the record.
        folder.write_record(&before.start)?;
        let mut learner = experiment.learner()?;
        let finished = folder.finished();
        if finished > 0 {
            learner.load(&folder.task(finished), finished)?;
            experiment.check_photos(&folder.images(finished))?;
        }
        let record = Record::read(&folder.record())?;
        let events = Events::open(&folder.events(), &record.start.tasks, Some(&record))?;
        let experiment = Self { start: before.start, ..experiment };
        experiment.go_on(&mut folder, learner, events, stop_after, observer)
    }

    /// Compares what the run in `path` imagined after a task, the last that had a future unless given, with test images.
    pub fn inspect(path: &Path, device: Device, task: Option<usize>) -> Result<Inspection> {
        let folder = RunFolder::open(path)?;
        let (experiment, record) = Self::again(&folder, &[], device)?;
        let last = folder.finished().min(experiment.sealed.scenario().tasks() - 1);
        let number = task.unwrap_or(last);
        if number == 0 || number > last {
            return Err(RunError::NothingToInspect { task: number, last }.into());
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

    /// Whether what the run has kept and was tested on, as the file at `path` lists it, has the same pixels as then.
    fn check_photos(&self, path: &Path) -> Result<()> {
        let text = crate::disk::read_run_text(path).map_err(RunError::io(path))?;
        let changed = self.sealed.changed(&images::parse(&text, path)?)?;
        match changed.first() {
            None => Ok(()),
            Some(first) => Err(RunError::OtherPhotos { first: first.clone(), count: changed.len() }.into()),
        }
    }

    fn learner(&self) -> Result<Box<dyn Learner>> {
        // On a CPU nothing is lost by it; on a GPU some kernels have no such form.
        torch_shim::set_deterministic(!self.device.is_cuda());
        if self.device.is_cuda() {
            torch_shim::allow_tf32(self.recipe.compute.precision != Precision::Fp32);
            torch_shim::allow_kernels(self.recipe.compute.fused_kernels);
            torch_shim::tune(self.recipe.compute.cudnn_benchmark);
        }
        let (recipe, sealed) = (&self.recipe, self.sealed.clone());
        Ok(match recipe.learner {
            LearnerKind::Ghost(_) => {
                Box::new(GhostLearner::new(recipe.learn_settings(&sealed), sealed, self.seeds(), self.device)?)
            }
            LearnerKind::ClosedForm(_) => Box::new(ClosedFormLearner::new(
                recipe.closed_form_settings(&sealed),
                sealed,
                self.seeds(),
                self.device,
            )?),
        })
    }

    fn evaluator(&self) -> Evaluator {
        let ghosts = &self.recipe.ghosts;
        let unit = ghosts.l2_normalize && ghosts.enabled() && ghosts.generator != GeneratorKind::Real;
        Evaluator::new(self.seeds(), threads(), unit)
    }

    fn seeds(&self) -> Seeds {
        Seeds::new(u64::from(self.recipe.seed))
    }

    /// What task `number` may read: with the future laid open only for an oracle.
    fn open(&self, number: usize, learner: &dyn Learner) -> TaskData {
        let (task, memory) = (self.sealed.scenario().task(number), learner.memory().samples());
        match self.recipe.ghosts.reads_the_future() {
            true => self.sealed.open_for_oracle(&task, memory),
            false => self.sealed.open(&task, memory),
        }
    }

    fn go_on(
        &self,
        folder: &mut RunFolder,
        mut learner: Box<dyn Learner>,
        mut events: Events,
        stop_after: Option<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Record> {
        let scenario = self.sealed.scenario();
        let last = stop_after.map_or(scenario.tasks(), |stop| stop.min(scenario.tasks()));
        let mut evaluator = self.evaluator();
        observer.on_event(&Event::Started { summary: &self.summary() });
        for number in folder.finished() + 1..=last {
            let watching = (&mut events, &mut *observer);
            let mut watch = (Recorder::new(scenario.arriving()), (Telemetry::start(self.device), watching));
            let data = self.open(number, &*learner);
            learner.keep_in(&folder.partial(number), checkpoint_every());
            let predictor = learner.learn(&data, &mut watch).when(|| format!("learn task {number}"))?;
            evaluator.evaluate(&predictor, &data, &mut watch).when(|| format!("evaluate task {number}"))?;
            let (stages, images) = (data.stages(), data.readings());
            watch.on_event(&Event::Read { task: number, stages: &stages, images: &images });
            let (Recorder { lines, images, scatter, .. }, (telemetry, _)) = watch;
            events.check()?;
            let kept = folder::Kept { images: &images, scatter: &scatter, telemetry: &telemetry.finish() };
            folder.finish(&self.start, number, &lines, &kept, |task| {
                learner.save(task)?;
                predictor.save(task)
            })?;
            if observer.stops() && number < last {
                return Err(LearnError::Interrupted { task: number + 1 }.into());
            }
        }
        Ok(Record::read(&folder.record())?)
    }
}

/// The classes with images in order of arrival, then those that are described and have none.
fn scenario(dataset: &dyn Dataset, order: &Order, split: &Split) -> Result<Scenario, ScenarioError> {
    let samples = [Subset::Train, Subset::Test].map(|subset| dataset.samples(subset));
    let pictured: BTreeSet<ClassId> = samples.into_iter().flatten().map(|sample| sample.class).collect();
    let catalogue = dataset.catalogue();
    let all = (0..catalogue.len()).map(|class| ClassId(class as u32));
    let (listed, described): (Vec<ClassId>, Vec<ClassId>) = all.partition(|class| pictured.contains(class));
    let arriving = match dataset.order(order) {
        Some(known) => known.into_iter().filter(|class| pictured.contains(class)).collect(),
        None => {
            let names: Vec<String> = listed.iter().map(|class| catalogue.name(*class).to_owned()).collect();
            order.arrange(&names)?.into_iter().map(|place| listed[place.index()]).collect()
        }
    };
    Ok(Scenario::in_order(arriving, split)?.beyond(described))
}

/// How often a task half learned is written: at most so much is lost when the process is killed, and the rest of an epoch.
fn checkpoint_every() -> Duration {
    let seconds = std::env::var("PRESCIENT_CHECKPOINT_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(30))
}

/// Threads that read images.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Turns what happens into lines of the record.
struct Recorder {
    classes: usize,
    lines: Vec<Line>,
    /// The file that names each image.
    images: String,
    /// What is kept to be drawn.
    scatter: Scatter,
}

impl Recorder {
    fn new(classes: usize) -> Self {
        Self { classes, lines: Vec::new(), images: String::new(), scatter: Scatter::default() }
    }
}

impl Observer for Recorder {
    fn on_event(&mut self, event: &Event<'_>) {
        let line = match *event {
            Event::Epoch { task, stage, epoch, lr, terms, .. } => Line::Epoch(Epoch {
                task,
                stage: stage.to_owned(),
                epoch,
                lr,
                terms: terms.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            }),
            Event::Remembered { task, exemplars } => Line::Memory(Kept { task, exemplars: exemplars.to_vec() }),
            Event::Fitted { worth } => Line::Worth(worth.clone()),
            Event::Evaluated { task, answers } => Line::Evaluation(Evaluation {
                task,
                confusion: answers.confusion(self.classes),
                answers: answers.clone(),
            }),
            Event::Read { task, stages, images } => {
                self.images = images::to_jsonl(images);
                Line::Images(images::summary(task, stages, images, &self.images))
            }
            Event::Imagined { ghosts, zones, .. } => {
                (self.scatter.ghosts, self.scatter.zones) = (ghosts.clone(), zones.to_vec());
                return;
            }
            Event::Scattered { scatter, .. } => {
                let Scatter { ghosts, zones, .. } = std::mem::take(&mut self.scatter);
                self.scatter = Scatter { ghosts, zones, ..scatter.clone() };
                return;
            }
            Event::Started { .. } | Event::TaskStarted { .. } | Event::StageStarted { .. } | Event::Step => return,
        };
        self.lines.push(line);
    }
}
