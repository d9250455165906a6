//! Distillation: what keeps `f` close to `f^{t−1}`, so that the past is not forgotten.
//!
//! ```text
//! L^distill = √( |C^{1:t}| / |C^t| ) · (weighted terms)
//! ```
//!
//! The root grows with the share of the past, as in the authors' code.

mod less_forget;
mod pod;

pub use less_forget::LessForget;
pub use pod::Pod;

use crate::extractor::Representation;
use crate::loss::Terms;
use crate::scenario::Task;
use serde::{Deserialize, Serialize};

/// A way to compare what a batch was to the teacher with what it is now.
pub trait Distillation {
    /// The weighted terms of a batch as `f^{t−1}` and as `f^t` represent it.
    fn terms(&self, old: &Representation, new: &Representation) -> Terms;
}

/// Which distillation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DistillationKind {
    /// None: nothing holds `f` back.
    None,
    /// PODNet's.
    Pod(Pod),
    /// UCIR's.
    LessForget(LessForget),
}

impl Default for DistillationKind {
    fn default() -> Self {
        Self::Pod(Pod::default())
    }
}

impl DistillationKind {
    /// The comparison to make, if any.
    pub fn get(&self) -> Option<&dyn Distillation> {
        match self {
            Self::None => None,
            Self::Pod(pod) => Some(pod),
            Self::LessForget(less_forget) => Some(less_forget),
        }
    }
}

/// `√( |C^{1:t}| / |C^t| )`.
pub fn factor(task: &Task<'_>) -> f64 {
    (task.seen().len() as f64 / task.present().len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Order, Scenario, Split};

    /// AwA2's 25+5×5: √(30/5) = √6 in task 2, √(50/5) = √10 in task 6.
    #[test]
    fn the_factor_grows_with_the_past() {
        let split: Split = "25+5x5".parse().expect("a split");
        let names: Vec<String> = (0..50).map(|i| i.to_string()).collect();
        let scenario = Scenario::new(&names, &Order::Listed, &split).expect("a scenario");
        assert!((factor(&scenario.task(2)) - 6f64.sqrt()).abs() < 1e-12);
        assert!((factor(&scenario.task(6)) - 10f64.sqrt()).abs() < 1e-12);
    }
}
