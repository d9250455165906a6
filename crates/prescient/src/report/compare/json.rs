//! A comparison as one JSON document, for programs. Shares from 0 to 1, not percent.

use crate::report::compare::shown::word;
use crate::report::compare::{Comparison, Evidence, Row};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    baseline: &'a str,
    seeds: &'a [u32],
    rows: Vec<RowDocument<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct RowDocument<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stamp: Option<&'a str>,
    measure: &'static str,
    baseline: f64,
    value: f64,
    difference: f64,
    interval: (f64, f64),
    p: f64,
    corrected_p: f64,
    paired_seeds: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    test_images: Option<usize>,
    verdict: &'static str,
}

impl<'a> From<&'a Row> for RowDocument<'a> {
    fn from(row: &'a Row) -> Self {
        let (paired_seeds, test_images) = match row.evidence {
            Evidence::Seeds(seeds) => (seeds, None),
            Evidence::Images(images) => (1, Some(images)),
        };
        Self {
            model: &row.model,
            stamp: row.stamp.as_deref(),
            measure: row.measure.name(),
            baseline: row.baseline.mean,
            value: row.ours.mean,
            difference: row.difference.mean,
            interval: row.difference.interval,
            p: row.difference.p,
            corrected_p: row.p,
            paired_seeds,
            test_images,
            verdict: word(row),
        }
    }
}

impl Comparison {
    /// The comparison as JSON.
    pub fn to_json(&self) -> String {
        let Self { baseline, baseline_seeds, rows, notes } = self;
        let rows = rows.iter().map(RowDocument::from).collect();
        let document = Document { baseline, seeds: baseline_seeds, rows, notes };
        serde_json::to_string_pretty(&document).expect("plain data") + "\n"
    }
}
