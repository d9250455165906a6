//! The main training of a task: `f` and `clf` on the new images and the memory.

use super::batches::Shown;
use super::steps::{Steps, Values};
use super::{GhostLearner, Lesson, Oracle, Reduction, TrainSettings};
use crate::classifier::{cosines, fresh_proxies};
use crate::data::Sample;
use crate::engine::{Pass, Schedule, Sgd, drawn};
use crate::error::LearnError;
use crate::learner::observer::Event;
use crate::loss::{Terms, distill};
use tch::{Kind, Tensor};

/// What records call it.
pub(super) const STAGE: &str = "train";

impl GhostLearner {
    /// Trains `f` and `clf`, with ghosts of the future where they take part.
    pub(super) fn train(&mut self, lesson: &mut Lesson<'_>, ghosts: bool) -> Result<(), LearnError> {
        match lesson.task.is_first() && self.settings.train.restarts > 1 {
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
        parameters.extend(blocks[blocks.len() - 1..].iter().map(Tensor::shallow_clone));
        if self.classifier.scale_learned() {
            parameters.push(self.classifier.raw_scale().shallow_clone());
        }
        parameters.extend(lesson.ghosts.iter().map(|ghosts| ghosts.proxies.shallow_clone()));
        let sgd = Sgd::new(parameters, TrainSettings::MOMENTUM, settings.weight_decay).clipped(settings.grad_clip_norm);

        let data = lesson.album.loader.data();
        let (mut samples, memory) = (data.present(), data.memory());
        samples.extend(std::iter::repeat_n(memory, self.settings.memory.repeat).flatten());
        if self.settings.ghosts.oracle == Oracle::Partial && lesson.ghosts.is_some() {
            samples.extend(data.future_of_an_oracle());
        }
        let lr = settings.incremental_lr.filter(|_| !lesson.task.is_first()).unwrap_or(settings.lr);
        let stage = Epochs {
            name: STAGE,
            epochs: settings.epochs,
            lr,
            schedule: Schedule::Cosine,
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
                let similarities = cosines(&features, &proxies);
                let (images, count) = (shown.slots.len(), rows.size()[0]);
                let mean = loss.classification.loss(&similarities, &scale, &targets);
                let mean = match self.settings.ghosts.reduction {
                    Reduction::ImagesAndGhosts => mean,
                    Reduction::Images => over_images(&mean, images, count),
                };
                terms.push("nca-ghost", mean);
                if let Some(planes) = &ghosts.planes {
                    terms.push("svm-reg", loss.svm_reg.loss(&new.features, planes) * loss.svm_reg.weight);
                }
            }
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
        let (album, batch) = (lesson.album.clone(), self.settings.train.batch_size);
        let steps = samples.len().div_ceil(batch);
        let mut begins = true;
        let mut taken = Steps::new(self.device, self.settings.compute.cuda_graphs);
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
            for (number, shown) in self.show(&album, samples, Pass::Learn(seeds), batch).enumerate() {
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
