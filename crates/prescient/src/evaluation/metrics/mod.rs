//! Numbers that sum a run up. Each can be asked after any task; at the last task it is the run's.

mod accuracy;
mod average;
mod guess;
mod probability;
mod transfer;

use crate::evaluation::Run;

/// A number that sums a run up.
pub trait Metric: Sync {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// What it says, in one line.
    fn about(&self) -> &'static str;

    /// Whether it speaks of one task alone, rather than of the run up to it.
    fn of_one_task(&self) -> bool;

    /// Its value after task `task`, from 1, in [−1, 1]; none where it has no meaning.
    fn value(&self, run: &Run, task: usize) -> Option<f64>;
}

/// Every metric.
pub const METRICS: &[&dyn Metric] = &[
    &accuracy::All,
    &accuracy::Seen,
    &accuracy::Unseen,
    &accuracy::Past,
    &accuracy::Present,
    &accuracy::ClassMean,
    &accuracy::SeenClassMean,
    &accuracy::UnseenClassMean,
    &accuracy::Harmonic,
    &guess::Guesses,
    &guess::Ausuc,
    &guess::BestHarmonic,
    &guess::CalibratedAccuracy,
    &guess::CalibratedSeen,
    &guess::CalibratedUnseen,
    &guess::CalibratedHarmonic,
    &guess::UncalibratedAccuracy,
    &guess::UncalibratedSeen,
    &guess::UncalibratedUnseen,
    &guess::ZeroShot,
    &probability::Error,
    &probability::AdaptiveError,
    &probability::UnseenError,
    &probability::Answered,
    &probability::Promised,
    &probability::Right,
    &average::Continual,
    &average::Final,
    &average::AverageIncremental,
    &transfer::Forgetting,
    &transfer::Backward,
    &transfer::Forward,
];

/// The metric called `name`.
///
/// ```
/// use prescient::class::{Slot, Slots};
/// use prescient::evaluation::{Answers, Best, Judged, Run, metrics};
///
/// // One task with two classes; of four images three are right.
/// let slots = |slots: [u32; 4]| slots.map(Slot).to_vec();
/// let seen = Best { slots: slots([0, 0, 1, 0]), scores: vec![0.9; 4] };
/// let answers = Answers { truth: slots([0, 0, 1, 1]), seen, ..Default::default() };
/// let task = Judged { present: Slots::new(0, 2), confusion: answers.confusion(2), answers };
/// let run = Run { classes: 2, tasks: vec![task] };
/// assert_eq!(metrics::find("continual").unwrap().value(&run, 1), Some(0.75));
/// ```
pub fn find(name: &str) -> Option<&'static dyn Metric> {
    METRICS.iter().find(|metric| metric.name() == name).copied()
}

/// A metric that speaks of one task alone.
macro_rules! metric_of_one_task {
    ($type:ident, $name:literal, $about:literal, |$run:ident, $task:ident| $value:block) => {
        #[doc = $about]
        #[derive(Debug)]
        pub(super) struct $type;

        impl Metric for $type {
            fn name(&self) -> &'static str {
                $name
            }
            fn about(&self) -> &'static str {
                $about
            }
            fn of_one_task(&self) -> bool {
                true
            }
            fn value(&self, $run: &Run, $task: usize) -> Option<f64> $value
        }
    };
}
use metric_of_one_task;

fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::{Slot, Slots};
    use crate::evaluation::{Answers, Confusion, Judged};

    /// Three tasks of one class each, ten test images a class. Right answers after task 1: 8, 0, 1; after task 2:
    /// 6, 9, 2; after task 3: 5, 6, 10. What is wrong goes to the next class.
    fn run() -> Run {
        let tasks = [[8, 0, 1], [6, 9, 2], [5, 6, 10]].iter().enumerate().map(|(task, right)| {
            let mut confusion = Confusion::new(3);
            for (class, &right) in right.iter().enumerate() {
                for image in 0..10 {
                    let answer = if image < right { class } else { (class + 1) % 3 };
                    confusion.count(Slot(class as u32), Slot(answer as u32));
                }
            }
            Judged { present: Slots::new(task, task + 1), confusion, answers: Answers::default() }
        });
        Run { classes: 3, tasks: tasks.collect() }
    }

    #[track_caller]
    fn assert_value(name: &str, task: usize, expected: Option<f64>) {
        let found = find(name).unwrap_or_else(|| panic!("no metric `{name}`")).value(&run(), task);
        match (found, expected) {
            (Some(found), Some(expected)) => assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}"),
            _ => assert_eq!(found, expected),
        }
    }

    #[test]
    fn accuracies_by_hand() {
        assert_value("accuracy", 1, Some(9.0 / 30.0));
        assert_value("accuracy", 2, Some(17.0 / 30.0));
        assert_value("seen", 2, Some(15.0 / 20.0));
        assert_value("unseen", 2, Some(2.0 / 10.0));
        assert_value("unseen", 3, None);
        assert_value("past", 1, None);
        assert_value("past", 3, Some(11.0 / 20.0));
        assert_value("present", 3, Some(1.0));
        assert_value("class mean", 3, Some(21.0 / 30.0));
    }

    /// After task 2: seen 0.75, unseen 0.2: 2 · 0.75 · 0.2 / 0.95. After task 3 nothing is unseen.
    #[test]
    fn harmonic_mean_by_hand() {
        assert_value("harmonic", 2, Some(0.3 / 0.95));
        assert_value("harmonic", 3, None);
    }

    #[test]
    fn averages_by_hand() {
        assert_value("continual", 3, Some((9.0 + 17.0 + 21.0) / 90.0));
        assert_value("continual", 1, Some(0.3));
        assert_value("final", 3, Some(0.7));
        assert_value("average incremental", 3, Some((0.8 + 0.75 + 0.7) / 3.0));
    }

    /// Task 1: best 0.8, now 0.5; task 2: best 0.9, now 0.6. Forgetting (0.3 + 0.3) / 2, BWT its negative here.
    /// FWT: task 2 before its turn 0.0, task 3 before its turn 0.2, chance 1/3 each.
    #[test]
    fn transfers_by_hand() {
        assert_value("forgetting", 3, Some(0.3));
        assert_value("backward transfer", 3, Some(-0.3));
        assert_value("forward transfer", 3, Some((0.0 + 0.2) / 2.0 - 1.0 / 3.0));
        for name in ["forgetting", "backward transfer", "forward transfer"] {
            assert_value(name, 1, None);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = METRICS.iter().map(|metric| metric.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
    }
}
