//! How far probabilities can be believed. None of these has a meaning where the record has no probabilities.

use crate::evaluation::metrics::{Metric, metric_of_one_task};
use crate::evaluation::{Abstain, Answers, Reliability, Run, Statement};

/// Answers below it are left out by those who want to be sure.
const SURE: f64 = 0.9;

fn answers(run: &Run, task: usize) -> &Answers {
    &run.tasks[task - 1].answers
}

fn novelties(run: &Run, task: usize) -> Option<Vec<Statement>> {
    let seen = run.seen(task);
    answers(run, task).novelties(|slot| seen.contains(slot))
}

fn sure(run: &Run, task: usize) -> Option<Abstain> {
    let statements = answers(run, task).confidences()?;
    Some(Abstain::at(SURE, statements.into_iter().map(|(probability, is_right)| (probability, is_right, 1.0))))
}

metric_of_one_task!(
    Error,
    "calibration error",
    "how far the probabilities of answers are off (ECE, 15 bins of equal width)",
    |run, task| { Reliability::equal_width(&answers(run, task).confidences()?).error() }
);
metric_of_one_task!(
    AdaptiveError,
    "adaptive calibration error",
    "the same with 15 bins of equally many answers",
    |run, task| { Reliability::equal_count(&answers(run, task).confidences()?).error() }
);
metric_of_one_task!(
    UnseenError,
    "unseen calibration error",
    "how far the probability of a class still to come is off (ECE, 15 bins of equal width)",
    |run, task| { Reliability::equal_width(&novelties(run, task)?).error() }
);
metric_of_one_task!(Answered, "answered at 90 %", "share of answers of 90 % probability or more", |run, task| {
    sure(run, task).map(|sure| sure.coverage)
});
metric_of_one_task!(Promised, "promised at 90 %", "the mean probability of those answers", |run, task| {
    sure(run, task)?.promised
});
metric_of_one_task!(Right, "right at 90 %", "the share of those answers that is right", |run, task| {
    sure(run, task)?.accuracy
});

#[cfg(test)]
mod tests {
    use crate::class::{Slot, Slots};
    use crate::evaluation::{Answers, Best, Judged, Probabilities, Run, metrics};

    /// Classes 0 and 1 are seen, 2 is not. Four images, answered 0, 0, 1 and 2, of which the second shows class 2.
    fn run(probabilities: Option<Probabilities>) -> Run {
        let seen = Best { slots: [0, 0, 1, 1].map(Slot).to_vec(), scores: vec![0.9, 0.9, 0.9, 0.1] };
        let unseen = Some(Best { slots: vec![Slot(2); 4], scores: vec![0.5; 4] });
        let truth = [0, 2, 1, 2].map(Slot).to_vec();
        let answers = Answers { truth, seen, unseen, probabilities, ..Default::default() };
        let task = Judged { present: Slots::new(0, 2), confusion: answers.confusion(3), answers };
        Run { classes: 3, tasks: vec![task] }
    }

    /// Answers: 0.96 and 0.98, one of them right, in the last bin (0.47 off), 0.5 and 0.5, both right (0.5 off):
    /// (2 · 0.47 + 2 · 0.5) / 4. Unseen: 0.01 for a seen and 0.02 for an unseen class in the first bin (0.485 off), 0.5 for
    /// one of each (not off): 2 · 0.485 / 4. Of two answers at 90 %, one is right and 0.97 was promised.
    #[test]
    fn probabilities_are_judged_by_hand() {
        let probabilities = Probabilities { answer: vec![0.96, 0.98, 0.5, 0.5], unseen: vec![0.01, 0.02, 0.5, 0.5] };
        let run = run(Some(probabilities));
        let found = |name: &str| metrics::find(name).expect("a metric").value(&run, 1).expect("a value");
        for (name, expected) in [
            ("calibration error", 0.485),
            ("unseen calibration error", 0.2425),
            ("answered at 90 %", 0.5),
            ("promised at 90 %", 0.97),
            ("right at 90 %", 0.5),
        ] {
            assert!((found(name) - expected).abs() < 1e-6, "{name}: {}", found(name));
        }
        // Four bins of one answer each: 0.04, 0.98, 0.5 and 0.5 off.
        assert!((found("adaptive calibration error") - 0.505).abs() < 1e-6);
    }

    #[test]
    fn a_record_without_probabilities_has_no_calibration_error() {
        assert_eq!(metrics::find("calibration error").expect("a metric").value(&run(None), 1), None);
    }
}
