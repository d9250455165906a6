//! How probable classes without photos are, all together and one by one.
//!
//! ```text
//!  P(new)     = σ(bias + lead · (max s_c, c without photos  −  max s_c, c with photos))
//!
//!  P(c | new) = softmax of scale · s, over classes without photos
//!  P(c | old) = softmax of η · s, over classes with photos
//!  P(c)       = P(new) P(c | new), or (1 − P(new)) P(c | old)
//! ```
//!
//! Ghosts miss their classes, so scores without photos say less than scores with photos: each kind has a scale of its own, and
//! which kind it is, is a question of its own.

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

/// How scores of classes without photos become probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Novelty {
    /// How sure a difference of scores makes it, between classes without photos.
    pub scale: f32,
    /// The log-odds that a photo shows a class without photos, where the best of both kinds score the same.
    pub bias: f32,
    /// How much the lead of the best class without photos adds to that.
    pub lead: f32,
}

impl Novelty {
    /// The logarithms of the probabilities of all classes, `[batch, classes]`, from scores of classes with photos and of those
    /// without; `scale` is `η`.
    pub(crate) fn log_probabilities(&self, scale: f64, seen: &Tensor, unseen: &Tensor) -> Tensor {
        let kind: Option<Kind> = None;
        let new = lead(seen, unseen) * f64::from(self.lead) + f64::from(self.bias);
        let seen = (seen * scale).log_softmax(1, kind) + (-&new).log_sigmoid();
        let unseen = (unseen * f64::from(self.scale)).log_softmax(1, kind) + new.log_sigmoid();
        Tensor::cat(&[seen, unseen], 1)
    }

    /// Whether its numbers can be computed with.
    pub(super) fn is_sound(&self) -> bool {
        self.scale.is_finite() && self.bias.is_finite() && self.lead.is_finite()
    }
}

/// By how much the best class without photos is ahead of the best with: `[batch, 1]`.
///
/// Not the sum over classes: how many others there are, and how far behind they are, says little of a photo.
pub(crate) fn lead(seen: &Tensor, unseen: &Tensor) -> Tensor {
    unseen.amax([1i64].as_slice(), true) - seen.amax([1i64].as_slice(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores of seen classes 2 ln 2 and 0, of unseen ones 0 and −2 ln 3, η = ½ and scale 1: seen 2 to 1, unseen 9 to 1. The best
    /// unseen one is 2 ln 2 behind. Half of that is 1 to 2; with a bias of ln 3, 3 to 2.
    #[test]
    fn probabilities_by_hand() {
        let row = |values: [f64; 2]| Tensor::from_slice(&values).unsqueeze(0);
        let novelty = Novelty { scale: 1.0, bias: 3f32.ln(), lead: 0.5 };
        let (seen, unseen) = (row([2.0 * 2f64.ln(), 0.0]), row([0.0, -2.0 * 3f64.ln()]));
        let found = novelty.log_probabilities(0.5, &seen, &unseen).exp();
        let found = Vec::<f64>::try_from(found.squeeze()).expect("probabilities");
        let (new, old) = (0.6, 0.4);
        let expected = [old * 2.0 / 3.0, old / 3.0, new * 0.9, new * 0.1];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found}, expected {expected}");
        }
    }
}
