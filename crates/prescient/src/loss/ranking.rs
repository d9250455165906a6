//! UCIR's margin ranking loss: an old sample's own proxy must beat the new classes that come closest to it.
//!
//! ```text
//! L = mean over old samples and their K closest new classes of [ m − ŷ_y + ŷ_c ]₊
//! ```
//!
//! UCIR has it; the Ghost paper's runs do not (errata 29). So it is off unless a recipe gives it a weight.

use crate::class::Slots;
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

/// The ranking loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ranking {
    /// Its weight. 0 leaves it out.
    pub weight: f64,
    /// `m`.
    pub margin: f64,
    /// `K`: how many new classes.
    pub closest: usize,
}

impl Default for Ranking {
    fn default() -> Self {
        Self { weight: 0.0, margin: 0.5, closest: 2 }
    }
}

impl Ranking {
    /// Of similarities `[batch, classes]` and slots `[batch]`, where `new` are the classes of this task. 0 for a batch
    /// without old samples.
    pub fn loss(&self, similarities: &Tensor, targets: &Tensor, new: Slots) -> Tensor {
        let old = targets.lt(new.range().start as i64).nonzero().squeeze_dim(1);
        if old.size()[0] == 0 {
            return similarities.sum(Kind::Float) * 0.0;
        }
        let rows = similarities.index_select(0, &old);
        let own = rows.gather(1, &targets.index_select(0, &old).unsqueeze(1), false);
        let columns = rows.narrow(1, new.range().start as i64, new.len() as i64);
        let (closest, _) = columns.topk(self.closest.min(new.len()) as i64, 1, true, true);
        (closest - own + self.margin).relu().mean(Kind::Float)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{assert_close, assert_gradient_matches, golden, matrix, slots};

    const RANKING: Ranking = Ranking { weight: 1.0, margin: 0.2, closest: 1 };

    /// Classes 0 and 1 are old, 2 and 3 new. Row 0 is old: its closest new class is 3, 0.2 − 0.5 + 0.4 = 0.1. Row 1 is new and
    /// does not count.
    #[test]
    fn loss_by_hand() {
        let similarities = matrix([[0.5, 0.9, 0.1, 0.4], [0.9, 0.9, 0.1, 0.9]]);
        assert_close(&RANKING.loss(&similarities, &slots([0, 2]), Slots::new(2, 4)), 0.1);
    }

    #[test]
    fn without_old_samples_there_is_nothing_to_rank() {
        let similarities = matrix([[0.5, 0.9, 0.1]]);
        assert_close(&RANKING.loss(&similarities, &slots([2]), Slots::new(2, 3)), 0.0);
        assert_gradient_matches(&similarities, |y| RANKING.loss(y, &slots([2]), Slots::new(2, 3)));
    }

    #[test]
    fn gradient_matches_finite_differences() {
        let similarities = matrix([[0.5, 0.9, 0.1, 0.4], [0.3, 0.2, 0.6, 0.25]]);
        assert_gradient_matches(&similarities, |y| RANKING.loss(y, &slots([0, 1]), Slots::new(2, 4)));
    }

    #[test]
    fn golden_value_of_the_authors_function() {
        let golden = golden();
        let ranking = Ranking { weight: 1.0, margin: golden.number("/lucir_ranking/margin"), closest: 2 };
        let targets = golden.tensor("/lucir_ranking/targets").to_kind(Kind::Int64);
        let loss = ranking.loss(&golden.tensor("/lucir_ranking/logits"), &targets, Slots::new(4, 6));
        assert_close(&loss, golden.number("/lucir_ranking/loss"));
    }
}
