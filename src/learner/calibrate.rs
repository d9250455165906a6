//! Calibrated stacking: how much to take off the scores of seen classes, so that unseen ones get a hearing.
//!
//! A classifier favours what it has seen. The offset that makes up for it is chosen without any test data: some seen
//! classes play unseen. A generator that never met them imagines them, a complete classifier is trained as for the real
//! future, and the offset that gives the best harmonic mean on training features is kept.

use super::complete::Features;
use super::{Learner, Lesson, imagine};
use crate::class::Slot;
use crate::error::LearnError;
use crate::evaluation::{Answers, Best, harmonic};
use crate::model::FeatureBank;
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor, no_grad};

/// Calibration's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CalibrateSettings {
    /// One in so many seen classes plays unseen. 0 leaves calibration out.
    pub one_in: usize,
    /// What the model's own answers are calibrated for. The record has all others too.
    pub answer: Aim,
}

/// What an offset is chosen for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// Nothing: scores compete as they are.
    #[default]
    None,
    /// Right answers over all classes, as many as are seen and unseen in the task.
    Accuracy,
    /// The harmonic mean of seen and unseen accuracy.
    Harmonic,
}

/// What is taken off the scores of seen classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Offsets {
    /// For the best harmonic mean.
    pub(super) harmonic: f32,
    /// For the model's own answers.
    pub(super) own: Option<f32>,
}

impl Default for CalibrateSettings {
    fn default() -> Self {
        Self { one_in: 4, answer: Aim::default() }
    }
}

impl Learner {
    /// The offsets, or none where there is nothing to choose them on.
    pub(super) fn offsets(&self, lesson: &mut Lesson<'_>, bank: &FeatureBank) -> Result<Option<Offsets>, LearnError> {
        let one_in = self.settings.calibrate.one_in;
        let seeds = self.seeds.child("calibrate", lesson.task.number());
        let Some(mut generator) = self.fresh_generator(seeds)?.filter(|_| one_in > 1 && bank.len() >= 2 * one_in)
        else {
            return Ok(None);
        };
        let plays_unseen = |slot: &Slot| slot.index() % one_in == one_in - 1;
        let part = |unseen: bool| -> FeatureBank {
            let classes = bank.iter().filter(|(slot, _)| plays_unseen(slot) == unseen);
            classes.map(|(slot, features)| (*slot, features.shallow_clone())).collect()
        };
        let (known, hidden) = (part(false), part(true));
        let (task, observer) = (lesson.task.number(), &mut *lesson.observer);
        imagine::fit(&mut *generator, &known, seeds.number("generator", 0), "calibrate", task, observer)?;
        let count = self.settings.ghosts.per_class;
        let draw = |slot: &Slot| (*slot, generator.draw(*slot, count, seeds.number("class", slot.index())));
        let ghosts: FeatureBank = hidden.keys().map(draw).collect();

        let rows: Vec<i64> = known.keys().map(|slot| slot.index() as i64).collect();
        let rows = Tensor::from_slice(&rows).to_device(self.device);
        let real_proxies = self.classifier.proxies().detach().index_select(0, &rows);
        let order: Vec<Slot> = known.keys().chain(hidden.keys()).copied().collect();
        let features = Features { rows: order.clone(), real: &known, ghosts: &ghosts, real_proxies };
        let proxies = self.completed(&features, seeds, "calibrate", task, observer)?;

        let mut answers = Answers { unseen: Some(Best::default()), ..Default::default() };
        for (slot, features) in known.iter().chain(&hidden) {
            let similarities = no_grad(|| self.settings.model.similarity.between(features, &proxies));
            let similarities = similarities.to_device(Device::Cpu).to_kind(Kind::Float);
            answers.truth.extend(std::iter::repeat_n(*slot, features.size()[0] as usize));
            let unseen = answers.unseen.as_mut().expect("set above");
            super::evaluate::extend(&mut answers.seen, &similarities, 0..known.len(), &order)?;
            super::evaluate::extend(unseen, &similarities, known.len()..order.len(), &order)?;
        }
        let trade = answers.trade(|slot| !plays_unseen(&slot));
        let share = lesson.task.seen().len() as f64 / lesson.task.scenario().classes() as f64;
        let accuracy = |seen: f64, unseen: f64| share * seen + (1.0 - share) * unseen;
        Ok(trade.and_then(|trade| {
            let harmonic = trade.best_offset(harmonic)?;
            let own = match self.settings.calibrate.answer {
                Aim::None => None,
                Aim::Accuracy => trade.best_offset(accuracy),
                Aim::Harmonic => Some(harmonic),
            };
            Some(Offsets { harmonic, own })
        }))
    }
}
