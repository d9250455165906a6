//! Learning in closed form on a frozen extractor: a mean for each class, one covariance for all, and ghosts as priors.
//!
//! ```text
//!  photos of C^t ─► f (frozen) ── h ──► sums ──┬─► Σ, means m_c ───────────┐
//!                                              │                          ├─► μ_c, v_c of every class ─► Predictor
//!  what is known of every class ───────────────┴─► ghosts g_c, worth κ ────┘
//! ```
//!
//! No image is kept and nothing is forgotten: a task adds to sums. A class without photos is its ghost, a class with
//! thousands is its mean, and between them photos outweigh the ghost as they arrive.

mod calibrate;
mod checkpoint;
mod choose;
mod covariance;
mod fit;
mod ghosts;
mod information;
mod inspect;
mod logistic;
mod merge;
mod probabilities;
mod products;
mod prospects;
mod share;
mod stand_ins;
mod sums;
mod temperature;
mod worlds;

pub use fit::{Fitted, fit, fit_as};
pub use information::Information;
pub use prospects::{MORE, Prospect, prospects};
pub use sums::{ClassSums, Sums};

use crate::data::{Normalization, Sample, View};
use crate::engine::{Compute, Preprocessing, Processes};
use crate::error::{LearnError, RunError};
use crate::evaluation::{Likeness, Worth};
use crate::extractor::{ExtractorKind, Network};
use crate::learner::frozen::{CHUNK, FrozenFeatures};
use crate::learner::{Event, Learner, Observer, Target};
use crate::memory::Memory;
use crate::predictor::{About, Calibration, Head, HeadKind, Input, Predictor};
use crate::protocol::{Sealed, TaskData, Usage};
use crate::scenario::Task;
use crate::seeds::Seeds;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use tch::{Device, Tensor};

/// How to learn in closed form. There is little to say: what could be chosen is chosen on photos of seen classes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedFormSettings {
    /// `f`, which stays as it is.
    pub extractor: ExtractorKind,
    /// What the offset of classes without photos is chosen for.
    pub target: Target,
    /// How images are cropped and resized.
    pub view: View,
    /// Mean and deviation of the pixels.
    pub normalization: Normalization,
    /// Speed, not results.
    pub compute: Compute,
    /// Whether classes still to come are known by their actual photos instead of ghosts: an oracle.
    pub oracle: bool,
}

/// Learns in closed form.
pub struct ClosedFormLearner {
    settings: ClosedFormSettings,
    sealed: Sealed,
    network: Network,
    input: Preprocessing,
    information: Information,
    features: Option<FrozenFeatures>,
    sums: Sums,
    processes: Processes,
    /// Always empty: no image is kept.
    memory: Memory,
}

impl ClosedFormLearner {
    /// A model that knows nothing yet but what classes are described by.
    pub fn new(settings: ClosedFormSettings, sealed: Sealed, seeds: Seeds, device: Device) -> Result<Self, LearnError> {
        Self::among(Processes::alone(), settings, sealed, seeds, device)
    }

    /// The same as one of several processes, each of which looks at its own photos.
    pub fn among(
        processes: Processes,
        settings: ClosedFormSettings,
        sealed: Sealed,
        seeds: Seeds,
        device: Device,
    ) -> Result<Self, LearnError> {
        let (channels, size) = (sealed.channels().count(), settings.view.size as usize);
        let first_weights = seeds.number("first weights", 0);
        let (extractor, compute) = (settings.extractor.clone(), settings.compute);
        let mut network = Network::pretrained(extractor, channels, size, compute, device, first_weights)?;
        network.freeze();
        let input = Preprocessing::new(settings.view, settings.normalization, sealed.channels(), device);
        let information = Information::new(sealed.catalogue());
        let sums = Sums::new(network.width(), false);
        let memory = Memory::default();
        Ok(Self { settings, sealed, network, input, information, features: None, sums, processes, memory })
    }

    /// Adds the photos `all` to `sums`: each process reads its part of them.
    fn add(
        &mut self,
        sums: &mut Sums,
        (data, all): (&TaskData, &[Sample]),
        observer: &mut dyn Observer,
    ) -> Result<(), LearnError> {
        data.enter("extract");
        let samples = &all[self.processes.part(all.len(), CHUNK)];
        observer.on_event(&Event::StageStarted { stage: "extract", steps: samples.len().div_ceil(CHUNK) });
        if self.features.is_none() {
            self.features = Some(FrozenFeatures::open(&self.network, &self.input)?);
        }
        let known = self.features.as_mut().expect("just opened");
        let eye = (&self.network, &self.input);
        let catalogue = self.sealed.catalogue();
        let name = |sample: &Sample| catalogue.name(sample.class);
        let width = self.network.width();
        // Photos are added up while the next ones are looked at; what was added up need not be in memory any more, for a task
        // may have millions.
        let own = std::thread::scope(|scope| {
            let (ready, looked_at) = sync_channel::<(Vec<&str>, Tensor, Vec<[u8; 32]>)>(1);
            let adding = scope.spawn(move || {
                let mut own = Sums::new(width, false);
                let mut added =
                    looked_at.into_iter().map(|(of, features, photos)| own.add_all(&of, &features, &photos));
                added.try_for_each(|added| added).map(|()| own)
            });
            for samples in samples.chunks(sums::ROWS) {
                let (features, photos) = known.of(eye, (data, Usage::Learn), samples, observer)?;
                let photos = photos.iter().map(|photo| *photo.as_bytes()).collect();
                if ready.send((samples.iter().map(name).collect(), features, photos)).is_err() {
                    break; // It has failed, and says why.
                }
            }
            drop(ready);
            adding.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        let classes: BTreeSet<&str> = all.iter().map(name).collect();
        let classes: Vec<String> = classes.into_iter().map(str::to_owned).collect();
        sums.merge(merge::merged(&self.processes, own, &classes)?);
        Ok(())
    }

    /// What answers after `task`.
    fn predictor(&self, task: Task<'_>, sums: &Sums, fitted: &Fitted) -> Result<Predictor, LearnError> {
        let ClosedFormSettings { extractor, view, normalization, compute, .. } = &self.settings;
        let (scenario, catalogue) = (task.scenario(), self.sealed.catalogue());
        let classes: Vec<String> = scenario.order().iter().map(|class| catalogue.name(*class).to_owned()).collect();
        let competing = match fitted.guesses() {
            true => classes.len(),
            // Those that have photos: the seen ones, and for an oracle those to come.
            false => classes.iter().take_while(|name| sums.classes().contains_key(*name)).count(),
        };
        let head = Head::Gaussian(fitted.head(&classes[..competing]));
        let about = About {
            task: task.number(),
            classes,
            seen: task.seen().len(),
            head: HeadKind::Gaussian,
            scale: fitted.scale as f32,
            novelty: fitted.novelty,
            calibration: Calibration { own: fitted.guesses().then_some(fitted.offset as f32), harmonic: None },
            input: Input {
                channels: self.sealed.channels(),
                size: view.size,
                resize: view.resize,
                normalization: *normalization,
            },
            extractor: extractor.clone(),
            precision: compute.precision,
            abstain: fitted.worth.abstain.clone(),
        };
        Ok(Predictor::new(self.network.snapshot(), &head, about))
    }
}

impl Learner for ClosedFormLearner {
    fn learn(&mut self, data: &TaskData, observer: &mut dyn Observer) -> Result<Predictor, LearnError> {
        let sealed = self.sealed.clone();
        let task = sealed.scenario().task(data.number());
        observer.on_event(&Event::TaskStarted { task: task.number(), of: task.scenario().tasks() });
        let mut sums = std::mem::replace(&mut self.sums, Sums::new(self.network.width(), false));
        self.add(&mut sums, (data, &data.present_by_shelf()), observer)?;
        let mut with_future = self.settings.oracle.then(|| sums.copied());
        if let Some(all) = &mut with_future {
            self.add(all, (data, &data.future_of_an_oracle()), observer)?;
        }
        self.sums = sums;
        let sums = with_future.as_ref().unwrap_or(&self.sums);
        data.enter("fit");
        observer.on_event(&Event::StageStarted { stage: "fit", steps: 1 });
        let fitted = share::fitted(&self.processes, || fit(sums, &self.information, self.settings.target))?;
        observer.on_event(&Event::Step);
        let worth = Worth { task: task.number(), ..fitted.worth.clone() };
        observer.on_event(&Event::Fitted { worth: &worth });
        self.predictor(task, sums, &fitted)
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn inspect(&self, task: Task<'_>) -> Result<Option<Vec<Likeness>>, LearnError> {
        inspect::inspect(self, task)
    }

    fn save(&self, folder: &Path) -> Result<(), RunError> {
        checkpoint::save(&self.network, &self.sums, folder)
    }

    fn load(&mut self, folder: &Path, _finished: usize) -> Result<(), RunError> {
        self.sums = checkpoint::load(&mut self.network, folder)?;
        Ok(())
    }
}
