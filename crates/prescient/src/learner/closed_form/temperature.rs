//! How sure answers may be: scores of distances are far too sure of themselves, for photos are no Gaussians.
//!
//! One factor makes probabilities of scores. It is the one for which the answers that seen classes give in every part they play are
//! the least surprising.

use super::choose::Part;

/// Features of a part that are looked at, at most.
pub(super) const ENOUGH: usize = 500;
/// The factors between which is looked.
const RANGE: (f64, f64) = (1e-3, 1.0);

/// A feature with its scores.
pub(super) struct Scored {
    /// Of all classes, as they are.
    pub(super) scores: Vec<f64>,
    /// Its own class, and score and lean of that as it was played.
    pub(super) truth: usize,
    /// See `truth`.
    pub(super) own: (f64, f64),
}

impl Scored {
    /// The surprise at its class, in nats.
    fn surprise(&self, leans: &[f64], offset: f64, scale: f64) -> f64 {
        let own = scale * (self.own.0 + offset * self.own.1);
        let others = self.scores.iter().zip(leans).enumerate().filter(|(class, _)| *class != self.truth);
        let others: Vec<f64> = others.map(|(_, (score, lean))| scale * (score + offset * lean) - own).collect();
        // log Σ exp, our own class being at 0.
        let most = others.iter().copied().fold(0.0, f64::max);
        most + (others.iter().map(|other| (other - most).exp()).sum::<f64>() + (-most).exp()).ln()
    }
}

/// The factor of the least surprise. Surprise is convex in the factor, so golden sections find it.
pub(super) fn scale(parts: &[Part], leans: &[f64], offset: f64) -> f64 {
    let total: f64 = parts.iter().filter(|part| !part.scored.is_empty()).map(|part| part.share).sum();
    if total == 0.0 {
        return RANGE.1;
    }
    let surprise = |scale: f64| -> f64 {
        let of = |part: &Part| {
            let sum: f64 = part.scored.iter().map(|scored| scored.surprise(leans, offset, scale)).sum();
            part.share / total * sum / part.scored.len() as f64
        };
        parts.iter().filter(|part| !part.scored.is_empty()).map(of).sum()
    };
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut from, mut to) = RANGE;
    let (mut low, mut high) = (to - golden * (to - from), from + golden * (to - from));
    let (mut at_low, mut at_high) = (surprise(low), surprise(high));
    for _ in 0..24 {
        if at_low < at_high {
            (to, high, at_high) = (high, low, at_low);
            low = to - golden * (to - from);
            at_low = surprise(low);
        } else {
            (from, low, at_low) = (low, high, at_high);
            high = from + golden * (to - from);
            at_high = surprise(high);
        }
    }
    (from + to) / 2.0
}

#[cfg(test)]
mod tests {
    use super::super::choose::Role;
    use super::*;

    /// Two classes, ten scores apart, and one answer in four is wrong: the odds of three to one are a difference of ln 3, so the
    /// factor is ln 3 / 10.
    #[test]
    fn answers_are_as_sure_as_they_are_right() {
        let scored = |truth: usize| Scored { scores: vec![10.0, 0.0], truth, own: ([10.0, 0.0][truth], 0.0) };
        let scored = vec![scored(0), scored(0), scored(1), scored(0)];
        let part = Part { role: Role::Itself, right: Vec::new(), truth: Vec::new(), share: 2.0, scored };
        let found = scale(&[part], &[0.0, 0.0], 0.0);
        assert!((found - 3f64.ln() / 10.0).abs() < 1e-4, "{found}");
        assert_eq!(scale(&[], &[], 0.0), 1.0);
    }
}
