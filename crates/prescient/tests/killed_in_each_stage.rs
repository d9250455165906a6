//! `kill -9` in every stage of every task of both learners: what is gone on with ends at the same bytes, and hardly any work is done
//! twice. Moments between stages, at which files are written, are those of `killed.rs` of the command.
#![allow(clippy::unwrap_used)]

mod common;

use common::{CLOSED_FORM, GHOST, assert_same_run};
use prescient::experiment::{Experiment, Recipe, RunFolder};
use prescient::learner::{Event, Observer};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tch::Device;

/// Where a run is: task, stage, and how many events of the stage have come.
type Moment = (usize, String, usize);

/// Follows a run, and kills the process at a moment.
struct Follows {
    at: Moment,
    dies: Option<Moment>,
    /// Every moment, in order.
    all: Vec<Moment>,
    /// A byte for each step of the main training.
    steps: PathBuf,
}

impl Follows {
    fn new(at: &Path, dies: Option<Moment>) -> Self {
        Self { at: (0, String::new(), 0), dies, all: Vec::new(), steps: at.join("steps") }
    }
}

impl Observer for Follows {
    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::TaskStarted { task, .. } => self.at = (*task, "begin".to_owned(), 0),
            Event::StageStarted { stage, .. } => self.at = (self.at.0, (*stage).to_owned(), 0),
            _ => self.at.2 += 1,
        }
        if matches!(event, Event::Step) && self.at.1 == "train" {
            OpenOptions::new().create(true).append(true).open(&self.steps).unwrap().write_all(b".").unwrap();
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

/// Not a test: what the tests below start and kill.
#[test]
fn life() {
    let Ok(told) = std::env::var("PRESCIENT_TEST_LIFE") else { return };
    let [at, which, task, stage, events] = told.split('|').collect::<Vec<_>>()[..] else { panic!("{told}") };
    let moment = (task.parse().unwrap(), stage.to_owned(), events.parse().unwrap());
    work(Path::new(at), if which == "ghost" { GHOST } else { CLOSED_FORM }, Some(moment));
}

/// Kills it once in each stage of each task, somewhere in the stage; comes back with how often.
fn kill_in_each_stage(which: &str, recipe: &str, stages: &[&str]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    [&whole, &parts].into_iter().for_each(|at| std::fs::create_dir(at).unwrap());
    let undisturbed = work(&whole, recipe, None);
    let mut targets: Vec<(usize, String, Vec<usize>)> = Vec::new();
    for (task, stage, events) in &undisturbed.all {
        match targets.iter_mut().find(|(of, name, _)| (of, name) == (task, stage)) {
            Some((_, _, moments)) => moments.push(*events),
            None => targets.push((*task, stage.clone(), vec![*events])),
        }
    }
    targets.retain(|(task, ..)| *task > 0);
    let hit: std::collections::BTreeSet<&str> = targets.iter().map(|(_, stage, _)| stage.as_str()).collect();
    assert!(stages.iter().all(|stage| hit.contains(stage)), "{hit:?}");
    let mut random = 7u64;
    let mut killed = 0;
    for (task, stage, moments) in &targets {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // After the main training has gone on, it has fewer steps to go than in one piece: early moments come in any case.
        let early = if stage == "train" { moments.len().min(3) } else { moments.len() };
        let moment = moments[(random >> 33) as usize % early];
        let told = format!("{}|{which}|{task}|{stage}|{moment}", parts.display());
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "life"]).env("PRESCIENT_TEST_LIFE", told).env("PRESCIENT_CHECKPOINT_SECONDS", "0");
        let output = child.output().unwrap();
        assert!(!output.status.success(), "it was not killed in {stage} of task {task}, event {moment}");
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{said}");
        killed += 1;
    }
    work(&parts, recipe, None);
    assert_same_run(&whole.join("run"), &parts.join("run"));
    let steps = |at: &Path| std::fs::metadata(at.join("steps")).map_or(0, |about| about.len() as usize);
    // An epoch has at most nine steps: 12 · 24 images in batches of 32.
    let again = steps(&parts) - steps(&whole);
    assert!(again <= 9 * killed, "{again} steps of the main training were done again after {killed} kills");
    killed
}

#[test]
fn a_ghost_run_is_killed_in_each_stage() {
    let stages = ["train", "finetune", "svm", "generator", "complete", "calibrate", "evaluate"];
    let killed = kill_in_each_stage("ghost", GHOST, &stages);
    assert!(killed >= 15, "{killed} kills");
}

#[test]
fn a_run_in_closed_form_is_killed_in_each_stage() {
    let killed = kill_in_each_stage("closed-form", CLOSED_FORM, &["extract", "fit", "evaluate"]);
    assert!(killed >= 9, "{killed} kills");
}
