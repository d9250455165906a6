//! Calibrated stacking: how much to take off the scores of seen classes, so that unseen ones get a hearing.
//!
//! A classifier favours what it has seen. Two offsets make up for it, both chosen without any test data.
//!
//! For the best harmonic mean some seen classes play unseen. A generator that never met them imagines them, a complete
//! classifier is trained as for the real future, and the offset that does best on training features is kept.
//!
//! For the model's own answers a bound is given instead: the share of right answers on training images that seen classes
//! may lose. The images are cropped anew, but `f` was trained on them: test images lose more (ADR 9).

use super::GhostLearner;
use super::complete::{Features, train_proxies};
use super::generator::fit;
use super::imagination::Imagination;
use super::lesson::{Lesson, features};
use crate::class::Slot;
use crate::classifier::similarities;
use crate::engine::Pass;
use crate::error::LearnError;
use crate::evaluation::{Answers, Best, harmonic};
use crate::ghost::FeatureBank;
use crate::learner::Target;
use crate::learner::evaluate::extend;
use crate::predictor::Calibration;
use tch::{Device, Kind, Tensor, no_grad};

/// One in so many seen classes plays unseen.
const ONE_IN: usize = 4;

/// Both offsets, for the proxies of all classes, `[classes, width]`.
pub(super) fn calibrate(
    model: &GhostLearner,
    lesson: &mut Lesson<'_>,
    bank: &FeatureBank,
    proxies: &Tensor,
) -> Result<Calibration, LearnError> {
    let own = own_offset(model, lesson, proxies)?;
    let harmonic = harmonic_offset(model, lesson, bank)?;
    Ok(Calibration { own, harmonic })
}

/// The offset for the best harmonic mean, or none where there are too few classes to choose it on.
fn harmonic_offset(
    model: &GhostLearner,
    lesson: &mut Lesson<'_>,
    bank: &FeatureBank,
) -> Result<Option<f32>, LearnError> {
    let seeds = model.seeds.child("calibrate", lesson.number());
    if bank.len() < 2 * ONE_IN {
        return Ok(None);
    }
    let width = model.network.width();
    let fresh = Imagination::new(&model.settings, &model.sealed, width, seeds, model.device)?;
    let Imagination::Generator(mut generator) = fresh else { return Ok(None) };
    let plays_unseen = |slot: &Slot| slot.index() % ONE_IN == ONE_IN - 1;
    let part = |unseen: bool| -> FeatureBank {
        let classes = bank.iter().filter(|(slot, _)| plays_unseen(slot) == unseen);
        classes.map(|(slot, features)| (*slot, features.shallow_clone())).collect()
    };
    let (known, hidden) = (part(false), part(true));
    let (task, observer) = (lesson.task.number(), &mut *lesson.observer);
    fit(&mut *generator, &known, seeds.number("generator", 0), "calibrate", task, observer)?;
    let count = model.settings.ghosts.per_class;
    let draw = |slot: &Slot| (*slot, generator.draw(*slot, count, seeds.number("class", slot.index())));
    let ghosts: FeatureBank = hidden.keys().map(draw).collect();

    let rows: Vec<i64> = known.keys().map(|slot| slot.index() as i64).collect();
    let rows = Tensor::from_slice(&rows).to_device(model.device);
    let real_proxies = model.classifier.proxies().detach().index_select(0, &rows);
    let order: Vec<Slot> = known.keys().chain(hidden.keys()).copied().collect();
    let features = Features { rows: order.clone(), real: &known, ghosts: &ghosts, real_proxies };
    let proxies = train_proxies(model, &features, seeds, "calibrate", task, observer)?;

    let (mut answers, mut unseen) = (Answers::default(), Best::default());
    for (slot, features) in known.iter().chain(&hidden) {
        let similarities = no_grad(|| similarities(features, &proxies));
        let similarities = similarities.to_device(Device::Cpu).to_kind(Kind::Float);
        answers.truth.extend(std::iter::repeat_n(*slot, features.size()[0] as usize));
        extend(&mut answers.seen, &similarities, 0..known.len(), &order)?;
        extend(&mut unseen, &similarities, known.len()..order.len(), &order)?;
    }
    answers.unseen = Some(unseen);
    Ok(answers.trade(|slot| !plays_unseen(&slot)).and_then(|trade| trade.best_offset(harmonic)))
}

/// The offset of the model's own answers; none where the paper's setting, no drop, is kept.
fn own_offset(model: &GhostLearner, lesson: &Lesson<'_>, proxies: &Tensor) -> Result<Option<f32>, LearnError> {
    let settings = &model.settings.calibrate;
    let Target::Price(max_seen_drop) = settings.target(Target::Price(settings.max_seen_drop)) else { return Ok(None) };
    if max_seen_drop <= 0.0 {
        return Ok(None);
    }
    let seeds = model.seeds.child("own offset", lesson.number());
    let seen = lesson.task.seen().len() as i64;
    let mut right: Vec<Vec<f32>> = Vec::new();
    for (slot, class) in features(model, lesson, &lesson.readable(), Pass::Train(seeds))? {
        let margins = no_grad(|| -> Result<_, LearnError> {
            let similarities = similarities(&class.features, proxies);
            let (best, place) = similarities.narrow(1, 0, seen).max_dim(1, false);
            let (guess, _) = similarities.narrow(1, seen, similarities.size()[1] - seen).max_dim(1, false);
            let mine = place.eq(slot.index() as i64);
            Ok(Vec::<f32>::try_from((best - guess).masked_select(&mine).to_device(Device::Cpu))?)
        })?;
        right.push(margins);
    }
    Ok(price(&right, max_seen_drop))
}

/// The offset at which classes lose the share `max_seen_drop` of their right answers, averaged over classes; `right` has the
/// margins of each class's right answers over the best unseen class. Never below 0: what competes as it is stays.
fn price(right: &[Vec<f32>], max_seen_drop: f64) -> Option<f32> {
    let classes = right.iter().filter(|margins| !margins.is_empty()).count() as f64;
    let mut answers: Vec<(f32, f64)> = right
        .iter()
        .flat_map(|margins| margins.iter().map(|margin| (*margin, 1.0 / (margins.len() as f64 * classes))))
        .collect();
    answers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lost = 0.0;
    let first_kept = answers.iter().find(|(_, share)| {
        lost += share;
        lost > max_seen_drop
    });
    first_kept.map(|(margin, _)| margin.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes: margins 0.1, 0.2, 0.3, 0.4 weigh ⅛ each, 0.15 and 0.5 weigh ¼ each. Sorted: 0.1 (⅛ lost), 0.15 (⅜),
    /// 0.2 (½), 0.3, 0.4, 0.5. A third may be lost: 0.1 alone, and 0.15 must stay.
    #[test]
    fn the_price_by_hand() {
        let right = [vec![0.4, 0.1, 0.3, 0.2], vec![0.5, 0.15]];
        assert_eq!(price(&right, 1.0 / 3.0), Some(0.15));
        assert_eq!(price(&right, 0.4), Some(0.2));
        assert_eq!(price(&right, 0.01), Some(0.1));
    }

    #[test]
    fn what_competes_as_it_is_stays() {
        assert_eq!(price(&[vec![-0.3, 0.2]], 0.1), Some(0.0));
        assert_eq!(price(&[vec![]], 0.1), None);
    }
}
