//! `prescient audit`: it passes runs that kept the rules, and finds each way of breaking one.
#![allow(clippy::unwrap_used)]

mod command;
#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use command::prescient;
use common::{assert_audited, drawn_photos, real_data, real_photos, recipes_of, small_recipe};
use prescient::audit::{Audit, audit};
use prescient::data::{Dataset, Files, Mnist, Subset};
use prescient::experiment::{Experiment, Recipe, overridden};
use prescient::learner::Silent;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tch::Device;
use tempfile::TempDir;

fn run(recipe: Recipe, out: &Path) {
    Experiment::new(recipe, Device::Cpu).unwrap().run(out, None, &mut Silent).unwrap();
}

/// A copy of an honest run on drawn images: 12+6+6 classes, 20 + 8 images each, 5 of each class in memory.
fn honest() -> (TempDir, PathBuf) {
    static RUN: OnceLock<TempDir> = OnceLock::new();
    let made = RUN.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        run(small_recipe(), &folder.path().join("run"));
        folder
    });
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("run");
    common::copy_files(&made.path().join("run"), &copy);
    for task in ["01", "02", "03"] {
        common::copy_files(&made.path().join("run/tasks").join(task), &copy.join("tasks").join(task));
    }
    (folder, copy)
}

/// The checks that do not hold, and all that speaks against them.
fn against(run: &Path, near: bool) -> (Vec<&'static str>, String) {
    let audit: Audit = audit(run, near).unwrap();
    let failed: Vec<_> = audit.checks.iter().filter(|check| !check.holds).collect();
    let says = failed.iter().map(|check| format!("{}\n{}\n", check.says, check.against.join("\n"))).collect();
    (failed.iter().map(|check| check.name).collect(), says)
}

fn lines(path: &Path) -> Vec<Value> {
    common::lines(path).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write_lines(path: &Path, lines: &[Value]) {
    std::fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

/// Changes the images of a task as a careful forger would: counts, digests and both records agree afterwards.
fn forge(run: &Path, task: usize, change: impl FnOnce(&mut Vec<Value>)) {
    let folder = run.join(format!("tasks/{task:02}"));
    let mut images = lines(&folder.join("images.jsonl"));
    change(&mut images);
    write_lines(&folder.join("images.jsonl"), &images);
    let bytes = std::fs::read(folder.join("images.jsonl")).unwrap();
    let count = |usage: &str| images.iter().filter(|image| image["use"] == usage).count();
    forge_record(run, task, |line| {
        if line["line"] == "images" {
            line["digest"] = json!(blake3::hash(&bytes).to_hex().to_string());
            for (key, usage) in [("learned", "learn"), ("kept", "keep"), ("tested", "test")] {
                line[key] = json!(count(usage));
            }
        }
    });
}

/// Changes lines of a task in its own record and in that of the run, and makes all digests fit.
fn forge_record(run: &Path, task: usize, change: impl Fn(&mut Value)) {
    for path in [run.join("record.jsonl"), run.join(format!("tasks/{task:02}/record.jsonl"))] {
        edit(&path, |line| {
            if line["task"] == task {
                change(line);
            }
        });
    }
    common::reseal(run);
}

/// Changes lines of a file; the others keep their bytes.
fn edit(path: &Path, change: impl Fn(&mut Value)) {
    let edited = common::lines(path).into_iter().map(|text| {
        let before: Value = serde_json::from_str(&text).unwrap();
        let mut after = before.clone();
        change(&mut after);
        if before == after { text + "\n" } else { format!("{after}\n") }
    });
    std::fs::write(path, edited.collect::<String>()).unwrap();
}

#[test]
fn an_honest_run_passes() {
    let (folder, run) = honest();
    let (code, out, error) = prescient(&["audit", "run"], folder.path());
    assert_eq!(code, 0, "{out}{error}");
    for part in [
        "3 of 3 tasks, 12+6+6 classes\n",
        "✓ files      every file is as it was recorded",
        // 24 classes, 20 and 8 images each.
        "✓ sides      no image was learned from and tested on: 480 learned from, 192 tested on, all different",
        // 5 of 12, 18 and 24 classes, 32 × 32 × 3 = 3,072 bytes each.
        "✓ memory     at most 5 images of each class are kept, each one learned from: 60, 90, 120 images, 184320, 276480, \
         368640 bytes after each task",
        "✓ time       no class was learned from before its time",
        "✓ test data  test images were read by evaluations alone",
        "✓ answers    every test image is answered for",
        "\nprogram  0.1.0\nseed     1\ndevice   cpu\ndata     ",
        "    per_class = 5\n",
    ] {
        assert!(out.contains(part), "expected `{part}` in:\n{out}");
    }
    let (code, out, _) = prescient(&["audit", "run", "--json"], folder.path());
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, json["checks"].as_array().unwrap().len()), (0, 6));
    assert_eq!(json["about"]["seed"], 1);
    assert_eq!(lines(&run.join("tasks/02/images.jsonl"))[0]["use"], "learn");
}

/// Neither the data nor the model is there any more.
#[test]
fn an_audit_needs_the_folder_alone() {
    let (_folder, run) = honest();
    for task in ["01", "02", "03"] {
        std::fs::remove_file(run.join("tasks").join(task).join("weights.safetensors")).unwrap();
    }
    assert_eq!(against(&run, false), (vec![], String::new()));
}

#[test]
fn the_stages_in_which_an_image_was_read_are_noted() {
    let (_folder, run) = honest();
    let stages = |task: usize, usage: &str, slot: usize| -> Vec<String> {
        let images = lines(&run.join(format!("tasks/{task:02}/images.jsonl")));
        let image = images.iter().find(|image| image["use"] == usage && image["slot"] == slot).unwrap();
        image["stages"].as_array().unwrap().iter().map(|stage| stage.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(stages(1, "learn", 0), ["train", "remember"]);
    // An old class comes from memory; the exemplars of a new one are chosen for the fine-tune.
    assert_eq!(stages(2, "learn", 0), ["train", "finetune"]);
    assert_eq!(stages(2, "learn", 12), ["imprint", "train", "finetune"]);
    assert_eq!(stages(2, "keep", 0), ["remember"]);
    assert_eq!(stages(2, "test", 23), ["evaluate"]);
}

#[test]
fn a_run_that_is_not_over_can_be_audited() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let experiment = Experiment::new(small_recipe(), Device::Cpu).unwrap();
    experiment.run(&out, Some(1), &mut Silent).unwrap();
    let audit = audit(&out, false).unwrap();
    assert_eq!((audit.failed(), audit.about.finished), (0, 1));
}

/// The recipe of a tiny run on the photos in `photos`, two classes and then one.
fn photo_recipe(photos: &Path) -> Recipe {
    let text = format!(
        "[data]\nkind = \"folder\"\npath = {photos:?}\n[scenario]\nsplit = \"2+1\"\n[memory]\nper_class = 2\n\
         [model]\nextractor = {{ kind = \"small-cnn\", width = 4 }}\n[train]\nepochs = 1\nbatch_size = 4\n"
    );
    Recipe::parse(&text, Path::new("r.toml")).unwrap()
}

#[test]
fn a_test_image_in_training_under_another_name_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let photos = folder.path().join("photos");
    drawn_photos(&photos, &["ant", "bee", "cat"], 4, 2);
    std::fs::copy(photos.join("test/cat/1.png"), photos.join("train/bee/holiday.png")).unwrap();
    run(photo_recipe(&photos), &folder.path().join("run"));
    let (code, out, error) = prescient(&["audit", "run"], folder.path());
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("✗ sides      images were learned from and tested on\n"), "{out}");
    assert!(out.contains("      `test/cat/1.png` was learned from as `train/bee/holiday.png`\n"), "{out}");
    assert!(
        error.contains("the audit of `run` fails: 1 of 6 checks do not hold") && error.contains("hint: "),
        "{error}"
    );

    // Left out by the recipe, it does no harm.
    let mut recipe = photo_recipe(&photos);
    if let prescient::data::Source::Folder(settings) = &mut recipe.data.source {
        settings.exclude = vec!["train/bee/holiday.png".to_owned()];
    }
    run(recipe, &folder.path().join("mended"));
    assert_eq!(prescient(&["audit", "mended"], folder.path()).0, 0);
}

/// The same photo, packed anew: no byte agrees, but a person would see it.
#[test]
fn a_near_duplicate_is_found_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let photos = folder.path().join("photos");
    let Some(bytes) = real_photos(18) else { return };
    for (number, bytes) in bytes.iter().enumerate() {
        let class = ["ant", "bee", "cat"][number % 3];
        let side = if number < 12 { "train" } else { "test" };
        std::fs::create_dir_all(photos.join(side).join(class)).unwrap();
        std::fs::write(photos.join(side).join(class).join(format!("{number}.jpg")), bytes).unwrap();
    }
    let photo = image::load_from_memory(&bytes[4]).unwrap();
    let file = std::fs::File::create(photos.join("test/cat/again.jpg")).unwrap();
    image::codecs::jpeg::JpegEncoder::new_with_quality(file, 60).encode_image(&photo).unwrap();
    let out = folder.path().join("run");
    run(photo_recipe(&photos), &out);
    assert_eq!(against(&out, false).0, Vec::<&str>::new());
    let (failed, says) = against(&out, true);
    assert_eq!(failed, ["sides"]);
    assert!(says.contains("`test/cat/again.jpg` looks like `train/bee/4.jpg`, which was learned from"), "{says}");
    assert_eq!(says.lines().count(), 2, "no other photo looks like one: {says}");
}

/// A sixth image of class 3 where five are allowed; record, memory and digests all agree.
#[test]
fn a_memory_that_is_too_large_is_found() {
    let (_folder, run) = honest();
    let images = lines(&run.join("tasks/01/images.jsonl"));
    let of_class = |usage: &'static str| images.iter().filter(move |image| image["use"] == usage && image["slot"] == 3);
    let kept: Vec<&Value> = of_class("keep").map(|image| &image["name"]).collect();
    let extra = of_class("learn").find(|image| !kept.contains(&&image["name"])).unwrap().clone();
    for task in 1..=3 {
        forge(&run, task, |images| {
            let mut image = extra.clone();
            image["use"] = json!("keep");
            image["stages"] = json!(["remember"]);
            images.push(image);
        });
        let path = run.join(format!("tasks/{task:02}/memory.json"));
        let mut memory: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        memory[3]["images"].as_array_mut().unwrap().push(json!({ "index": 0, "name": extra["name"] }));
        std::fs::write(&path, memory.to_string()).unwrap();
    }
    // It also makes the digests those of the memory.
    forge_record(&run, 1, |line| {
        if line["line"] == "memory" {
            line["exemplars"][3][1].as_array_mut().unwrap().push(extra["name"].clone());
        }
    });
    let (failed, says) = against(&run, false);
    assert_eq!(failed, ["memory"], "{says}");
    assert!(says.contains("task 1: 6 images of `") && says.contains("task 3: 6 images of `"), "{says}");
}

#[test]
fn a_memory_of_something_never_learned_from_is_found() {
    let (_folder, run) = honest();
    forge(&run, 2, |images| {
        let kept = images.iter_mut().find(|image| image["use"] == "keep" && image["slot"] == 13).unwrap();
        kept["hash"] = json!("0".repeat(64));
    });
    let (failed, says) = against(&run, false);
    assert_eq!(failed, ["files", "memory"], "{says}");
    assert!(says.contains("is kept, and was not learned from when it came"), "{says}");
}

#[test]
fn an_oracle_fails_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = small_recipe();
    recipe.train.epochs = 1;
    recipe.complete.epochs = 2;
    recipe.ghosts.generator = prescient::ghost::GeneratorKind::Real;
    let out = folder.path().join("oracle");
    run(recipe, &out);
    let (code, text, _) = prescient(&["audit", "oracle"], folder.path());
    assert_eq!(code, 1);
    assert!(text.contains("✗ time       an oracle: it read the future on purpose (ghosts are features of"), "{text}");
    assert!(text.contains("its class had not arrived yet\n") && text.contains(" more\n"), "{text}");
    assert_eq!(text.matches('✗').count(), 1, "{text}");

    // Taking the stamp off does not help: the recipe says it as well.
    edit(&out.join("record.jsonl"), |line| drop(line.as_object_mut().unwrap().remove("oracle")));
    common::reseal(&out);
    let (failed, says) = against(&out, false);
    assert_eq!(failed, ["time"]);
    assert!(says.contains("differ on whether the run is an oracle"), "{says}");
}

/// Task 1 looks at an image of class 20, which comes with task 3; task 3 at one of class 0 that was not kept.
#[test]
fn a_run_that_peeked_is_found() {
    let (_folder, run) = honest();
    let first = |task: usize, slot: usize| {
        let images = lines(&run.join(format!("tasks/{task:02}/images.jsonl")));
        images.into_iter().find(|image| image["use"] == "learn" && image["slot"] == slot).unwrap()
    };
    let early = first(3, 20);
    forge(&run, 1, |images| images.push(early.clone()));
    let kept: Vec<Value> = lines(&run.join("tasks/03/images.jsonl"));
    let is_kept = |image: &Value| kept.iter().any(|kept| kept["use"] == "keep" && kept["name"] == image["name"]);
    let gone = lines(&run.join("tasks/01/images.jsonl"))
        .into_iter()
        .find(|image| image["use"] == "learn" && image["slot"] == 0 && !is_kept(image))
        .unwrap();
    forge(&run, 3, |images| images.push(gone.clone()));
    let (failed, says) = against(&run, false);
    assert_eq!(failed, ["time"]);
    let (early, gone) = (early["name"].as_str().unwrap(), gone["name"].as_str().unwrap());
    assert!(says.contains(&format!("task 1 read `{early}`: its class had not arrived yet")), "{says}");
    assert!(says.contains(&format!("task 3 read `{gone}`: its class had passed, and it was not in memory")), "{says}");
}

#[test]
fn a_test_image_read_before_the_evaluation_is_found() {
    let (_folder, run) = honest();
    forge(&run, 2, |images| {
        images.iter_mut().find(|image| image["use"] == "test").unwrap()["stages"] = json!(["complete", "evaluate"]);
    });
    forge_record(&run, 3, |line| {
        if line["line"] == "images" {
            line["stages"].as_array_mut().unwrap().push(json!("train"));
        }
    });
    let (failed, says) = against(&run, false);
    assert_eq!(failed, ["test data"]);
    assert!(says.contains("in complete, evaluate\n"), "{says}");
    assert!(says.contains("task 3: expected one evaluation, at the end, found prepare, imprint, train"), "{says}");
}

#[test]
fn an_edited_list_of_images_is_found() {
    let (_folder, run) = honest();
    let path = run.join("tasks/02/images.jsonl");
    let mut images = lines(&path);
    images.pop();
    write_lines(&path, &images);
    let (failed, says) = against(&run, false);
    assert_eq!(failed, ["files", "answers"]);
    assert!(says.contains("`tasks/02/images.jsonl`: expected the digest "), "{says}");
    assert!(says.contains("task 2: the answers are not for the test images that were read"), "{says}");
}

/// Answers that were made right by hand: the record no longer fits together, and cannot even be read.
#[test]
fn edited_answers_are_found() {
    let (folder, run) = honest();
    forge_record(&run, 3, |line| {
        if line["line"] == "evaluation" {
            line["answers"]["seen"]["slots"] = line["answers"]["truth"].clone();
        }
    });
    let (code, _, error) = prescient(&["audit", "run"], folder.path());
    assert_eq!(code, 2);
    assert!(error.contains("the confusion of task 3 is not that of its answers"), "{error}");
}

#[test]
fn a_run_of_an_early_version_is_reported_and_cannot_be_audited() {
    let (folder, run) = honest();
    let mut record = lines(&run.join("record.jsonl"));
    record.retain(|line| line["line"] != "images" && line["line"] != "digests");
    record[0]["format"] = json!(1);
    write_lines(&run.join("record.jsonl"), &record);
    assert_eq!(prescient(&["report", "run"], folder.path()).0, 0);
    let (code, out, error) = prescient(&["audit", "run"], folder.path());
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("`run` cannot be audited: its record does not say which images it read"), "{error}");
    assert!(error.contains("hint: an early version"), "{error}");
}

/// AwA2 as the authors' loader deals it out: of each class's permutation the first 80 % train, all but the first 20 %
/// test. So three quarters of the test images are training images. aP&Y: all are (errata 9).
#[test]
fn the_authors_splits_leak() {
    let folder = tempfile::tempdir().unwrap();
    let mut awa2 = String::new();
    for class in 0..50 {
        for place in 0..100 {
            let path = format!("JPEGImages/class{class}/{:05}.jpg", place * 37 % 100);
            if place < 80 {
                awa2.push_str(&format!("train {path}\n"));
            }
            if place >= 20 {
                awa2.push_str(&format!("test {path}\n"));
            }
        }
    }
    let apy: String = (0..300)
        .flat_map(|photo| {
            let test = (photo % 5 == 0).then(|| format!("test,{photo}.jpg\n"));
            [Some(format!("train,{photo}.jpg\n")), test].into_iter().flatten()
        })
        .collect();
    std::fs::write(folder.path().join("awa2.txt"), awa2).unwrap();
    std::fs::write(folder.path().join("apy.csv"), format!("side,path\n{apy}")).unwrap();
    for (list, says) in [
        ("awa2.txt", "✗ 75.0 % of the test images are training images: 3000 of 4000"),
        ("apy.csv", "✗ 100.0 % of the test images are training images: 60 of 60"),
    ] {
        let (code, out, error) = prescient(&["audit", "--split", list], folder.path());
        assert_eq!(code, 1, "{out}");
        assert!(out.contains(says), "{out}");
        assert!(error.contains(&format!("the split `{list}` leaks")), "{error}");
    }
}

#[test]
fn a_split_is_compared_by_pixels_where_its_files_are_here() {
    let folder = tempfile::tempdir().unwrap();
    drawn_photos(folder.path(), &["ant"], 3, 2);
    let list = "train train/ant/0.png\ntrain train/ant/1.png\ntest test/ant/0.png\ntest test/ant/1.png\n";
    std::fs::write(folder.path().join("split.txt"), list).unwrap();
    let (code, out, _) = prescient(&["audit", "--split", "split.txt"], folder.path());
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains("4 of them are here") && out.contains("✓ 0.0 % of the test images are training images"),
        "{out}"
    );
    // Another name, and another file: but the same pixels.
    image::open(folder.path().join("train/ant/1.png")).unwrap().save(folder.path().join("test/ant/1.bmp")).unwrap();
    std::fs::write(folder.path().join("split.txt"), list.replace("test/ant/1.png", "test/ant/1.bmp")).unwrap();
    let (code, out, _) = prescient(&["audit", "--split", "split.txt", "--json"], folder.path());
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &json["same_content"]), (1, &json!(["`test/ant/1.bmp` is `train/ant/1.png`"])));
}

/// Runs a recipe that comes along, as small as it gets, and audits it.
fn passes(recipe: &str, sets: &[&str], at: &Path) {
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let arguments: Vec<&str> = ["run", recipe, "--out", recipe, "--device", "cpu"].into_iter().chain(sets).collect();
    let (code, out, error) = prescient(&arguments, at);
    assert_eq!(code, 0, "{recipe}: {out}{error}");
    let (code, out, error) = prescient(&["audit", recipe], at);
    assert_eq!(code, 0, "{recipe}: {out}{error}");
    assert_eq!(out.matches('✓').count(), 6, "{out}");
}

const SHORT: [&str; 4] = ["train.epochs=1", "finetune.epochs=1", "complete.epochs=1", "ghosts.per_class=20"];

#[test]
fn the_demos_pass() {
    let folder = tempfile::tempdir().unwrap();
    let tiny = [&SHORT[..], &["data.train=24", "data.test=4", "model.extractor.width=4"]].concat();
    passes("demo-base", &tiny, folder.path());
    passes("demo-ghost", &[&tiny[..], &["ghosts.generator.epochs=2"]].concat(), folder.path());
}

/// Thirty digits of each class to learn from, three to be asked about.
#[test]
fn the_digits_pass() {
    let Some(path) = real_data("mnist") else { return };
    let (mnist, folder) = (Mnist::open(&path).unwrap(), tempfile::tempdir().unwrap());
    for (subset, side, count) in [(Subset::Train, "train", 30), (Subset::Test, "t10k", 3)] {
        let of_class =
            |class| mnist.samples(subset).iter().filter(move |sample| sample.class.index() == class).take(count);
        let samples: Vec<_> = (0..10).flat_map(of_class).collect();
        let numbers = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
        let mut images = numbers(&[2051, samples.len() as u32, 28, 28]);
        let mut labels = numbers(&[2049, samples.len() as u32]);
        for sample in samples {
            images.extend(mnist.image(sample).unwrap().pixels);
            labels.push(sample.class.0 as u8);
        }
        std::fs::write(folder.path().join(format!("{side}-images-idx3-ubyte")), images).unwrap();
        std::fs::write(folder.path().join(format!("{side}-labels-idx1-ubyte")), labels).unwrap();
    }
    passes("mnist-podnet", &["train.epochs=1", "data.path=."], folder.path());
    // Two epochs, so that ghosts are drawn anew.
    let sets = ["train.epochs=2", "finetune.epochs=1", "complete.epochs=1", "memory.per_class=2"].map(str::to_owned);
    let sets = [&sets[..], &[format!("data.path={:?}", folder.path())]].concat();
    for (name, text) in ["mnist3", "mnist6", "mnist-joint"].into_iter().flat_map(recipes_of) {
        let run = folder.path().join(&name);
        let recipe = overridden(&text, Path::new(&name), &sets).unwrap();
        Experiment::new(recipe, Device::Cpu).unwrap().run(&run, None, &mut Silent).unwrap();
        assert_audited(&run, false);
    }
}

/// Twenty-four photos of each animal to learn from, four to be asked about.
#[test]
fn the_animals_pass() {
    let Some(animals) = real_data("animals12") else { return };
    let (files, folder) = (Files::open(&animals.join("images.zip")).unwrap(), tempfile::tempdir().unwrap());
    for (side, count) in [("train/", 24), ("test/", 4)] {
        for class in files.entries(side).unwrap() {
            std::fs::create_dir_all(folder.path().join(&class)).unwrap();
            for name in files.entries(&class).unwrap().into_iter().take(count) {
                std::fs::write(folder.path().join(&name), files.read(&name).unwrap()).unwrap();
            }
        }
    }
    let table = format!("data.attributes=[{:?}]", animals.join("attributes.csv").canonicalize().unwrap());
    let sets = ["data.path=.", &table, "model.extractor.width=4", "ghosts.generator.epochs=2"];
    passes("animals12-podnet-ghost-svm", &[&SHORT[..], &sets].concat(), folder.path());
}
