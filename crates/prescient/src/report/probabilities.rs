//! How far the probabilities of a run can be believed, task by task. For the terminal and for the page.

use crate::evaluation::{Run, metrics};
use crate::report::text::{percent, table};

/// How to read the table.
pub(super) const LEGEND: &str = "calibration error: how far the probability of an answer is from the share of such answers that \
                                 is right, on test photos (15 bins of equal width; adaptive: of equally many answers). of \
                                 unseen: the same of the probability that a photo shows a class without photos. at 90 %: answers \
                                 of that probability or more: how many there are, what they promise, and how many are right.";

/// The columns, and the metrics behind them.
const COLUMNS: [(&str, &str); 6] = [
    ("calibration error", "calibration error"),
    ("adaptive", "adaptive calibration error"),
    ("of unseen", "unseen calibration error"),
    ("answered at 90 %", "answered at 90 %"),
    ("promised", "promised at 90 %"),
    ("right", "right at 90 %"),
];

/// A row for each task below a head; none where the record has no probabilities.
pub(super) fn rows(run: &Run) -> Option<Vec<Vec<String>>> {
    let known = |task: &usize| run.tasks[task - 1].answers.probabilities.is_some();
    let tasks: Vec<usize> = (1..=run.tasks.len()).filter(known).collect();
    let head = std::iter::once("task").chain(COLUMNS.map(|(name, _)| name)).map(String::from).collect();
    let row = |task: &usize| {
        let value = |(_, name): &(&str, &str)| percent(metrics::find(name).and_then(|metric| metric.value(run, *task)));
        std::iter::once(task.to_string()).chain(COLUMNS.iter().map(value)).collect()
    };
    (!tasks.is_empty()).then(|| std::iter::once(head).chain(tasks.iter().map(row)).collect())
}

/// As a part of the text for the terminal.
pub(super) fn text(run: &Run) -> Option<String> {
    let rows = rows(run)?;
    Some(format!("how far probabilities can be believed\n{}{}", table(&rows), super::worth::wrapped(LEGEND)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Probabilities;
    use crate::report::worth::testing::closed_record;

    /// After the first task 6 of the 8 answers were given with 95 %, and half of those are right.
    #[test]
    fn what_was_promised_stands_beside_what_was_kept() {
        let mut run = closed_record().run();
        assert_eq!(rows(&run), None);
        let answer = vec![0.95, 0.95, 0.95, 0.95, 0.95, 0.4, 0.4, 0.95];
        run.tasks[0].answers.probabilities = Some(Probabilities { answer, unseen: vec![0.5; 8] });
        insta::assert_snapshot!(text(&run).expect("probabilities"));
    }
}
