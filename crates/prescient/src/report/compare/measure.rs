//! What models are compared by: numbers that are means over test images, so that they can be compared image by image, too.

use crate::class::Slot;
use crate::experiment::Record;

/// What models are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// The mean over tasks of the accuracy over all classes.
    Continual,
    /// The accuracy over all classes after the last task.
    Final,
    /// The mean over tasks of the accuracy over the classes seen so far.
    Seen,
    /// The mean over all tasks but the last of the accuracy over classes still to come.
    Unseen,
}

impl Measure {
    pub(super) const ALL: [Measure; 4] = [Measure::Continual, Measure::Final, Measure::Seen, Measure::Unseen];

    pub(super) fn name(self) -> &'static str {
        match self {
            Measure::Continual => "continual",
            Measure::Final => "final",
            Measure::Seen => "seen",
            Measure::Unseen => "unseen",
        }
    }

    /// The run's number, as a share; none where it has no meaning.
    pub(super) fn value(self, record: &Record) -> Option<f64> {
        let scores = self.scores(record)?;
        Some(scores.iter().sum::<f64>() / scores.len() as f64)
    }

    /// What each test image contributes: the mean of these is the number.
    pub(super) fn scores(self, record: &Record) -> Option<Vec<f64>> {
        let run = record.run();
        let tasks = run.tasks.len();
        let images = run.tasks.last()?.answers.truth.len();
        let asked: Vec<usize> = match self {
            Measure::Final => vec![tasks],
            Measure::Continual | Measure::Seen => (1..=tasks).collect(),
            Measure::Unseen => (1..tasks).collect(),
        };
        let mut scores = vec![0.0; images];
        let mut counted = 0;
        for &task in &asked {
            let answers = &run.tasks[task - 1].answers;
            let slots = match self {
                Measure::Continual | Measure::Final => run.all(),
                Measure::Seen => run.seen(task),
                Measure::Unseen => run.unseen(task),
            };
            let among = answers.truth.iter().filter(|slot| slots.contains(**slot)).count();
            if among == 0 || answers.truth.len() != images {
                continue;
            }
            counted += 1;
            for (image, (score, truth)) in scores.iter_mut().zip(&answers.truth).enumerate() {
                if slots.contains(*truth) && answers.answer(image) == *truth {
                    *score += images as f64 / among as f64;
                }
            }
        }
        (counted > 0 && images > 0).then(|| scores.iter().map(|score| score / f64::from(counted)).collect())
    }
}

/// What the test images show, in their order.
pub(super) fn truth(record: &Record) -> Option<&[Slot]> {
    record.evaluations().last().map(|evaluation| evaluation.answers.truth.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::metrics;
    use crate::report::text::testing::record;

    /// Eight images, two of each of four classes in 2+1+1. Right after task 1: 4, none unseen; after task 2: 5 of 8, 5 of 6
    /// seen; after task 3: 6 of 8.
    #[test]
    fn means_over_images_are_the_metrics() {
        let record = record(&[[0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 2, 2, 2, 0], [0, 2, 1, 3, 2, 2, 3, 3]]);
        let by_hand = [(4.0 + 5.0 + 6.0) / 24.0, 6.0 / 8.0, (1.0 + 5.0 / 6.0 + 6.0 / 8.0) / 3.0, 0.0];
        for (measure, expected) in Measure::ALL.iter().zip(by_hand) {
            let found = measure.value(&record).expect("a number");
            assert!((found - expected).abs() < 1e-12, "{measure:?}: {found}, expected {expected}");
        }
        for (measure, name) in
            [(Measure::Continual, "continual"), (Measure::Final, "final"), (Measure::Seen, "average incremental")]
        {
            let metric = metrics::find(name).and_then(|metric| metric.value(&record.run(), 3)).expect("a metric");
            assert!((measure.value(&record).expect("a number") - metric).abs() < 1e-12, "{name}");
        }
    }
}
