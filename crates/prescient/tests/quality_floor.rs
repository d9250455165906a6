//! A floor under the results: the demo in short must still show what the project claims.
#![allow(clippy::unwrap_used)]

mod common;

use prescient::evaluation::metrics;
use prescient::experiment::{Record, overridden, recipes};
use std::path::Path;

/// The demo's recipe with a narrower net, fewer images and fewer epochs, carried out.
fn shortened(name: &str, seed: u32, out: &Path) -> Record {
    let (text, path) = recipes::find(name).unwrap();
    let mut sets: Vec<String> = match std::env::var("SETS") {
        Ok(sets) => sets.split_whitespace().map(String::from).collect(),
        Err(_) => vec![],
    };
    sets.push(format!("seed={seed}"));
    if name == "demo-ghost" {
        sets.extend(["ghosts.per_class=50", "complete.epochs=20"].map(String::from));
    }
    common::run(overridden(&text, &path, &sets).unwrap(), out)
}

fn value(record: &Record, metric: &str, task: usize) -> f64 {
    metrics::find(metric).unwrap().value(&record.run(), task).unwrap_or(f64::NAN)
}

#[test]
fn calibrate_me() {
    for seed in 1..=3 {
        let start = std::time::Instant::now();
        let folder = tempfile::tempdir().unwrap();
        let base = shortened("demo-base", seed, &folder.path().join("base"));
        let middle = start.elapsed();
        let ghost = shortened("demo-ghost", seed, &folder.path().join("ghost"));
        println!(
            "{seed}: unseen {:.3} zero-shot {:.3} base {:.3} ghost {:.3} seen {:.3} {:.3} {middle:?} {:?}",
            value(&ghost, "unseen", 1),
            value(&ghost, "zero-shot", 1),
            value(&base, "continual", 4),
            value(&ghost, "continual", 4),
            value(&base, "seen", 4),
            value(&ghost, "seen", 4),
            start.elapsed()
        );
    }
}
