//! A floor under the results: the demo in short must still show what the project claims.
#![allow(clippy::unwrap_used)]

mod common;

use prescient::evaluation::metrics;
use prescient::experiment::{Record, overridden, recipes};
use std::path::Path;

/// The demo's recipe with fewer images and epochs, carried out.
fn shortened(name: &str, seed: u32, out: &Path) -> Record {
    let (text, path) = recipes::find(name).unwrap();
    let mut sets = vec![
        format!("seed={seed}"),
        "data.train=40".to_owned(),
        "data.test=10".to_owned(),
        "train.epochs=5".to_owned(),
        "finetune.epochs=5".to_owned(),
    ];
    if name == "demo-ghost" {
        sets.extend(["ghosts.per_class=100", "complete.epochs=20"].map(String::from));
    }
    common::run(overridden(&text, &path, &sets).unwrap(), out)
}

fn value(record: &Record, metric: &str, task: usize) -> f64 {
    metrics::find(metric).unwrap().value(&record.run(), task).unwrap()
}

fn floor(seed: u32) -> (f64, f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let base = shortened("demo-base", seed, &folder.path().join("base"));
    let ghost = shortened("demo-ghost", seed, &folder.path().join("ghost"));
    (value(&ghost, "unseen", 1), value(&base, "continual", 4), value(&ghost, "continual", 4))
}

#[test]
fn calibrate_me() {
    for seed in 1..=3 {
        let start = std::time::Instant::now();
        println!("{seed}: {:?} {:?}", floor(seed), start.elapsed());
    }
}
