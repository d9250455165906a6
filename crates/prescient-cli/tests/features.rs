//! Features that were computed elsewhere, in place of images: whole runs, as reproducible and as honest.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use assert_cmd::Command;
use common::{assert_audited, drawn_features, npy, run};
use prescient::evaluation::metrics;
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::learner::Silent;
use std::collections::BTreeSet;
use std::path::Path;
use tch::Device;

const CLASSES: [&str; 8] = ["ant", "bee", "cat", "dog", "emu", "fox", "gnu", "hen"];

/// Features of eight classes in `vectors`, and a table of attributes that tells them apart.
fn vectors(at: &Path) {
    drawn_features(&at.join("vectors"), &CLASSES, 20, 6);
    let row = |(index, class): (usize, &&str)| format!("{class},{},{},{}\n", index & 1, index >> 1 & 1, index >> 2 & 1);
    let rows: String = CLASSES.iter().enumerate().map(row).collect();
    std::fs::write(at.join("attributes.csv"), format!("class,one,two,four\n{rows}")).unwrap();
}

/// The whole Ghost model on them, in seconds.
fn recipe(at: &Path, extractor: &str, generator: &str) -> Recipe {
    let text = format!(
        r#"
        seed = 3
        [data]
        kind = "features"
        path = {:?}
        attributes = [{:?}]
        [scenario]
        split = "4+2+2"
        [model]
        extractor = {extractor}
        [loss]
        classification = {{ form = "cross-entropy" }}
        distillation = {{ kind = "pod", weight = 0.0, flat = 5.0 }}
        svm_reg = {{ weight = 1e-3 }}
        [train]
        epochs = 10
        batch_size = 16
        [finetune]
        epochs = 5
        [memory]
        per_class = 5
        [complete]
        epochs = 10
        [ghosts]
        l2_normalize = true
        per_class = 50
        generator = {generator}
        "#,
        at.join("vectors"),
        at.join("attributes.csv")
    );
    Recipe::parse(&text, Path::new("r.toml")).unwrap()
}

const MLP: &str = r#"{ kind = "mlp", width = 64, features = 32 }"#;
const GMMN: &str = r#"{ kind = "gmmn", epochs = 20, lr = 1e-3, hidden = 32 }"#;

fn last(record: &Record, name: &str) -> f64 {
    metrics::find(name).unwrap().value(&record.run(), record.start.tasks.len()).unwrap()
}

fn terms(record: &Record, task: usize) -> BTreeSet<String> {
    let epochs = record.epochs().filter(|epoch| epoch.stage == "train" && epoch.task == task);
    epochs.flat_map(|epoch| epoch.terms.keys().cloned()).collect()
}

/// Eight classes: a chance answer is right once in eight.
#[test]
fn the_whole_ghost_model_learns_from_features() {
    let folder = tempfile::tempdir().unwrap();
    vectors(folder.path());
    let out = folder.path().join("run");
    let record = run(recipe(folder.path(), MLP, GMMN), &out);
    assert_eq!(record.evaluations().count(), 3);
    assert!(last(&record, "final") > 0.5, "{}", last(&record, "final"));
    let expected = ["nca-ghost", "pod-flat", "svm-reg"].map(String::from);
    assert_eq!(terms(&record, 2), BTreeSet::from(expected), "of POD, what compares features");
    let images = std::fs::read_to_string(out.join("tasks/01/images.jsonl")).unwrap();
    assert!(images.contains("\"name\":\"train[0]\"") && images.contains("\"bytes\":192"), "48 numbers of four bytes");
    assert_audited(&out, true);
}

#[test]
fn a_run_on_features_stopped_and_resumed_is_one_never_stopped() {
    let folder = tempfile::tempdir().unwrap();
    vectors(folder.path());
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    run(recipe(folder.path(), MLP, GMMN), &whole);
    let experiment = Experiment::new(recipe(folder.path(), MLP, GMMN), Device::Cpu).unwrap();
    experiment.run(&parts, Some(1), &mut Silent).unwrap();
    Experiment::resume(&parts, Device::Cpu, None, &mut Silent).unwrap();
    for file in ["record.jsonl", "recipe.toml", "tasks/03/weights.safetensors", "tasks/03/images.jsonl"] {
        let bytes = |run: &Path| std::fs::read(run.join(file)).unwrap();
        assert!(bytes(&whole) == bytes(&parts), "`{file}` differs");
    }
}

/// The same rows under the same names, computed by another extractor.
#[test]
fn features_that_were_computed_again_are_other_data() {
    let folder = tempfile::tempdir().unwrap();
    vectors(folder.path());
    let out = folder.path().join("run");
    let experiment = Experiment::new(recipe(folder.path(), MLP, GMMN), Device::Cpu).unwrap();
    experiment.run(&out, Some(1), &mut Silent).unwrap();
    let path = folder.path().join("vectors/train.npy");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 3;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let error = Experiment::resume(&out, Device::Cpu, None, &mut Silent).unwrap_err();
    assert!(error.to_string().starts_with("the data of this run has changed"), "{error}");
}

/// As they are, with each way to imagine: only the classifier and the generator learn. Twice as good as chance is enough
/// here, for these features are simple.
#[test]
fn features_can_be_taken_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    vectors(folder.path());
    for generator in [GMMN, r#"{ kind = "gaussian" }"#, r#"{ kind = "none" }"#] {
        let out = folder.path().join("run");
        let record = run(recipe(folder.path(), r#"{ kind = "identity" }"#, generator), &out);
        assert!(last(&record, "final") > 0.25, "{generator}: {}", last(&record, "final"));
        assert_audited(&out, true);
        std::fs::remove_dir_all(&out).unwrap();
    }
    let oracle = run(recipe(folder.path(), MLP, r#"{ kind = "real" }"#), &folder.path().join("oracle"));
    assert_eq!(oracle.start.oracle.as_deref(), Some("ghosts are features of actual future images"));
}

/// In closed form, with a cache that is empty and stays so: rows are their own features, and are read where they lie.
#[test]
fn the_closed_form_takes_rows_as_they_are_and_keeps_none() {
    let folder = tempfile::tempdir().unwrap();
    vectors(folder.path());
    let text = "[data]\nkind = \"features\"\npath = \"vectors\"\nattributes = [\"attributes.csv\"]\n[scenario]\nsplit = \"4+2+2\"\n\
                [learner]\nkind = \"closed-form\"\n[model]\nextractor = { kind = \"identity\" }\n";
    std::fs::write(folder.path().join("r.toml"), text).unwrap();
    let mut command = Command::cargo_bin("prescient").unwrap();
    let command = command.args(["run", "r.toml", "--seed", "1", "--out", "run", "--device", "cpu"]);
    command.current_dir(&folder).env("PRESCIENT_FEATURES", folder.path().join("cache")).assert().success();
    assert!(!folder.path().join("cache").exists());
    let record = Record::read(&folder.path().join("run/record.jsonl")).unwrap();
    assert!(last(&record, "final") > 0.5, "{}", last(&record, "final"));
    assert_audited(&folder.path().join("run"), true);
}

#[test]
fn what_makes_no_sense_of_features_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    vectors(folder.path());
    let says = |change: &dyn Fn(&mut Recipe)| {
        let mut recipe = recipe(folder.path(), MLP, GMMN);
        change(&mut recipe);
        Experiment::new(recipe, Device::Cpu).err().unwrap().to_string()
    };
    assert_eq!(
        says(&|recipe| recipe.model = Recipe::default().model),
        "`model.extractor.kind` is `resnet18`; expected `mlp` or `identity`, for `features` has no images"
    );
    assert_eq!(
        says(&|recipe| recipe.images.flip = Some(true)),
        "`images` is given; expected none of its keys: features are not cropped, mirrored, resized or normalized"
    );
    let text = says(&|recipe| recipe.loss.distillation = Recipe::default().loss.distillation);
    assert!(
        text.starts_with("`loss.distillation.weight` is 3; expected 0, for features come without the maps"),
        "{text}"
    );
    assert_eq!(
        says(&|recipe| recipe.data = Recipe::default().data),
        "`model.extractor.kind` is `mlp`; expected `resnet18`, `mobilenet-v2` or `small-cnn`, for `synthetic` has images"
    );
}

#[test]
fn a_check_of_features_finds_what_is_wrong_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("vectors");
    std::fs::create_dir_all(&at).unwrap();
    let check = |train: &[Vec<f32>]| {
        std::fs::write(at.join("train.npy"), npy(train)).unwrap();
        std::fs::write(at.join("train.txt"), "ant\nbee\nant\n").unwrap();
        std::fs::write(at.join("test.npy"), npy(&[vec![1.0, 2.0], vec![3.0, 5.0]])).unwrap();
        std::fs::write(at.join("test.txt"), "bee\nant\n").unwrap();
        let mut command = Command::cargo_bin("prescient").unwrap();
        let output =
            command.current_dir(folder.path()).args(["data", "check", "features", "vectors"]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = check(&[vec![0.0, 0.5], vec![0.25, 1.0], vec![7.0, 8.0]]);
    assert!(code == Some(0) && text.contains("nothing is wrong"), "{text}");
    let (code, text) = check(&[vec![1.0, 2.0], vec![0.25, f32::NAN], vec![f32::INFINITY, 8.0]]);
    assert_eq!(code, Some(2), "{text}");
    for part in [
        "ant         2       1",
        "wrong: 3",
        "found NaN in row 1, column 1",
        "found inf in row 2, column 0",
        "`test[0]`: expected a test row of its own, found the training row `train[0]` once more",
    ] {
        assert!(text.contains(part), "expected `{part}` in:\n{text}");
    }
}

/// A recipe as a user would write it, as small as it gets.
#[test]
fn a_recipe_of_features_passes_its_audit() {
    let folder = tempfile::tempdir().unwrap();
    vectors(folder.path());
    let recipe = r#"
        preset = "tuned"
        [data]
        kind = "features"
        path = "vectors"
        attributes = ["attributes.csv"]
        [scenario]
        split = "4+2+2"
        [model]
        extractor = { kind = "mlp", width = 16, features = 16 }
        [loss]
        distillation = { kind = "pod", weight = 0.0 }
        [ghosts]
        generator = { kind = "gmmn" }
    "#;
    std::fs::write(folder.path().join("r.toml"), recipe).unwrap();
    let sets = [
        "train.epochs=1",
        "finetune.epochs=1",
        "complete.epochs=1",
        "ghosts.per_class=20",
        "ghosts.generator.epochs=2",
    ];
    let prescient = |arguments: Vec<&str>| {
        let output =
            Command::cargo_bin("prescient").unwrap().current_dir(folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8(output.stderr).unwrap());
        String::from_utf8(output.stdout).unwrap()
    };
    prescient(
        ["run", "r.toml", "--out", "run"].into_iter().chain(sets.into_iter().flat_map(|set| ["--set", set])).collect(),
    );
    assert_eq!(prescient(vec!["audit", "run", "--near-duplicates"]).matches('✓').count(), 6);
}
