//! A run that is killed at any moment goes on to the bytes of one that never was; Ctrl-C says how.
#![allow(clippy::unwrap_used)]

mod tree;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const RECIPE: &str = r#"
seed = 1
data = { kind = "synthetic", train = 24, test = 4 }
scenario.split = "12+6+6"
model.extractor = { kind = "small-cnn", features = 32, width = 8 }
memory.per_class = 5
train = { epochs = 6, batch_size = 32 }
finetune.epochs = 2
complete.epochs = 2
ghosts = { per_class = 20, generator = { kind = "gmmn", epochs = 10, hidden = 32 } }
"#;

fn prescient(at: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("prescient"));
    command.current_dir(at).args(arguments).args(["--device", "cpu"]).env("PRESCIENT_CHECKPOINT_SECONDS", "0");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The files of a run by name, but for those that have times in them.
fn contents(run: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let has_times = |path: &PathBuf| path.ends_with("telemetry.json") || path.to_string_lossy().contains("tfevents");
    let files = tree::files(run, "").into_iter().filter(|path| !has_times(path));
    files.map(|path| (path.strip_prefix(run).unwrap().to_owned(), std::fs::read(&path).unwrap())).collect()
}

fn signal(child: &Child, name: &str) {
    // It may be over already.
    let _ = Command::new("kill").args([name, &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
}

/// Begins the run into `parts`, or goes on with it.
fn start(at: &Path) -> Child {
    let begun = at.join("parts").exists() || at.join("parts.unfinished/tasks/01.part").exists();
    let arguments: &[&str] = if begun { &["run", "--resume", "parts"] } else { &["run", "r.toml", "--out", "parts"] };
    prescient(at, arguments).spawn().unwrap()
}

fn assert_whole(at: &Path) {
    let (whole, parts) = (contents(&at.join("whole")), contents(&at.join("parts")));
    let names = |run: &[(PathBuf, Vec<u8>)]| run.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&whole), names(&parts));
    let changed: Vec<_> = whole.iter().zip(&parts).filter(|(a, b)| a.1 != b.1).map(|(a, _)| &a.0).collect();
    assert!(changed.is_empty(), "other bytes: {changed:?}");
}

fn whole() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("r.toml"), RECIPE).unwrap();
    let output = prescient(folder.path(), &["run", "r.toml", "--out", "whole"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// Up to thirty kills, each at a moment of its own: 100 ms, 177 ms, … after the start, again and again.
#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    let folder = whole();
    let mut kills = 0;
    for round in 0..30u64 {
        let mut child = start(folder.path());
        std::thread::sleep(Duration::from_millis(100 + round * 77 % 1200));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    let output: Output = start(folder.path()).wait_with_output().unwrap();
    assert!(output.status.success(), "after {kills} kills: {}", String::from_utf8_lossy(&output.stderr));
    assert!(kills >= 5, "killed {kills} times");
    assert_whole(folder.path());
}

/// Asked to stop, it stops after the step, says how to go on, and ends with 130; nothing is left that should not be.
#[test]
fn a_run_that_is_asked_to_stop_says_how_to_go_on() {
    let folder = whole();
    for name in ["-INT", "-TERM", "-INT"] {
        let written = || -> Vec<_> {
            let tasks = ["parts", "parts.unfinished"].map(|run| folder.path().join(run).join("tasks"));
            let parts = tasks.iter().flat_map(|tasks| (1..=3).map(|task| tasks.join(format!("0{task}.part"))));
            parts.filter_map(|part| std::fs::metadata(part).ok()?.modified().ok()).collect()
        };
        let before = written();
        let mut child = start(folder.path());
        // Until it has kept something of its own.
        for _ in 0..500 {
            std::thread::sleep(Duration::from_millis(20));
            if written().iter().any(|time| !before.contains(time)) || child.try_wait().unwrap().is_some() {
                break;
            }
        }
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(said.contains("interrupted in task ") && !said.contains("panicked"), "{said}");
        assert!(said.contains("go on with: prescient run --resume parts\n"), "{said}");
    }
    if !folder.path().join("parts/tasks/03").exists() {
        let output = start(folder.path()).wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_whole(folder.path());
}
