//! Ghosts: features of future classes, imagined by `g`, and what they do in training.

use super::{GhostLearner, Lesson};
use crate::class::{Slot, Slots};
use crate::data::Sample;
use crate::engine::Pass;
use crate::engine::norm::{norm, unit_rows};
use crate::error::LearnError;
use crate::ghost::generator::attribute_rows;
use crate::ghost::svm::{self, Rows, SvmSettings};
use crate::ghost::{FeatureBank, Generator, GeneratorKind};
use crate::learner::observer::Event;
use crate::loss::Planes;
use crate::seeds::{Seeds, Stream};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tch::{Device, Kind, Tensor, no_grad};

/// What is imagined of the future, and how it is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GhostSettings {
    /// Ghosts of each future class.
    pub per_class: usize,
    /// Whether ghosts take part in the main training (Eq. 4 and 5), rather than in the complete classifier alone.
    pub train: bool,
    /// Whether ghosts take part in the main training of the first task too: while all images of its classes are there, most
    /// room can be made. `g` first learns the features of an `f` that knows nothing yet, so they want to be drawn anew. In the
    /// paper's text ghosts come with the second task.
    pub first: bool,
    /// After how many epochs of the main training ghosts are drawn anew for the `f` of that moment: `g` learns its features,
    /// which takes all of its epochs, planes are laid anew, and proxies go on from where they are. 0: once a task, as in the
    /// paper.
    pub refresh: usize,
    /// Ghosts a batch, as a share of its images; unless given, as many as make ghosts and images of a class equally
    /// frequent, between 0.1 and 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Whether the loss is a mean over images and ghosts, as in the authors' code: the more ghosts, the less an image counts
    /// against distillation. Otherwise over images, and ghosts come on top.
    pub dilute: bool,
    /// Whether the scale η learns from ghosts too, as in the authors' code. Ghosts that lie over other classes cannot be
    /// told from them, and the less is made of similarities the less that costs: they pull η down, and with it the slopes
    /// of real features.
    pub scale: bool,
    /// Whether `f` itself trains on the images of future classes while they are ghosts: the partial oracle of Table 4.
    /// Only with the generator `real`.
    pub pixels: bool,
    /// Whether features are brought to length 1 before `g` learns from them. The paper's are not; but the classifier sees
    /// directions only, and long features of a class would outweigh its short ones.
    pub unit: bool,
    /// Whether a class that arrives starts from the proxy of its ghosts, the place that was kept for it, rather than being
    /// imprinted from its images. From task 3 on, or 2 where ghosts come first: before, no ghosts have trained.
    pub promote: bool,
    /// At most so many real features of a class on the other side of each plane.
    pub svm_limit: usize,
    /// Where ghosts come from. Last, for it is a table.
    pub generator: GeneratorKind,
}

impl Default for GhostSettings {
    fn default() -> Self {
        Self {
            per_class: 500,
            train: true,
            first: false,
            refresh: 0,
            share: None,
            dilute: true,
            scale: true,
            pixels: false,
            unit: false,
            promote: false,
            svm_limit: 500,
            generator: GeneratorKind::None,
        }
    }
}

/// The ghosts that take part in the training of a task.
pub(super) struct Ghosts {
    /// `[ghosts, width]`.
    features: Tensor,
    /// Their slots, `[ghosts]`.
    targets: Tensor,
    /// The proxies of future classes, which learn: `[future, width]`.
    pub(super) proxies: Tensor,
    /// What keeps real features away from them.
    pub(super) planes: Option<Planes>,
    share: f64,
}

impl Ghosts {
    /// Which ghosts go with a batch of `images` images, `[ghosts]`.
    pub(super) fn pick(&self, images: usize, stream: &mut Stream) -> Tensor {
        let count = ((images as f64 * self.share) as usize).max(1);
        let all = self.features.size()[0];
        let rows: Vec<i64> = (0..count).map(|_| stream.random_range(0..all)).collect();
        Tensor::from_slice(&rows).to_device(self.features.device())
    }

    /// Puts new ghosts and planes into the place of the old ones, which a recorded step reads. Proxies stay where they are.
    pub(super) fn renew(&self, by_class: FeatureBank, planes: Option<Planes>) {
        let features = all(by_class);
        assert_eq!(features.size(), self.features.size(), "as many ghosts as before");
        no_grad(|| self.features.shallow_clone().copy_(&features));
        if let Some((old, new)) = self.planes.as_ref().zip(planes) {
            old.move_to(&new);
        }
    }

    /// These ghosts, and their slots.
    pub(super) fn take(&self, rows: &Tensor) -> (Tensor, Tensor) {
        (self.features.index_select(0, rows), self.targets.index_select(0, rows))
    }
}

impl GhostLearner {
    /// Whether the model has a picture of the future.
    pub(super) fn imagines(&self) -> bool {
        self.settings.ghosts.generator != GeneratorKind::None
    }

    /// Whether its ghosts are features of actual images of the future: an oracle's.
    pub(super) fn looks_ahead(&self) -> bool {
        self.settings.ghosts.generator == GeneratorKind::Real
    }

    /// A generator that knows nothing yet, where the recipe has one.
    pub(super) fn fresh_generator(&self, seeds: Seeds) -> Result<Option<Box<dyn Generator>>, LearnError> {
        let kind = &self.settings.ghosts.generator;
        let catalogue = self.sealed.catalogue();
        if kind.needs_attributes() && catalogue.attribute_names().is_empty() {
            return Err(LearnError::NoAttributes);
        }
        let order = self.sealed.scenario().order();
        let rows: Vec<Vec<f32>> = order.iter().map(|class| catalogue.unit_attributes(*class)).collect();
        let attributes = attribute_rows(&rows, self.device);
        Ok(kind.build(
            &attributes,
            self.network.width(),
            seeds.number("first weights", 1),
            self.settings.compute.graphs,
        ))
    }

    /// Trains `g` on the features of all seen classes.
    pub(super) fn train_generator(&mut self, lesson: &mut Lesson<'_>) -> Result<(), LearnError> {
        let task = lesson.task.number();
        lesson.bank = Some(self.bank(lesson)?);
        self.prepare_generator()?;
        let seed = self.seeds.number("generator", task);
        if let (Some(generator), Some(bank)) = (&mut self.generator, &lesson.bank) {
            fit(&mut **generator, bank, seed, "generator", task, &mut *lesson.observer)?;
        }
        Ok(())
    }

    /// Makes `g`, where there is to be one and none is yet.
    pub(super) fn prepare_generator(&mut self) -> Result<(), LearnError> {
        if self.generator.is_none() {
            self.generator = self.fresh_generator(self.seeds)?;
        }
        Ok(())
    }

    /// The features of all seen classes under the present `f`: of every image of the new ones, of the memory of the old
    /// ones; mirrored too, where mirroring is allowed.
    pub(super) fn bank(&self, lesson: &Lesson<'_>) -> Result<FeatureBank, LearnError> {
        let samples = self.readable(lesson);
        let mut bank: BTreeMap<Slot, Vec<Tensor>> = BTreeMap::new();
        let mirror = self.settings.view.augmentation.flip.then_some(Pass::EvalMirrored);
        for pass in [Some(Pass::Eval), mirror].into_iter().flatten() {
            for (slot, class) in self.features(lesson, &samples, pass)? {
                bank.entry(slot).or_default().push(class.features);
            }
        }
        Ok(bank.into_iter().map(|(slot, parts)| (slot, self.as_learned(&Tensor::cat(&parts, 0)))).collect())
    }

    /// Features as `g` learns from them.
    fn as_learned(&self, features: &Tensor) -> Tensor {
        match self.settings.ghosts.unit {
            true => no_grad(|| unit_rows(features)),
            false => features.shallow_clone(),
        }
    }

    /// The same, class by class.
    pub(super) fn all_as_learned(&self, features: &FeatureBank) -> FeatureBank {
        features.iter().map(|(slot, features)| (*slot, self.as_learned(features))).collect()
    }

    /// What a task may learn from: all images of its classes, and the memory.
    pub(super) fn readable(&self, lesson: &Lesson<'_>) -> Vec<Sample> {
        let data = lesson.album.loader.data();
        data.present().into_iter().chain(data.memory()).collect()
    }

    /// The features of actual images of `slots`, which an oracle may look at, as `f` makes them.
    pub(super) fn actual_future(&self, lesson: &Lesson<'_>, slots: Slots) -> Result<FeatureBank, LearnError> {
        let future = lesson.album.loader.data().future_of_an_oracle();
        let features = self.features(lesson, &future, Pass::Eval)?;
        let wanted = features.into_iter().filter(|(slot, _)| slots.contains(*slot));
        Ok(wanted.map(|(slot, class)| (slot, class.features)).collect())
    }

    /// Ghosts of `slots`.
    pub(super) fn ghosts_of(&self, lesson: &Lesson<'_>, slots: Slots, seeds: Seeds) -> Result<FeatureBank, LearnError> {
        match (&self.settings.ghosts.generator, &self.generator) {
            (GeneratorKind::Real, _) => Ok(self.all_as_learned(&self.actual_future(lesson, slots)?)),
            (_, Some(generator)) => {
                let count = self.settings.ghosts.per_class;
                let draw = |slot: Slot| (slot, generator.draw(slot, count, seeds.number("class", slot.index())));
                Ok(slots.iter().map(draw).collect())
            }
            (_, None) => unreachable!("the generator learns before it is asked for ghosts"),
        }
    }

    /// The ghosts that train with this task: of `C^{t+1:T}`, from `g^{t−1}`, or in the first task from a `g` that has
    /// learned the features of a fresh `f`.
    pub(super) fn training_ghosts(&mut self, lesson: &mut Lesson<'_>) -> Result<Ghosts, LearnError> {
        let task = lesson.task;
        if task.is_first() {
            self.catch_up(lesson, 0, self.settings.train.epochs)?;
        }
        let by_class = self.ghosts_of(lesson, task.future(), self.seeds.child("training ghosts", task.number()))?;
        let settings = &self.settings;
        let real = self.classifier.proxies();
        let proxies: Vec<Tensor> = by_class.values().map(|ghosts| at_mean(ghosts, &real)).collect();
        let targets: Vec<i64> = by_class
            .iter()
            .flat_map(|(slot, ghosts)| std::iter::repeat_n(slot.index() as i64, ghosts.size()[0] as usize))
            .collect();
        let planes = self.planes(lesson, &by_class)?;
        let share = settings
            .ghosts
            .share
            .unwrap_or_else(|| (task.future().len() as f64 / task.seen().len() as f64).clamp(0.1, 1.0));
        Ok(Ghosts {
            features: all(by_class),
            targets: Tensor::from_slice(&targets).to_device(self.device),
            proxies: Tensor::stack(&proxies, 0).set_requires_grad(true),
            planes,
            share,
        })
    }

    /// One plane for each future class, between its ghosts and the seen features under the present `f`; none where none
    /// are wanted.
    pub(super) fn planes(&self, lesson: &mut Lesson<'_>, ghosts: &FeatureBank) -> Result<Option<Planes>, LearnError> {
        if self.settings.loss.latent.weight == 0.0 {
            return Ok(None);
        }
        lesson.observer.notice(&Event::StageStarted { stage: "svm", steps: 0 });
        let width = self.network.width();
        let mut negatives = Vec::new();
        for class in self.features(lesson, &self.readable(lesson), Pass::Eval)?.values() {
            let count = class.features.size()[0].min(self.settings.ghosts.svm_limit as i64);
            negatives.extend(unit_values(&class.features.narrow(0, 0, count))?);
        }
        let positives = ghosts.values().map(unit_values).collect::<Result<Vec<_>, _>>()?;
        let planes: Vec<svm::Plane> = positives
            .par_iter()
            .map(|positives| {
                svm::fit(Rows::new(&negatives, width), Rows::new(positives, width), SvmSettings::default())
            })
            .collect();
        Ok(Some(Planes::new(&planes, self.device)))
    }
}

/// The features of all classes, one below the other.
fn all(by_class: FeatureBank) -> Tensor {
    Tensor::cat(&by_class.into_values().collect::<Vec<_>>(), 0)
}

/// Fits a generator, with progress and a check that every loss is a number.
pub(super) fn fit(
    generator: &mut dyn Generator,
    bank: &FeatureBank,
    seed: i64,
    stage: &'static str,
    task: usize,
    observer: &mut dyn crate::learner::Observer,
) -> Result<(), LearnError> {
    let (of, lr) = (generator.epochs(), generator.rate());
    observer.notice(&Event::StageStarted { stage, steps: of });
    let mut failed = None;
    let mut told = |epoch: usize, loss: f64| {
        if !loss.is_finite() && failed.is_none() {
            failed = Some(LearnError::NotFinite { term: "mmd".to_owned(), value: loss, task, epoch, batch: 1 });
        }
        observer.notice(&Event::Step);
        // A generator's epoch is short: one line in fifty tells as much.
        if epoch.is_multiple_of(50) || epoch == of {
            observer.notice(&Event::Epoch { task, stage, epoch, of, lr, terms: &[("mmd", loss)] });
        }
    };
    generator.fit(bank, seed, &mut told);
    failed.map_or(Ok(()), Err)
}

/// Where the proxy of a future class starts: in the direction of the mean of its ghosts, `[ghosts, width]`, as long as
/// the real proxies, `[classes, width]`, are on average. `[width]`.
pub(super) fn at_mean(ghosts: &Tensor, proxies: &Tensor) -> Tensor {
    no_grad(|| {
        let mean = ghosts.mean_dim([0i64].as_slice(), true, Kind::Float);
        (unit_rows(&mean) * norm(proxies).mean(Kind::Float)).squeeze_dim(0)
    })
}

/// Rows of length 1, as plain numbers one after the other.
fn unit_values(rows: &Tensor) -> Result<Vec<f32>, LearnError> {
    Ok(Vec::<f32>::try_from(no_grad(|| unit_rows(rows).to_device(Device::Cpu).to_kind(Kind::Float).flatten(0, -1)))?)
}
