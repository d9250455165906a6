//! Calibrated stacking: how much to take off the scores of seen classes, so that future ones get a hearing.
//!
//! A classifier favours what it has seen. An offset makes up for it, chosen without any test data. What it costs is measured
//! on held-out images of seen classes. What it gains is known from images that have arrived: after the task before they were of
//! future classes, which `f` had never met. The first task has none; there some seen classes play future ones, for a
//! generator that never met them. `f` has learned those, so they look better than the future will, and their word counts
//! only as far as seen classes lose next to nothing (ADR 9).

use super::complete::{Features, train_proxies};
use super::following::Tells;
use super::generator::fit;
use super::imagination::Imagination;
use super::lesson::{Lesson, features};
use super::offset::{Asked, Chosen, Evidence, price, seen_accuracy};
use super::{Answering, GhostLearner};
use crate::class::Slot;
use crate::classifier::similarities;
use crate::data::Sample;
use crate::engine::Pass;
use crate::error::LearnError;
use crate::evaluation::{Answers, Best, Promise, harmonic};
use crate::ghost::FeatureBank;
use crate::learner::evaluate::extend;
use crate::learner::{Event, Target};
use crate::predictor::Calibration;
use std::collections::BTreeMap;
use tch::{Device, Kind, Tensor, no_grad};

/// One in so many seen classes plays a future one.
const ONE_IN: usize = 4;
/// The share of their right answers that seen classes may lose on the word of classes that only play future ones.
const ON_TRUST: f64 = 0.03;

/// What answers for all classes with `proxies`, `[classes, width]`; `came` are the images that arrived with the task.
pub(super) fn calibrate(
    model: &mut GhostLearner,
    lesson: &mut Lesson<'_>,
    bank: &FeatureBank,
    came: &[Asked],
    proxies: Tensor,
) -> Result<Answering, LearnError> {
    let target = model.settings.calibrate.target_of_ghosts();
    let held_out = by_class(model, lesson, &lesson.held_out())?;
    let played = play(model, lesson, bank, &held_out)?;
    let harmonic = played.as_ref().and_then(|played| played.harmonic);
    model.complete = proxies.shallow_clone();
    let (seen, future) = (lesson.task.seen().len(), lesson.task.future().len());
    let asked = asked_seen(&held_out, &proxies, seen)?;
    let (offset, chosen, why_not) = match target {
        Target::None => {
            return Ok(Answering { proxies, calibration: Calibration { own: None, harmonic } });
        }
        Target::Price(drop) => (price(&asked, drop), None, None),
        Target::Balance => (harmonic, None, None),
        Target::Accuracy => {
            let (unseen, most) = match came.is_empty() {
                false => (came, f32::INFINITY),
                true => (
                    played.as_ref().map_or(&[][..], |played| &played.asked),
                    price(&asked, ON_TRUST).unwrap_or(f32::INFINITY),
                ),
            };
            let chosen = Evidence { seen: &asked, unseen, classes: (seen, future) }.best(most);
            let why_not =
                why_not(chosen.as_ref(), seen_accuracy(&asked, 0.0), seen_accuracy(&asked, f32::NEG_INFINITY));
            (chosen.filter(|_| why_not.is_none()).map(|chosen| chosen.offset), chosen, why_not)
        }
    };
    let alone = seen_accuracy(&asked, f32::NEG_INFINITY);
    let promise = Promise {
        task: lesson.number(),
        target: target.name().to_owned(),
        images: asked.len(),
        offset: offset.filter(|_| why_not.is_none()),
        seen_alone: alone,
        seen: if why_not.is_some() { alone } else { seen_accuracy(&asked, offset.unwrap_or(0.0)) },
        gain: chosen.map(|chosen| (chosen.gain, chosen.error)),
        why_not,
    };
    lesson.observer.on_event(&Event::Calibrated { promise: &promise });
    match promise.why_not {
        Some(_) => Ok(Answering::seen(proxies.narrow(0, 0, seen as i64))),
        None => Ok(Answering { proxies, calibration: Calibration { own: offset, harmonic } }),
    }
}

/// Why guesses are left out, where they are: the gain to be expected of them is not larger than its error.
fn why_not(chosen: Option<&Chosen>, seen: f64, alone: f64) -> Option<String> {
    match chosen {
        None => Some("there are too few images or classes to find out what guesses would gain".to_owned()),
        Some(chosen) if chosen.gain > chosen.error => None,
        Some(_) if alone - seen > 0.1 => Some(format!(
            "guesses swamp seen classes, whose accuracy on held-out images they would take from {:.1} to {:.1} %",
            100.0 * alone,
            100.0 * seen
        )),
        Some(_) => Some("guesses would gain no more than chance".to_owned()),
    }
}

/// The images of new classes as the model of the last task sees them: it had nothing but ghosts of them.
pub(super) fn arrivals(model: &GhostLearner, lesson: &Lesson<'_>) -> Result<Vec<Asked>, LearnError> {
    let known = lesson.task.seen().len() - lesson.task.present().len();
    if model.settings.calibrate.target_of_ghosts() != Target::Accuracy || model.complete.size()[0] <= known as i64 {
        return Ok(Vec::new());
    }
    let features = by_class(model, lesson, &lesson.data().present())?;
    let mut asked = Vec::new();
    for (slot, features) in features {
        asked.extend(asked_about(slot, &features, &model.complete, known)?);
    }
    Ok(asked)
}

/// The features of some images, class by class.
fn by_class(model: &GhostLearner, lesson: &Lesson<'_>, samples: &[Sample]) -> Result<FeatureBank, LearnError> {
    let features = features(model, lesson, samples, Pass::Eval)?;
    Ok(features.into_iter().map(|(slot, class)| (slot, class.features)).collect())
}

fn asked_seen(held_out: &FeatureBank, proxies: &Tensor, seen: usize) -> Result<Vec<Asked>, LearnError> {
    let mut asked = Vec::new();
    for (slot, features) in held_out {
        asked.extend(asked_about(*slot, features, proxies, seen)?);
    }
    Ok(asked)
}

/// Images of the class `slot`, asked about where the first `seen` of the `proxies` are of seen classes, the rest of future ones.
fn asked_about(slot: Slot, features: &Tensor, proxies: &Tensor, seen: usize) -> Result<Vec<Asked>, LearnError> {
    let order: Vec<Slot> = (0..proxies.size()[0] as u32).map(Slot).collect();
    let similarities = no_grad(|| similarities(features, proxies)).to_device(Device::Cpu).to_kind(Kind::Float);
    let (mut best, mut guess) = (Best::default(), Best::default());
    extend(&mut best, &similarities, 0..seen, &order)?;
    extend(&mut guess, &similarities, seen..order.len(), &order)?;
    let own = if slot.index() < seen { &best.slots } else { &guess.slots };
    let right = own.iter().map(|answer| *answer == slot);
    let margins = best.scores.iter().zip(&guess.scores).map(|(best, guess)| best - guess);
    Ok(right.zip(margins).map(|(right, margin)| Asked { class: slot, margin, right }).collect())
}

/// What seen classes show that play future ones.
struct Played {
    /// The offset for the best harmonic mean.
    harmonic: Option<f32>,
    /// Held-out images of the classes that play.
    asked: Vec<Asked>,
}

/// Lets some seen classes play future ones: a generator that never met them imagines them, and a complete classifier is
/// trained as for the real future. None where there are too few classes.
fn play(
    model: &GhostLearner,
    lesson: &mut Lesson<'_>,
    bank: &FeatureBank,
    held_out: &FeatureBank,
) -> Result<Option<Played>, LearnError> {
    let seeds = model.seeds.child("calibrate", lesson.number());
    if bank.len() < 2 * ONE_IN {
        return Ok(None);
    }
    let width = model.network.width();
    let fresh = Imagination::new(&model.settings, &model.sealed, width, seeds, model.device)?;
    let Imagination::Generator(mut generator) = fresh else { return Ok(None) };
    let plays = |slot: &Slot| slot.index() % ONE_IN == ONE_IN - 1;
    let part = |playing: bool| -> FeatureBank {
        let classes = bank.iter().filter(|(slot, _)| plays(slot) == playing);
        classes.map(|(slot, features)| (*slot, features.shallow_clone())).collect()
    };
    let (known, hidden) = (part(false), part(true));
    let (seed, tells) = (seeds.number("generator", 0), ("calibrate", Tells::OneInFifty));
    fit(&mut *generator, &known, seed, tells, model.processes.clone(), lesson)?;
    let count = model.settings.ghosts.per_class;
    let draw = |slot: &Slot| (*slot, generator.draw(*slot, count, seeds.number("class", slot.index())));
    let ghosts: FeatureBank = hidden.keys().map(draw).collect();

    let rows: Vec<i64> = known.keys().map(|slot| slot.index() as i64).collect();
    let rows = Tensor::from_slice(&rows).to_device(model.device);
    let real_proxies = model.classifier.proxies().detach().index_select(0, &rows);
    let order: Vec<Slot> = known.keys().chain(hidden.keys()).copied().collect();
    let features = Features { rows: order.clone(), real: &known, ghosts: &ghosts, real_proxies };
    let proxies = train_proxies(model, &features, seeds, "calibrate", lesson)?;

    let places: BTreeMap<Slot, Slot> = order.iter().zip(0..).map(|(slot, place)| (*slot, Slot(place))).collect();
    let (mut answers, mut unseen) = (Answers::default(), Best::default());
    for (slot, features) in known.iter().chain(&hidden) {
        let similarities = no_grad(|| similarities(features, &proxies));
        let similarities = similarities.to_device(Device::Cpu).to_kind(Kind::Float);
        answers.truth.extend(std::iter::repeat_n(*slot, features.size()[0] as usize));
        extend(&mut answers.seen, &similarities, 0..known.len(), &order)?;
        extend(&mut unseen, &similarities, known.len()..order.len(), &order)?;
    }
    answers.unseen = Some(unseen);
    let harmonic = answers.trade(|slot| !plays(&slot)).and_then(|trade| trade.best_offset(harmonic));
    let mut asked = Vec::new();
    for (slot, features) in held_out.iter().filter(|(slot, _)| hidden.contains_key(slot)) {
        asked.extend(asked_about(places[slot], features, &proxies, known.len())?);
    }
    Ok(Some(Played { harmonic, asked }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(gain: f64, error: f64) -> Option<Chosen> {
        Some(Chosen { offset: 0.1, gain, error })
    }

    #[test]
    fn guesses_stay_where_their_gain_is_larger_than_its_error() {
        let why_not = |chosen: Option<Chosen>, seen, alone| why_not(chosen.as_ref(), seen, alone);
        assert_eq!(why_not(chosen(0.02, 0.01), 0.5, 0.9), None);
        assert_eq!(
            why_not(chosen(0.01, 0.02), 0.12, 0.494).expect("a reason"),
            "guesses swamp seen classes, whose accuracy on held-out images they would take from 49.4 to 12.0 %"
        );
        assert_eq!(why_not(chosen(0.0, 0.0), 0.9, 0.9).expect("a reason"), "guesses would gain no more than chance");
        assert!(why_not(None, 0.0, 0.0).is_some_and(|reason| reason.contains("too few")));
    }

    /// Proxies along the axes of a plane and below: class 0 right and up, class 1 a guess. A feature at 45° is as near to both; one
    /// on the first axis is ahead by 1 − 0.
    #[test]
    fn margins_are_between_the_best_of_each_kind() {
        let proxies = Tensor::from_slice(&[1.0f32, 0.0, 0.0, 1.0, 0.0, -1.0]).view([3, 2]);
        let features = Tensor::from_slice(&[2.0f32, 0.0, 3.0, 3.0]).view([2, 2]);
        let seen = asked_about(Slot(0), &features, &proxies, 1).expect("answers");
        assert!((seen[0].margin - 1.0).abs() < 1e-6 && seen[1].margin.abs() < 1e-6 && seen.iter().all(|one| one.right));
        let future = asked_about(Slot(2), &features, &proxies, 1).expect("answers");
        assert!(!future[1].right, "class 1 is nearer than class 2");
    }
}
