//! `prescient reproduce`: every row of every table, on data so small that it takes seconds.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use assert_cmd::Command;
use common::{assert_audited, drawn_photos};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const ANIMALS: [&str; 12] = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay", "koi", "lynx"];

/// As small as a run can be: one epoch of everything, and a net of a few channels.
const SMALL: [&str; 8] = [
    "model.extractor.width=4",
    "ghosts.generator.epochs=2",
    "images.size=16",
    "train.epochs=1",
    "train.batch_size=8",
    "finetune.epochs=1",
    "memory.per_class=2",
    "complete.epochs=1",
];

/// A data root with `animals12` and `mnist` in their layout, a handful of images a class.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("data");
        let drawn = folder.path().join("drawn");
        drawn_photos(&drawn, &ANIMALS, 4, 2);
        let animals = root.join("animals12");
        std::fs::create_dir_all(&animals).unwrap();
        zipped(&drawn, &animals.join("images.zip"));
        let rows: String = ANIMALS.iter().enumerate().map(|(i, class)| format!("{class},{i},{},1\n", i % 3)).collect();
        std::fs::write(animals.join("attributes.csv"), format!("class,number,third,one\n{rows}")).unwrap();
        digits(&root.join("mnist"));
        Self { folder }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn reproduce(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = Command::cargo_bin("prescient").unwrap();
        command.current_dir(self.folder.path()).env("PRESCIENT_DATA", self.folder.path().join("data"));
        command.env("OMP_NUM_THREADS", "1");
        command.args(["reproduce", "--device", "cpu", "--out", "out"]).args(arguments);
        command.args(SMALL.iter().flat_map(|set| ["--set", set])).output().unwrap()
    }

    /// When the record of a run was written.
    fn written(&self, run: &str) -> SystemTime {
        std::fs::metadata(self.out().join(run).join("record.jsonl")).unwrap().modified().unwrap()
    }
}

fn zipped(folder: &Path, at: &Path) {
    let mut archive = zip::ZipWriter::new(std::fs::File::create(at).unwrap());
    for side in ["train", "test"] {
        for class in ANIMALS {
            for image in std::fs::read_dir(folder.join(side).join(class)).unwrap().map(Result::unwrap) {
                let name = format!("{side}/{class}/{}", image.file_name().to_string_lossy());
                archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
                archive.write_all(&std::fs::read(image.path()).unwrap()).unwrap();
            }
        }
    }
    archive.finish().unwrap();
}

/// MNIST's four files with four training and two test images a digit: stripes whose width is the digit's.
fn digits(at: &Path) {
    std::fs::create_dir_all(at).unwrap();
    for (side, count) in [("train", 40u32), ("t10k", 20)] {
        let mut images = [2051, count, 28, 28].map(u32::to_be_bytes).concat();
        let mut labels = [2049, count].map(u32::to_be_bytes).concat();
        for number in 0..count {
            let digit = number % 10;
            labels.push(digit as u8);
            // Another for each image of a digit, on either side.
            let shade = (number / 10 * 20) as u8 + if side == "train" { 0 } else { 10 };
            images
                .extend((0..28 * 28).map(|pixel| if pixel % 28 / (digit + 1) % 2 == 0 { 200 - shade } else { shade }));
        }
        std::fs::write(at.join(format!("{side}-images-idx3-ubyte")), images).unwrap();
        std::fs::write(at.join(format!("{side}-labels-idx1-ubyte")), labels).unwrap();
    }
}

/// The smoke run of the whole paper. Then again: nothing is run, and the tables are the same bytes. Then after a run was
/// interrupted, one is damaged, and one is of another recipe.
#[test]
fn every_row_is_run_once_and_shown_beside_the_papers() {
    let place = Place::new();
    let all = ["all", "--dataset", "animals12", "--preset", "tuned", "--seeds", "1", "--jobs", "2"];
    let first = place.reproduce(&all);
    let (text, said) = (String::from_utf8(first.stdout).unwrap(), String::from_utf8(first.stderr).unwrap());
    assert_eq!(first.status.code(), Some(0), "{said}");
    assert!(said.contains("[23/23]"), "{said}");

    // Every row of every table has a number of ours: its seed stands in the last column.
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("animals12  ") || line.starts_with("MNIST  ")).collect();
    assert_eq!(rows.len(), 8 + 8 + 4 + 5 + 9, "{text}");
    assert!(rows.iter().all(|row| row.ends_with("  1")), "{text}");
    assert!(text.contains("62.92 ± 0.12") && text.contains("partial oracle (ORACLE)"), "{text}");
    assert!(text.contains("Not the recipes as they stand: model.extractor.width=4"), "{text}");

    let tables = ["table1", "table2", "table3", "table4", "mnist"];
    let files = || -> Vec<Vec<u8>> {
        let names = tables.iter().flat_map(|table| ["md", "csv", "tex"].map(|ending| format!("{table}.{ending}")));
        names.map(|name| std::fs::read(place.out().join(name)).unwrap()).collect()
    };
    let (before, kept) = (files(), place.written("animals12-podnet-seed1"));
    let again = place.reproduce(&all);
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(String::from_utf8(again.stdout).unwrap(), text);
    assert!(files() == before, "the tables are other bytes");
    assert_eq!(place.written("animals12-podnet-seed1"), kept, "a finished run was run again");

    let folders = std::fs::read_dir(place.out()).unwrap().map(|entry| entry.unwrap().path());
    let runs: Vec<PathBuf> = folders.filter(|path| path.join("record.jsonl").exists()).collect();
    assert_eq!(runs.len(), 23);
    runs.iter().for_each(|run| assert_audited(run, false));
    compared(&place);

    // As an interruption in task 2 would leave it.
    let run = place.out().join("animals12-podnet-seed1");
    let record = std::fs::read_to_string(run.join("record.jsonl")).unwrap();
    for task in ["02", "03", "04"] {
        std::fs::remove_dir_all(run.join("tasks").join(task)).unwrap();
    }
    let resumed = place.reproduce(&["table1", "--dataset", "animals12", "--preset", "tuned", "--seeds", "1"]);
    assert_eq!(resumed.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&resumed.stderr).contains("[1/1] animals12-podnet, seed 1: done"));
    assert_eq!(std::fs::read_to_string(run.join("record.jsonl")).unwrap(), record);

    // Another recipe in the same folder is refused, and the table goes on without it.
    let other = ["table2", "--dataset", "animals12", "--preset", "tuned", "--seeds", "1", "--set", "train.lr=0.05"];
    let refused = place.reproduce(&other);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("holds a run of another recipe: `train.lr` is 0.1 there and 0.05 here"), "{said}");
    assert!(said.contains("8 of 8 runs failed"), "{said}");
    assert!(!String::from_utf8_lossy(&refused.stdout).contains("  1\n"), "another recipe's numbers were shown");
}

/// What is made from run folders alone: a comparison and the tables of runs, the same bytes each time.
fn compared(place: &Place) {
    let prescient = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("prescient").unwrap();
        // Without any data.
        command.current_dir(place.out()).env("PRESCIENT_DATA", "nowhere").args(arguments).output().unwrap()
    };
    let runs = ["animals12-podnet-seed1", "animals12-podnet-ghost-seed1", "animals12-full-oracle-seed1"];
    let compare: Vec<&str> = ["compare"].iter().chain(&runs).copied().collect();
    let (one, two) = (prescient(&compare), prescient(&compare));
    let text = String::from_utf8(one.stdout).unwrap();
    assert_eq!(one.status.code(), Some(0), "{}", String::from_utf8_lossy(&one.stderr));
    assert!(text.starts_with("baseline: animals12-podnet, seeds 1\n"), "{text}");
    assert!(text.contains("1 seed, 24 test images"), "{text}");
    assert!(text.contains("animals12-full-oracle: ORACLE, not a result: full oracle"), "{text}");
    assert!(text.contains("animals12-full-oracle: its tasks are others than the baseline's"), "{text}");
    assert_eq!(text.as_bytes(), two.stdout);

    let csv = prescient(&["report", runs[0], runs[1], "--format", "csv"]);
    let csv = String::from_utf8(csv.stdout).unwrap();
    assert!(csv.starts_with("run,seed,stamp,task,metric,value\nanimals12-podnet-seed1,1,,1,accuracy,"), "{csv}");
    assert!(csv.contains("\nanimals12-podnet-ghost-seed1,1,,4,final,"), "{csv}");
    let refused = prescient(&["compare", runs[0], runs[0]]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("with the same seed, 1"));
}

#[test]
fn a_dataset_that_is_not_there_stops_nothing_else() {
    let place = Place::new();
    std::fs::remove_dir_all(place.folder.path().join("data/animals12")).unwrap();
    let output = place.reproduce(&["table3", "mnist", "--dataset", "animals12", "--seeds", "2"]);
    let (text, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("there is no data for animals12"), "{said}");
    assert!(said.contains("the tables are not complete: there is no data for animals12"), "{said}");
    assert_eq!(text.lines().filter(|line| line.starts_with("MNIST  ") && line.ends_with("  2")).count(), 9, "{text}");

    let photos = place.reproduce(&["table1", "--seeds", "1"]);
    let said = String::from_utf8(photos.stderr).unwrap();
    assert_eq!(photos.status.code(), Some(3), "{said}");
    assert!(said.contains("https://cvml.ista.ac.at/AwA2/") && said.contains("https://vision.cs.uiuc.edu/attributes/"));
}

#[test]
fn nothing_is_run_to_show_what_is_there_or_where_somebody_else_is_at_work() {
    let place = Place::new();
    let shown = place.reproduce(&["mnist", "--seeds", "1", "--no-run"]);
    assert_eq!(shown.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&shown.stderr).starts_with("error: 8 of 8 runs are not there yet"));
    assert!(
        String::from_utf8_lossy(&shown.stdout).contains("MNIST  6+2+2     –       PODNet  ghost model, paper's timing")
    );

    // Both presets side by side unless one is asked for, on as many datasets as are named.
    let both = place.reproduce(&["table3", "--dataset", "animals12", "--dataset", "awa43", "--seeds", "1", "--no-run"]);
    assert!(String::from_utf8_lossy(&both.stderr).starts_with("error: 16 of 16 runs are not there yet"));
    let text = String::from_utf8(both.stdout).unwrap();
    for row in ["animals12  8+2x2     paper   PODNet  control", "awa43      33+5x2    tuned   PODNet  control"] {
        assert!(text.contains(row), "{text}");
    }

    let lock = std::fs::File::open(place.out().join(".lock")).unwrap();
    lock.lock().unwrap();
    let refused = place.reproduce(&["mnist", "--seeds", "1"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("another `prescient reproduce` is at work in `out`"));
    drop(lock);

    let wrong = place.reproduce(&["mnist", "--set", "train.epoch=1"]);
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        said.starts_with("error: cannot follow the recipe `mnist3-podnet`\n  `--set train.epoch=1`: there is no key"),
        "{said}"
    );
    let left: Vec<_> = std::fs::read_dir(place.out()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.is_file()), "something was run: {left:?}");
}

#[test]
fn a_run_that_fails_is_named_with_its_error_and_stops_nothing_else() {
    let place = Place::new();
    // A label is missing, so MNIST cannot be opened; and at such a learning rate every run diverges.
    let labels = place.folder.path().join("data/mnist/train-labels-idx1-ubyte");
    let mut bytes = std::fs::read(&labels).unwrap();
    bytes.truncate(bytes.len() - 1);
    std::fs::write(&labels, bytes).unwrap();
    let output = place.reproduce(&[
        "table3",
        "mnist",
        "--dataset",
        "animals12",
        "--preset",
        "tuned",
        "--seeds",
        "1",
        "--set",
        "train.lr=1e30",
    ]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no data for mnist"), "{said}");
    assert!(said.contains("animals12-zero-shot-podnet, seed 1 failed"), "{said}");
    assert!(said.contains("in task 1, epoch 1") || said.contains("diverged"), "{said}");
    assert!(said.contains("4 of 12 runs failed: there is no data for mnist"), "{said}");
}

/// A plan has a command for each run that is not finished. A shell carries it out, and a second time there is nothing to do.
#[test]
fn a_plan_is_carried_out_by_any_shell_and_shrinks() {
    let place = Place::new();
    let rows = ["table3", "--dataset", "animals12", "--preset", "tuned", "--seeds", "1"];
    let plan = || -> (String, Vec<String>) {
        let output = place.reproduce(&[&rows[..], &["--plan"]].concat());
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
        let lines = std::fs::read_to_string(place.out().join("plan.sh")).unwrap();
        (said, lines.lines().map(str::to_owned).collect())
    };
    let (said, lines) = plan();
    assert!(said.starts_with("4 runs to do, 0 finished\n"), "{said}");
    assert_eq!(lines.len(), 4);
    let array = std::fs::read_to_string(place.out().join("plan.slurm")).unwrap();
    assert!(array.contains("#SBATCH --array=1-4\n"), "{array}");

    let program = assert_cmd::cargo::cargo_bin("prescient");
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    for _ in 0..2 {
        let mut shell = Command::new("sh");
        shell
            .current_dir(place.folder.path())
            .env("PATH", &path)
            .env("PRESCIENT_DATA", place.folder.path().join("data"));
        let output = shell.args(["-c", &lines[0]]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let (said, left) = plan();
    assert!(said.starts_with("3 runs to do, 1 finished\n"), "{said}");
    assert_eq!(left, lines[1..]);
}
