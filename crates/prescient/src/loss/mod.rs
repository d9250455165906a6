//! What is minimized: Eq. 3, and Eq. 6 once ghosts take part.
//!
//! ```text
//! L = L^nca + λ₁ · L^distill ( + λ₂ · L^svm-reg )
//! ```

pub mod distill;
mod kernel;
mod mmd;
mod nca;
mod svm_reg;
#[cfg(test)]
pub(crate) mod testing;

pub use distill::{Distillation, DistillationKind, LessForget, Pod};
pub use mmd::{Mmd, Target};
pub use nca::{Form, Nca};
pub use svm_reg::{Planes, SvmReg};

use serde::{Deserialize, Serialize};
use tch::Tensor;

/// The losses of a recipe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossSettings {
    /// The classification loss.
    pub classification: Nca,
    /// What keeps `f` close to `f^{t−1}`.
    pub distillation: DistillationKind,
    /// What keeps room for future classes, once there are ghosts.
    pub svm_reg: SvmReg,
}

/// The terms of a loss, each by name and already weighted. Their sum is what is minimized.
#[derive(Debug, Default)]
pub struct Terms(Vec<(&'static str, Tensor)>);

impl Terms {
    /// Adds a term.
    pub fn push(&mut self, name: &'static str, term: Tensor) {
        self.0.push((name, term));
    }

    /// Adds the terms of another sum, each `times` as heavy.
    pub fn extend(&mut self, other: Terms, times: f64) {
        self.0.extend(other.0.into_iter().map(|(name, term)| (name, term * times)));
    }

    /// The names, in order.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }

    /// The sum.
    ///
    /// # Panics
    /// If there is no term.
    pub fn total(&self) -> Tensor {
        let mut terms = self.0.iter().map(|(_, term)| term.shallow_clone());
        let first = terms.next().expect("a loss has a term");
        terms.fold(first, |sum, term| sum + term)
    }

    /// The values, `[terms]`, left where they are: to be read when there is time.
    pub fn values(&self) -> Tensor {
        let values: Vec<Tensor> = self.0.iter().map(|(_, term)| term.detach().reshape([1])).collect();
        Tensor::cat(&values, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_the_weighted_sum() {
        let mut distillation = Terms::default();
        distillation.push("pod", Tensor::from(0.5));
        let mut terms = Terms::default();
        terms.push("nca", Tensor::from(2.0));
        terms.extend(distillation, 3.0);
        assert_eq!(terms.names(), ["nca", "pod"]);
        assert_eq!(f64::try_from(terms.total()).expect("a number"), 3.5);
        assert_eq!(Vec::<f64>::try_from(terms.values()).expect("numbers"), [2.0, 1.5]);
    }
}
