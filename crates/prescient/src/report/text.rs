//! A record as a table for the terminal.

use crate::evaluation::{METRICS, Run, metrics};
use crate::experiment::Record;
use crate::report::{probabilities, promise, worth};
use std::fmt::Write;

/// The metrics that make the columns of the table of tasks.
const COLUMNS: &[&str] = &["accuracy", "seen", "unseen", "past", "present", "harmonic"];

/// The columns of the table of guesses, and the metrics behind them.
const GUESSES: &[(&str, &str)] = &[
    ("guesses", "guesses"),
    ("zero-shot", "zero-shot"),
    ("ausuc", "ausuc"),
    ("calibrated", "calibrated"),
    ("… seen", "calibrated seen"),
    ("… unseen", "calibrated unseen"),
    ("… harmonic", "calibrated harmonic"),
    ("uncalibrated", "uncalibrated"),
    ("… seen", "uncalibrated seen"),
    ("… unseen", "uncalibrated unseen"),
];

/// The tasks as a table, then what sums the run up.
pub fn text(record: &Record) -> String {
    let run = record.run();
    let (done, all) = (run.tasks.len(), record.start.tasks.len());
    let mut out = String::new();
    if let Some(stamp) = record.start.stamp() {
        let _ = writeln!(out, "{stamp}\n");
    }
    if let Some(pretrained) = record.start.pretrained() {
        let _ = writeln!(out, "{pretrained}\n");
    }

    let mut rows =
        vec![["task", "new", "seen"].iter().chain(COLUMNS).map(|cell| (*cell).to_owned()).collect::<Vec<_>>()];
    rows[0][2] = "classes".to_owned();
    for task in 1..=done {
        let mut row =
            vec![task.to_string(), run.tasks[task - 1].present.len().to_string(), run.seen(task).len().to_string()];
        row.extend(COLUMNS.iter().map(|name| percent(metrics::find(name).and_then(|metric| metric.value(&run, task)))));
        rows.push(row);
    }
    out.push_str(&table(&rows));
    if done == 0 {
        out.push_str("no task is finished yet\n");
        return out;
    }
    if done < all {
        let _ = writeln!(out, "\n{done} of {all} tasks are finished; the numbers below are up to task {done}");
    }
    // None where only classes were guessed at that never arrive, or the base model answered as long as classes were to come.
    let guesses = guesses(&run);
    if guesses[0].len() > 1 {
        out.push_str("\nguesses at classes still to come\n");
        out.push_str(&table(&guesses));
    }
    let parts = [probabilities::text(&run), worth::text(record), promise::text(record)];
    for part in parts.into_iter().flatten() {
        let _ = write!(
            out,
            "
{part}"
        );
    }
    out.push('\n');
    for metric in METRICS.iter().filter(|metric| !metric.of_one_task()) {
        let _ = writeln!(out, "{:<20} {:>6}   {}", metric.name(), percent(metric.value(&run, done)), metric.about());
    }
    out
}

/// How well the model guesses after each task but the last, with calibration and without.
fn guesses(run: &Run) -> Vec<Vec<String>> {
    let names = GUESSES.iter().map(|(name, _)| (*name).to_owned());
    let mut rows: Vec<Vec<String>> = vec![std::iter::once("task".to_owned()).chain(names).collect()];
    for task in (1..=run.tasks.len()).filter(|task| !run.unseen(*task).is_empty()) {
        let value = |name: &str| metrics::find(name).and_then(|metric| metric.value(run, task));
        let cells = GUESSES.iter().map(|(_, metric)| percent(value(metric)));
        rows.push(std::iter::once(task.to_string()).chain(cells).collect());
    }
    // A run without an offset has no calibrated accuracies.
    let filled: Vec<bool> = (0..rows[0].len()).map(|at| rows[1..].iter().any(|row| row[at] != "–")).collect();
    let kept =
        |row: Vec<String>| row.into_iter().zip(&filled).filter(|(_, filled)| **filled).map(|(cell, _)| cell).collect();
    rows.into_iter().map(kept).collect()
}

/// A share in percent, or a dash where there is none.
pub(super) fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{:.1}", 100.0 * value))
}

/// Rows of cells, flush right, the first row underlined.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}")).collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
        if index == 0 {
            let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
            out.push_str(&rule.join("  "));
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
pub(super) mod testing {
    use crate::class::Slot;
    use crate::evaluation::{Answers, Best};
    use crate::experiment::Record;
    use crate::experiment::record::testing::start;
    use crate::experiment::record::{Evaluation, Line};

    /// Four classes in 2+1+1, two test images each. `answers[i]` are the classes answered, image by image.
    pub(in crate::report) fn record(answers: &[[u32; 8]]) -> Record {
        let truth: Vec<Slot> = [0, 0, 1, 1, 2, 2, 3, 3].map(Slot).to_vec();
        let lines = answers.iter().enumerate().map(|(index, answers)| {
            let seen = Best { slots: answers.map(Slot).to_vec(), scores: vec![0.5; 8] };
            let answers = Answers { truth: truth.clone(), seen, ..Default::default() };
            Line::Evaluation(Evaluation { task: index + 1, confusion: answers.confusion(4), answers })
        });
        Record { start: start(["ant", "bee", "cat", "dog"], &[2, 1, 1]), lines: lines.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::record;
    use super::*;

    #[test]
    fn a_whole_run() {
        let record = record(&[[0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 2, 2, 2, 0], [0, 2, 1, 3, 2, 2, 3, 3]]);
        insta::assert_snapshot!(text(&record));
    }

    /// After the last task it guesses at a class that is described and never arrives; before, the base model answered.
    #[test]
    fn there_is_no_table_without_a_number() {
        let mut record = record(&[[0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 2, 2, 2, 0], [0, 2, 1, 3, 2, 2, 3, 3]]);
        if let Some(crate::experiment::record::Line::Evaluation(last)) = record.lines.last_mut() {
            last.answers.unseen = Some(last.answers.seen.clone());
        }
        assert!(!text(&record).contains("guesses at classes still to come"), "{}", text(&record));
    }

    #[test]
    fn a_run_that_is_not_over() {
        insta::assert_snapshot!(text(&record(&[[0, 0, 1, 1, 0, 1, 0, 1]])));
    }
}
