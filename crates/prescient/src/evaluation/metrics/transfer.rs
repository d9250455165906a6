//! What tasks do to each other, from the grid `R[after][of]` of accuracies. All classes compete in each cell.

use crate::evaluation::Run;
use crate::evaluation::metrics::{Metric, mean};

/// How far each past task has fallen from its best (Chaudhry et al.).
#[derive(Debug)]
pub(super) struct Forgetting;

impl Metric for Forgetting {
    fn name(&self) -> &'static str {
        "forgetting"
    }
    fn about(&self) -> &'static str {
        "mean over past tasks of best accuracy so far minus accuracy now; lower is better"
    }
    fn of_one_task(&self) -> bool {
        false
    }
    fn value(&self, run: &Run, task: usize) -> Option<f64> {
        mean((1..task).map(|of| {
            let before = (of..task).map(|after| run.grid(after, of)).collect::<Option<Vec<_>>>()?;
            Some(before.into_iter().fold(f64::NEG_INFINITY, f64::max) - run.grid(task, of)?)
        }))
    }
}

/// What later tasks did to earlier ones (Lopez-Paz and Ranzato).
#[derive(Debug)]
pub(super) struct Backward;

impl Metric for Backward {
    fn name(&self) -> &'static str {
        "backward transfer"
    }
    fn about(&self) -> &'static str {
        "mean over past tasks of accuracy now minus accuracy when just learned (BWT)"
    }
    fn of_one_task(&self) -> bool {
        false
    }
    fn value(&self, run: &Run, task: usize) -> Option<f64> {
        mean((1..task).map(|of| Some(run.grid(task, of)? - run.grid(of, of)?)))
    }
}

/// What earlier tasks gave to later ones before their turn (Lopez-Paz and Ranzato), against blind chance.
#[derive(Debug)]
pub(super) struct Forward;

impl Metric for Forward {
    fn name(&self) -> &'static str {
        "forward transfer"
    }
    fn about(&self) -> &'static str {
        "mean over tasks of accuracy just before they are learned, minus chance (FWT)"
    }
    fn of_one_task(&self) -> bool {
        false
    }
    fn value(&self, run: &Run, task: usize) -> Option<f64> {
        let chance = 1.0 / run.classes as f64;
        mean((2..=task).map(|of| Some(run.grid(of - 1, of)? - chance)))
    }
}
