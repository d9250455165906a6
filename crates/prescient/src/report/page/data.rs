//! The numbers of a page as JSON: what its script tells and saves, and what others may read from it.

use crate::evaluation::METRICS;
use crate::report::figure::variables;
use crate::report::gallery::Gallery;
use crate::report::runs::ReadRun;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Data<'a> {
    /// The colours that files are saved in.
    day: String,
    runs: Vec<RunData<'a>>,
    /// Which of the runs each column shows.
    shown: Vec<usize>,
}

#[derive(Serialize)]
struct RunData<'a> {
    kind: &'a str,
    folder: &'a str,
    seed: u32,
    stamp: Option<String>,
    classes: &'a [String],
    tasks: Vec<TaskData>,
}

#[derive(Serialize)]
struct TaskData {
    /// By name; those that have a value.
    metrics: BTreeMap<&'static str, f64>,
    /// `confusion[shown][answered]`, of runs that are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    confusion: Option<Vec<Vec<u32>>>,
    /// What each test image on a plot shows, and what was answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    points: Vec<[u32; 2]>,
    /// The first slot that is present, and the first that is still to come.
    borders: [usize; 2],
}

/// The JSON, as it may stand in a script element: no name can end the element.
pub(super) fn data(gallery: &Gallery<'_>) -> String {
    let mut data = Data { day: variables(false), runs: Vec::new(), shown: Vec::new() };
    for kind in &gallery.kinds {
        data.shown.push(data.runs.len());
        data.runs.extend(kind.runs.iter().enumerate().map(|(index, run)| of_run(&kind.name, run, index == 0)));
    }
    let json = serde_json::to_string(&data).expect("plain data");
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn of_run<'a>(kind: &'a str, run: &'a ReadRun, drawn: bool) -> RunData<'a> {
    let start = &run.record.start;
    let task = |task: usize| {
        let judged = &run.run.tasks[task - 1];
        let images = run.scatters[task - 1].iter().filter(|_| drawn).flat_map(|scatter| &scatter.images);
        let point = |image: &u32| {
            let image = *image as usize;
            [judged.answers.truth[image].0, judged.answers.answer(image).0]
        };
        let metrics = METRICS.iter().filter_map(|metric| Some((metric.name(), metric.value(&run.run, task)?)));
        TaskData {
            metrics: metrics.collect(),
            confusion: (drawn && judged.confusion.is_square()).then(|| judged.confusion.dense()),
            points: images.map(point).collect(),
            borders: [judged.present.range().start, judged.present.range().end],
        }
    };
    RunData {
        kind,
        folder: &run.folder,
        seed: start.seed,
        stamp: start.stamp(),
        classes: &start.classes,
        tasks: (1..=run.finished()).map(task).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::runs::testing::read_run;

    #[test]
    fn the_data_is_the_records() {
        let runs = [read_run("base", 1, "", &[[0, 0, 1, 1, 0, 1, 0, 1]])];
        let text = data(&Gallery::new(&runs, &|| ()));
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(json["runs"][0]["tasks"][0]["metrics"]["accuracy"], 0.5);
        assert_eq!(json["runs"][0]["tasks"][0]["confusion"][2][0], 1);
        assert_eq!(json["runs"][0]["tasks"][0]["borders"], serde_json::json!([0, 2]));
    }
}
