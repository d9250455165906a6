//! The main training of a task: `f` and `clf` on the new images and the memory.

use super::batches::Shown;
use super::imagine::GhostSettings;
use super::steps::{Steps, Values};
use super::{GhostLearner, Lesson};
use crate::classifier::fresh_proxies;
use crate::data::Sample;
use crate::engine::{Pass, Schedule, Sgd, drawn};
use crate::error::LearnError;
use crate::learner::observer::Event;
use crate::loss::{Terms, distill};
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

/// What records call it.
pub(super) const STAGE: &str = "train";

/// The main training's settings. Defaults are the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainSettings {
    /// How often each image of a new class is seen in a task; one of the memory `memory.repeat` times as often.
    pub epochs: usize,
    /// How many times the first task trains, each time from other first weights; the model whose loss over the last epoch is
    /// lowest goes on. 1: as in the paper. In a plane the first weights decide much.
    pub tries: usize,
    /// Images a step. The paper gives none; 64 fits its memory figure.
    pub batch: usize,
    /// The learning rate at the start of each task.
    pub lr: f64,
    /// The same from the second task on, where it is another: a smaller one forgets less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later_lr: Option<f64>,
    /// How it falls.
    pub schedule: Schedule,
    /// SGD's momentum.
    pub momentum: f64,
    /// Weight decay, on everything that learns.
    pub weight_decay: f64,
    /// The gradient's greatest length: where all slopes together are longer, they are shortened to it. The slope of a
    /// direction is as steep as the feature is short, and in a plane features pass close to 0. The paper names none, and
    /// the balanced fine-tune, which moves no feature, has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Whether proxies of past classes stay as they are until the balanced fine-tune, as in PODNet.
    pub freeze_old_proxies: bool,
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self {
            epochs: 90,
            tries: 1,
            batch: 64,
            lr: 0.1,
            later_lr: None,
            schedule: Schedule::Cosine,
            momentum: 0.9,
            weight_decay: 1e-4,
            clip: None,
            freeze_old_proxies: true,
        }
    }
}

impl GhostLearner {
    /// Trains `f` and `clf`, with ghosts of the future where they take part.
    pub(super) fn train(&mut self, lesson: &mut Lesson<'_>, ghosts: bool) -> Result<(), LearnError> {
        match lesson.task.is_first() && self.settings.train.tries > 1 {
            true => self.train_tries(lesson, ghosts),
            false => self.train_once(lesson, ghosts),
        }
    }

    /// The same, from the weights as they are: one try of the first task, or a later task.
    pub(super) fn train_once(&mut self, lesson: &mut Lesson<'_>, ghosts: bool) -> Result<(), LearnError> {
        let settings = self.settings.train;
        if lesson.task.is_first() {
            let (classes, width) = (lesson.task.present().len(), self.network.width());
            let proxies = drawn(self.seeds.number("first proxies", 0), || fresh_proxies(classes, width));
            self.classifier.add(&proxies.to_device(self.device));
        }
        if ghosts {
            lesson.ghosts = Some(self.training_ghosts(lesson)?);
        }
        let mut parameters = self.network.parameters();
        let blocks = self.classifier.blocks();
        let first_learning = if settings.freeze_old_proxies { blocks.len() - 1 } else { 0 };
        parameters.extend(blocks[first_learning..].iter().map(Tensor::shallow_clone));
        if self.classifier.scale_learned() {
            parameters.push(self.classifier.raw_scale().shallow_clone());
        }
        parameters.extend(lesson.ghosts.iter().map(|ghosts| ghosts.proxies.shallow_clone()));
        let sgd = Sgd::new(parameters, settings.momentum, settings.weight_decay).clipped(settings.clip);

        let data = lesson.album.loader.data();
        let (mut samples, memory) = (data.present(), data.memory());
        samples.extend(std::iter::repeat_n(memory, self.settings.memory.repeat).flatten());
        if self.settings.ghosts.pixels && lesson.ghosts.is_some() {
            samples.extend(data.future_of_an_oracle());
        }
        let lr = settings.later_lr.filter(|_| !lesson.task.is_first()).unwrap_or(settings.lr);
        let stage = Epochs {
            name: STAGE,
            epochs: settings.epochs,
            lr,
            schedule: settings.schedule,
            ghosts: lesson.ghosts.is_some(),
        };
        self.network.stir();
        self.epochs(stage, lesson, &samples, &sgd, Self::terms)?;
        self.network.settle();
        Ok(())
    }

    /// Eq. 3: classification, and distillation where there is a teacher. With ghosts Eq. 6: they join the real features at
    /// the classifier, and planes keep room for them.
    fn terms(&self, lesson: &Lesson<'_>, shown: &Shown<'_>) -> Terms {
        let (images, targets) = (self.images(shown), &shown.targets);
        let distillation = lesson.teacher.as_ref().zip(self.settings.loss.distillation.get());
        let extract = || self.network.extract(&images, true);
        let (old, new) = match distillation {
            // Neither waits for the other.
            Some((teacher, _)) => {
                let (old, new) = torch_shim::side_by_side(self.device, || teacher.look(&images), extract);
                (Some(old), new)
            }
            None => (None, extract()),
        };

        let mut terms = Terms::default();
        let (loss, scale) = (&self.settings.loss, self.classifier.scale());
        match lesson.ghosts.as_ref().zip(shown.ghosts.as_ref()) {
            None => {
                let similarities = self.classifier.similarities(&new.features);
                terms.push("nca", loss.classification.loss(&similarities, &scale, targets));
            }
            Some((ghosts, rows)) => {
                let (features, theirs) = ghosts.take(rows);
                let features = Tensor::cat(&[new.features.shallow_clone(), features], 0);
                let targets = Tensor::cat(&[targets.shallow_clone(), theirs], 0);
                let proxies = Tensor::cat(&[self.classifier.proxies(), ghosts.proxies.shallow_clone()], 0);
                let similarities = self.settings.model.similarity.between(&features, &proxies);
                let (images, count) = (shown.slots.len(), rows.size()[0]);
                let GhostSettings { scale: ghosts_teach, dilute, .. } = self.settings.ghosts;
                let scale = if ghosts_teach { scale } else { taught_by_first(&scale, images, count) };
                let mean = loss.classification.loss(&similarities, &scale, &targets);
                terms.push("nca-ghost", if dilute { mean } else { over_images(&mean, images, count) });
                if let Some(planes) = &ghosts.planes {
                    terms.push("svm-reg", loss.latent.loss(&new.features, planes) * loss.latent.weight);
                }
            }
        }
        if loss.ranking.weight > 0.0 && !lesson.task.is_first() {
            let similarities = self.classifier.similarities(&new.features);
            let ranking = loss.ranking.loss(&similarities, targets, lesson.task.present());
            terms.push("ranking", ranking * loss.ranking.weight);
        }
        if let Some(((_, distillation), old)) = distillation.zip(old) {
            terms.extend(distillation.terms(&old, &new), distill::factor(&lesson.task));
        }
        terms
    }

    /// Runs the epochs of a stage.
    pub(super) fn epochs(
        &mut self,
        stage: Epochs,
        lesson: &mut Lesson<'_>,
        samples: &[Sample],
        sgd: &Sgd,
        terms_of: impl Fn(&Self, &Lesson<'_>, &Shown<'_>) -> Terms,
    ) -> Result<(), LearnError> {
        let seeds = self.seeds.child(stage.name, lesson.task.number());
        let (album, batch) = (lesson.album.clone(), self.settings.train.batch);
        let steps = samples.len().div_ceil(batch);
        let mut begins = true;
        let mut taken = Steps::new(self.device, self.settings.compute.graphs);
        for epoch in 0..stage.epochs {
            let lr = stage.schedule.rate(stage.lr, epoch, stage.epochs);
            sgd.set_rate(lr);
            if stage.ghosts && self.refreshes(epoch) {
                begins = self.refresh(lesson, epoch, stage.epochs)?;
            }
            if std::mem::take(&mut begins) {
                let steps = steps * (stage.epochs - epoch);
                lesson.observer.notice(&Event::StageStarted { stage: stage.name, steps });
            }
            let mut tally = Tally::default();
            let seeds = seeds.child("epoch", epoch);
            for (number, shown) in self.show(&album, samples, Pass::Train(seeds), batch).enumerate() {
                let mut shown = shown?;
                shown.ghosts = lesson.ghosts.as_ref().filter(|_| stage.ghosts).map(|ghosts| {
                    ghosts.pick(shown.slots.len(), &mut seeds.child("batch", number).stream("ghosts", 0))
                });
                // BatchNorm has no variance of a single value: a batch of one, left over at the end, sits out.
                if shown.slots.len() > 1 || samples.len() == 1 {
                    tally.add(taken.take(&shown, |shown| {
                        let terms = terms_of(self, lesson, shown);
                        sgd.step(&terms.total());
                        terms
                    }));
                }
                lesson.observer.notice(&Event::Step);
            }
            let terms = tally.means(lesson.task.number(), epoch + 1)?;
            lesson.observer.notice(&Event::Epoch {
                task: lesson.task.number(),
                stage: stage.name,
                epoch: epoch + 1,
                of: stage.epochs,
                lr,
                terms: &terms,
            });
        }
        Ok(())
    }
}

/// The scale η of each row, `[images + ghosts, 1]`: the rows of ghosts use it and do not teach it.
fn taught_by_first(scale: &Tensor, images: usize, ghosts: i64) -> Tensor {
    let rows = |scale: &Tensor, count: i64| scale.expand([count, 1], false);
    Tensor::cat(&[rows(scale, images as i64), rows(&scale.detach(), ghosts)], 0)
}

/// From a mean over images and ghosts the sum over both, divided by the number of images.
fn over_images(mean: &Tensor, images: usize, ghosts: i64) -> Tensor {
    mean * ((images as f64 + ghosts as f64) / images as f64)
}

/// A stage that goes over its images several times.
pub(super) struct Epochs {
    pub(super) name: &'static str,
    pub(super) epochs: usize,
    pub(super) lr: f64,
    pub(super) schedule: Schedule,
    /// Whether ghosts take part.
    pub(super) ghosts: bool,
}

/// The terms of an epoch's batches. They stay on the device until the epoch is over, so that no step waits for them.
#[derive(Default)]
struct Tally {
    names: Vec<&'static str>,
    batches: Vec<Tensor>,
}

impl Tally {
    fn add(&mut self, step: Values) {
        self.names = step.names;
        self.batches.push(step.values);
    }

    /// The mean of each term; an error if one was no number.
    fn means(&self, task: usize, epoch: usize) -> Result<Vec<(&'static str, f64)>, LearnError> {
        if self.batches.is_empty() {
            return Ok(Vec::new());
        }
        let values = Tensor::stack(&self.batches, 0).to_kind(Kind::Double);
        let rows = Vec::<Vec<f64>>::try_from(values)?;
        for (batch, row) in rows.iter().enumerate() {
            if let Some((term, &value)) = self.names.iter().zip(row).find(|(_, value)| !value.is_finite()) {
                return Err(LearnError::NotFinite { term: (*term).to_owned(), value, task, epoch, batch: batch + 1 });
            }
        }
        let mean = |term: usize| rows.iter().map(|row| row[term]).sum::<f64>() / rows.len() as f64;
        Ok(self.names.iter().enumerate().map(|(term, &name)| (name, mean(term))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_that_is_no_number_is_named_with_its_place() {
        let mut tally = Tally::default();
        for pod in [0.5, f64::NAN] {
            let mut terms = Terms::default();
            terms.push("nca", Tensor::from(1.0));
            terms.push("pod", Tensor::from(pod));
            tally.add(terms.into());
        }
        let error = tally.means(2, 7).expect_err("a NaN");
        assert_eq!(error.to_string(), "`pod` is NaN in task 2, epoch 7, batch 2");
    }

    /// Three rows alike, two of them ghosts: the loss is the same, and a third of its slope in η is left.
    #[test]
    fn ghosts_use_the_scale_and_do_not_teach_it() {
        let similarities = Tensor::from_slice(&[0.1f32, 0.4, -0.2]).expand([3, 3], false);
        let targets = Tensor::zeros([3], (Kind::Int64, tch::Device::Cpu));
        let loss_and_slope = |alone: bool| {
            let scale = Tensor::from_slice(&[2.0f32]).set_requires_grad(true);
            let used = if alone { taught_by_first(&scale, 1, 2) } else { scale.shallow_clone() };
            let loss = crate::loss::Nca::default().loss(&similarities, &used, &targets);
            loss.backward();
            (loss.double_value(&[]), scale.grad().double_value(&[0]))
        };
        let ((loss, slope), (all_loss, all_slope)) = (loss_and_slope(true), loss_and_slope(false));
        assert!((loss - all_loss).abs() < 1e-6 && all_slope.abs() > 0.01);
        assert!((3.0 * slope - all_slope).abs() < 1e-6, "{slope} of {all_slope}");
    }

    /// Images with losses 1 and 3, ghosts with 5, 6 and 7: the images' mean is 2, and ghosts add 18 / 2 on top.
    #[test]
    fn ghosts_on_top_leave_an_image_its_weight() {
        let mean = Tensor::from_slice(&[1.0, 3.0, 5.0, 6.0, 7.0]).mean(Kind::Double);
        assert!((over_images(&mean, 2, 3).double_value(&[]) - 11.0).abs() < 1e-12);
    }

    #[test]
    fn terms_are_averaged_over_batches() {
        let mut tally = Tally::default();
        for nca in [1.0, 2.0, 6.0] {
            let mut terms = Terms::default();
            terms.push("nca", Tensor::from(nca));
            tally.add(terms.into());
        }
        assert_eq!(tally.means(1, 1).expect("finite"), [("nca", 3.0)]);
    }
}
