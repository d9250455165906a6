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
mod output;
mod overrides;
mod photos;
mod preset;
mod recipe;
pub mod recipes;
pub mod record;
mod recorder;
mod resume;
mod resume_files;
mod scatter;
mod summary;
mod telemetry;

pub use data::DataSettings;
pub use difference::differences;
pub use folder::RunFolder;
pub use keys::{Allowed, KEYS, Key, key_rows, keys_text, keys_text_below_each_other};
pub use overrides::{names_learner, overridden};
pub use photos::PhotoDigests;
pub use preset::{PRESETS, Preset, tuned_changes};
pub use recipe::{ImageSettings, Recipe, ScenarioSettings};
pub use record::Record;
pub use resume::Again;
pub use telemetry::{Spent, StageSeconds};

use crate::class::ClassId;
use crate::data::{CachedDataset, Dataset, Subset, fingerprint, image_fingerprint, memory_for_images};
use crate::disk;
use crate::engine::{Precision, Processes};
use crate::error::{LearnError, ProcessError, Result, ScenarioError, While};
use crate::ghost::GeneratorKind;
use crate::learner::{
    ClosedFormLearner, Evaluator, Event, GhostLearner, Learner, LearnerKind, Observer, share_readings,
};
use crate::protocol::TaskData;
use crate::protocol::{FewShots, HeldOut, Sealed};
use crate::scenario::{Order, Scenario, Split};
use crate::seeds::Seeds;
use events::Events;
use output::Output;
use record::{FORMAT, Start};
use recorder::Recorder;
use std::collections::{BTreeMap, BTreeSet};
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
    processes: Processes,
    photos: PhotoDigests,
}

impl Experiment {
    /// Opens the recipe's data and checks all that can be checked before the first step.
    pub fn new(recipe: Recipe, device: Device) -> Result<Self> {
        recipe.check()?;
        let dataset = recipe.data.open().when(|| format!("open the dataset `{}`", recipe.data.name()))?;
        let dataset: Arc<dyn Dataset> = match recipe.data.info().in_memory {
            true => dataset,
            false => Arc::new(CachedDataset::new(dataset, memory_for_images())),
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
            oracle: recipe.oracle(scenario.order().len()),
            validated: recipe.scenario.val_fraction,
            weights: recipe.model.extractor.provenance()?,
            data,
            images,
            photos: None,
            classes: scenario.order().iter().map(|class| catalogue.name(*class).to_owned()).collect(),
            tasks: split.sizes().to_vec(),
        };
        let (sealed, photos) = (Sealed::new(dataset, scenario), PhotoDigests::default());
        Ok(Self { recipe, sealed, start, device, processes: Processes::alone(), photos })
    }

    /// The same as one of several processes, all of which must be about to do the same.
    pub fn among(self, processes: Processes) -> Result<Self> {
        processes.agree(&self.about())?;
        let (shards, count) = (self.recipe.train.shards.unwrap_or(1), processes.count());
        if !self.recipe.learner.is_closed_form() && !shards.is_multiple_of(count) {
            return Err(ProcessError::Shards { shards, count }.into());
        }
        processes.meet_on(self.device)?;
        Ok(Self { processes, ..self })
    }

    /// The same with photos that were found to be these: a run that is stopped goes on with no others.
    pub fn with_photos(self, photos: PhotoDigests) -> Self {
        let digest = (!photos.is_empty()).then(|| disk::digest(photos.to_json().as_bytes()));
        Self { photos, start: Start { photos: digest, ..self.start }, ..self }
    }

    /// The recipe with nothing left open.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Runs every task into the new folder `out`, or stops after task `stop_after`.
    pub fn run(&self, out: &Path, stop_after: Option<usize>, observer: &mut dyn Observer) -> Result<Record> {
        let mut folder = RunFolder::create(out, &self.start.recipe)?;
        if self.start.photos.is_some() {
            folder.write_photos(&self.photos)?;
        }
        folder.write_record(&self.start)?;
        let events = Events::open(&folder.events(), &self.start.tasks, None)?;
        self.go_on(Some(Output { folder: &mut folder, events }), self.learner()?, 0, stop_after, observer)?;
        Ok(Record::read(&folder.record())?)
    }

    /// Does its part of a run that process 0 writes.
    pub fn help(&self, stop_after: Option<usize>, observer: &mut dyn Observer) -> Result<()> {
        self.go_on(None, self.learner()?, 0, stop_after, observer)
    }

    /// What all processes of a run must have in common. Where the data lies is each one's own business.
    fn about(&self) -> BTreeMap<String, String> {
        let keys = difference::flat(&self.recipe).into_iter().filter(|(key, _)| !key.ends_with("path"));
        let mut about: BTreeMap<String, String> = keys.map(|(key, value)| (format!("`{key}`"), value)).collect();
        let Start { data, images, weights, classes, device, .. } = &self.start;
        let [train, test] = self.sealed.counts();
        let classes = disk::short(&disk::digest(classes.join("\n").as_bytes()));
        let photos = format!("{train} and {test} of them ({data}, {})", images.clone().unwrap_or_default());
        let weights = weights.as_ref().map_or_else(|| "none".to_owned(), |weights| weights.digest.clone());
        let facts = [
            ("the device", device),
            ("the order of classes", &classes),
            ("the photos", &photos),
            ("the weights", &weights),
        ];
        about.extend(facts.map(|(what, value)| (what.to_owned(), value.clone())));
        about
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
                let mut settings = recipe.learn_settings(&sealed);
                settings.threads = self.threads();
                let (processes, seeds) = (self.processes.clone(), self.seeds());
                Box::new(GhostLearner::among(processes, settings, sealed, seeds, self.device)?)
            }
            LearnerKind::ClosedForm(_) => Box::new(ClosedFormLearner::among(
                self.processes.clone(),
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
        Evaluator::new(self.seeds(), self.threads(), unit).among(self.processes.clone())
    }

    /// Threads that read images: this process's share of the machine.
    fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (cores / self.processes.on_this_machine()).max(1)
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

    /// Learns the tasks after `finished`. Where there is a folder, it is written; other processes only take part.
    fn go_on(
        &self,
        mut out: Option<Output<'_>>,
        mut learner: Box<dyn Learner>,
        finished: usize,
        stop_after: Option<usize>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let scenario = self.sealed.scenario();
        let last = stop_after.map_or(scenario.tasks(), |stop| stop.min(scenario.tasks()));
        let mut evaluator = self.evaluator();
        observer.on_event(&Event::Started { summary: &self.summary() });
        for number in finished + 1..=last {
            let recorder = Recorder::new(scenario.arriving());
            let data = self.open(number, &*learner);
            if let Some(out) = &out {
                learner.keep_in(&out.partial(number), checkpoint_every());
            }
            let mut watch = (recorder, (Telemetry::start(self.device), (&mut out, &mut *observer)));
            let predictor = learner.learn(&data, &mut watch).when(|| format!("learn task {number}"))?;
            evaluator.evaluate(&predictor, &data, &mut watch).when(|| format!("evaluate task {number}"))?;
            share_readings(&self.processes, &data)?;
            let (stages, images) = (data.stages(), data.readings());
            watch.on_event(&Event::Read { task: number, stages: &stages, images: &images });
            let (Recorder { lines, images, scatter, .. }, (telemetry, _)) = watch;
            if let Some(out) = &mut out {
                out.check()?;
                let kept = folder::Kept { images: &images, scatter: &scatter, telemetry: &telemetry.finish() };
                out.folder.finish(&self.start, number, &lines, &kept, |task| {
                    learner.save(task)?;
                    predictor.save(task)
                })?;
            }
            if self.processes.any(observer.stops())? && number < last {
                return Err(LearnError::Interrupted { task: number + 1 }.into());
            }
        }
        Ok(())
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
    let dealt = Scenario::in_order(arriving, split).map_err(|error| match error {
        ScenarioError::SplitSum { split, sum, classes, .. } => {
            ScenarioError::SplitSum { split, sum, classes, described: described.len() }
        }
        error => error,
    })?;
    Ok(dealt.beyond(described))
}

/// How often a task half learned is written: at most so much is lost when the process is killed, and the rest of an epoch.
fn checkpoint_every() -> Duration {
    let seconds = std::env::var("PRESCIENT_CHECKPOINT_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(30))
}
