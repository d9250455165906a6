//! A run that is killed at any moment, asked to stop or out of disk goes on to the bytes of one that never was. Kills in each stage
//! by name are in `killed_in_each_stage.rs` of the library.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use common::{CLOSED_FORM, GHOST, assert_same_run};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn prescient(at: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("prescient"));
    command.current_dir(at).args(arguments).args(["--device", "cpu"]).env("PRESCIENT_CHECKPOINT_SECONDS", "0");
    command.env("PRESCIENT_FEATURES", at.join("features")).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn signal(child: &Child, name: &str) {
    // It may be over already.
    let _ = Command::new("kill").args([name, &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
}

/// How the run into `parts` is begun, or gone on with.
fn arguments(at: &Path) -> &'static [&'static str] {
    let begun = at.join("parts").exists() || at.join("parts.unfinished/tasks/01.part").exists();
    if begun { &["run", "--resume", "parts"] } else { &["run", "r.toml", "--out", "parts"] }
}

fn start(at: &Path) -> Child {
    prescient(at, arguments(at)).spawn().unwrap()
}

/// Goes on to the end, and compares.
fn finish(at: &Path) {
    if !at.join("parts/tasks/03").exists() {
        let output: Output = start(at).wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // A kill between the last task and the record is put right by whoever goes on.
    let output = prescient(at, &["run", "--resume", "parts"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same_run(&at.join("whole"), &at.join("parts"));
}

fn whole(recipe: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("r.toml"), recipe).unwrap();
    let output = prescient(folder.path(), &["run", "r.toml", "--out", "whole"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// So many kills, each at a moment of its own; whenever the run has come to its end all the same, it is compared and begun anew.
fn kill(recipe: &str, kills: u64) {
    let folder = whole(recipe);
    let (mut killed, mut round) = (0, 0u64);
    while killed < kills {
        round += 1;
        let mut child = start(folder.path());
        std::thread::sleep(Duration::from_millis(100 + round * 177 % 1500));
        match child.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success(), "{round}: {status}");
                finish(folder.path());
                std::fs::remove_dir_all(folder.path().join("parts")).unwrap();
            }
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                killed += 1;
            }
        }
        assert!(round < 4 * kills, "{killed} kills in {round} rounds");
    }
    finish(folder.path());
}

#[test]
fn a_ghost_run_that_is_killed_goes_on_to_the_same_bytes() {
    kill(GHOST, 20);
}

#[test]
fn a_run_in_closed_form_that_is_killed_goes_on_to_the_same_bytes() {
    kill(CLOSED_FORM, 10);
}

/// Asked to stop, it stops after the step, says how to go on, and ends with 130; nothing is left that should not be.
#[test]
fn a_run_that_is_asked_to_stop_says_how_to_go_on() {
    let folder = whole(GHOST);
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
    finish(folder.path());
}

/// At any moment, for both learners: 130 or the end, never a panic, and the same bytes in the end.
#[test]
fn ctrl_c_at_odd_moments_loses_nothing() {
    for (recipe, rounds) in [(GHOST, 8), (CLOSED_FORM, 6)] {
        let folder = whole(recipe);
        for round in 0..rounds {
            let child = start(folder.path());
            std::thread::sleep(Duration::from_millis(150 + round * 331 % 1400));
            signal(&child, "-INT");
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(!said.contains("panicked"), "{said}");
            // Before it listens the signal ends it, as it does any program.
            assert!(matches!(output.status.code(), Some(0 | 130) | None), "{:?}: {said}", output.status);
        }
        finish(folder.path());
    }
}

/// No file may grow beyond so many blocks of 512 bytes: as if the disk were full, in the middle of one file after the other.
#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    let program = assert_cmd::cargo::cargo_bin("prescient");
    for (recipe, sizes) in [(GHOST, [1, 20, 60, 120]), (CLOSED_FORM, [1, 20, 40, 60])] {
        let folder = whole(recipe);
        let mut failed = 0;
        for blocks in sizes {
            let limited = format!(
                "trap '' XFSZ; ulimit -f {blocks}; exec {} {} --device cpu",
                program.display(),
                arguments(folder.path()).join(" ")
            );
            let mut command = Command::new("sh");
            command.args(["-c", &limited]).current_dir(folder.path()).env("PRESCIENT_CHECKPOINT_SECONDS", "0");
            let output = command.env("PRESCIENT_FEATURES", folder.path().join("features")).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(!said.contains("panicked"), "{blocks}: {said}");
            if !output.status.success() {
                assert_eq!(output.status.code(), Some(2), "{blocks}: {said}");
                assert!(said.contains("File too large") && said.contains('`'), "{blocks}: {said}");
                failed += 1;
            }
        }
        assert!(failed >= 2, "{failed} of {sizes:?} blocks are too few");
        finish(folder.path());
    }
}

/// The same on a file system of its own that is really full, where this user may make one; it grows, and the run goes on.
#[test]
fn a_small_file_system_that_is_full_is_told_and_nothing_is_lost() {
    let folder = whole(GHOST);
    let (program, disk) = (assert_cmd::cargo::cargo_bin("prescient"), folder.path().join("disk"));
    std::fs::create_dir(&disk).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=120k none {disk} || exit 77
         cd {disk}
         {program} run ../r.toml --out parts --device cpu 2> ../said
         echo $? > ../code
         mount -o remount,size=64m {disk}
         test -e parts -o -e parts.unfinished/tasks/01.part && go='--resume parts' || go='../r.toml --out parts'
         {program} run $go --device cpu && cp -r parts ..",
        disk = disk.display(),
        program = program.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]).env("PRESCIENT_CHECKPOINT_SECONDS", "0");
    match command.output() {
        Ok(output) if output.status.success() => {}
        other if !folder.path().join("code").exists() => {
            eprintln!("skipped: no file system can be made here: {other:?}");
            return;
        }
        other => panic!("{other:?}"),
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("code").trim(), "2", "{}", read("said"));
    assert!(read("said").contains("No space left on device") && read("said").contains("hint: "), "{}", read("said"));
    let parts: PathBuf = folder.path().join("parts");
    assert_same_run(&folder.path().join("whole"), &parts);
}
