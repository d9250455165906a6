//! Our planes against scikit-learn's `SVC(kernel="linear")`, which is LIBSVM's C-SVC, on random problems.
//!
//! `tests/golden/svm.py` made the problems and has scikit-learn's answers.
#![allow(clippy::unwrap_used)]

use prescient::ghost::svm::{Rows, SvmSettings, fit};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    cost: f64,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    features: Vec<Vec<f32>>,
    targets: Vec<i8>,
    decisions: Vec<f64>,
}

#[test]
fn decisions_are_those_of_scikit_learn() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/svm.json");
    let golden: Golden = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(golden.cases.len() >= 8);
    for case in golden.cases {
        let side = |wanted: i8| -> Vec<f32> {
            let rows = case.features.iter().zip(&case.targets).filter(|(_, target)| **target == wanted);
            rows.flat_map(|(row, _)| row.clone()).collect()
        };
        let (negatives, positives) = (side(-1), side(1));
        let width = case.features[0].len();
        let settings = SvmSettings { cost: golden.cost as f32, ..Default::default() };
        let plane = fit(Rows::new(&negatives, width), Rows::new(&positives, width), settings);
        for (row, expected) in case.features.iter().zip(&case.decisions) {
            let found = f64::from(plane.decision(row));
            assert!((found - expected).abs() < 1e-3, "{}: {found}, expected {expected}", case.name);
        }
    }
}
