//! The balanced fine-tune: `clf` alone, on as many images of each class, `f` frozen.
//!
//! The main training sees hundreds of images of each new class and a handful of each old one, so its proxies lean
//! towards the new. BatchNorm's statistics stay as they are (the authors' code lets them drift: errata 12).

use super::GhostLearner;
use super::epochs::{Epochs, run_epochs};
use super::lesson::Lesson;
use super::remember::Exemplars;
use super::settings::{FinetuneSettings, TrainSettings};
use crate::data::Sample;
use crate::engine::{Schedule, Sgd};
use crate::error::LearnError;
use crate::loss::Terms;
use tch::Tensor;

/// Fine-tunes the proxies of all seen classes on the memory and the exemplars of the new classes.
pub(super) fn finetune(
    model: &mut GhostLearner,
    lesson: &mut Lesson<'_>,
    exemplars: &Exemplars,
) -> Result<(), LearnError> {
    let FinetuneSettings { epochs, lr } = model.settings.finetune;
    let samples: Vec<Sample> =
        lesson.memory().into_iter().chain(lesson.training(exemplars.samples().collect())).collect();
    let proxies = model.classifier.blocks().iter().map(Tensor::shallow_clone);
    let sgd = Sgd::new(proxies, TrainSettings::MOMENTUM, model.settings.train.weight_decay);
    let stage = Epochs {
        name: "finetune",
        epochs,
        lr,
        schedule: Schedule::Constant,
        ghosts: None,
        samples: &samples,
        sgd: &sgd,
        left: GhostLearner::named_proxies,
    };
    run_epochs(model, lesson, stage, |model, batch| {
        let features = model.network.forward_eval(&batch.images(model.network.image_kind())).features;
        let similarities = model.classifier.similarities(&features);
        let scale = model.classifier.scale().detach();
        let mut terms = Terms::default();
        terms.push("nca", model.settings.loss.classification.loss(&similarities, &scale, &batch.targets));
        terms
    })
}
