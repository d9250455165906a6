//! UCIR's Less-Forget constraint: features keep their direction.
//!
//! ```text
//! L = mean over the batch of 1 − cos(h^{t−1}, h^t)
//! ```

use crate::engine::norm::unit_rows;
use crate::extractor::Representation;
use crate::loss::Terms;
use crate::loss::distill::Distillation;
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

/// Less-Forget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LessForget {
    /// `λ₁`.
    pub weight: f64,
}

impl Default for LessForget {
    fn default() -> Self {
        Self { weight: 4.0 }
    }
}

impl Distillation for LessForget {
    fn terms(&self, old: &Representation, new: &Representation) -> Terms {
        let mut terms = Terms::default();
        terms.push("less-forget", turned(&old.features, &new.features) * self.weight);
        terms
    }
}

/// How far features `[batch, width]` have turned: 0 for not at all, 2 for about-face.
pub(super) fn turned(old: &Tensor, new: &Tensor) -> Tensor {
    let cosines = (unit_rows(old) * unit_rows(new)).sum_dim_intlist([1i64].as_slice(), false, None::<Kind>);
    (-cosines + 1.0).mean(Kind::Float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{assert_close, assert_gradient_matches, golden, matrix};

    /// (3, 4)·(4, 3) / 25 = 0.96 and (1, 0)·(0, 2) = 0: (0.04 + 1) / 2 = 0.52.
    #[test]
    fn loss_by_hand() {
        assert_close(&turned(&matrix([[3.0, 4.0], [1.0, 0.0]]), &matrix([[4.0, 3.0], [0.0, 2.0]])), 0.52);
    }

    #[test]
    fn length_does_not_matter() {
        assert_close(&turned(&matrix([[3.0, 4.0]]), &matrix([[30.0, 40.0]])), 0.0);
    }

    #[test]
    fn gradient_matches_finite_differences() {
        let old = matrix([[0.3, -0.4, 1.0], [1.0, 0.0, 0.2]]);
        assert_gradient_matches(&matrix([[0.8, 0.1, -0.3], [0.2, 0.4, 0.1]]), |new| turned(&old, new));
    }

    #[test]
    fn where_nothing_has_moved() {
        let old = matrix([[0.3, -0.4, 1.0], [1.0, 0.0, 0.2]]);
        assert_close(&turned(&old, &old), 0.0);
        assert_gradient_matches(&old, |new| turned(&old, new));
    }

    #[test]
    fn golden_value_of_the_authors_function() {
        let golden = golden();
        let loss = turned(&golden.tensor("/less_forget/old"), &golden.tensor("/less_forget/new"));
        assert_close(&loss, golden.number("/less_forget/mean_1_minus_cos"));
    }
}
