//! Several runs side by side, task by task: for the terminal.

use crate::evaluation::metrics;
use crate::experiment::Record;
use crate::report::text::{percent, table};
use std::fmt::Write;

/// What is compared after each task.
const COLUMNS: &[&str] = &["accuracy", "seen", "unseen"];
/// What is compared over the whole run.
const SUMS: &[&str] = &["continual", "final", "forgetting"];

/// The runs, each with its name, side by side; the last column of a sum is the last run minus the first.
pub fn side_by_side(runs: &[(&str, &Record)]) -> String {
    let judged: Vec<_> = runs.iter().map(|(_, record)| record.run()).collect();
    let tasks = judged.iter().map(|run| run.tasks.len()).min().unwrap_or(0);
    let mut out = String::new();
    for (name, record) in runs {
        if let Some(stamp) = record.start.stamp() {
            let _ = writeln!(out, "{name}: {stamp}\n");
        }
    }
    let value = |run: &_, name: &str, task: usize| metrics::find(name).and_then(|metric| metric.value(run, task));

    let mut rows = vec![vec!["task".to_owned(), "classes".to_owned()]];
    for column in COLUMNS {
        rows[0].extend(runs.iter().map(|(name, _)| format!("{column}, {name}")));
    }
    for task in 1..=tasks {
        let mut row = vec![task.to_string(), judged[0].seen(task).len().to_string()];
        for column in COLUMNS {
            row.extend(judged.iter().map(|run| percent(value(run, column, task))));
        }
        rows.push(row);
    }
    out.push_str(&table(&rows));
    if tasks == 0 {
        return out;
    }
    out.push('\n');
    let mut rows: Vec<Vec<String>> = vec![vec![String::new()]];
    rows[0].extend(runs.iter().map(|(name, _)| (*name).to_owned()).chain(["difference".to_owned()]));
    for sum in SUMS {
        let values: Vec<Option<f64>> = judged.iter().map(|run| value(run, sum, tasks)).collect();
        let mut row = vec![(*sum).to_owned()];
        row.extend(values.iter().map(|value| percent(*value)));
        let difference = values.first().copied().flatten().zip(values.last().copied().flatten());
        row.push(difference.map_or_else(|| "–".to_owned(), |(first, last)| format!("{:+.1}", 100.0 * (last - first))));
        rows.push(row);
    }
    out.push_str(&table(&rows));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::text::testing::record;

    #[test]
    fn what_is_no_result_is_stamped() {
        let base = record(&[[0, 0, 1, 1, 0, 1, 0, 1]]);
        let mut validated = base.clone();
        validated.start.validated = Some(0.1);
        let text = side_by_side(&[("base", &base), ("tried", &validated)]);
        assert!(text.starts_with("tried: VALIDATION, not a result: 10 % of the training images"), "{text}");
    }

    #[test]
    fn two_runs() {
        let base = record(&[[0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 2, 2, 2, 0], [0, 2, 1, 3, 2, 2, 3, 3]]);
        let ghost = record(&[[0, 0, 1, 1, 2, 1, 3, 1], [0, 0, 1, 0, 2, 2, 3, 3], [0, 0, 1, 3, 2, 2, 3, 3]]);
        insta::assert_snapshot!(side_by_side(&[("base", &base), ("ghost", &ghost)]));
    }
}
