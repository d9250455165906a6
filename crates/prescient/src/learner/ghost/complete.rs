//! The complete classifier: proxies for all classes, seen and future, trained on real features and ghosts together.
//!
//! `f` is frozen, so all features are there beforehand and no image is read. It serves answers; the next task starts from
//! the classifier of the training.

use super::GhostLearner;
use super::following::{Following, Tells};
use super::generator::{draw_ghosts, unit_if_wanted};
use super::imagination::Imagination;
use super::lesson::Lesson;
use super::scatter::tell_ghosts;
use super::training_ghosts::{at_mean, real_features};
use crate::class::Slot;
use crate::classifier::similarities;
use crate::engine::{Adam, Changing, repeat};
use crate::error::LearnError;
use crate::ghost::FeatureBank;
use crate::seeds::Seeds;
use rand::seq::SliceRandom;
use tch::{Kind, Tensor, no_grad};

/// Real features and ghosts, and the proxies that they train.
pub(super) struct Features<'a> {
    /// The class of each proxy: the real ones, then the ghosts. A real class may have no features, when there is no
    /// memory; its proxy learns from the others alone.
    pub(super) rows: Vec<Slot>,
    pub(super) real: &'a FeatureBank,
    pub(super) ghosts: &'a FeatureBank,
    /// `[real, width]`.
    pub(super) real_proxies: Tensor,
}

/// Proxies for all classes, `[classes, width]`: draws ghosts of the future, and trains on them and on the features of seen
/// classes.
pub(super) fn complete(
    model: &GhostLearner,
    lesson: &mut Lesson<'_>,
    bank: &FeatureBank,
) -> Result<Tensor, LearnError> {
    let seeds = model.seeds.child("complete", lesson.number());
    let future = lesson.task.future();
    let ghosts = match &model.imagination {
        Imagination::Generator(generator) => {
            let ghosts = draw_ghosts(&**generator, future, model.settings.ghosts.per_class, seeds);
            tell_ghosts(model, lesson, &ghosts)?;
            ghosts
        }
        Imagination::Real | Imagination::Nothing => {
            let real = real_features(model, lesson, future, seeds)?;
            // Drawn as `f` makes them; what trains may be their directions alone.
            tell_ghosts(model, lesson, &real)?;
            real.iter().map(|(slot, features)| (*slot, unit_if_wanted(model, features))).collect()
        }
    };
    let rows = lesson.task.seen().iter().chain(future.iter()).collect();
    let features = Features { rows, real: bank, ghosts: &ghosts, real_proxies: model.classifier.proxies() };
    train_proxies(model, &features, seeds, "complete", lesson)
}

/// The same for seen classes alone, `[seen, width]`: what the base model is compared with, so that the extra training of seen
/// proxies does not count as a gain of ghosts.
pub(super) fn complete_seen(
    model: &GhostLearner,
    lesson: &mut Lesson<'_>,
    bank: &FeatureBank,
) -> Result<Tensor, LearnError> {
    let (seeds, none) = (model.seeds.child("complete", lesson.number()), FeatureBank::new());
    let rows = lesson.task.seen().iter().collect();
    let features = Features { rows, real: bank, ghosts: &none, real_proxies: model.classifier.proxies() };
    train_proxies(model, &features, seeds, "complete", lesson)
}

/// Proxies for all classes of `features`: `[real + ghosts, width]`. All classes weigh the same, however many features they have.
pub(super) fn train_proxies(
    model: &GhostLearner,
    features: &Features<'_>,
    seeds: Seeds,
    stage: &'static str,
    lesson: &mut Lesson<'_>,
) -> Result<Tensor, LearnError> {
    let settings = model.settings.complete;
    let ghost_proxies = features.ghosts.values().map(|ghosts| at_mean(ghosts, &features.real_proxies).unsqueeze(0));
    let start: Vec<Tensor> = std::iter::once(features.real_proxies.detach()).chain(ghost_proxies).collect();
    let proxies = Tensor::cat(&start, 0).set_requires_grad(true);
    let adam = Adam::new(vec![proxies.shallow_clone()], settings.lr);

    let of_class = |slot: &Slot| features.real.get(slot).or_else(|| features.ghosts.get(slot));
    let rows = Tensor::cat(&features.rows.iter().filter_map(of_class).collect::<Vec<_>>(), 0);
    let count = |slot: &Slot| of_class(slot).map_or(0, |class| class.size()[0] as usize);
    let counts: Vec<usize> = features.rows.iter().map(count).collect();
    let (total, mean) = (rows.size()[0] as usize, rows.size()[0] as f32 / counts.len() as f32);
    let repeated = |of: &dyn Fn(usize) -> f32| -> Tensor {
        let values: Vec<f32> = counts.iter().enumerate().flat_map(|(c, &n)| std::iter::repeat_n(of(c), n)).collect();
        Tensor::from_slice(&values).to_device(model.device)
    };
    let targets = repeated(&|class| class as f32).to_kind(Kind::Int64);
    let weights = repeated(&|class| mean / counts[class] as f32);

    let scale = model.classifier.scale().detach();
    let classification = model.settings.loss.classification;
    let steps = total.div_ceil(settings.batch_size);
    let order: Vec<i64> = (0..total as i64).collect();
    let shuffled = Tensor::from_slice(&order).to_device(model.device);
    let shuffle = |epoch: usize| {
        let mut order = order.clone();
        order.shuffle(&mut seeds.stream("shuffle", epoch));
        shuffled.shallow_clone().copy_(&Tensor::from_slice(&order));
    };
    let work = || {
        let mut sum = Tensor::zeros([1], (Kind::Float, model.device));
        for start in (0..total).step_by(settings.batch_size) {
            let picked = shuffled.narrow(0, start as i64, settings.batch_size.min(total - start) as i64);
            let similarities = similarities(&rows.index_select(0, &picked), &proxies);
            let losses = classification.losses(&similarities, &scale, &targets.index_select(0, &picked));
            let loss = (losses * weights.index_select(0, &picked)).mean(Kind::Float);
            adam.step(&loss);
            sum += loss.detach();
        }
        sum / steps as f64
    };
    let changing = || Changing { left: vec![("proxies".to_owned(), proxies.shallow_clone())], meanwhile: adam.state() };
    let mut following = Following {
        lesson,
        processes: model.processes.clone(),
        stage,
        epochs: settings.epochs,
        lr: settings.lr,
        term: "nca",
        steps,
        tells: Tells::Each,
        state: Default::default(),
    };
    let device = (model.device, model.settings.compute.cuda_graphs);
    repeat(device, settings.epochs, &mut following, changing, shuffle, work);
    following.result()?;
    Ok(no_grad(|| proxies.detach().copy()))
}
