//! The complete classifier: proxies for all classes, seen and future, trained on real features and ghosts together.
//!
//! `f` is frozen, so all features are there beforehand and no image is read. It serves evaluation; the next task starts
//! from the classifier of the training.

use super::imagine::at_mean;
use super::{GhostLearner, Lesson};
use crate::class::{Slot, Slots};
use crate::classifier::cosines;
use crate::engine::{Adam, repeat};
use crate::error::LearnError;
use crate::ghost::FeatureBank;
use crate::learner::Observer;
use crate::learner::observer::Event;
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

impl GhostLearner {
    /// Draws ghosts of `future` and trains a classifier for all classes.
    pub(super) fn complete(&mut self, lesson: &mut Lesson<'_>, future: Slots) -> Result<(), LearnError> {
        let seeds = self.seeds.child("complete", lesson.task.number());
        // Drawn as `f` makes them, where it made them; what trains may be their directions alone.
        let actual = if self.answers_from_the_future() { Some(self.actual_future(lesson, future)?) } else { None };
        let ghosts = match &actual {
            Some(actual) => self.all_as_learned(actual),
            None => self.ghosts_of(lesson, future, seeds)?,
        };
        lesson.ghost_points = Some(self.ghost_points(lesson, actual.as_ref().unwrap_or(&ghosts))?);
        let bank = lesson.bank.take().expect("the plan trains the generator first");
        let rows = lesson.task.seen().iter().chain(future.iter()).collect();
        let features = Features { rows, real: &bank, ghosts: &ghosts, real_proxies: self.classifier.proxies() };
        let proxies = self.completed(&features, seeds, "complete", lesson.task.number(), &mut *lesson.observer)?;
        lesson.own_offset = self.own_offset(lesson, &proxies)?;
        lesson.complete = Some(proxies);
        lesson.offset = self.offset(lesson, &bank)?;
        Ok(())
    }

    /// The control: the same stage on seen classes alone.
    pub(super) fn complete_seen(&mut self, lesson: &mut Lesson<'_>) -> Result<(), LearnError> {
        let seeds = self.seeds.child("complete", lesson.task.number());
        let (bank, none) = (self.bank(lesson)?, FeatureBank::new());
        let rows = lesson.task.seen().iter().collect();
        let features = Features { rows, real: &bank, ghosts: &none, real_proxies: self.classifier.proxies() };
        let task = lesson.task.number();
        lesson.complete = Some(self.completed(&features, seeds, "complete", task, &mut *lesson.observer)?);
        Ok(())
    }

    /// Proxies for all classes of `features`: `[real + ghosts, width]`.
    pub(super) fn completed(
        &self,
        features: &Features<'_>,
        seeds: Seeds,
        stage: &'static str,
        task: usize,
        observer: &mut dyn Observer,
    ) -> Result<Tensor, LearnError> {
        let settings = self.settings.complete;
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
            let values: Vec<f32> =
                counts.iter().enumerate().flat_map(|(c, &n)| std::iter::repeat_n(of(c), n)).collect();
            Tensor::from_slice(&values).to_device(self.device)
        };
        let targets = repeated(&|class| class as f32).to_kind(Kind::Int64);
        let weights = repeated(&|class| mean / counts[class] as f32);

        let scale = self.classifier.scale().detach();
        let classification = self.settings.loss.classification;
        let steps = total.div_ceil(settings.batch_size);
        observer.notice(&Event::StageStarted { stage, steps: settings.epochs });
        let order: Vec<i64> = (0..total as i64).collect();
        let shuffled = Tensor::from_slice(&order).to_device(self.device);
        let shuffle = |epoch: usize| {
            let mut order = order.clone();
            order.shuffle(&mut seeds.stream("shuffle", epoch));
            shuffled.shallow_clone().copy_(&Tensor::from_slice(&order));
        };
        let work = || {
            let mut sum = Tensor::zeros([1], (Kind::Float, self.device));
            for start in (0..total).step_by(settings.batch_size) {
                let picked = shuffled.narrow(0, start as i64, settings.batch_size.min(total - start) as i64);
                let batch = rows.index_select(0, &picked);
                let similarities = cosines(&batch, &proxies);
                let losses = classification.losses(&similarities, &scale, &targets.index_select(0, &picked));
                let loss = (losses * weights.index_select(0, &picked)).mean(Kind::Float);
                adam.step(&loss);
                sum += loss.detach();
            }
            sum / steps as f64
        };
        let mut failed = None;
        repeat(self.device, self.settings.compute.cuda_graphs, settings.epochs, shuffle, work, |epoch, loss| {
            let (value, epoch, of) = (f64::try_from(loss).unwrap_or(f64::NAN), epoch + 1, settings.epochs);
            if !value.is_finite() && failed.is_none() {
                let term = "nca".to_owned();
                failed = Some(LearnError::NotFinite { term, value, task, epoch, batch: steps });
            }
            observer.notice(&Event::Step);
            observer.notice(&Event::Epoch { task, stage, epoch, of, lr: settings.lr, terms: &[("nca", value)] });
        });
        if let Some(failed) = failed {
            return Err(failed);
        }
        Ok(no_grad(|| proxies.detach().copy()))
    }
}
