//! Carries out the plan of each task.

mod balance;
mod batches;
mod calibrate;
mod checkpoint;
mod complete;
mod device_cache;
mod evaluate;
mod features;
mod imagine;
mod inspect;
mod plan;
mod refresh;
mod remember;
mod scatter;
mod settings;
mod steps;
mod train;
mod tries;

pub use plan::{Stage, plan};
pub use settings::{
    CalibrateSettings, CompleteSettings, FinetuneSettings, GhostSettings, LearnSettings, ModelSettings, Oracle,
    Reduction, TrainSettings,
};

use crate::classifier::CosineClassifier;
use crate::data::{Normalization, Sample};
use crate::engine::Loader;
use crate::error::LearnError;
use crate::evaluation::{Answers, Points, Zone};
use crate::extractor::Network;
use crate::ghost::{FeatureBank, Generator};
use crate::learner::{Event, Observer};
use crate::memory::Memory;
use crate::protocol::{Sealed, TaskData};
use crate::scenario::Task;
use crate::seeds::Seeds;
use batches::Album;
use device_cache::Stock;
use imagine::Ghosts;
use remember::Exemplars;
use std::rc::Rc;
use std::sync::Arc;
use tch::{Device, Kind, Tensor};

/// A model that learns task by task.
pub struct GhostLearner {
    settings: LearnSettings,
    sealed: Sealed,
    seeds: Seeds,
    device: Device,
    network: Network,
    classifier: CosineClassifier,
    memory: Memory,
    /// `g`, once it has learned something.
    generator: Option<Box<dyn Generator>>,
    /// The proxies of the future classes that trained with the last task, `[future, width]`: those to arrive next come
    /// first.
    promised: Option<Tensor>,
    /// What pixels are multiplied by to be normalized, `[1, channels, 1, 1]`.
    slope: Tensor,
    /// What is added then.
    shift: Tensor,
    /// Test images on the device: nothing is known yet, or whether they can lie there.
    test_stock: Option<Option<Stock>>,
}

/// What one task works with while it lasts.
struct Lesson<'a> {
    task: Task<'a>,
    album: Rc<Album>,
    /// `f^{t−1}`.
    teacher: Option<Network>,
    /// Of the new classes; the balanced fine-tune needs them before they are kept.
    exemplars: Option<Exemplars>,
    /// The future as it takes part in the training.
    ghosts: Option<Ghosts>,
    /// The features of all seen classes under `f^t`.
    bank: Option<FeatureBank>,
    /// The proxies of all classes, seen and future.
    complete: Option<Tensor>,
    /// Some ghosts, and where the future is expected: to be drawn.
    ghost_points: Option<(Points, Vec<Zone>)>,
    /// What is taken off the scores of seen classes for the best harmonic mean.
    offset: Option<f32>,
    /// What the model takes off them for its own answers.
    own_offset: Option<f32>,
    observer: &'a mut dyn Observer,
}

impl<'a> Lesson<'a> {
    fn new(task: Task<'a>, album: Rc<Album>, teacher: Option<Network>, observer: &'a mut dyn Observer) -> Self {
        Self {
            task,
            album,
            teacher,
            exemplars: None,
            ghosts: None,
            bank: None,
            complete: None,
            ghost_points: None,
            offset: None,
            own_offset: None,
            observer,
        }
    }

    /// Tells what was read.
    fn close(&mut self) {
        let data = self.album.loader.data();
        let (stages, images) = (data.stages(), data.readings());
        self.observer.notice(&Event::Read { task: self.task.number(), stages: &stages, images: &images });
    }
}

impl GhostLearner {
    /// A model that knows nothing yet.
    pub fn new(settings: LearnSettings, sealed: Sealed, seeds: Seeds, device: Device) -> Self {
        let (network, classifier) = Self::beginning(&settings, &sealed, seeds, device);
        let Normalization { mean, std } = settings.normalization;
        let plane = |of: &dyn Fn(usize) -> f64| {
            let values: Vec<f64> = (0..usize::from(sealed.channels()).min(3)).map(of).collect();
            Tensor::from_slice(&values).to_kind(Kind::Float).reshape([1, -1, 1, 1]).to_device(device)
        };
        let slope = plane(&|channel| 1.0 / (255.0 * std[channel]));
        let shift = plane(&|channel| -mean[channel] / std[channel]);
        Self {
            settings,
            sealed,
            seeds,
            device,
            network,
            classifier,
            memory: Memory::default(),
            generator: None,
            promised: None,
            slope,
            shift,
            test_stock: None,
        }
    }

    /// `f` and `clf` before the first task.
    fn beginning(
        settings: &LearnSettings,
        sealed: &Sealed,
        seeds: Seeds,
        device: Device,
    ) -> (Network, CosineClassifier) {
        let ModelSettings { extractor, learned_scale } = settings.model;
        let (channels, size) = (usize::from(sealed.channels()), settings.view.size as usize);
        let first_weights = seeds.number("first weights", 0);
        let network = Network::new(extractor, channels, size, settings.compute, device, first_weights);
        (network, CosineClassifier::new(learned_scale, device))
    }

    /// Learns one task and answers for all test images.
    pub fn learn(&mut self, task: Task<'_>, observer: &mut dyn Observer) -> Result<Answers, LearnError> {
        observer.notice(&Event::TaskStarted { task: task.number(), of: task.scenario().tasks() });
        let mut lesson = self.lesson(task, observer)?;
        // The base model knows nothing of the future.
        let imagines = self.imagines();
        let seen_only = self.settings.complete.seen_only;
        let stages = plan(&task, self.settings.ghosts.refresh_epochs > 0).into_iter();
        let wanted =
            |stage: &Stage| imagines || !stage.needs_generator() || (seen_only && matches!(stage, Stage::Complete(_)));
        for stage in stages.filter(wanted) {
            lesson.album.loader.data().enter(stage.name());
            match stage {
                Stage::Imprint => self.imprint(&mut lesson)?,
                Stage::Train { ghosts } => {
                    self.train(&mut lesson, ghosts && imagines)?;
                    let trained = lesson.ghosts.as_ref().filter(|_| self.settings.ghosts.init_from_ghosts);
                    self.promised = trained.map(|ghosts| ghosts.proxies.detach().copy());
                }
                Stage::Finetune => self.finetune(&mut lesson)?,
                Stage::Remember => self.remember(&mut lesson)?,
                Stage::TrainGenerator => self.train_generator(&mut lesson)?,
                Stage::Complete(_) if seen_only => self.complete_seen(&mut lesson)?,
                Stage::Complete(future) => self.complete(&mut lesson, future)?,
                Stage::Evaluate => {
                    self.stock_test(&lesson.album)?;
                    let answers = self.evaluate(&mut lesson)?;
                    lesson.close();
                    return Ok(answers);
                }
            }
        }
        unreachable!("every plan ends in an evaluation")
    }

    /// What is kept of the past.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    fn lesson<'a>(&self, task: Task<'a>, observer: &'a mut dyn Observer) -> Result<Lesson<'a>, LearnError> {
        let data: Arc<TaskData> = Arc::new(match self.looks_ahead() {
            true => self.sealed.open_for_oracle(&task, self.memory.samples()),
            false => self.sealed.open(&task, self.memory.samples()),
        });
        let readable: Vec<Sample> =
            data.present().into_iter().chain(data.memory()).chain(data.future_of_an_oracle()).collect();
        let stock = match self.device.is_cuda() {
            true => Stock::gather(&readable, |sample| data.training_image(sample), self.settings.view, self.device)?,
            false => None,
        };
        let loader = Loader::new(data, self.settings.view, self.settings.train.batch_size, self.settings.threads);
        let teacher = (!task.is_first()).then(|| self.network.frozen());
        Ok(Lesson::new(task, Rc::new(Album { loader, stock }), teacher, observer))
    }
}
