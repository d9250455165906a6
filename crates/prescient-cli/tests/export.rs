//! `prescient export`: a folder that explains itself, whole or not there; and Python that does what the folder's card says.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use assert_cmd::Command;
use common::{skip, small_recipe};
use prescient::data::{Dataset, Source, Subset, Synthetic, SyntheticSettings};
use prescient::ghost::GeneratorKind;
use prescient::weights::sha256;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command as Plain, Output, Stdio};
use std::sync::LazyLock;
use std::time::Instant;
use tempfile::TempDir;

const DRAWN: SyntheticSettings = SyntheticSettings { train: 6, test: 2 };
const FORMATS: [(&str, &str); 3] =
    [("onnx", "model.onnx"), ("torchscript", "model.pt"), ("safetensors", "model.safetensors")];

/// A finished run with ghosts, made once: three tasks, 24 classes, 12 of them seen after the first.
static RUN: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = small_recipe();
    recipe.data = Source::Synthetic(DRAWN).into();
    recipe.ghosts.per_class = 20;
    recipe.calibrate.max_seen_drop = 0.05;
    recipe.ghosts.generator = GeneratorKind::Gaussian(Default::default());
    common::run(recipe, &folder.path().join("run"));
    folder
});

fn run_folder() -> PathBuf {
    RUN.path().join("run")
}

fn prescient(arguments: &[&str]) -> Output {
    Command::cargo_bin("prescient").unwrap().args(arguments).output().unwrap()
}

/// Exports the run after its first task to `out`.
fn export(to: &str, out: &Path, more: &[&str]) -> Output {
    let (run, out) = (run_folder(), out.to_str().unwrap());
    prescient(&[&["export", run.to_str().unwrap(), "--to", to, "--out", out, "--task", "1"], more].concat())
}

#[track_caller]
fn exported(to: &str, out: &Path) -> String {
    let output = export(to, out, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}

/// The files of a folder, each as its list of digests says.
fn assert_whole(folder: &Path) -> Vec<String> {
    let sums = read(&folder.join("SHA256SUMS"));
    let sums: Vec<(&str, &str)> = sums.lines().map(|line| line.split_once("  ").unwrap()).collect();
    let mut names: Vec<String> = sums.iter().map(|(_, name)| (*name).to_owned()).collect();
    for (sum, name) in sums {
        assert_eq!(sha256(&folder.join(name)).unwrap(), sum, "{name}");
    }
    names.push("SHA256SUMS".to_owned());
    names.sort();
    let mut there: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.sort();
    assert_eq!(there, names, "every file has its digest");
    names
}

/// The text of the first block of `language` in a document.
fn block(text: &str, language: &str) -> String {
    let (_, rest) = text.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_folder_explains_itself() {
    let folder = tempfile::tempdir().unwrap();
    for (to, file) in FORMATS {
        let out = folder.path().join(to);
        let said = exported(to, &out);
        let mut expected = vec!["README.md", "SHA256SUMS", "labels.json", file, "predict.py", "preprocessing.json"];
        if to == "safetensors" {
            expected.push("model.json");
        }
        expected.sort_unstable();
        assert_eq!(assert_whole(&out), expected);
        assert!(expected.iter().all(|name| said.contains(name)), "{said}");

        let labels: Value = serde_json::from_str(&read(&out.join("labels.json"))).unwrap();
        let labels = labels.as_array().unwrap();
        assert_eq!(labels.len(), 24);
        for (place, label) in labels.iter().enumerate() {
            let photos = if place < 12 { 6 } else { 0 };
            assert_eq!((&label["seen"], &label["photos"]), (&Value::from(place < 12), &Value::from(photos)), "{label}");
        }
        let card = read(&out.join("README.md"));
        let first = &labels[0]["class"].as_str().unwrap();
        assert!(card.contains("each of 24 classes. 12 of them are **seen**"), "{card}");
        assert!(card.contains(&format!("| 0 | {first} | seen | 6 |\n")), "{card}");
        assert!(card.contains(" | not yet photographed | 0 |\n"), "{card}");
        assert!(card.contains("the run `run`, seed 1, after task 1 of 3"), "{card}");
        assert!(card.contains("| seen classes | 24 | ") && card.contains("| all classes | 48 | "), "{card}");
        assert!(block(&card, "python").lines().count() <= 10, "{card}");
        let filled =
            |text: &str| !["@IN", "@PACK", "@ARG", "@IMP", "@READ", "@RUN"].iter().any(|mark| text.contains(mark));
        assert!(filled(&card) && filled(&read(&out.join("predict.py"))), "{to}: every place is filled in");
    }
    let preprocessing: Value = serde_json::from_str(&read(&folder.path().join("onnx/preprocessing.json"))).unwrap();
    assert_eq!(preprocessing["shape"], serde_json::json!(["batch", 32, 32, 3]));
}

/// Twice the same bytes: nothing in the folder depends on the time or the place.
#[test]
fn an_export_is_reproducible() {
    let folder = tempfile::tempdir().unwrap();
    for (to, _) in FORMATS {
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name).join(to));
        exported(to, &one);
        exported(to, &two);
        assert_eq!(read(&one.join("SHA256SUMS")), read(&two.join("SHA256SUMS")), "{to}");
    }
}

#[test]
fn what_is_there_stays_unless_it_is_an_export_and_may_go() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    exported("onnx", &out);
    let refused = |output: Output, words: &str| {
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(words) && said.contains("hint: "), "{said}");
    };
    refused(export("torchscript", &out, &[]), "exists already");
    assert!(assert_whole(&out).contains(&"model.onnx".to_owned()));
    assert!(export("torchscript", &out, &["--force"]).status.success());
    assert!(!assert_whole(&out).contains(&"model.onnx".to_owned()));
    let mine = folder.path().join("mine");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("thesis.tex"), "all of it").unwrap();
    refused(export("onnx", &mine, &["--force"]), "is not an export");
    assert_eq!(read(&mine.join("thesis.tex")), "all of it");
    refused(prescient(&["export", folder.path().to_str().unwrap(), "--to", "onnx", "--out", "x"]), "is not a run");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// Killed 24 times at moments that are spread over how long it takes to replace an earlier export: what is there under the name is
/// always whole, from the first export on something is there, and the next export leaves nothing else behind. The run is as it was.
#[test]
fn a_killed_export_leaves_the_one_before_or_the_one_after() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    exported("torchscript", &out);
    let about = run_folder().join("tasks/01/predictor.json");
    let before = read(&about);
    let begun = Instant::now();
    assert!(export("torchscript", &out, &["--force"]).status.success());
    let took = begun.elapsed();
    let mut killed = 0;
    for moment in 1..=24u32 {
        let mut command = Plain::new(assert_cmd::cargo::cargo_bin("prescient"));
        command
            .arg("export")
            .arg(run_folder())
            .args(["--to", "torchscript", "--force", "--task", "1", "--out"])
            .arg(&out);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(took * moment / 24);
        killed += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        assert_whole(&out);
        assert_eq!(read(&about), before, "moment {moment}");
    }
    assert!(killed >= 3, "killed {killed} times");
    assert!(export("torchscript", &out, &["--force"]).status.success());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["out"], "nothing else is left");
}

/// A Python that has these modules; which one, `PRESCIENT_PYTHON` says.
fn python(needed: &str, modules: &[&str]) -> Option<String> {
    let python = std::env::var("PRESCIENT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let import = format!("import {}", modules.join(", "));
    match Plain::new(&python).args(["-c", &import]).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => Some(python),
        _ => {
            skip(needed, &format!("`{python}` cannot import {}; PRESCIENT_PYTHON names another", modules.join(", ")));
            None
        }
    }
}

/// The card's lines as they stand, and `predict.py`, in the exported folder: the class and the probability that `prescient predict` has.
fn assert_python_agrees(to: &str, needed: &str, modules: &[&str]) {
    let Some(python) = python(needed, modules) else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    exported(to, &out);
    let drawn = Synthetic::new(&DRAWN);
    let names: Vec<String> = (0..24).map(|index| format!("photo-{index:02}.png")).collect();
    for (name, sample) in names.iter().zip(drawn.samples(Subset::Test)) {
        drawn.image(sample).unwrap().write_png(&out.join(name)).unwrap();
    }
    let run = run_folder();
    let mut command =
        vec!["predict", run.to_str().unwrap(), out.to_str().unwrap(), "--format", "jsonl", "--device", "cpu"];
    command.extend(["--task", "1", "--top", "3"]);
    let ours = String::from_utf8(prescient(&command).stdout).unwrap();
    let ours: Vec<Value> = ours.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(ours.len(), 24);

    let ask = |arguments: &[&str]| {
        let output = Plain::new(&python).args(arguments).current_dir(&out).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let said = ask(&[&["predict.py"], &names[..]].concat());
    let rows: Vec<Vec<&str>> = said.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 3 * 24, "{said}");
    for (index, answer) in ours.iter().enumerate() {
        for (row, guess) in rows[3 * index..].iter().zip(answer["predictions"].as_array().unwrap()) {
            let known = if guess["seen"] == true { "seen" } else { "not yet photographed" };
            assert_eq!([row[0], row[1], row[3]], [names[index], guess["class"].as_str().unwrap(), known], "{answer}");
            let apart = row[2].parse::<f64>().unwrap() - guess["probability"].as_f64().unwrap();
            assert!(apart.abs() < 2e-4, "{row:?} and {guess}");
        }
    }
    std::fs::copy(out.join(names[5]), out.join("photo.jpg")).unwrap();
    let said = ask(&["-c", &block(&read(&out.join("README.md")), "python")]);
    assert!(said.starts_with(ours[5]["predictions"][0]["class"].as_str().unwrap()), "{said} and {}", ours[5]);
}

#[test]
fn onnxruntime_answers_as_we_do() {
    assert_python_agrees("onnx", "onnxruntime", &["onnxruntime", "numpy", "PIL"]);
}

#[test]
fn torch_answers_as_we_do() {
    assert_python_agrees("torchscript", "torch", &["torch", "numpy", "PIL"]);
}

#[test]
fn torch_with_our_weights_answers_as_we_do() {
    assert_python_agrees("safetensors", "torch", &["torch", "safetensors", "numpy", "PIL"]);
}
