//! What runs found, as one JSON document for programs: every metric after every task, and what descriptions were worth.

use crate::evaluation::{METRICS, Promise, Run, Worth, metrics};
use crate::experiment::Record;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Document<'a> {
    runs: Vec<RunDocument<'a>>,
}

#[derive(Serialize)]
struct RunDocument<'a> {
    run: &'a str,
    seed: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    stamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pretrained: Option<String>,
    /// After the last finished task.
    continual: Option<f64>,
    r#final: Option<f64>,
    /// How many tasks the run has in all.
    of: usize,
    tasks: Vec<TaskDocument<'a>>,
}

#[derive(Serialize)]
struct TaskDocument<'a> {
    task: usize,
    /// How many classes it brought, and how many have come.
    new: usize,
    classes: usize,
    /// By name; those that have a value.
    metrics: BTreeMap<&'static str, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kappa: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worth: Option<&'a Worth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    promise: Option<&'a Promise>,
}

/// The document of runs, each with its name.
pub fn json(runs: &[(String, Record)]) -> String {
    let document = Document { runs: runs.iter().map(|(name, record)| of_run(name, record)).collect() };
    serde_json::to_string_pretty(&document).expect("plain data") + "\n"
}

fn of_run<'a>(name: &'a str, record: &'a Record) -> RunDocument<'a> {
    let run = record.run();
    let last = |name: &str| metrics::find(name).filter(|_| !run.tasks.is_empty())?.value(&run, run.tasks.len());
    RunDocument {
        run: name,
        seed: record.start.seed,
        stamp: record.start.stamp(),
        pretrained: record.start.pretrained(),
        continual: last("continual"),
        r#final: last("final"),
        of: record.start.tasks.len(),
        tasks: (1..=run.tasks.len()).map(|task| of_task(record, &run, task)).collect(),
    }
}

fn of_task<'a>(record: &'a Record, run: &Run, task: usize) -> TaskDocument<'a> {
    let worth = record.worths().find(|worth| worth.task == task);
    TaskDocument {
        task,
        new: run.tasks[task - 1].present.len(),
        classes: run.seen(task).len(),
        metrics: METRICS.iter().filter_map(|metric| Some((metric.name(), metric.value(run, task)?))).collect(),
        kappa: worth.and_then(|worth| worth.kappa),
        worth,
        promise: record.promises().find(|promise| promise.task == task),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::record::Line;
    use crate::report::text::testing::record;

    /// After task 1 4 of 8 are right, after task 2 5 of 8: continual (50 + 62.5) / 2.
    #[test]
    fn the_document_has_the_values_of_the_record() {
        let mut closed = record(&[[0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 2, 2, 2, 0]]);
        let worth = Worth { task: 1, photos: 40, kappa: Some(4.5), guesses: true, ..Default::default() };
        closed.lines.insert(0, Line::Worth(worth));
        let runs = [("runs/closed".to_owned(), closed), ("runs/begun".to_owned(), record(&[]))];
        let found: serde_json::Value = serde_json::from_str(&json(&runs)).expect("JSON");
        let [closed, begun] = [0, 1].map(|run| &found["runs"][run]);
        assert_eq!((&closed["run"], &closed["of"]), (&"runs/closed".into(), &3.into()));
        assert_eq!((&closed["continual"], &closed["final"]), (&0.5625.into(), &0.625.into()));
        let first = &closed["tasks"][0];
        assert_eq!((&first["new"], &first["classes"], &first["kappa"]), (&2.into(), &2.into(), &4.5.into()));
        assert_eq!((&first["metrics"]["accuracy"], &first["metrics"]["seen"]), (&0.5.into(), &1.0.into()));
        assert_eq!((&first["worth"]["photos"], &first["worth"]["guesses"]), (&40.into(), &true.into()));
        assert_eq!(closed["tasks"][1].get("worth"), None);
        assert!(begun["continual"].is_null() && begun["tasks"].as_array().is_some_and(Vec::is_empty));
    }
}
