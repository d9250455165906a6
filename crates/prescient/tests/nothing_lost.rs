//! Nothing of a run can change unnoticed: every verb refuses a changed file, or does not depend on it.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_same_run, bytes, files_below, photo_folder, small_recipe};
use prescient::audit::audit;
use prescient::data::{Dataset, Source, Subset, Synthetic, SyntheticSettings};
use prescient::engine::Processes;
use prescient::experiment::{Again, Experiment, Recipe, Record, RunFolder};
use prescient::ghost::GeneratorKind;
use prescient::learner::{Event, Observer, Silent};
use prescient::report::{Comparison, Format, ReadRun};
use prescient::{Image, Predictor};
use std::path::Path;
use tch::Device;

/// What each verb makes of a run: none where it refuses.
#[derive(Debug, PartialEq)]
struct Verbs {
    resume: Option<Vec<u8>>,
    predict: Option<Vec<(u32, f32)>>,
    report: Option<String>,
    /// Where it finds nothing.
    audit: Option<String>,
}

const VERBS: [&str; 4] = ["resume", "predict", "report", "audit"];

impl Verbs {
    fn of(run: &Path, image: &Image) -> Self {
        let predict = || {
            let answers = Predictor::load(run).ok()?.predict(std::slice::from_ref(image)).ok()?;
            Some(answers[0].guesses.iter().map(|guess| (guess.slot.0, guess.score)).collect())
        };
        Self {
            predict: predict(),
            report: ReadRun::read(run).ok().map(|run| format!("{run:?}")),
            audit: audit(run, false).ok().filter(|audit| audit.failed() == 0).map(|audit| audit.text()),
            // Last: it may write.
            resume: Experiment::resume(run, Device::Cpu, None, &mut Silent).ok().map(|_| bytes(run)),
        }
    }

    fn refused(&self) -> [bool; 4] {
        [self.resume.is_none(), self.predict.is_none(), self.report.is_none(), self.audit.is_none()]
    }

    /// Each is as before, or refuses.
    fn assert_as_before(&self, before: &Self, what: &str) {
        let same = [
            self.resume == before.resume,
            self.predict == before.predict,
            self.report == before.report,
            self.audit == before.audit,
        ];
        for (verb, (same, refused)) in VERBS.iter().zip(same.iter().zip(self.refused())) {
            assert!(*same || refused, "{what}: `{verb}` says something else and does not refuse");
        }
    }
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    for file in files_below(from) {
        let copied = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(copied.parent().unwrap()).unwrap();
        std::fs::copy(file, copied).unwrap();
    }
}

/// One byte of every file, at its beginning, in its middle and at its end.
fn flip_every_file(recipe: Recipe) {
    let folder = tempfile::tempdir().unwrap();
    let [whole, run] = ["whole", "run"].map(|name| folder.path().join(name));
    common::run(recipe, &whole);
    let drawn = Synthetic::new(&SyntheticSettings { train: 1, test: 1 });
    let image = drawn.image(&drawn.samples(Subset::Test)[0]).unwrap();
    copy(&whole, &run);
    let before = Verbs::of(&run, &image);
    assert_eq!(before.refused(), [false; 4]);
    for file in files_below(&whole) {
        let name = file.strip_prefix(&whole).unwrap();
        let length = std::fs::metadata(&file).unwrap().len() as usize;
        for at in [0, length / 3, length / 2, length - 1] {
            copy(&whole, &run);
            let mut bytes = std::fs::read(&file).unwrap();
            bytes[at] ^= 1;
            std::fs::write(run.join(name), bytes).unwrap();
            let after = Verbs::of(&run, &image);
            let what = format!("byte {at} of {}", name.display());
            after.assert_as_before(&before, &what);
            let [resume, predict, report, audit] = after.refused();
            let file_name = name.file_name().unwrap().to_str().unwrap();
            let last = name.starts_with("tasks/03");
            match file_name {
                // A view on the run, which no verb reads: it is made again from the record.
                "events.out.tfevents.prescient" => assert!(!resume && !audit, "{what}"),
                _ => assert!(resume && audit, "{what}: resume {resume}, audit {audit}"),
            }
            assert_eq!(predict, last && PREDICTOR.contains(&file_name), "{what}");
            let reported = ["features.safetensors", "telemetry.json"].contains(&file_name);
            assert_eq!(report, reported || name == Path::new("record.jsonl"), "{what}");
        }
    }
}

const PREDICTOR: [&str; 3] = ["predictor.json", "predictor.safetensors", "weights.safetensors"];

#[test]
fn no_file_of_a_ghost_run_changes_unnoticed() {
    let mut recipe = small_recipe();
    recipe.data = Source::Synthetic(SyntheticSettings { train: 6, test: 2 }).into();
    recipe.train.epochs = 1;
    recipe.finetune.epochs = 1;
    recipe.complete.epochs = 1;
    recipe.ghosts.per_class = 10;
    recipe.ghosts.generator = GeneratorKind::Gaussian(Default::default());
    flip_every_file(recipe);
}

#[test]
fn no_file_of_a_run_in_closed_form_changes_unnoticed() {
    let text = r#"
        data = { kind = "synthetic", train = 8, test = 2 }
        scenario.split = "12+6+6"
        learner.kind = "closed-form"
        model.extractor = { kind = "small-cnn", features = 16, width = 4 }
    "#;
    flip_every_file(text.parse().unwrap());
}

/// A sign that is flipped in every second weight, an exemplar that is another: the record has the digests of both files.
#[test]
fn a_run_does_not_go_on_from_a_changed_model_or_memory() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    Experiment::new(small_recipe(), Device::Cpu).unwrap().run(&run, Some(1), &mut Silent).unwrap();
    let refused = |file: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let path = run.join("tasks/01").join(file);
        let before = std::fs::read(&path).unwrap();
        let mut bytes = before.clone();
        change(&mut bytes);
        std::fs::write(&path, bytes).unwrap();
        let error = Experiment::resume(&run, Device::Cpu, None, &mut Silent).unwrap_err().to_string();
        std::fs::write(&path, before).unwrap();
        assert_eq!(
            error,
            format!("`{}` is not as the run wrote it: its digest is not the one in the record", path.display())
        );
    };
    refused("weights.safetensors", &|bytes| {
        let end = bytes.len();
        bytes[end - 4000..].iter_mut().skip(3).step_by(8).for_each(|byte| *byte ^= 0x80);
    });
    refused("memory.json", &|bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let mut memory: serde_json::Value = serde_json::from_str(&text).unwrap();
        memory[0]["images"].as_array_mut().unwrap().pop();
        *bytes = memory.to_string().into_bytes();
    });
}

/// Two classes and then one; `more` goes into `[data]`.
fn photo_recipe(photos: &Path, more: &str) -> Recipe {
    let text = format!(
        "[data]\nkind = \"folder\"\npath = {photos:?}\n{more}\n[scenario]\nsplit = \"2+1\"\n[train]\nepochs = 1\n\
         batch_size = 4\n[model]\nextractor = {{ kind = \"small-cnn\", width = 4 }}\n"
    );
    text.parse().unwrap()
}

/// The same name, other pixels: an exemplar, then a test image.
#[test]
fn replaced_photos_are_noticed_on_resume() {
    let folder = tempfile::tempdir().unwrap();
    let photos = folder.path().join("photos");
    photo_folder(&photos, &["ant", "bee", "cat"]);
    let recipe = photo_recipe(&photos, "");
    let run = folder.path().join("run");
    Experiment::new(recipe, Device::Cpu).unwrap().run(&run, Some(1), &mut Silent).unwrap();
    for name in ["train/bee/1.png", "test/ant/0.png"] {
        let before = std::fs::read(photos.join(name)).unwrap();
        common::patch(20, 16, [9, 99, 199]).write_png(&photos.join(name)).unwrap();
        let error = Experiment::resume(&run, Device::Cpu, None, &mut Silent).unwrap_err().to_string();
        assert_eq!(error, format!("1 photo of this run has changed since it began: `{name}`"));
        std::fs::write(photos.join(name), before).unwrap();
    }
    assert_eq!(Experiment::resume(&run, Device::Cpu, None, &mut Silent).unwrap().evaluations().count(), 2);
}

/// The second is told at once; what a killed one left is taken away, what is not ours is not touched.
#[test]
fn one_process_at_a_time_writes_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let (run, unfinished) = (folder.path().join("run"), folder.path().join("run.unfinished"));
    let first = RunFolder::create(&run, "recipe").unwrap();
    let error = RunFolder::create(&run, "recipe").unwrap_err().to_string();
    assert_eq!(error, format!("another process is writing `{}`", run.display()));
    assert!(unfinished.join("recipe.toml").is_file(), "the first one goes on");
    drop(first);
    assert!(!unfinished.exists(), "one that fails leaves nothing behind");

    std::fs::create_dir_all(unfinished.join("tasks/01.tmp")).unwrap();
    std::fs::write(unfinished.join("tasks/01.tmp/weights.safetensors"), "half").unwrap();
    let again = RunFolder::create(&run, "recipe").unwrap();
    assert!(!unfinished.join("tasks/01.tmp").exists(), "what a killed run left is taken away");
    drop(again);

    std::fs::create_dir_all(&unfinished).unwrap();
    std::fs::write(unfinished.join("thesis.tex"), "dear").unwrap();
    assert!(RunFolder::create(&run, "recipe").unwrap_err().to_string().ends_with("run.unfinished` exists already"));
    assert!(unfinished.join("thesis.tex").is_file());
}

#[test]
fn two_processes_do_not_resume_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut recipe = small_recipe();
    recipe.data = Source::Synthetic(SyntheticSettings { train: 4, test: 1 }).into();
    Experiment::new(recipe, Device::Cpu).unwrap().run(&run, Some(1), &mut Silent).unwrap();
    let other = std::fs::File::open(&run).unwrap();
    other.try_lock().unwrap();
    let error = Experiment::resume(&run, Device::Cpu, None, &mut Silent).unwrap_err();
    assert_eq!(error.to_string(), format!("another process is writing `{}`", run.display()));
    assert!(error.hint().unwrap().contains("wait"));
    drop(other);
    Experiment::resume(&run, Device::Cpu, Some(2), &mut Silent).unwrap();
}

/// Killed before its first epoch was finished, a run leaves a folder and nothing to go on with.
#[test]
fn a_run_that_left_nothing_says_to_begin_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    std::fs::create_dir_all(folder.path().join("run.unfinished/tasks")).unwrap();
    let error = Experiment::resume(&run, Device::Cpu, None, &mut Silent).unwrap_err();
    assert!(error.to_string().ends_with("before its first epoch was finished: nothing of it is kept"), "{error}");
    assert!(error.hint().unwrap().contains("begin it again"));
}

/// Another place, the same photos: with its new path the run goes on as it would have. Nothing else may be set.
#[test]
fn a_run_goes_on_after_its_data_moved() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after, moved, still] = ["before", "after", "moved", "still"].map(|name| folder.path().join(name));
    photo_folder(&before, &["ant", "bee", "cat"]);
    common::run(photo_recipe(&before, ""), &still);
    Experiment::new(photo_recipe(&before, ""), Device::Cpu).unwrap().run(&moved, Some(1), &mut Silent).unwrap();
    std::fs::rename(&before, &after).unwrap();
    let resume = |set: String| {
        let again = Again { sets: &[set], ..Again::default() };
        Experiment::resume_among(&Processes::alone(), &moved, again, Device::Cpu, &mut Silent)
    };
    assert!(Experiment::resume(&moved, Device::Cpu, None, &mut Silent).is_err());
    let error = resume("train.epochs=3".to_owned()).unwrap_err().to_string();
    assert_eq!(error, "`--set train.epochs=3` cannot change a run that has begun");
    resume(format!("data.path={}", after.display())).unwrap();
    assert!(bytes(&moved) == bytes(&still), "the record names the place where the run began");
}

/// A base model without attributes against one with them, on the same photos.
#[test]
fn class_information_does_not_make_photos_other_data() {
    let folder = tempfile::tempdir().unwrap();
    let photos = folder.path().join("photos");
    let table = photo_folder(&photos, &["ant", "bee", "cat"]);
    let base = common::run(photo_recipe(&photos, ""), &folder.path().join("base"));
    let with = |table: &Path, run: &str| {
        common::run(photo_recipe(&photos, &format!("attributes = [{table:?}]")), &folder.path().join(run))
    };
    let told = with(&table, "told");
    assert_ne!(base.start.data, told.start.data);
    let compared = |one: &Record, other: &Record| {
        let runs = [("base".to_owned(), one.clone()), ("told".to_owned(), other.clone())];
        Comparison::new(&runs, 0).unwrap().render(Format::Text)
    };
    assert!(compared(&base, &told).contains("continual"));

    // A table in another order: the classes come in another order, which is said. The order can be had without the table.
    let reversed = folder.path().join("reversed.csv");
    std::fs::write(&reversed, "class,number\ncat,1\nbee,2\nant,3\n").unwrap();
    let reversed_run = with(&reversed, "reversed");
    assert_eq!(reversed_run.start.classes, ["cat", "bee", "ant"]);
    let said = compared(&base, &reversed_run);
    assert!(said.contains("its classes come in another order") && said.contains("the same `scenario.order`"), "{said}");
    let mut recipe = photo_recipe(&photos, "");
    recipe.scenario.order = format!("file {}", reversed.display()).parse().unwrap();
    let ordered = common::run(recipe, &folder.path().join("ordered"));
    assert_eq!(ordered.start.classes, ["cat", "bee", "ant"]);

    // Other photos are other data.
    std::fs::remove_file(photos.join("test/cat/1.png")).unwrap();
    let fewer = common::run(photo_recipe(&photos, ""), &folder.path().join("fewer"));
    let runs = [("base".to_owned(), base), ("fewer".to_owned(), fewer)];
    assert!(Comparison::new(&runs, 0).unwrap_err().to_string().contains("different data"));
}

/// Asks to stop after so many steps.
struct StopsAfter {
    steps: usize,
    stages: Vec<&'static str>,
}

impl Observer for StopsAfter {
    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Step => self.steps = self.steps.saturating_sub(1),
            Event::StageStarted { stage, .. } => self.stages.push(stage),
            _ => {}
        }
    }

    fn stops(&self) -> bool {
        self.steps == 0
    }
}

/// A run that is stopped again and again, each time a few steps further on, is one that never was.
fn stop_again_and_again(recipe: Recipe, steps: &[usize]) {
    let folder = tempfile::tempdir().unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    let mut counting = StopsAfter { steps: usize::MAX, stages: Vec::new() };
    Experiment::new(recipe.clone(), Device::Cpu).unwrap().run(&whole, None, &mut counting).unwrap();
    let mut stopped = 0;
    for steps in steps {
        let mut observer = StopsAfter { steps: *steps, stages: Vec::new() };
        let done = match RunFolder::can_go_on(&parts) {
            true => Experiment::resume(&parts, Device::Cpu, None, &mut observer),
            false => Experiment::new(recipe.clone(), Device::Cpu).unwrap().run(&parts, None, &mut observer),
        };
        match done {
            Ok(_) => break,
            Err(error) => assert_eq!(error.exit_code(), 130, "{}", error.message()),
        }
        stopped += 1;
    }
    assert!(stopped > 3, "stopped {stopped} times");
    if parts.join("record.jsonl").is_file() || RunFolder::can_go_on(&parts) {
        Experiment::resume(&parts, Device::Cpu, None, &mut Silent).unwrap();
    }
    assert_same_run(&whole, &parts);
}

/// Four epochs of two to four steps a task: stopped before the first is over, then inside and between tasks.
#[test]
fn a_base_run_that_is_stopped_goes_on_inside_a_task() {
    let mut recipe = small_recipe();
    recipe.data = Source::Synthetic(SyntheticSettings { train: 6, test: 2 }).into();
    recipe.train.epochs = 4;
    stop_again_and_again(recipe, &[2, 5, 7, 4, 9, 6, 12, 8, 5, 20, 9]);
}

/// Ghosts that are drawn anew every second epoch, a generator that learns on, planes: all of it is where it was.
#[test]
fn a_ghost_run_that_is_stopped_goes_on_inside_a_task() {
    let mut recipe = small_recipe();
    recipe.data = Source::Synthetic(SyntheticSettings { train: 6, test: 2 }).into();
    recipe.train.epochs = 5;
    recipe.complete.epochs = 1;
    recipe.loss.svm_reg.weight = 0.001;
    recipe.ghosts.per_class = 10;
    recipe.ghosts.refresh_epochs = 2;
    recipe.ghosts.generator =
        GeneratorKind::Gmmn(prescient::ghost::Gmmn { epochs: 3, hidden: 16, ..Default::default() });
    stop_again_and_again(recipe, &[4, 13, 14, 16, 14, 18, 15, 20, 14, 16, 30]);
}

/// What is kept of a task half learned is checked as well; and a new run does not wipe it out.
#[test]
fn a_task_half_learned_is_neither_trusted_blindly_nor_wiped_out() {
    let folder = tempfile::tempdir().unwrap();
    let (run, unfinished) = (folder.path().join("run"), folder.path().join("run.unfinished"));
    let mut recipe = small_recipe();
    recipe.train.epochs = 4;
    let mut observer = StopsAfter { steps: 20, stages: Vec::new() };
    let experiment = Experiment::new(recipe, Device::Cpu).unwrap();
    assert_eq!(experiment.run(&run, None, &mut observer).unwrap_err().exit_code(), 130);
    let part = unfinished.join("tasks/01.part");
    assert!(part.is_file() && !run.exists());
    let error = experiment.run(&run, None, &mut Silent).unwrap_err();
    assert!(error.to_string().contains("was begun and not finished"), "{error}");
    assert!(error.hint().unwrap().contains("--resume"));
    let whole = std::fs::read(&part).unwrap();
    for at in [5, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        std::fs::write(&part, bytes).unwrap();
        let error = Experiment::resume(&run, Device::Cpu, None, &mut Silent).unwrap_err().message();
        assert!(error.contains("01.part"), "{error}");
    }
    std::fs::write(&part, whole).unwrap();
    Experiment::resume(&run, Device::Cpu, Some(1), &mut Silent).unwrap();
    assert!(!unfinished.exists() && !run.join("tasks/01.part").exists());
}
