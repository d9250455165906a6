//! The programs in `examples` run, one after the other: the model that the first trains is asked by the last.
//!
//! `cargo test` builds them before it runs this; `cargo test --test examples` alone needs `cargo build -p prescient --examples` first.
#![allow(clippy::unwrap_used)]

use prescient::data::{Dataset, Subset, Synthetic, SyntheticSettings};
use std::ffi::OsStr;
use std::process::Command;

/// What an example prints, given some arguments.
fn printed(name: &str, arguments: &[&OsStr]) -> String {
    // `target/debug/deps/examples-HASH`: the examples lie beside `deps`.
    let here = std::env::current_exe().unwrap();
    let program = here.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(program.exists(), "`{}` is not built: cargo build -p prescient --examples", program.display());
    let output = Command::new(&program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_examples_run() {
    let folder = tempfile::tempdir().unwrap();
    let (run, photo) = (folder.path().join("run"), folder.path().join("photo.png"));

    let report = printed("run_recipe", &[run.as_os_str()]);
    assert!(report.contains("continual"), "{report}");
    assert!(run.join("tasks/03/predictor.json").exists());

    let drawn = Synthetic::new(&SyntheticSettings { train: 1, test: 1 });
    drawn.image(&drawn.samples(Subset::Test)[0]).unwrap().write_png(&photo).unwrap();
    // After task 1 twelve classes have been seen, and the other twelve are guessed at.
    let first = run.join("tasks/01");
    let answers = printed("load_and_predict", &[first.as_os_str(), photo.as_os_str()]);
    assert_eq!(answers.lines().count(), 3, "{answers}");
    for line in answers.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!((cells.len(), cells[0]), (4, photo.to_str().unwrap()), "{line}");
        assert!(["seen", "not yet photographed"].contains(&cells[3]), "{line}");
    }

    let tasks = printed("task_loop", &[]);
    assert_eq!(tasks.lines().count(), 3, "{tasks}");
    assert!(tasks.lines().last().unwrap().ends_with("still to come -"), "{tasks}");
}
