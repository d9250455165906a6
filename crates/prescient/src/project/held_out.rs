//! How good a version is on photos that it has not learned from.

use crate::predictor::{Prediction, Predictor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The confidences that are looked at.
const CONFIDENCES: [f64; 9] = [0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99];

/// Right answers of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// So many are right.
    pub right: u64,
    /// Of so many.
    pub of: u64,
}

impl Tally {
    /// Counts an answer.
    pub fn add(&mut self, right: bool) {
        self.right += u64::from(right);
        self.of += 1;
    }

    /// The share that is right; none of none.
    pub fn share(&self) -> Option<f64> {
        (self.of > 0).then(|| self.right as f64 / self.of as f64)
    }

    /// Where the share lies with a probability of 95 %: Wilson's interval.
    ///
    /// ```text
    /// p + z²/2n ± z √(p(1 − p)/n + z²/4n²)
    /// ────────────────────────────────────
    ///              1 + z²/n
    /// ```
    pub fn interval(&self) -> Option<(f64, f64)> {
        let (p, n, z) = (self.share()?, self.of as f64, 1.959_964);
        let middle = p + z * z / (2.0 * n);
        let reach = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let below = 1.0 + z * z / n;
        Some((((middle - reach) / below).max(0.0), ((middle + reach) / below).min(1.0)))
    }
}

/// What held-out photos show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// Over all photos, all classes competing.
    pub all: Tally,
    /// Photos of each class.
    pub classes: BTreeMap<String, Tally>,
    /// What is answered and what is right, if it abstains below a confidence.
    pub curve: Vec<Cut>,
}

/// Abstaining below a confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// From so sure on it answers.
    pub confidence: f64,
    /// How many are answered, and how many of those are right.
    pub answered: Tally,
}

impl HeldOut {
    /// Of the true class and the answer for each photo; none of no photos.
    pub(super) fn new<'a>(
        predictor: &Predictor,
        answers: impl Iterator<Item = (&'a str, &'a Prediction)>,
    ) -> Option<Self> {
        let mut found = Self::default();
        found.curve.extend(CONFIDENCES.map(|confidence| Cut { confidence, answered: Tally::default() }));
        for (class, prediction) in answers {
            let best = &prediction.guesses[0];
            let right = predictor.class(best.slot) == class;
            found.all.add(right);
            found.classes.entry(class.to_owned()).or_default().add(right);
            for cut in found.curve.iter_mut().filter(|cut| f64::from(best.probability) >= cut.confidence) {
                cut.answered.add(right);
            }
        }
        (found.all.of > 0).then_some(found)
    }

    /// What was seen at the largest confidence up to the one given: what is answered, and what of it is right.
    pub fn at(&self, confidence: f64) -> Option<&Cut> {
        self.curve.iter().rfind(|cut| cut.confidence <= confidence + 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 of 10 and z = 1.96: (0.8 + 0.19207 ± 1.96 √(0.016 + 0.0096037)) / 1.38415 = (0.99207 ± 0.31361) / 1.38415.
    #[test]
    fn an_interval_by_hand() {
        let tally = Tally { right: 8, of: 10 };
        let (low, high) = tally.interval().expect("ten photos");
        assert!((low - 0.490_2).abs() < 1e-3 && (high - 0.943_3).abs() < 1e-3, "{low} {high}");
        assert_eq!(Tally::default().interval(), None);
        assert_eq!(Tally { right: 3, of: 3 }.interval().map(|(_, high)| high), Some(1.0));
    }
}
