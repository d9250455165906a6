//! Accuracy summed up over tasks.

use crate::evaluation::Run;
use crate::evaluation::metrics::accuracy::{All, Seen};
use crate::evaluation::metrics::{Metric, mean};

/// The paper's headline number: the mean over tasks of accuracy over **all** classes (errata 8).
#[derive(Debug)]
pub(super) struct Continual;

impl Metric for Continual {
    fn name(&self) -> &'static str {
        "continual"
    }
    fn about(&self) -> &'static str {
        "mean over tasks of accuracy over all classes: the paper's continual accuracy"
    }
    fn of_one_task(&self) -> bool {
        false
    }
    fn value(&self, run: &Run, task: usize) -> Option<f64> {
        mean((1..=task).map(|task| All.value(run, task)))
    }
}

/// Accuracy over all classes after the last task.
#[derive(Debug)]
pub(super) struct Final;

impl Metric for Final {
    fn name(&self) -> &'static str {
        "final"
    }
    fn about(&self) -> &'static str {
        "accuracy over all classes after the last task"
    }
    fn of_one_task(&self) -> bool {
        false
    }
    fn value(&self, run: &Run, task: usize) -> Option<f64> {
        All.value(run, task)
    }
}

/// iCaRL's headline number.
#[derive(Debug)]
pub(super) struct AverageIncremental;

impl Metric for AverageIncremental {
    fn name(&self) -> &'static str {
        "average incremental"
    }
    fn about(&self) -> &'static str {
        "mean over tasks of accuracy over the classes seen so far: iCaRL's number"
    }
    fn of_one_task(&self) -> bool {
        false
    }
    fn value(&self, run: &Run, task: usize) -> Option<f64> {
        mean((1..=task).map(|task| Seen.value(run, task)))
    }
}
