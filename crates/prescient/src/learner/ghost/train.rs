//! The main training of a task: `f` and `clf` on the new images and the memory, with ghosts where they take part.

use super::GhostLearner;
use super::epochs::{Epochs, run_epochs};
use super::lesson::Lesson;
use super::restarts::best_of_restarts;
use super::settings::{Oracle, Reduction, TrainSettings};
use super::training_ghosts::{TrainingGhosts, training_ghosts};
use crate::classifier::{fresh_proxies, similarities};
use crate::engine::{DeviceBatch, Schedule, Sgd, with_seed};
use crate::error::LearnError;
use crate::extractor::Network;
use crate::loss::{Terms, distill};
use tch::{Kind, Tensor};

/// What records call it.
pub(super) const STAGE: &str = "train";

/// What the main training leaves beside `f` and `clf`.
pub(super) struct Trained {
    /// The proxies that the ghosts of future classes trained, `[future, width]`, those to arrive next first; none, `[0, width]`, where no ghosts
    /// took part.
    pub(super) ghost_proxies: Tensor,
}

/// Trains `f` and `clf`; the first task several times, where the plan says so.
pub(super) fn train(
    model: &mut GhostLearner,
    lesson: &mut Lesson<'_>,
    teacher: Option<&Network>,
) -> Result<Trained, LearnError> {
    match lesson.plan.train.restarts {
        0 | 1 => train_once(model, lesson, teacher),
        restarts => best_of_restarts(model, lesson, restarts),
    }
}

/// Trains `f` and `clf` from where they are.
pub(super) fn train_once(
    model: &mut GhostLearner,
    lesson: &mut Lesson<'_>,
    teacher: Option<&Network>,
) -> Result<Trained, LearnError> {
    let settings = model.settings.train;
    if lesson.task.is_first() {
        let (classes, width) = (lesson.task.present().len(), model.network.width());
        let proxies = with_seed(model.seeds.number("first proxies", 0), || fresh_proxies(classes, width));
        model.classifier.add(&proxies.to_device(model.device));
    }
    let ghosts = match lesson.plan.train.ghosts {
        true => Some(training_ghosts(model, lesson)?),
        false => None,
    };
    let sgd = Sgd::new(parameters(model, ghosts.as_ref()), TrainSettings::MOMENTUM, settings.weight_decay)
        .clipped(settings.grad_clip_norm);

    let (mut samples, memory) = (lesson.present(), lesson.memory());
    samples.extend(std::iter::repeat_n(memory, model.settings.memory.repeat).flatten());
    if model.settings.ghosts.oracle == Oracle::Partial && ghosts.is_some() {
        samples.extend(lesson.training(lesson.data().future_of_an_oracle()));
    }
    let stage = Epochs {
        name: STAGE,
        epochs: settings.epochs,
        lr: settings.incremental_lr.filter(|_| !lesson.task.is_first()).unwrap_or(settings.lr),
        schedule: Schedule::Cosine,
        ghosts: ghosts.as_ref(),
        samples: &samples,
        sgd: &sgd,
        left: GhostLearner::named_tensors,
    };
    let (task, seen) = (lesson.task, lesson.task.seen().len() as i64);
    let factor = distill::factor(&task);
    model.network.unfreeze();
    run_epochs(model, lesson, stage, |model, batch| terms(model, batch, teacher, ghosts.as_ref(), seen, factor))?;
    model.network.freeze();
    let none = || Tensor::zeros([0, model.network.width() as i64], (Kind::Float, model.device));
    Ok(Trained { ghost_proxies: ghosts.map_or_else(none, |ghosts| ghosts.proxies.detach().copy()) })
}

/// What learns: `f`, the proxies of the new classes (those of past classes stay until the fine-tune, as in PODNet), the
/// scale, and the proxies of ghosts.
fn parameters(model: &GhostLearner, ghosts: Option<&TrainingGhosts>) -> Vec<Tensor> {
    let newest = model.classifier.blocks().last().map(Tensor::shallow_clone);
    let scale = model.classifier.scale_learned().then(|| model.classifier.raw_scale().shallow_clone());
    let ghosts = ghosts.map(|ghosts| ghosts.proxies.shallow_clone());
    model.network.parameters().into_iter().chain(newest).chain(scale).chain(ghosts).collect()
}

/// Eq. 3: classification, and distillation where there is a teacher. With ghosts Eq. 6: they join the real features at the
/// classifier, and planes keep room for them.
fn terms(
    model: &GhostLearner,
    batch: &DeviceBatch<'_>,
    teacher: Option<&Network>,
    ghosts: Option<&TrainingGhosts>,
    seen: i64,
    factor: f64,
) -> Terms {
    let (images, targets) = (batch.images(model.network.image_kind()), &batch.targets);
    let distillation = teacher.zip(model.settings.loss.distillation.get());
    let extract = || model.network.extract(&images, true);
    let (old, new) = match distillation {
        // Neither waits for the other.
        Some((teacher, _)) => {
            let (old, new) = torch_shim::side_by_side(model.device, || teacher.forward_eval(&images), extract);
            (Some(old), new)
        }
        None => (None, extract()),
    };

    let mut terms = Terms::default();
    let (loss, scale) = (&model.settings.loss, model.classifier.scale());
    match ghosts.zip(batch.ghosts.as_ref()) {
        None => {
            let similarities = model.classifier.similarities(&new.features);
            terms.push("nca", loss.classification.loss(&similarities, &scale, targets));
        }
        Some((ghosts, rows)) => {
            let (features, their_targets) = ghosts.take(rows);
            let features = Tensor::cat(&[new.features.shallow_clone(), features], 0);
            let all_targets = Tensor::cat(&[targets.shallow_clone(), their_targets], 0);
            let proxies = Tensor::cat(&[model.classifier.proxies(), ghosts.proxies.shallow_clone()], 0);
            let mean = loss.classification.loss(&similarities(&features, &proxies), &scale, &all_targets);
            terms.push(
                "nca-ghost",
                match model.settings.ghosts.reduction {
                    Reduction::ImagesAndGhosts => mean,
                    Reduction::Images => over_images(&mean, batch.slots.len(), rows.size()[0]),
                },
            );
            if let Some(planes) = &ghosts.planes {
                // Eq. 5 is over seen classes; a partial oracle has images of future ones in its batches.
                let real = match model.settings.ghosts.oracle {
                    Oracle::Partial => loss.svm_reg.loss_of(&new.features, planes, &targets.lt(seen)),
                    Oracle::None | Oracle::TrainingFeatures => loss.svm_reg.loss(&new.features, planes),
                };
                terms.push("svm-reg", real * loss.svm_reg.weight);
            }
        }
    }
    if let Some(((_, distillation), old)) = distillation.zip(old) {
        terms.extend(distillation.terms(&old, &new), factor);
    }
    terms
}

/// From a mean over images and ghosts the sum over both, divided by the number of images.
fn over_images(mean: &Tensor, images: usize, ghosts: i64) -> Tensor {
    mean * ((images as f64 + ghosts as f64) / images as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Images with losses 1 and 3, ghosts with 5, 6 and 7: the images' mean is 2, and ghosts add 18 / 2 on top.
    #[test]
    fn ghosts_on_top_leave_an_image_its_weight() {
        let mean = Tensor::from_slice(&[1.0, 3.0, 5.0, 6.0, 7.0]).mean(Kind::Double);
        assert!((over_images(&mean, 2, 3).double_value(&[]) - 11.0).abs() < 1e-12);
    }
}
