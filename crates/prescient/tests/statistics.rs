//! Our paired comparisons against scipy's.
//!
//! `tests/golden/statistics.py` made the numbers and has scipy's answers.
#![allow(clippy::unwrap_used)]

use prescient::evaluation::statistics::{holm, mcnemar, paired};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    paired: Vec<Paired>,
    mcnemar: Vec<McNemar>,
    holm: Vec<Holm>,
}

#[derive(Deserialize)]
struct Paired {
    differences: Vec<f64>,
    mean: f64,
    low: f64,
    high: f64,
    p: f64,
}

#[derive(Deserialize)]
struct McNemar {
    first: usize,
    second: usize,
    p: f64,
}

#[derive(Deserialize)]
struct Holm {
    values: Vec<f64>,
    corrected: Vec<f64>,
}

fn golden() -> Golden {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/statistics.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 + 1e-7 * expected.abs(), "{found}, expected {expected}");
}

#[test]
fn intervals_and_chances_over_seeds_are_scipys() {
    let cases = golden().paired;
    assert!(cases.len() >= 3, "golden cases");
    for case in cases {
        let found = paired(&case.differences).unwrap();
        assert_close(found.mean, case.mean);
        assert_close(found.interval.0, case.low);
        assert_close(found.interval.1, case.high);
        assert_close(found.p, case.p);
    }
}

#[test]
fn mcnemars_test_is_scipys_binomial_one() {
    let cases = golden().mcnemar;
    assert!(cases.len() >= 3, "golden cases");
    for case in cases {
        assert_close(mcnemar(case.first, case.second), case.p);
    }
}

#[test]
fn holms_correction_is_its_definition() {
    let cases = golden().holm;
    assert!(cases.len() >= 3, "golden cases");
    for case in cases {
        let found = holm(&case.values);
        assert_eq!(found.len(), case.corrected.len());
        for (found, expected) in found.iter().zip(&case.corrected) {
            assert_close(*found, *expected);
        }
    }
}
