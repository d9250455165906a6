//! The generator's loss: Eq. 7, the squared maximum mean discrepancy.
//!
//! ```text
//! MMD² = mean k(x, x') − 2 mean k(x, y) + mean k(y, y'),      k(a, b) = Σ_σ exp(−‖a − b‖² / 2σ)
//! ```
//!
//! The means run over all pairs, a sample with itself too. `σ` stands where a variance would: errata 15.

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

/// How unlike two sets of samples are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mmd {
    /// `σ`, one kernel each.
    pub bandwidths: Vec<f64>,
    /// Minimize the root instead, as the authors' code does. The minimum is the same.
    pub root: bool,
}

impl Default for Mmd {
    fn default() -> Self {
        Self { bandwidths: vec![2.0, 5.0, 10.0, 20.0, 40.0, 80.0], root: false }
    }
}

/// Under the root: at two equal sets the root has no slope.
const EPSILON: f64 = 1e-8;

impl Mmd {
    /// Between `real`, `[n, width]`, and `fake`, `[m, width]`.
    pub fn loss(&self, real: &Tensor, fake: &Tensor) -> Tensor {
        let squared = self.mean_kernel(real, real) - self.mean_kernel(real, fake) * 2.0 + self.mean_kernel(fake, fake);
        if self.root { (squared.clamp_min(0.0) + EPSILON).sqrt() } else { squared }
    }

    fn mean_kernel(&self, a: &Tensor, b: &Tensor) -> Tensor {
        let squares = |rows: &Tensor| rows.square().sum_dim_intlist([1i64].as_slice(), true, None::<Kind>);
        // Rounding can leave a distance to oneself just below 0.
        let distances = (squares(a) + squares(b).tr() - a.matmul(&b.tr()) * 2.0).clamp_min(0.0);
        let kernels = self.bandwidths.iter().map(|sigma| (&distances * (-0.5 / sigma)).exp().mean(None::<Kind>));
        kernels.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{assert_close, assert_gradient_matches, golden, matrix};

    /// One bandwidth, σ = 2; x = {0}, y = {2}: k(0, 0) = k(2, 2) = 1, k(0, 2) = e^{−4/4}. 2 − 2/e.
    #[test]
    fn loss_by_hand() {
        let mmd = Mmd { bandwidths: vec![2.0], root: false };
        assert_close(&mmd.loss(&matrix([[0.0]]), &matrix([[2.0]])), 2.0 - 2.0 / 1f64.exp());
    }

    #[test]
    fn zero_on_itself_symmetric_and_positive() {
        let (a, b) = (matrix([[0.1, 0.9], [0.4, 0.2], [0.7, 0.7]]), matrix([[0.3, 0.3], [0.8, 0.1]]));
        let mmd = Mmd::default();
        assert_close(&mmd.loss(&a, &a), 0.0);
        let (there, back) = (mmd.loss(&a, &b), mmd.loss(&b, &a));
        assert_close(&(&there - back), 0.0);
        assert!(f64::try_from(there).expect("a number") > 1e-3);
    }

    #[test]
    fn gradient_matches_finite_differences() {
        let real = matrix([[0.1, 0.9], [0.4, 0.2]]);
        for root in [false, true] {
            let mmd = Mmd { root, ..Default::default() };
            assert_gradient_matches(&matrix([[0.3, 0.3], [0.8, 0.1]]), |fake| mmd.loss(&real, fake));
        }
    }

    #[test]
    fn where_nothing_has_moved() {
        let real = matrix([[0.1, 0.9], [0.4, 0.2]]);
        for root in [false, true] {
            let fake = real.copy().set_requires_grad(true);
            Mmd { root, ..Default::default() }.loss(&real, &fake).backward();
            let slopes = Vec::<f64>::try_from(fake.grad().flatten(0, -1)).expect("numbers");
            assert!(slopes.iter().all(|slope| slope.abs() < 1e-6), "{slopes:?}");
        }
    }

    #[test]
    fn golden_value_of_the_authors_function() {
        let golden = golden();
        let mmd = Mmd { root: true, ..Default::default() };
        let loss = mmd.loss(&golden.tensor("/mmd/real"), &golden.tensor("/mmd/fake"));
        assert_close(&loss, golden.number("/mmd/sqrt_loss"));
    }
}
