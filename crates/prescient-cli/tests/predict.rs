//! `prescient predict`: answers as recorded, in three formats, for files, folders and standard input; what is wrong is named.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use assert_cmd::Command;
use common::small_recipe;
use prescient::data::{Dataset, Source, Subset, Synthetic, SyntheticSettings};
use prescient::experiment::Record;
use prescient::ghost::GeneratorKind;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;
use tempfile::TempDir;

const DRAWN: SyntheticSettings = SyntheticSettings { train: 10, test: 2 };

/// A finished run with ghosts, made once: three tasks, 24 classes.
static RUN: LazyLock<(TempDir, Record)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = small_recipe();
    recipe.data = Source::Synthetic(DRAWN).into();
    recipe.complete.epochs = 2;
    recipe.ghosts.per_class = 20;
    recipe.calibrate.max_seen_drop = 0.05;
    recipe.ghosts.generator = GeneratorKind::Gaussian(Default::default());
    let record = common::run(recipe, &folder.path().join("run"));
    (folder, record)
});

/// A folder with the run's test images as PNGs, the first `count` of them: `photo-00.png` and on.
fn photos(count: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let drawn = Synthetic::new(&DRAWN);
    for (index, sample) in drawn.samples(Subset::Test)[..count].iter().enumerate() {
        drawn.image(sample).unwrap().write_png(&folder.path().join(format!("photo-{index:02}.png"))).unwrap();
    }
    folder
}

fn run_folder() -> PathBuf {
    RUN.0.path().join("run")
}

/// `prescient predict RUN …` in `folder`.
fn predict(folder: &Path, arguments: &[&str], stdin: impl Into<Vec<u8>>) -> Output {
    let mut command = Command::cargo_bin("prescient").unwrap();
    command.current_dir(folder).args(["predict", "--device", "cpu"]).arg(run_folder()).args(arguments);
    command.write_stdin(stdin).output().unwrap()
}

/// What it prints; it must have nothing to complain about.
#[track_caller]
fn printed(folder: &Path, arguments: &[&str], stdin: impl Into<Vec<u8>>) -> String {
    let output = predict(folder, arguments, stdin);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The class that the run recorded as its answer for test image `index` after `task`.
fn recorded(task: usize, index: usize) -> &'static str {
    let record = &RUN.1;
    let answers = &record.evaluations().nth(task - 1).unwrap().answers;
    &record.start.classes[answers.answer(index).index()]
}

#[test]
fn json_lines_have_the_recorded_answers_of_every_task() {
    let photos = photos(48);
    for task in 1..=3 {
        let task_text = task.to_string();
        let text = printed(photos.path(), &[".", "--format", "jsonl", "--task", &task_text, "--top", "24"], "");
        assert_eq!(text.lines().count(), 48);
        for (index, line) in text.lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert!(line["image"].as_str().unwrap().ends_with(&format!("photo-{index:02}.png")), "{line}");
            let answers = line["predictions"].as_array().unwrap();
            assert_eq!(answers.len(), 24, "all classes compete");
            assert_eq!(answers[0]["class"], recorded(task, index), "task {task}, image {index}");
            let seen = answers.iter().filter(|answer| answer["seen"] == true).count();
            assert_eq!(seen, 6 + 6 * task, "task {task}");
        }
    }
}

#[test]
fn a_table_is_for_people() {
    let photos = photos(2);
    let text = printed(photos.path(), &["photo-00.png", "photo-01.png", "--top", "2", "--task", "1"], "");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 2, "{text}");
    assert!(lines[0].starts_with("photo"), "{text}");
    for (index, line) in [(0, lines[1]), (1, lines[3])] {
        assert!(line.starts_with(&format!("photo-0{index}.png  {}", recorded(1, index))), "{text}");
    }
    assert!(lines[1..].iter().all(|line| line.ends_with("seen") || line.ends_with("not yet photographed")), "{text}");
}

#[test]
fn csv_is_for_programs() {
    let photos = photos(3);
    let text = printed(photos.path(), &[".", "--format", "csv", "--top", "1"], "");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("image,rank,class,probability,seen"));
    for (index, line) in lines.by_ref().take(3).enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells[1], cells[2], cells[4]), ("1", recorded(3, index), "true"), "{line}");
        assert!((0.0..=1.0).contains(&cells[3].parse::<f64>().unwrap()), "{line}");
    }
    assert_eq!(lines.next(), None);
}

/// Folders below are looked into, and what is no image there is no photo.
#[test]
fn a_folder_is_gone_through_by_name() {
    let photos = photos(2);
    std::fs::create_dir_all(photos.path().join("a/b")).unwrap();
    std::fs::rename(photos.path().join("photo-01.png"), photos.path().join("a/b/later.png")).unwrap();
    std::fs::write(photos.path().join("notes.txt"), "no photo").unwrap();
    let text = printed(photos.path(), &[".", "--format", "csv", "--top", "1"], "");
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows[0][0].ends_with("a/b/later.png") && rows[0][2] == recorded(3, 1), "{text}");
    assert!(rows[1][0].ends_with("photo-00.png") && rows[1][2] == recorded(3, 0), "{text}");
}

#[test]
fn standard_input_is_paths_or_one_photo() {
    let photos = photos(2);
    let class = |text: &str, row: usize| text.lines().nth(row).unwrap().split(',').nth(2).unwrap().to_owned();
    let paths = printed(photos.path(), &["-", "--format", "csv", "--top", "1"], "photo-01.png\n\nphoto-00.png\n");
    assert_eq!([class(&paths, 1), class(&paths, 2)], [recorded(3, 1), recorded(3, 0)]);
    let bytes = std::fs::read(photos.path().join("photo-01.png")).unwrap();
    let piped = printed(photos.path(), &["-", "--format", "csv", "--top", "1"], bytes);
    assert!(piped.lines().nth(1).unwrap().starts_with("-,1,"), "{piped}");
    assert_eq!(class(&piped, 1), recorded(3, 1));
}

#[test]
fn a_photo_that_cannot_be_read_does_not_keep_the_others_from_their_answers() {
    let photos = photos(2);
    std::fs::write(photos.path().join("broken.png"), b"no photo").unwrap();
    let output = predict(photos.path(), &["photo-00.png", "broken.png", "photo-01.png", "--format", "jsonl"], "");
    let (told, text) = (String::from_utf8(output.stderr).unwrap(), String::from_utf8(output.stdout).unwrap());
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("warning: ") && told.contains("broken.png") && told.contains("error: "), "{told}");
    let classes: Vec<String> = text
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["predictions"][0]["class"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(classes, [recorded(3, 0), recorded(3, 1)]);
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let photos = photos(1);
    std::fs::create_dir(photos.path().join("empty")).unwrap();
    let refused = |arguments: &[&str], part: &str| {
        let output = predict(photos.path(), arguments, "");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.starts_with("error: ") && told.contains(part), "expected `{part}`: {told}");
        assert!(output.stdout.is_empty());
    };
    refused(&["photo-00.png", "--task", "4"], "task 4 of this run is not finished: 3 are");
    refused(&["missing.png"], "missing.png");
    refused(&["empty"], "empty");
    refused(&["-"], "standard input");
    refused(&["photo-00.png", "--top", "0"], "--top");

    let mut command = Command::cargo_bin("prescient").unwrap();
    let output = command.current_dir(photos.path()).args(["predict", "empty", "photo-00.png"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("`empty` is not a run: expected `tasks/01/predictor.json` in it"), "{told}");
}

/// A link back up, and one to the folder itself: each photo is answered once, under its shortest name.
#[test]
fn links_that_lead_back_are_not_followed_again() {
    let photos = photos(3);
    std::fs::create_dir(photos.path().join("more")).unwrap();
    std::os::unix::fs::symlink("..", photos.path().join("more/up")).unwrap();
    std::os::unix::fs::symlink(".", photos.path().join("again")).unwrap();
    let text = printed(photos.path(), &[".", "--format", "jsonl"], "");
    assert_eq!(text.lines().count(), 3, "{text}");
}
