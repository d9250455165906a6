//! `kill -9` in every stage of every task of both learners: what is gone on with ends at the same bytes, and of each kill at most one
//! epoch is done again, of the stage that was killed. Moments between stages, at which files are written, are those of `killed.rs` of
//! the command.
#![allow(clippy::unwrap_used)]

mod common;

use common::{CLOSED_FORM, GHOST, assert_same_run};
use prescient::experiment::{Experiment, Recipe, RunFolder};
use prescient::learner::{Event, Observer};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tch::Device;

/// Where a run is: task, stage, and how many events of the stage have come.
type Moment = (usize, String, usize);

/// The Ghost model with all that may be done within the main training: ghosts of the first task, drawn anew every second epoch, and two starts.
const WITHIN: &str = r#"
seed = 1
data = { kind = "synthetic", train = 12, test = 4 }
scenario.split = "16+8"
model.extractor = { kind = "small-cnn", features = 32, width = 8 }
memory.per_class = 5
train = { epochs = 3, batch_size = 32, restarts = 2 }
finetune.epochs = 1
complete.epochs = 1
ghosts = { per_class = 20, refresh_epochs = 2, generator = { kind = "gmmn", epochs = 6, hidden = 32 } }
"#;

/// Follows a run, and kills the process at a moment.
struct Follows {
    at: Moment,
    dies: Option<Moment>,
    /// Every moment, in order.
    all: Vec<Moment>,
    /// Where a byte is written for each step of a stage.
    steps: PathBuf,
}

/// Where the steps of a stage are counted.
fn counter(at: &Path, task: usize, stage: &str) -> PathBuf {
    at.join(format!("steps of {} in {task}", whole_name(stage)))
}

/// Of both parts of the calibration.
fn whole_name(stage: &str) -> &str {
    stage.split(':').next().unwrap()
}

impl Follows {
    fn new(at: &Path, dies: Option<Moment>) -> Self {
        Self { at: (0, String::new(), 0), dies, all: Vec::new(), steps: at.to_owned() }
    }
}

impl Observer for Follows {
    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::TaskStarted { task, .. } => self.at = (*task, "begin".to_owned(), 0),
            Event::StageStarted { stage, .. } => self.at = (self.at.0, (*stage).to_owned(), 0),
            // The classifier of the calibration, after its generator.
            Event::Epoch { stage: "calibrate", terms: [("nca", _)], epoch: 1, .. } => {
                self.at = (self.at.0, "calibrate: classifier".to_owned(), 0);
            }
            _ => self.at.2 += 1,
        }
        if matches!(event, Event::Step) {
            let path = counter(&self.steps, self.at.0, &self.at.1);
            OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(b".").unwrap();
        }
        self.all.push(self.at.clone());
        if self.dies.as_ref() == Some(&self.at) {
            Command::new("kill").args(["-9", &std::process::id().to_string()]).status().unwrap();
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
    }
}

/// Begins the run in `at`, or goes on with it.
fn work(at: &Path, recipe: &str, dies: Option<Moment>) -> Follows {
    let (run, mut follows) = (at.join("run"), Follows::new(at, dies));
    let done = match RunFolder::can_go_on(&run) {
        true => Experiment::resume(&run, Device::Cpu, None, &mut follows),
        false => {
            let recipe: Recipe = recipe.parse().unwrap();
            Experiment::new(recipe, Device::Cpu).unwrap().run(&run, None, &mut follows)
        }
    };
    done.unwrap_or_else(|error| panic!("{}", error.message()));
    follows
}

const RECIPES: [(&str, &str); 3] = [("ghost", GHOST), ("within", WITHIN), ("closed-form", CLOSED_FORM)];

/// Not a test: what the tests below start and kill.
#[test]
fn life() {
    let Ok(told) = std::env::var("PRESCIENT_TEST_LIFE") else { return };
    let [at, which, task, stage, events] = told.split('|').collect::<Vec<_>>()[..] else { panic!("{told}") };
    let moment = (task.parse().unwrap(), stage.to_owned(), events.parse().unwrap());
    let recipe = RECIPES.iter().find(|(name, _)| *name == which).unwrap().1;
    work(Path::new(at), recipe, Some(moment));
}

/// Kills it twice in each of the stages: in the first epoch that is left, and some epochs later. Comes back with how often.
fn kill_in_each_stage(which: &str, stages: &[&str]) -> usize {
    let recipe = RECIPES.iter().find(|(name, _)| *name == which).unwrap().1;
    let folder = tempfile::tempdir().unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    [&whole, &parts].into_iter().for_each(|at| std::fs::create_dir(at).unwrap());
    let undisturbed = work(&whole, recipe, None);
    // The last moment of each stage, in the order in which they come.
    let mut targets: Vec<Moment> = Vec::new();
    for (task, stage, events) in undisturbed.all.into_iter().filter(|(task, ..)| *task > 0) {
        match targets.iter_mut().find(|(of, name, _)| (*of, name.as_str()) == (task, stage.as_str())) {
            Some((.., last)) => *last = events.max(*last),
            None => targets.push((task, stage, events)),
        }
    }
    let hit: BTreeSet<&str> = targets.iter().map(|(_, stage, _)| stage.as_str()).collect();
    assert!(stages.iter().all(|stage| hit.contains(stage)), "{hit:?}");
    let mut killed: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for (task, stage, last) in &targets {
        // The first kill comes before an epoch is over, so that all moments are still to come.
        let moments: BTreeSet<usize> = [1.min(*last), last * 2 / 3].into();
        for moment in moments {
            let told = format!("{}|{which}|{task}|{stage}|{moment}", parts.display());
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "life"]).env("PRESCIENT_TEST_LIFE", told).env("PRESCIENT_CHECKPOINT_SECONDS", "0");
            let output = child.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "it was not killed in {stage} of task {task}, event {moment}");
            assert!(!said.contains("panicked"), "{said}");
            *killed.entry((*task, whole_name(stage))).or_default() += 1;
        }
    }
    work(&parts, recipe, None);
    assert_same_run(&whole.join("run"), &parts.join("run"));
    let count = |at: &Path, (task, stage): (usize, &str)| {
        std::fs::metadata(counter(at, task, stage)).map_or(0, |about| about.len() as usize)
    };
    for (task, stage, _) in &targets {
        // Of images an epoch has at most nine steps: 12 · 24 images in batches of 32. Of features it has one.
        let most = match stage.as_str() {
            "train" | "finetune" => 9,
            "generator" | "refresh" | "complete" | "calibrate" => 1,
            // It has no epochs.
            _ => continue,
        };
        let stage = (*task, stage.as_str());
        let again = count(&parts, stage) - count(&whole, stage);
        let kills = killed.get(&stage).copied().unwrap_or(0);
        assert!(again <= most * kills, "{stage:?}: {again} steps were done again after {kills} kills");
    }
    killed.values().sum()
}

#[test]
fn a_ghost_run_is_killed_in_each_stage() {
    let stages =
        ["train", "finetune", "svm", "generator", "complete", "calibrate", "calibrate: classifier", "evaluate"];
    let killed = kill_in_each_stage("ghost", &stages);
    assert!(killed >= 30, "{killed} kills");
}

#[test]
fn a_ghost_run_is_killed_within_its_main_training() {
    let killed = kill_in_each_stage("within", &["train", "refresh", "svm", "finetune"]);
    assert!(killed >= 15, "{killed} kills");
}

#[test]
fn a_run_in_closed_form_is_killed_in_each_stage() {
    let killed = kill_in_each_stage("closed-form", &["extract", "fit", "evaluate"]);
    assert!(killed >= 9, "{killed} kills");
}
