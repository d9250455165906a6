//! Whole experiments: reproducible, resumable, honest, and better than forgetting.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Stages, bytes, features, run, small_recipe, terms_of_task_2};
use prescient::data::{Source, SyntheticSettings};
use prescient::engine::{TensorFile, write_tensors};
use prescient::evaluation::metrics;
use prescient::experiment::record::Line;
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::learner::Silent;
use prescient::loss::DistillationKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tch::{Device, Kind, Tensor};

fn value(record: &Record, name: &str) -> f64 {
    metrics::find(name).unwrap().value(&record.run(), record.start.tasks.len()).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let [one, again, other] = ["one", "again", "other"].map(|name| folder.path().join(name));
    run(small_recipe(), &one);
    run(small_recipe(), &again);
    run(Recipe { seed: 2, ..small_recipe() }, &other);
    assert!(bytes(&one) == bytes(&again), "the same seed gave another record");
    assert!(bytes(&one) != bytes(&other), "another seed gave the same record");
    let weights = |run: &Path| std::fs::read(run.join("tasks/03/weights.safetensors")).unwrap();
    assert!(weights(&one) == weights(&again), "the same seed gave other weights");
}

#[test]
fn a_run_stopped_after_task_2_and_resumed_is_one_never_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    run(small_recipe(), &whole);

    let experiment = Experiment::new(small_recipe(), Device::Cpu).unwrap();
    let stopped = experiment.run(&parts, Some(2), &mut Silent).unwrap();
    assert_eq!(stopped.evaluations().count(), 2);
    // As a kill in the middle of task 3 would leave it.
    std::fs::create_dir_all(parts.join("tasks/03.tmp")).unwrap();
    std::fs::write(parts.join("tasks/03.tmp/weights.safetensors"), b"half").unwrap();

    Experiment::resume(&parts, Device::Cpu, None, &mut Silent).unwrap();
    assert!(bytes(&whole) == bytes(&parts), "the resumed run gave another record");
    assert!(!parts.join("tasks/03.tmp").exists());
    // The times in it differ; what is told, and so its length, does not.
    let told = |run: &Path| std::fs::metadata(run.join("events.out.tfevents.prescient")).unwrap().len();
    assert_eq!(told(&whole), told(&parts), "the resumed run told TensorBoard something else");
    let weights = |run: &Path| std::fs::read(run.join("tasks/03/weights.safetensors")).unwrap();
    assert!(weights(&whole) == weights(&parts), "the resumed run gave other weights");
    assert!(features(&whole, 3) == features(&parts, 3), "the resumed run kept other features");
}

#[test]
fn a_run_killed_between_task_and_record_is_put_right() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let experiment = Experiment::new(small_recipe(), Device::Cpu).unwrap();
    experiment.run(&out, Some(2), &mut Silent).unwrap();
    let whole = bytes(&out);
    let first_task: Vec<u8> = whole
        .split_inclusive(|&byte| byte == b'\n')
        .take_while(|line| !String::from_utf8_lossy(line).contains(r#""task":2"#))
        .flatten()
        .copied()
        .collect();
    assert!(first_task.len() < whole.len());
    std::fs::write(out.join("record.jsonl"), first_task).unwrap();
    Experiment::resume(&out, Device::Cpu, Some(2), &mut Silent).unwrap();
    assert!(bytes(&out) == whole);
}

/// A run of before `memory.repeat` and `train.restarts`, which it had at their defaults all along.
#[test]
fn a_run_that_is_older_than_a_key_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    Experiment::new(small_recipe(), Device::Cpu).unwrap().run(&out, Some(2), &mut Silent).unwrap();
    let lines = ["repeat = 1", "restarts = 1"];
    let files = [("recipe.toml", "\n"), ("record.jsonl", r"\n")];
    for (file, line) in files.iter().flat_map(|(file, end)| lines.map(|line| (file, format!("{line}{end}")))) {
        let text = std::fs::read_to_string(out.join(file)).unwrap();
        assert_eq!(text.matches(&line).count(), 1, "{file}");
        std::fs::write(out.join(file), text.replace(&line, "")).unwrap();
    }
    common::reseal(&out);
    let record = Experiment::resume(&out, Device::Cpu, None, &mut Silent).unwrap();
    assert_eq!(record.evaluations().count(), 3);
}

/// Whoever changes tensors and covers it up, or has a run of an early version without digests: each tensor of another shape is
/// named, and one in double precision is as good as before.
#[test]
fn tensors_of_another_shape_are_refused_before_a_task_begins() {
    let text = r#"
        data = { kind = "synthetic", train = 4, test = 1 }
        scenario.split = "12+6+6"
        model.extractor = { kind = "small-cnn", features = 4, width = 2 }
        train = { epochs = 1, batch_size = 32 }
        finetune.epochs = 1
        complete.epochs = 1
        ghosts = { per_class = 4, init_from_ghosts = true, generator = { kind = "gaussian" } }
    "#;
    let folder = tempfile::tempdir().unwrap();
    let (made, out) = (folder.path().join("made"), folder.path().join("run"));
    Experiment::new(text.parse().unwrap(), Device::Cpu).unwrap().run(&made, Some(2), &mut Silent).unwrap();
    let file = TensorFile::open(&made.join("tasks/02/weights.safetensors")).unwrap();
    let tensors = || file.names().unwrap().into_iter().map(|name| (file.read(&name, None).unwrap(), name));
    let resumed = |tensors: BTreeMap<String, Tensor>| {
        let _ = std::fs::remove_dir_all(&out);
        common::copy_files(&made, &out);
        for task in ["tasks/01", "tasks/02"] {
            common::copy_files(&made.join(task), &out.join(task));
        }
        write_tensors(&out.join("tasks/02/weights.safetensors"), &tensors).unwrap();
        common::reseal(&out);
        Experiment::resume(&out, Device::Cpu, None, &mut Silent).map_err(|error| error.to_string())
    };
    for changed in file.names().unwrap() {
        let deeper = tensors().map(|(tensor, name)| match name == changed {
            true => (name, tensor.unsqueeze(0)),
            false => (name, tensor),
        });
        let says = resumed(deeper.collect()).unwrap_err();
        assert!(says.contains(&format!("`{changed}`: expected")), "{changed}: {says}");
    }
    let without_ghosts = tensors().filter(|(_, name)| name != "ghosts.proxies").map(|(tensor, name)| (name, tensor));
    let says = resumed(without_ghosts.collect()).unwrap_err();
    assert!(says.contains("expected a row for each of the 6 classes of task 3, found 0"), "{says}");

    let single = resumed(tensors().map(|(tensor, name)| (name, tensor)).collect()).unwrap();
    let double = resumed(tensors().map(|(tensor, name)| (name, tensor.to_kind(Kind::Double))).collect()).unwrap();
    assert!(single.evaluations().eq(double.evaluations()), "double precision gave other answers");
}

#[test]
fn resuming_on_other_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let table = common::photo_folder(&folder.path().join("photos"), &["ant", "bee", "cat"]);
    let text = format!(
        "[data]\nkind = \"folder\"\npath = {:?}\nattributes = [{:?}]\n[scenario]\nsplit = \"2+1\"\n\
         [model]\nextractor = {{ kind = \"small-cnn\", width = 4 }}\n[train]\nepochs = 1\nbatch_size = 4\n",
        folder.path().join("photos"),
        table
    );
    let recipe = Recipe::parse(&text, Path::new("r.toml")).unwrap();
    let out = folder.path().join("run");
    Experiment::new(recipe, Device::Cpu).unwrap().run(&out, Some(1), &mut Silent).unwrap();
    std::fs::remove_file(folder.path().join("photos/train/cat/3.png")).unwrap();
    let error = Experiment::resume(&out, Device::Cpu, None, &mut Silent).unwrap_err();
    assert!(error.to_string().starts_with("the data of this run has changed"), "{error}");
    assert_eq!(Record::read(&out.join("record.jsonl")).unwrap().evaluations().count(), 1, "nothing is lost");
}

#[test]
fn the_memory_keeps_s_images_of_each_seen_class() {
    let folder = tempfile::tempdir().unwrap();
    let record = run(small_recipe(), &folder.path().join("run"));
    let kept: Vec<_> = record
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Memory(kept) => Some(kept),
            _ => None,
        })
        .collect();
    assert_eq!(kept.iter().map(|kept| kept.exemplars.len()).collect::<Vec<_>>(), [12, 6, 6]);
    for (slot, images) in kept.iter().flat_map(|kept| &kept.exemplars) {
        let distinct: BTreeSet<_> = images.iter().collect();
        assert_eq!(distinct.len(), 5);
        assert!(images.iter().all(|image| image.contains(&record.start.classes[slot.index()])));
    }
}

/// Batches of 32, two epochs. Task 1 has 12 classes of 20 images, 8 steps an epoch. Tasks 2 and 3 have 6, and 12 and 18 old ones
/// of 5: seen once 180 and 210 images, 6 and 7 steps; four times 360 and 480, 12 and 15 steps; not at all 120, 4 steps.
#[test]
fn the_past_is_seen_as_often_as_the_recipe_says() {
    let folder = tempfile::tempdir().unwrap();
    for (repeat, steps) in [(1, [16, 12, 14]), (4, [16, 24, 30]), (0, [16, 8, 8])] {
        let mut recipe = small_recipe();
        recipe.memory.repeat = repeat;
        let mut stages = Stages::default();
        let experiment = Experiment::new(recipe, Device::Cpu).unwrap();
        experiment.run(&folder.path().join(repeat.to_string()), None, &mut stages).unwrap();
        assert_eq!(stages.of("train"), steps, "{repeat} times");
    }
}

/// Three tasks, base model against plain fine-tuning: no distillation, no memory.
#[test]
fn the_base_model_beats_fine_tuning_by_a_clear_margin() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = small_recipe();
    recipe.train.epochs = 5;
    recipe.memory.per_class = 10;
    recipe.data = Source::Synthetic(SyntheticSettings { train: 40, test: 10 }).into();
    let base = run(recipe.clone(), &folder.path().join("base"));
    recipe.loss.distillation = DistillationKind::None;
    recipe.memory.per_class = 0;
    let naive = run(recipe, &folder.path().join("naive"));

    let (base_final, naive_final) = (value(&base, "final"), value(&naive, "final"));
    assert!(base_final > naive_final + 0.25, "base {base_final:.3}, fine-tuning {naive_final:.3}");
    let (base_forgets, naive_forgets) = (value(&base, "forgetting"), value(&naive, "forgetting"));
    assert!(naive_forgets > 0.5, "forgetting is real: {naive_forgets:.3}");
    assert!(base_forgets < naive_forgets - 0.25, "base {base_forgets:.3}, fine-tuning {naive_forgets:.3}");
}

#[test]
fn the_base_model_has_no_answer_for_the_future() {
    let folder = tempfile::tempdir().unwrap();
    let record = run(small_recipe(), &folder.path().join("run"));
    for evaluation in record.evaluations() {
        let seen = record.present(evaluation.task).range().end;
        assert!(evaluation.answers.unseen.is_none());
        assert!(evaluation.answers.seen.slots.iter().all(|slot| slot.index() < seen));
        assert!(evaluation.answers.seen.scores.iter().all(|score| (-1.001..=1.001).contains(score)));
    }
}

#[test]
fn ucir_and_joint_training_run_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = small_recipe();
    recipe.loss.distillation = DistillationKind::LessForget(Default::default());
    let record = run(recipe.clone(), &folder.path().join("ucir"));
    assert_eq!(terms_of_task_2(&record), ["less-forget", "nca"]);

    recipe.scenario.split = Some("24".parse().unwrap());
    assert_eq!(run(recipe, &folder.path().join("joint")).evaluations().count(), 1);
}
