//! What a run found, as tables to paste elsewhere: Markdown and LaTeX for people, CSV with every number for programs.

use crate::evaluation::{METRICS, Metric, Run, metrics};
use crate::experiment::Record;
use crate::report::grid::{Format, Grid, latex_text};
use crate::report::text::percent;

/// The columns of the table of tasks.
const COLUMNS: [&str; 6] = ["accuracy", "seen", "unseen", "past", "present", "harmonic"];

/// The tables of runs, each with its name, in a form; plain text is [`crate::report::text()`].
pub fn tables(runs: &[(String, Record)], format: Format) -> String {
    match format {
        Format::Text => {
            runs.iter().map(|(name, record)| format!("{name}\n\n{}\n", crate::report::text(record))).collect()
        }
        Format::Csv => everything(runs).render(format),
        Format::Markdown | Format::Latex => {
            let mut out = String::new();
            for (name, record) in runs {
                let run = record.run();
                let title = format!("{name}, seed {}", record.start.seed);
                let lines =
                    std::iter::once(title).chain(record.start.stamp()).enumerate().map(|(index, line)| {
                        match (format, index) {
                            (Format::Latex, _) => format!("% {}\n", latex_text(&line)),
                            (_, 0) => format!("### {line}\n\n"),
                            _ => format!("**{line}**\n\n"),
                        }
                    });
                out.extend(lines);
                out.push_str(&tasks(&run).render(format));
                out.push('\n');
                out.push_str(&sums(&run).render(format));
                out.push('\n');
            }
            out
        }
    }
}

/// A row a task.
fn tasks(run: &Run) -> Grid {
    let header = ["task", "new", "classes"].iter().chain(&COLUMNS).map(|cell| (*cell).to_owned()).collect();
    let row = |task: usize| {
        let counts = [task, run.tasks[task - 1].present.len(), run.seen(task).len()].map(|count| count.to_string());
        let value = |name: &&str| percent(metrics::find(name).and_then(|metric| metric.value(run, task)));
        counts.into_iter().chain(COLUMNS.iter().map(value)).collect()
    };
    Grid { header, rows: (1..=run.tasks.len()).map(row).collect(), words: 0 }
}

/// A row for each number that sums the run up.
fn sums(run: &Run) -> Grid {
    let done = run.tasks.len();
    let of_runs = METRICS.iter().filter(|metric| !metric.of_one_task() && done > 0);
    let row = |metric: &&dyn Metric| vec![metric.name().to_owned(), percent(metric.value(run, done))];
    Grid { header: ["metric", "%"].map(String::from).to_vec(), rows: of_runs.map(row).collect(), words: 1 }
}

/// Each metric after each task, a line each, with all its digits.
fn everything(runs: &[(String, Record)]) -> Grid {
    let header = ["run", "seed", "stamp", "task", "metric", "value"].map(String::from).to_vec();
    let mut rows = Vec::new();
    for (name, record) in runs {
        let run = record.run();
        let (seed, stamp) = (record.start.seed.to_string(), record.start.stamp().unwrap_or_default());
        for task in 1..=run.tasks.len() {
            for metric in METRICS {
                let Some(value) = metric.value(&run, task) else { continue };
                let (task, metric) = (task.to_string(), metric.name().to_owned());
                rows.push(vec![name.clone(), seed.clone(), stamp.clone(), task, metric, value.to_string()]);
            }
        }
    }
    Grid { words: header.len(), header, rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::text::testing::record;

    #[test]
    fn a_run_in_each_form() {
        let mut oracle = record(&[[0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 2, 2, 2, 0], [0, 2, 1, 3, 2, 2, 3, 3]]);
        oracle.start.oracle = Some("it looks ahead".to_owned());
        let runs = [("runs/a_b".to_owned(), oracle)];
        insta::assert_snapshot!("run_markdown", tables(&runs, Format::Markdown));
        insta::assert_snapshot!("run_latex", tables(&runs, Format::Latex));
        let csv = tables(&runs, Format::Csv);
        assert!(
            csv.contains("runs/a_b,1,\"ORACLE, not a result: it looks ahead\",2,seen,0.8333333333333334\n"),
            "{csv}"
        );
    }
}
