//! The classification loss: Eq. 2, and Eq. 4 once ghosts take part.
//!
//! ```text
//!                exp(ŷ_y − δ)
//! L = [ −log ───────────────────── ]₊ ,      ŷ = η · similarity
//!              Σ_{c ≠ y} exp(ŷ_c)
//! ```
//!
//! `c` runs over the columns given: the seen classes alone make `L^nca`, the future ones as well make `L^nca-ghost`.

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

/// Pulls a feature towards the proxy of its class and pushes it from all others.
///
/// ```
/// use prescient::loss::{Form, Nca};
/// use tch::Tensor;
///
/// // ŷ = (0.8, 0.1, −0.3), y = 0, δ = 0.6: log(e^0.1 + e^−0.3) − (0.8 − 0.6) = 0.4130.
/// let similarities = Tensor::from_slice(&[0.8f32, 0.1, -0.3]).unsqueeze(0);
/// let nca = Nca { form: Form::Nca, margin: 0.6 };
/// let loss = nca.loss(&similarities, &Tensor::from_slice(&[1f32]), &Tensor::from_slice(&[0i64]));
/// assert!((loss.double_value(&[]) - 0.4130).abs() < 1e-4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nca {
    /// Which reading of the equation.
    pub form: Form,
    /// `δ`: by how much the own class must win. The paper's 0.6 in recipes.
    #[serde(skip)]
    pub margin: f64,
}

impl Default for Nca {
    fn default() -> Self {
        Self { form: Form::Nca, margin: 0.6 }
    }
}

/// Which reading of Eq. 2: errata 7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The equation as it is printed, with a scale: δ on the target alone, the target left out of the sum, hinge on.
    #[default]
    Nca,
    /// PODNet's `η(ŷ_y − δ)`. While a sample is not won by δ its slope pulls η to 0, where nothing is learned any more;
    /// so `η` stays 1 with it, and with Eq. 1 to the letter this is Eq. 2 to the letter.
    ScaledMargin,
    /// The same without the hinge.
    ScaledMarginUnhinged,
    /// What the authors' code computes: no effective margin, the target replaced by the largest similarity in the sum.
    Reference,
    /// Softmax cross-entropy: what UCIR uses.
    CrossEntropy,
}

impl Form {
    /// Whether the scale `η` of the classifier can be learned with it: a scaled margin pulls it to 0.
    pub fn learns_scale(self) -> bool {
        !matches!(self, Form::ScaledMargin | Form::ScaledMarginUnhinged)
    }
}

impl Nca {
    /// The mean over a batch of similarities `ŷ / η`, `[batch, classes]`, the scale `η`, `[1]` or, row by row,
    /// `[batch, 1]`, and the slot of each row, `[batch]`.
    pub fn loss(&self, similarities: &Tensor, scale: &Tensor, targets: &Tensor) -> Tensor {
        self.losses(similarities, scale, targets).mean(Kind::Float)
    }

    /// The same, row by row: `[batch]`.
    pub fn losses(&self, similarities: &Tensor, scale: &Tensor, targets: &Tensor) -> Tensor {
        let own_column = targets.unsqueeze(1);
        let scaled = similarities * scale;
        let own = scaled.gather(1, &own_column, false);
        let others = || scaled.scatter_value(1, &own_column, f64::NEG_INFINITY).logsumexp([1i64].as_slice(), true);
        let rows = match self.form {
            Form::Nca => (others() - own + self.margin).relu(),
            Form::ScaledMargin => (others() - own + scale * self.margin).relu(),
            Form::ScaledMarginUnhinged => others() - own + scale * self.margin,
            Form::Reference => {
                let largest = scaled.amax([1i64].as_slice(), true);
                others().logaddexp(&largest) - own
            }
            Form::CrossEntropy => scaled.logsumexp([1i64].as_slice(), true) - own,
        };
        rows.squeeze_dim(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{assert_close, assert_gradient_matches, golden, matrix, slots};

    const NCA: Nca = Nca { form: Form::Nca, margin: 0.6 };

    fn one() -> Tensor {
        Tensor::from_slice(&[1.0])
    }

    /// ŷ = (0.8, 0.1, −0.3), y = 0, δ = 0.6, η = 1:
    /// log(e^0.1 + e^−0.3) − (0.8 − 0.6) = 0.6130 − 0.2 = 0.4130.
    #[test]
    fn loss_by_hand() {
        assert_close(&NCA.loss(&matrix([[0.8, 0.1, -0.3]]), &one(), &slots([0])), 0.413_015_1);
    }

    /// The same with η = 2: log(e^0.2 + e^−0.6) − (1.6 − 0.6) = 0.5711 − 1 < 0, so 0; for y = 1:
    /// log(e^1.6 + e^−0.6) − (0.2 − 0.6) = 1.7051 + 0.4 = 2.1051. With the margin scaled too: 1.7051 + 1.0 = 2.7051.
    #[test]
    fn the_scale_leaves_the_margin_alone_unless_asked() {
        let scale = Tensor::from_slice(&[2.0]);
        let similarities = matrix([[0.8, 0.1, -0.3]]);
        assert_close(&NCA.loss(&similarities, &scale, &slots([0])), 0.0);
        assert_close(&NCA.loss(&similarities, &scale, &slots([1])), 2.105_083_9);
        let scaled = Nca { form: Form::ScaledMargin, margin: 0.6 };
        assert_close(&scaled.loss(&similarities, &scale, &slots([1])), 2.705_083_9);
    }

    /// Why δ is not scaled by default: where nothing is learned yet, the scaled form's slope in η is +δ, so a learned
    /// scale falls to 0 and stays there; ours has none.
    #[test]
    fn a_scaled_margin_pulls_the_scale_down() {
        let slope = |form| {
            let scale = one().set_requires_grad(true);
            Nca { form, margin: 0.6 }.loss(&matrix([[0.1; 4]; 2]), &scale, &slots([0, 2])).backward();
            scale.grad().double_value(&[0])
        };
        assert!((slope(Form::ScaledMargin) - 0.6).abs() < 1e-6);
        assert!(slope(Form::Nca).abs() < 1e-6);
    }

    #[test]
    fn a_larger_margin_costs_as_much_more() {
        let loss = |margin| {
            let similarities = matrix([[0.1, 0.3, -0.3], [0.0, 0.4, 0.1]]);
            f64::try_from(Nca { margin, ..NCA }.loss(&similarities, &one(), &slots([0, 2]))).expect("a number")
        };
        // Ours ends in single precision.
        assert!((loss(0.8) - loss(0.6) - 0.2).abs() < 1e-6);
    }

    /// ŷ = 4 · (0.9, −0.9, −0.9): log 2 − 3.6 − 3.6 + δ < 0. Won by more than the margin: nothing left to do.
    #[test]
    fn a_won_sample_costs_nothing() {
        let scale = Tensor::from_slice(&[4.0]);
        let similarities = matrix([[0.9, -0.9, -0.9]]);
        assert_close(&Nca { margin: 0.1, ..NCA }.loss(&similarities, &scale, &slots([0])), 0.0);
        let unhinged = Nca { margin: 0.1, form: Form::ScaledMarginUnhinged };
        assert_close(&unhinged.loss(&similarities, &scale, &slots([0])), 2.0f64.ln() - 3.6 - 3.2);
    }

    #[test]
    fn gradient_matches_finite_differences() {
        for form in [Form::Nca, Form::ScaledMargin, Form::ScaledMarginUnhinged, Form::Reference, Form::CrossEntropy] {
            assert_gradient_matches(&matrix([[0.8, 0.1, -0.3], [0.2, 0.4, 0.1]]), |similarities| {
                Nca { form, margin: 0.6 }.loss(similarities, &Tensor::from_slice(&[3.0]), &slots([0, 2]))
            });
        }
    }

    #[test]
    fn gradient_of_the_scale_matches_finite_differences() {
        assert_gradient_matches(&Tensor::from_slice(&[1.7]), |scale| {
            NCA.loss(&matrix([[0.8, 0.1, -0.3], [0.2, 0.4, 0.1]]), scale, &slots([0, 2]))
        });
    }

    /// All similarities equal, as before the first step: log 2 + 0.6, and a finite slope.
    #[test]
    fn where_nothing_has_moved() {
        assert_close(&NCA.loss(&matrix([[0.0; 3]; 2]), &one(), &slots([0, 1])), 2.0f64.ln() + 0.6);
        assert_gradient_matches(&matrix([[0.0; 3]; 2]), |similarities| NCA.loss(similarities, &one(), &slots([0, 1])));
    }

    #[test]
    fn golden_values_of_the_authors_functions() {
        let golden = golden();
        let similarities = golden.tensor("/classifier/logits");
        let targets = golden.tensor("/nca/targets").to_kind(Kind::Int64);
        for scale in ["1.0", "4.0"] {
            for (form, key) in [
                (Form::ScaledMargin, "paper_eq_with_scale_hinge"),
                (Form::ScaledMarginUnhinged, "paper_eq_no_hinge"),
                (Form::Reference, "reference_code"),
                (Form::CrossEntropy, "cross_entropy"),
            ] {
                let eta = Tensor::from_slice(&[scale.parse::<f64>().expect("a number")]);
                let loss = Nca { form, margin: 0.6 }.loss(&similarities, &eta, &targets);
                // Ours ends in single precision.
                assert_close(&loss, golden.number(&format!("/nca/by_scale/{scale}/{key}")));
            }
        }
    }
}
