//! Whole experiments of the Ghost model: it guesses, resumes, can be taken apart and looked into, and oracles say so.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Stages, assert_audited, bytes, features, run, small_recipe, terms_of_task_2};
use prescient::data::{Source, SyntheticSettings};
use prescient::engine::TensorFile;
use prescient::evaluation::{Points, Scatter, metrics};
use prescient::experiment::record::Epoch;
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::extractor::{ExtractorKind, SmallCnn};
use prescient::ghost::GeneratorKind;
use prescient::learner::{Event, Observer, Oracle, Reduction, Silent, TargetName};
use prescient::loss::DistillationKind;
use std::collections::BTreeSet;
use std::path::Path;
use tch::Device;

fn ghost_recipe() -> Recipe {
    let mut recipe = small_recipe();
    recipe.train.epochs = 1;
    recipe.finetune.epochs = 1;
    recipe.complete.epochs = 3;
    recipe.complete.batch_size = 256;
    recipe.calibrate.max_seen_drop = 0.05;
    recipe.ghosts.per_class = 20;
    recipe.ghosts.l2_normalize = true;
    let gmmn = prescient::ghost::generator::Gmmn { epochs: 5, lr: 1e-3, hidden: 32, ..Default::default() };
    recipe.ghosts.generator = GeneratorKind::Gmmn(gmmn);
    recipe
}

/// What was told of the epochs of a task.
fn epochs(record: &Record, task: usize) -> Vec<&Epoch> {
    record.epochs().filter(|epoch| epoch.task == task).collect()
}

/// The same, of the main training alone.
fn train(record: &Record, task: usize) -> Vec<&Epoch> {
    epochs(record, task).into_iter().filter(|epoch| epoch.stage == "train").collect()
}

/// The whole Ghost model in small: it guesses, it resumes byte for byte, and it does without a memory.
#[test]
fn the_ghost_model_guesses_and_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = small_recipe();
    recipe.train.epochs = 4;
    recipe.complete.epochs = 5;
    recipe.ghosts.per_class = 40;
    for (name, generator) in [
        ("gmmn", r#"{ kind = "gmmn", epochs = 10, lr = 1e-3, hidden = 32 }"#),
        ("gaussian", r#"{ kind = "gaussian" }"#),
    ] {
        let text = format!("[ghosts]\ngenerator = {generator}\n");
        recipe.ghosts.generator = Recipe::parse(&text, Path::new("g.toml")).unwrap().ghosts.generator;
        let [whole, parts] = ["whole", "parts"].map(|part| folder.path().join(format!("{name}-{part}")));
        let record = run(recipe.clone(), &whole);
        for (evaluation, future) in record.evaluations().zip([12, 6, 0]) {
            let unseen = evaluation.answers.unseen.as_ref();
            assert_eq!(unseen.is_some(), future > 0, "{name}, task {}", evaluation.task);
            assert!(unseen.is_none_or(|best| best.slots.iter().all(|slot| slot.index() >= 24 - future)));
            assert_eq!(evaluation.answers.offset.is_some(), future > 0);
        }
        assert_eq!(terms_of_task_2(&record), ["nca-ghost", "pod", "pod-flat", "svm-reg"]);

        Experiment::new(recipe.clone(), Device::Cpu).unwrap().run(&parts, Some(1), &mut Silent).unwrap();
        Experiment::resume(&parts, Device::Cpu, None, &mut Silent).unwrap();
        assert!(bytes(&whole) == bytes(&parts), "{name}: the resumed run gave another record");
        assert!(features(&whole, 2) == features(&parts, 2), "{name}: the resumed run kept other features");
    }
    recipe.memory.per_class = 0;
    recipe.train.epochs = 12;
    let record = run(recipe, &folder.path().join("no-memory"));
    let present = metrics::find("present").unwrap().value(&record.run(), 2).unwrap();
    assert!(present > 0.3, "without a memory the newest classes are still known: {present}");
}

/// A tensor of a task's checkpoint, as plain numbers.
fn saved(run: &Path, task: usize, name: &str) -> Vec<f32> {
    let file = TensorFile::open(&run.join(format!("tasks/{task:02}/weights.safetensors"))).unwrap();
    Vec::<f32>::try_from(file.read(name, None).unwrap().flatten(0, -1)).unwrap()
}

/// All that a checkpoint has of `f` and `clf`, as one vector.
fn weights(run: &Path, task: usize) -> Vec<f64> {
    let file = TensorFile::open(&run.join(format!("tasks/{task:02}/weights.safetensors"))).unwrap();
    let names = file.names().unwrap().into_iter().filter(|name| !name.starts_with("generator."));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.iter().flat_map(|name| saved(run, task, name)).map(f64::from).collect()
}

/// The distance between two vectors.
fn distance(one: &[f64], other: &[f64]) -> f64 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// With a rate of 0 from task 2 on, proxies stay where they start: the six classes of task 3 lie exactly where task 2 kept a place
/// for them, the first six of its ghosts' twelve proxies. Imprinted from their images they lie elsewhere. The place outlives a stop.
#[test]
fn new_classes_start_from_their_ghosts() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = small_recipe();
    recipe.complete.epochs = 2;
    recipe.finetune.epochs = 0;
    recipe.train.incremental_lr = Some(0.0);
    recipe.ghosts.per_class = 40;
    recipe.ghosts.generator = GeneratorKind::Gaussian(Default::default());
    recipe.scenario.split = Some("6+6+6+6".parse().unwrap());
    let [imprinted, whole, parts] = ["imprinted", "whole", "parts"].map(|name| folder.path().join(name));
    run(recipe.clone(), &imprinted);
    recipe.ghosts.init_from_ghosts = true;
    run(recipe.clone(), &whole);
    let width = 32;
    for (run, from_ghosts) in [(&whole, true), (&imprinted, false)] {
        for task in [3, 4] {
            let kept = saved(run, task - 1, "ghosts.proxies");
            assert_eq!(kept.len(), 6 * (5 - task) * width, "proxies of all future classes");
            let started = saved(run, task, &format!("classifier.proxies.{task}"));
            assert_eq!(started.len(), 6 * width);
            assert_eq!(started == kept[..6 * width], from_ghosts, "task {task} of {}", run.display());
        }
    }
    assert_eq!(saved(&whole, 2, "classifier.proxies.2"), saved(&imprinted, 2, "classifier.proxies.2"), "no ghosts yet");

    Experiment::new(recipe, Device::Cpu).unwrap().run(&parts, Some(2), &mut Silent).unwrap();
    Experiment::resume(&parts, Device::Cpu, None, &mut Silent).unwrap();
    assert!(bytes(&whole) == bytes(&parts), "the resumed run gave another record");
}

/// Half as many ghosts as images, 16 with 32 and 10 with 20, and a rate of 0, so that both runs see the same in every batch: over
/// images alone the same sum is divided by 2/3 as many, and the loss is 1.5 times the mean over both.
#[test]
fn the_loss_is_averaged_over_what_the_recipe_says() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, reduction: Reduction| {
        let mut recipe = ghost_recipe();
        recipe.train.incremental_lr = Some(0.0);
        recipe.ghosts.ratio = Some(0.5);
        recipe.ghosts.reduction = reduction;
        let experiment = Experiment::new(recipe, Device::Cpu).unwrap();
        experiment.run(&folder.path().join(name), Some(2), &mut Silent).unwrap()
    };
    let (both, images) = (run("both", Reduction::ImagesAndGhosts), run("images", Reduction::Images));
    assert_eq!(epochs(&both, 1), epochs(&images, 1), "the first task has no ghosts");
    let (both, images) = (&train(&both, 2)[0].terms, &train(&images, 2)[0].terms);
    let ratio = images["nca-ghost"] / both["nca-ghost"];
    assert!((ratio - 1.5).abs() < 1e-5, "{ratio}");
    for term in ["pod", "pod-flat", "svm-reg"] {
        assert_eq!(both[term], images[term], "{term} has nothing to do with it");
    }
}

/// One step in the whole task, without weight decay: 240 images in a batch, one epoch, and momentum starts at rest. A rate of 0 leaves
/// the first weights. A gradient held to 0.05 moves all weights together by 0.1 · 0.05, and one left alone moves them further.
#[test]
fn a_clipped_gradient_moves_weights_by_the_rate_times_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let after = |name: &str, lr: f64, limit: Option<f64>| {
        let mut recipe = small_recipe();
        recipe.train.epochs = 1;
        recipe.train.batch_size = 240;
        recipe.train.weight_decay = 0.0;
        (recipe.train.lr, recipe.train.grad_clip_norm) = (lr, limit);
        let out = folder.path().join(name);
        Experiment::new(recipe, Device::Cpu).unwrap().run(&out, Some(1), &mut Silent).unwrap();
        weights(&out, 1)
    };
    let first = after("first", 0.0, None);
    let [clipped, loose, free] = [("clipped", Some(0.05)), ("loose", Some(1e6)), ("free", None)]
        .map(|(name, limit)| distance(&first, &after(name, 0.1, limit)));
    assert!((clipped / (0.1 * 0.05) - 1.0).abs() < 0.01, "{clipped}");
    assert!(free > 2.0 * clipped, "{free} and {clipped}");
    assert_eq!(loose, free, "a limit that is not reached changes nothing");
}

/// Ghosts in the first task: it has their loss and their planes, `g` learns before its first epoch, actual images are looked at
/// without it; a stop changes nothing, and the auditor has nothing against it but what it has against an oracle.
#[test]
fn ghosts_can_come_first() {
    let folder = tempfile::tempdir().unwrap();
    for (name, generator) in [
        ("gmmn", ghost_recipe().ghosts.generator),
        ("gaussian", GeneratorKind::Gaussian(Default::default())),
        ("real", GeneratorKind::Real),
    ] {
        let mut recipe = ghost_recipe();
        recipe.ghosts.generator = generator;
        recipe.train.epochs = 2;
        recipe.ghosts.refresh_epochs = 1;
        recipe.ghosts.init_from_ghosts = true;
        let [whole, parts] = ["whole", "parts"].map(|part| folder.path().join(format!("{name}-{part}")));
        let record = run(recipe.clone(), &whole);
        let first: BTreeSet<&str> =
            train(&record, 1).into_iter().flat_map(|epoch| epoch.terms.keys().map(String::as_str)).collect();
        assert_eq!(first, ["nca-ghost", "svm-reg"].into(), "{name}");
        // Before task 1 and after each first epoch of a task with ghosts.
        let caught_up: Vec<(usize, usize)> = [1, 2, 3]
            .iter()
            .flat_map(|&task| epochs(&record, task))
            .filter(|epoch| epoch.stage == "refresh")
            .map(|epoch| (epoch.task, epoch.epoch))
            .collect();
        assert_eq!(caught_up, if name == "real" { vec![] } else { vec![(1, 0), (1, 1), (2, 1)] }, "{name}");
        assert_audited(&whole, false);

        Experiment::new(recipe, Device::Cpu).unwrap().run(&parts, Some(1), &mut Silent).unwrap();
        Experiment::resume(&parts, Device::Cpu, None, &mut Silent).unwrap();
        assert!(bytes(&whole) == bytes(&parts), "{name}: the resumed run gave another record");
    }
}

/// With ghosts in task 1 the classes of task 2 have a place to start from: a rate of 0 leaves them exactly there.
#[test]
fn classes_of_the_second_task_can_start_from_ghosts_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = ghost_recipe();
    recipe.finetune.epochs = 0;
    recipe.train.incremental_lr = Some(0.0);
    recipe.ghosts.refresh_epochs = 1;
    for from_ghosts in [false, true] {
        recipe.ghosts.init_from_ghosts = from_ghosts;
        let out = folder.path().join(from_ghosts.to_string());
        Experiment::new(recipe.clone(), Device::Cpu).unwrap().run(&out, Some(2), &mut Silent).unwrap();
        let (kept, started) = (saved(&out, 1, "ghosts.proxies"), saved(&out, 2, "classifier.proxies.2"));
        assert_eq!(started == kept[..started.len()], from_ghosts);
    }
}

/// What is kept to be drawn, task by task.
#[derive(Default)]
struct Drawn(Vec<Scatter>);

impl Observer for Drawn {
    fn on_event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Imagined { ghosts, zones, .. } => {
                self.0.push(Scatter { ghosts: ghosts.clone(), zones: zones.to_vec(), ..Default::default() });
            }
            Event::Scattered { scatter, .. } => {
                let Scatter { ghosts, zones, .. } = self.0.pop().unwrap();
                self.0.push(Scatter { ghosts, zones, ..scatter.clone() });
            }
            _ => {}
        }
    }
}

/// Where directions train, `g` imagines directions, and images are drawn as long. An oracle's ghosts have the lengths that `f` gives
/// them, and so have the images beside them. A zone is around the ghosts as they are drawn.
#[test]
fn a_plane_is_drawn_as_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let lengths = |points: &Points| -> Vec<f32> { points.rows(2).map(|(_, row)| row[0].hypot(row[1])).collect() };
    for (name, generator) in [("gmmn", ghost_recipe().ghosts.generator), ("real", GeneratorKind::Real)] {
        let mut recipe = ghost_recipe();
        recipe.model.extractor = ExtractorKind::SmallCnn(SmallCnn { features: 2, width: 8 });
        recipe.ghosts.generator = generator;
        let mut drawn = Drawn::default();
        Experiment::new(recipe, Device::Cpu).unwrap().run(&folder.path().join(name), Some(1), &mut drawn).unwrap();
        let scatter = &drawn.0[0];
        let directions = lengths(&scatter.real).iter().all(|length| (length - 1.0).abs() < 1e-4);
        assert_eq!(directions, name == "gmmn", "{name}");
        let max_norm = |points: &Points| lengths(points).into_iter().fold(0.0, f32::max);
        let ratio = max_norm(&scatter.ghosts) / max_norm(&scatter.real);
        assert!((0.3..3.0).contains(&ratio), "{name}: ghosts and images are drawn to one scale: {ratio}");
        assert_eq!(scatter.zones.len(), 12, "{name}");
        // Twenty of a class, and all of them are kept.
        for zone in &scatter.zones {
            let theirs = || scatter.ghosts.rows(2).filter(|(slot, _)| *slot == zone.slot);
            assert_eq!(theirs().count(), 20, "{name}");
            for (axis, centre) in zone.centre.iter().enumerate() {
                let mean = theirs().map(|(_, row)| row[axis]).sum::<f32>() / 20.0;
                assert!((mean - centre).abs() < 1e-4 * max_norm(&scatter.ghosts), "{name}: {mean} and {centre}");
            }
        }
    }
}

/// Five epochs, ghosts drawn anew after every second, from the first task on: each of two tasks has planes at its start and at two
/// renewals, and each time says how much is left to do. Without, ghosts take part in the second task alone.
#[test]
fn ghosts_can_be_drawn_anew() {
    let folder = tempfile::tempdir().unwrap();
    for (name, generator) in [("gmmn", ghost_recipe().ghosts.generator), ("real", GeneratorKind::Real)] {
        let mut recipe = ghost_recipe();
        recipe.ghosts.generator = generator;
        recipe.train.epochs = 5;
        let run = |name: &str, refresh: usize| {
            let (mut recipe, mut stages) = (recipe.clone(), Stages::default());
            recipe.ghosts.refresh_epochs = refresh;
            let experiment = Experiment::new(recipe, Device::Cpu).unwrap();
            (experiment.run(&folder.path().join(name), Some(2), &mut stages).unwrap(), stages)
        };
        let ghosts =
            |record: &Record, task| train(record, task).iter().all(|epoch| epoch.terms.contains_key("nca-ghost"));
        let (once, stages) = run(&format!("{name}-once"), 0);
        assert_eq!((ghosts(&once, 1), ghosts(&once, 2)), (false, true), "{name}");
        assert_eq!((stages.of("svm").len(), stages.of("refresh").len()), (1, 0), "{name}");
        let (anew, stages) = run(name, 2);
        assert_eq!((ghosts(&anew, 1), ghosts(&anew, 2)), (true, true), "{name}");
        // `g` learns a fresh `f` before the first task as well.
        assert_eq!(stages.of("refresh").len(), if name == "gmmn" { 5 } else { 0 }, "{name}");
        assert_eq!(stages.of("svm").len(), 6, "{name}");
        // 12 classes of 20 images, 32 a batch: 8 steps an epoch. Then 6 of 20 and 12 old ones of 5: 6.
        assert_eq!(stages.of("train"), [40, 24, 8, 30, 18, 6], "{name}");
    }
}

/// Each part can be taken out by its recipe, and what is left runs to its end without it.
#[test]
fn any_one_part_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let left_out = |name: &str, change: &dyn Fn(&mut Recipe)| {
        let mut recipe = ghost_recipe();
        change(&mut recipe);
        run(recipe, &folder.path().join(name))
    };
    let stages = |record: &Record| -> Vec<String> { record.epochs().map(|epoch| epoch.stage.clone()).collect() };
    let whole = left_out("whole", &|_| ());
    assert!(["nca-ghost", "svm-reg", "pod"].iter().all(|term| terms_of_task_2(&whole).contains(&term.to_string())));
    let no_svm = left_out("svm", &|recipe| recipe.loss.svm_reg.weight = 0.0);
    assert!(!terms_of_task_2(&no_svm).contains(&"svm-reg".to_owned()));
    let no_distillation = left_out("distillation", &|recipe| recipe.loss.distillation = DistillationKind::None);
    assert!(!terms_of_task_2(&no_distillation).contains(&"pod".to_owned()));
    let no_memory = left_out("memory", &|recipe| recipe.memory.per_class = 0);
    assert!(!stages(&no_memory).contains(&"finetune".to_owned()), "nothing to balance with");
    let no_balance = left_out("balance", &|recipe| recipe.finetune.epochs = 0);
    assert!(!stages(&no_balance).contains(&"finetune".to_owned()));
    let no_ghosts = left_out("ghosts", &|recipe| recipe.ghosts.generator = GeneratorKind::None);
    assert!(no_ghosts.evaluations().all(|evaluation| evaluation.answers.unseen.is_none()));
}

/// After task 1 twelve classes are seen and twelve are not; the base model has nothing to look at.
#[test]
fn ghosts_can_be_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ghost");
    run(ghost_recipe(), &path);
    let inspect = |path: &Path, task| Experiment::inspect(path, Device::Cpu, task);
    let first = inspect(&path, Some(1)).unwrap();
    assert_eq!((first.task, first.classes.len()), (1, 24));
    assert_eq!(first.classes.iter().filter(|likeness| likeness.seen).count(), 12);
    for likeness in &first.classes {
        assert!((0.0..=180.0).contains(&likeness.turned) && likeness.spread > 0.0, "{likeness:?}");
        assert!((0.0..=1.0).contains(&likeness.agree) && likeness.mmd > -1e-6, "{likeness:?}");
    }
    assert_eq!(inspect(&path, None).unwrap().task, 2, "the last task has no future left");
    assert_eq!(first, inspect(&path, Some(1)).unwrap(), "the same every time");
    let says = |task| inspect(&path, Some(task)).err().unwrap().to_string();
    assert_eq!(says(3), "after task 3, the last of this run, every class has arrived: there is none to imagine");
    assert_eq!(says(4), "task 4 of this run is not finished: 3 are");
    let once = folder.path().join("once");
    let mut recipe = ghost_recipe();
    recipe.scenario.split = Some("24".parse().unwrap());
    run(recipe, &once);
    let says = inspect(&once, None).err().unwrap().to_string();
    assert_eq!(says, "this run has one task: every class arrives in it, and there is none to imagine");
    let base = folder.path().join("base");
    run(small_recipe(), &base);
    assert!(inspect(&base, None).err().unwrap().to_string().contains("imagines nothing"));
}

/// The control: proxies of seen classes train once more, nothing of the future is read or guessed, and what is learned before is the
/// base model's.
#[test]
fn the_control_trains_seen_proxies_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = small_recipe();
    recipe.complete.epochs = 3;
    let base = run(recipe.clone(), &folder.path().join("base"));
    recipe.complete.seen_only = true;
    let out = folder.path().join("control");
    let control = run(recipe, &out);
    assert_audited(&out, false);
    assert_eq!(control.start.oracle, None);
    let completed = |record: &Record| -> Vec<usize> {
        record.epochs().filter(|epoch| epoch.stage == "complete").map(|epoch| epoch.task).collect()
    };
    assert_eq!((completed(&base), completed(&control)), (vec![], vec![1, 1, 1, 2, 2, 2]));
    assert_eq!((train(&base, 1), train(&base, 2)), (train(&control, 1), train(&control, 2)));
    assert!(control.evaluations().all(|evaluation| evaluation.answers.unseen.is_none()));
    let scores = |record: &Record| record.evaluations().next().unwrap().answers.seen.scores.clone();
    assert_ne!(scores(&base), scores(&control), "other proxies answer");
}

/// Table 4, "w/ real features": actual features train, and the generator answers.
#[test]
fn an_oracle_of_the_training_still_answers_through_its_generator() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = ghost_recipe();
    let honest = run(recipe.clone(), &folder.path().join("honest"));
    recipe.ghosts.oracle = Oracle::TrainingFeatures;
    let oracle = run(recipe, &folder.path().join("oracle"));
    assert!(oracle.start.oracle.as_ref().is_some_and(|said| said.contains("ghosts of the training")));
    // Task 1 trains without ghosts: the same model, the same generator, the same answers.
    assert_eq!(honest.evaluations().next(), oracle.evaluations().next());
    assert_ne!(train(&honest, 2), train(&oracle, 2));
}

/// Features of actual future images: the seal is broken by name, and the record says so.
#[test]
fn an_oracle_is_stamped() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = small_recipe();
    recipe.complete.epochs = 5;
    recipe.ghosts.generator = GeneratorKind::Real;
    let record = run(recipe, &folder.path().join("oracle"));
    assert!(record.start.oracle.is_some());
    assert!(prescient::report::text(&record).starts_with("ORACLE, not a result"));
    let honest = run(small_recipe(), &folder.path().join("honest"));
    assert_eq!(honest.start.oracle, None);
}

/// Table 4's oracles: each names how it breaks the rules, and only they read the future.
#[test]
fn every_oracle_says_how_it_breaks_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let says = |name: &str, change: &dyn Fn(&mut Recipe)| {
        let mut recipe = small_recipe();
        recipe.train.epochs = 1;
        recipe.complete.epochs = 2;
        change(&mut recipe);
        let record = run(recipe, &folder.path().join(name));
        assert_eq!(record.evaluations().count(), record.start.tasks.len());
        record.start.oracle.unwrap_or_default()
    };
    let real = GeneratorKind::Real;
    let partial = says("partial", &|recipe| {
        recipe.ghosts.generator = real.clone();
        recipe.ghosts.oracle = Oracle::Partial;
    });
    assert!(partial.starts_with("partial oracle"), "{partial}");
    let full = says("full", &|recipe| recipe.scenario.split = Some("24".parse().unwrap()));
    assert!(full.starts_with("full oracle"), "{full}");

    let mut recipe = small_recipe();
    recipe.ghosts.oracle = Oracle::Partial;
    let refused = Experiment::new(recipe, Device::Cpu).err().unwrap().to_string();
    assert!(refused.contains("`ghosts.oracle`") && refused.contains("real"), "{refused}");
}

#[test]
fn a_joint_run_with_a_generator_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = small_recipe();
    recipe.train.epochs = 1;
    recipe.scenario.split = Some("24".parse().unwrap());
    recipe.ghosts.generator = GeneratorKind::Gaussian(Default::default());
    let out = folder.path().join("joint");
    run(recipe, &out);
    assert_eq!(Experiment::resume(&out, Device::Cpu, None, &mut Silent).unwrap().evaluations().count(), 1);
}

/// Ghosts of the closed form, from attributes that say where classes lie, are nearer to their own class than the next one is; of a
/// run without attributes it says that the base model answers.
#[test]
fn what_the_closed_form_imagines_can_be_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    common::described_features(&data, 20, 6);
    let [ghosts, base] = [true, false].map(|described| {
        let out = folder.path().join(format!("run-{described}"));
        let record = run(common::described_recipe(&data, described, None), &out);
        assert_eq!(record.worths().next().unwrap().guesses, described);
        out
    });
    let found = Experiment::inspect(&ghosts, Device::Cpu, None).unwrap();
    assert_eq!((found.task, found.classes.len()), (1, 12));
    let unseen: Vec<_> = found.classes.iter().filter(|class| !class.seen).collect();
    assert_eq!(unseen.len(), 4);
    for class in unseen {
        assert!(class.turned < class.nearest && class.agree > 0.5, "{class:?}");
        assert!((0.5..2.0).contains(&class.spread) && class.mmd.is_finite(), "{class:?}");
    }
    assert_eq!(found, Experiment::inspect(&ghosts, Device::Cpu, Some(1)).unwrap(), "the same every time");
    let error = Experiment::inspect(&base, Device::Cpu, None).err().unwrap().to_string();
    assert!(error.contains("nothing is imagined after task 1: the base model answers"), "{error}");
}

/// After each task with classes to come the record says what guesses promise, measured on five held-out images of each new class
/// of fifty. Where they are left out, only seen classes answer. A run that resumes knows what the last task guessed.
#[test]
fn what_guesses_promise_is_recorded_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    for (target, name) in
        [(TargetName::Accuracy, "accuracy"), (TargetName::Balance, "balance"), (TargetName::Price, "price")]
    {
        let mut recipe = ghost_recipe();
        recipe.calibrate.target = Some(target);
        recipe.data = Source::Synthetic(SyntheticSettings { train: 50, test: 8 }).into();
        let [whole, parts] = ["whole", "parts"].map(|part| folder.path().join(format!("{name}-{part}")));
        let record = run(recipe.clone(), &whole);
        let promises: Vec<_> = record.promises().collect();
        assert_eq!(promises.iter().map(|promise| promise.task).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(promises.iter().map(|promise| promise.images).collect::<Vec<_>>(), [12 * 5, 6 * 5]);
        for (promise, evaluation) in promises.iter().zip(record.evaluations()) {
            let guesses = evaluation.answers.unseen.is_some();
            assert_eq!((promise.target.as_str(), promise.why_not.is_none()), (name, guesses));
            assert_eq!(promise.gain.is_some(), target == TargetName::Accuracy);
            assert!(promise.seen <= promise.seen_alone, "guesses cost seen classes something, or nothing");
            if target == TargetName::Price {
                assert!(promise.seen >= 0.95 * promise.seen_alone - 1e-9, "at most 5 % was promised: {promise:?}");
            }
        }
        Experiment::new(recipe.clone(), Device::Cpu).unwrap().run(&parts, Some(1), &mut Silent).unwrap();
        Experiment::resume(&parts, Device::Cpu, None, &mut Silent).unwrap();
        assert!(bytes(&whole) == bytes(&parts), "{name}: the resumed run gave another record");
    }
}

/// Held-out images are kept in memory as a tenth of the exemplars, and everything else trains: 45 images of each class are seen by the
/// first training, 50 where nothing is calibrated.
#[test]
fn held_out_images_train_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (target, images) in [(TargetName::Accuracy, 45), (TargetName::None, 50)] {
        let mut recipe = ghost_recipe();
        recipe.calibrate.target = Some(target);
        recipe.memory.per_class = 10;
        recipe.data = Source::Synthetic(SyntheticSettings { train: 50, test: 8 }).into();
        let mut stages = Stages::default();
        let name = format!("{images}");
        Experiment::new(recipe, Device::Cpu).unwrap().run(&folder.path().join(name), Some(1), &mut stages).unwrap();
        assert_eq!(stages.of("train"), [(12usize * images).div_ceil(32)], "{target:?}");
    }
}
