//! How sure a difference of scores makes it: scores of distances are far too sure of themselves, for photos are no Gaussians.
//!
//! One factor makes probabilities of scores. It is the one for which the classes of some features are the least surprising.

use crate::error::LearnError;
use tch::{Kind, Tensor};

/// The factors between which is looked, as logarithms.
const RANGE: (f64, f64) = (-9.0, 2.0);

/// Features with their scores `[features, classes]`, the class of each `[features]`, and how much each counts `[features]`.
pub(super) struct Asked<'a> {
    pub(super) scores: &'a Tensor,
    pub(super) truth: &'a Tensor,
    pub(super) weights: &'a Tensor,
}

impl Asked<'_> {
    /// The mean surprise at their classes, in nats.
    fn surprise(&self, scale: f64) -> Result<f64, LearnError> {
        let kind: Option<Kind> = None;
        let own = (self.scores * scale).log_softmax(1, kind).f_gather(1, &self.truth.unsqueeze(1), false)?;
        Ok(-(own.squeeze_dim(1) * self.weights).sum(Kind::Double).double_value(&[]))
    }

    /// The factor of the least surprise; 1 where nothing is asked. Surprise is convex in the factor, so golden sections find it.
    pub(super) fn scale(&self) -> Result<f64, LearnError> {
        if self.truth.numel() == 0 {
            return Ok(1.0);
        }
        let surprise = |logarithm: f64| self.surprise(logarithm.exp());
        let golden = (5f64.sqrt() - 1.0) / 2.0;
        let (mut from, mut to) = RANGE;
        let (mut low, mut high) = (to - golden * (to - from), from + golden * (to - from));
        let (mut at_low, mut at_high) = (surprise(low)?, surprise(high)?);
        for _ in 0..32 {
            if at_low < at_high {
                (to, high, at_high) = (high, low, at_low);
                low = to - golden * (to - from);
                at_low = surprise(low)?;
            } else {
                (from, low, at_low) = (low, high, at_high);
                high = from + golden * (to - from);
                at_high = surprise(high)?;
            }
        }
        Ok(((from + to) / 2.0).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes, ten scores apart, and one answer in four is wrong: the odds of three to one are a difference of ln 3, so the
    /// factor is ln 3 / 10. Were the wrong one three of six by weight, the odds would be even.
    #[test]
    fn answers_are_as_sure_as_they_are_right() {
        let scores = Tensor::from_slice(&[10.0, 0.0]).unsqueeze(0).repeat([4, 1]);
        let truth = Tensor::from_slice(&[0i64, 0, 1, 0]);
        let scale = |weights: [f64; 4]| {
            let weights = Tensor::from_slice(&weights);
            Asked { scores: &scores, truth: &truth, weights: &weights }.scale().expect("a scale")
        };
        assert!((scale([1.0; 4]) - 3f64.ln() / 10.0).abs() < 1e-4, "{}", scale([1.0; 4]));
        assert!(scale([1.0, 1.0, 3.0, 1.0]) < 1e-3);
    }
}
