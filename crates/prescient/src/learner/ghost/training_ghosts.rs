//! The ghosts that take part in the main training of a task (Eq. 4), and the planes that keep room for them (Eq. 5).

use super::GhostLearner;
use super::following::Tells;
use super::generator::{draw_ghosts, feature_bank, fit, unit_if_wanted};
use super::imagination::Imagination;
use super::lesson::{Lesson, features};
use crate::class::Slots;
use crate::data::Sample;
use crate::engine::Pass;
use crate::engine::norm::{norm, unit_rows};
use crate::error::LearnError;
use crate::ghost::FeatureBank;
use crate::ghost::svm::{self, Rows, SvmSettings};
use crate::learner::split::gathered_numbers;
use crate::loss::Planes;
use crate::seeds::{Seeds, Stream, picked};
use rand::RngExt;
use rayon::prelude::*;
use std::collections::BTreeMap;
use tch::{Device, Kind, Tensor, no_grad};

/// What records call the generator's training in the middle of the main training.
const REFRESH: &str = "refresh";

/// At most so many real features of a class on the other side of each plane, as in the authors' code.
const NEGATIVES: usize = 500;

/// The ghosts that take part in the training of a task.
pub(super) struct TrainingGhosts {
    /// `[ghosts, width]`.
    features: Tensor,
    /// Their slots, `[ghosts]`.
    targets: Tensor,
    /// The proxies of future classes, which learn: `[future, width]`.
    pub(super) proxies: Tensor,
    /// What keeps real features away from them; none where svm-reg has no weight.
    pub(super) planes: Option<Planes>,
    /// Ghosts for each image of a batch.
    ratio: f64,
}

impl TrainingGhosts {
    /// Which ghosts go with a batch of `images` images, `[ghosts]`.
    pub(super) fn pick(&self, images: usize, stream: &mut Stream) -> Tensor {
        let count = ((images as f64 * self.ratio) as usize).max(1);
        let all = self.features.size()[0];
        let rows: Vec<i64> = (0..count).map(|_| stream.random_range(0..all)).collect();
        Tensor::from_slice(&rows).to_device(self.features.device())
    }

    /// These ghosts, and their slots.
    pub(super) fn take(&self, rows: &Tensor) -> (Tensor, Tensor) {
        (self.features.index_select(0, rows), self.targets.index_select(0, rows))
    }

    /// What is drawn anew, by name.
    pub(super) fn state(&self) -> Vec<(String, Tensor)> {
        let planes = self.planes.iter().flat_map(Planes::tensors);
        let features = [("ghosts.features".to_owned(), self.features.shallow_clone())];
        features.into_iter().chain(planes.map(|(name, tensor)| (format!("ghosts.{name}"), tensor))).collect()
    }

    /// Puts new ghosts and planes into the place of the old ones, which a captured step reads. Proxies stay where they are.
    fn replace(&self, by_class: FeatureBank, planes: Option<Planes>) {
        let features = stacked(by_class);
        assert_eq!(features.size(), self.features.size(), "as many ghosts as before");
        no_grad(|| self.features.shallow_clone().copy_(&features));
        if let Some((old, new)) = self.planes.as_ref().zip(planes) {
            old.move_to(&new);
        }
    }
}

/// The ghosts that train with this task: of `C^{t+1:T}`, from `g^{t−1}`; in the first task from a `g` that has learned the
/// features of an untrained `f`.
pub(super) fn training_ghosts(model: &mut GhostLearner, lesson: &mut Lesson<'_>) -> Result<TrainingGhosts, LearnError> {
    let task = lesson.task;
    if task.is_first() {
        refit(model, lesson, 0, model.settings.train.epochs)?;
    }
    let by_class = imagined(model, lesson, model.seeds.child("training ghosts", task.number()))?;
    let real = model.classifier.proxies();
    let proxies: Vec<Tensor> = by_class.values().map(|ghosts| at_mean(ghosts, &real)).collect();
    let targets: Vec<i64> = by_class
        .iter()
        .flat_map(|(slot, ghosts)| std::iter::repeat_n(slot.index() as i64, ghosts.size()[0] as usize))
        .collect();
    let planes = planes(model, lesson, &by_class)?;
    let as_frequent = || (task.future().len() as f64 / task.seen().len() as f64).clamp(0.1, 1.0);
    Ok(TrainingGhosts {
        features: stacked(by_class),
        targets: Tensor::from_slice(&targets).to_device(model.device),
        proxies: Tensor::stack(&proxies, 0).set_requires_grad(true),
        planes,
        ratio: model.settings.ghosts.ratio.unwrap_or_else(as_frequent),
    })
}

/// Draws the ghosts that take part anew, after `epoch` of `of` epochs: `f` moves on, and so does what it would make of the
/// future. Answers whether the observer was told of other stages meanwhile.
pub(super) fn refresh(
    model: &mut GhostLearner,
    lesson: &mut Lesson<'_>,
    ghosts: &TrainingGhosts,
    epoch: usize,
    of: usize,
) -> Result<bool, LearnError> {
    let learned = refit(model, lesson, epoch, of)?;
    let seeds = model.seeds.child("training ghosts", lesson.number()).child("epoch", epoch);
    let by_class = imagined(model, lesson, seeds)?;
    let planes = planes(model, lesson, &by_class)?;
    let told = learned || planes.is_some();
    ghosts.replace(by_class, planes);
    Ok(told)
}

/// `g` learns the features of seen classes as they are after `epoch` of `of` epochs of the training. Answers whether it did:
/// actual images of the future need no `g`.
fn refit(model: &mut GhostLearner, lesson: &mut Lesson<'_>, epoch: usize, of: usize) -> Result<bool, LearnError> {
    if model.settings.ghosts.trains_on_real_features() {
        return Ok(false);
    }
    let bank = feature_bank(model, lesson)?;
    let seed = model.seeds.child(REFRESH, lesson.number()).number("generator", epoch);
    let processes = model.processes.clone();
    let Imagination::Generator(generator) = &mut model.imagination else { return Ok(false) };
    fit(&mut **generator, &bank, seed, (REFRESH, Tells::Last { epoch, of }), processes, lesson)?;
    Ok(true)
}

/// Ghosts of the future for the training: from `g`, or for an oracle from actual images.
fn imagined(model: &GhostLearner, lesson: &Lesson<'_>, seeds: Seeds) -> Result<FeatureBank, LearnError> {
    let future = lesson.task.future();
    match (model.settings.ghosts.trains_on_real_features(), &model.imagination) {
        (false, Imagination::Generator(generator)) => {
            Ok(draw_ghosts(&**generator, future, model.settings.ghosts.per_class, seeds))
        }
        _ => {
            let real = real_features(model, lesson, future, seeds)?;
            Ok(real.into_iter().map(|(slot, features)| (slot, unit_if_wanted(model, &features))).collect())
        }
    }
}

/// The features of actual images of `slots`, which an oracle may read, as `f` makes them: as many of a class as there would be
/// ghosts of it.
pub(super) fn real_features(
    model: &GhostLearner,
    lesson: &Lesson<'_>,
    slots: Slots,
    seeds: Seeds,
) -> Result<FeatureBank, LearnError> {
    let mut by_class: BTreeMap<_, Vec<Sample>> = BTreeMap::new();
    for sample in lesson.data().future_of_an_oracle() {
        by_class.entry(lesson.data().slot(&sample)).or_default().push(sample);
    }
    let mut samples = Vec::new();
    for (slot, of_class) in by_class.into_iter().filter(|(slot, _)| slots.contains(*slot)) {
        let picked = picked(of_class.len(), model.settings.ghosts.per_class, &mut seeds.stream("real", slot.index()));
        samples.extend(picked.into_iter().map(|place| of_class[place]));
    }
    let features = features(model, lesson, &samples, Pass::Eval)?;
    Ok(features.into_iter().map(|(slot, class)| (slot, class.features)).collect())
}

/// One plane for each future class, between its ghosts and the seen features under the present `f`; none where svm-reg has no
/// weight.
fn planes(model: &GhostLearner, lesson: &mut Lesson<'_>, ghosts: &FeatureBank) -> Result<Option<Planes>, LearnError> {
    if model.settings.loss.svm_reg.weight == 0.0 {
        return Ok(None);
    }
    lesson.start("svm", 0);
    let width = model.network.width();
    let seeds = model.seeds.child("svm", lesson.number());
    let mut negatives = Vec::new();
    for (slot, class) in features(model, lesson, &lesson.readable(), Pass::Eval)? {
        let rows = picked(class.samples.len(), NEGATIVES, &mut seeds.stream("class", slot.index()));
        let rows: Vec<i64> = rows.into_iter().map(|row| row as i64).collect();
        let rows = Tensor::from_slice(&rows).to_device(model.device);
        negatives.extend(unit_values(&class.features.index_select(0, &rows))?);
    }
    let positives = ghosts.values().map(unit_values).collect::<Result<Vec<_>, _>>()?;
    // A class is a plane is a problem of its own: each process has some of them.
    let own = &positives[model.processes.part(positives.len(), 1)];
    let planes: Vec<svm::Plane> = own
        .par_iter()
        .map(|positives| svm::fit(Rows::new(&negatives, width), Rows::new(positives, width), SvmSettings::default()))
        .collect();
    let numbers = planes.into_iter().flat_map(|plane| plane.normal.into_iter().chain([plane.bias])).collect();
    let numbers = gathered_numbers(&model.processes, numbers)?;
    let plane = |row: &[f32]| svm::Plane { normal: row[..width].to_vec(), bias: row[width] };
    Ok(Some(Planes::new(&numbers.chunks_exact(width + 1).map(plane).collect::<Vec<_>>(), model.device)))
}

/// The features of all classes, one below the other.
fn stacked(by_class: FeatureBank) -> Tensor {
    Tensor::cat(&by_class.into_values().collect::<Vec<_>>(), 0)
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
