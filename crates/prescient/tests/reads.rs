//! What a whole experiment reads, image by image: only what its tasks may.
//!
//! A dataset that notes every read stands in for the drawn one, below the seal and the ledger, so neither has to be trusted.
#![allow(clippy::unwrap_used)]

mod common;

use common::small_recipe;
use prescient::catalogue::Catalogue;
use prescient::data::{Dataset, Image, Normalization, Sample, Subset, Synthetic, SyntheticSettings, View};
use prescient::engine::DeviceCache;
use prescient::error::DataError;
use prescient::experiment::record::Line;
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::ghost::{GeneratorKind, Gmmn};
use prescient::learner::{Event, Observer};
use prescient::protocol::{Sealed, Usage};
use prescient::scenario::{Order, Scenario};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tch::Device;

/// Notes every image that is read, and when.
struct Spy {
    dataset: Synthetic,
    /// Task · 2, and one more while it evaluates.
    when: Arc<AtomicUsize>,
    reads: Mutex<Vec<(usize, Sample)>>,
}

impl Dataset for Spy {
    fn catalogue(&self) -> &Catalogue {
        self.dataset.catalogue()
    }
    fn samples(&self, subset: Subset) -> &[Sample] {
        self.dataset.samples(subset)
    }
    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        self.reads.lock().unwrap().push((self.when.load(Ordering::SeqCst), *sample));
        self.dataset.image(sample)
    }
    fn name(&self, sample: &Sample) -> String {
        self.dataset.name(sample)
    }
    fn channels(&self) -> prescient::data::Channels {
        self.dataset.channels()
    }
    fn normalization(&self) -> Normalization {
        self.dataset.normalization()
    }
    fn size(&self) -> u32 {
        self.dataset.size()
    }
}

struct Clock(Arc<AtomicUsize>);

impl Observer for Clock {
    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::TaskStarted { task, .. } => self.0.store(2 * task, Ordering::SeqCst),
            Event::StageStarted { stage: "evaluate", .. } => {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        }
    }
}

impl Spy {
    fn new() -> Arc<Self> {
        let dataset = Synthetic::new(&SyntheticSettings { train: 20, test: 8 });
        Arc::new(Self { dataset, when: Arc::default(), reads: Mutex::default() })
    }

    /// Carries `recipe` out, to its end, and hands its record out.
    fn watch(self: &Arc<Self>, recipe: Recipe) -> Record {
        let folder = tempfile::tempdir().unwrap();
        let experiment = Experiment::with_dataset(recipe, self.clone(), Device::Cpu).unwrap();
        experiment.run(&folder.path().join("run"), None, &mut Clock(self.when.clone())).unwrap()
    }

    /// The samples that were read at a moment.
    fn during(&self, moment: usize) -> Vec<Sample> {
        self.reads.lock().unwrap().iter().filter(|(when, _)| *when == moment).map(|(_, sample)| *sample).collect()
    }
}

/// Every read of a whole experiment is one that its task may make; what is remembered is used, and every test image asked about.
#[track_caller]
fn assert_reads_are_allowed(name: &str, recipe: Recipe) {
    let spy = Spy::new();
    let record = spy.watch(recipe);
    let slot_of = |sample: &Sample| {
        let name = spy.catalogue().name(sample.class);
        record.start.classes.iter().position(|class| class == name).unwrap()
    };
    assert!(spy.during(0).is_empty(), "{name}: read before the first task");
    let mut remembered: BTreeSet<String> = BTreeSet::new();
    for task in 1..=3 {
        let present = record.present(task).range();
        let learned = spy.during(2 * task);
        let mut past_reads = 0;
        for sample in &learned {
            assert_eq!(sample.subset, Subset::Train, "{name}: task {task} learned from {}", spy.name(sample));
            let slot = slot_of(sample);
            assert!(slot < present.end, "{name}: task {task} read the future: {}", spy.name(sample));
            if slot < present.start {
                let kept = remembered.contains(&spy.name(sample));
                assert!(kept, "{name}: task {task} read the past: {}", spy.name(sample));
                past_reads += 1;
            }
        }
        assert_eq!(past_reads > 0, task > 1, "{name}: the memory is there to be used");
        let new: BTreeSet<&Sample> = learned.iter().filter(|sample| slot_of(sample) >= present.start).collect();
        assert_eq!(new.len(), 20 * present.len(), "{name}: all images of the new classes are learned from");
        let tested: BTreeSet<Sample> = spy.during(2 * task + 1).into_iter().collect();
        assert_eq!(tested.len(), spy.samples(Subset::Test).len(), "{name}: every test image is asked about");
        assert!(tested.iter().all(|sample| sample.subset == Subset::Test));
        for line in &record.lines {
            if let Line::Memory(kept) = line
                && kept.task == task
            {
                remembered.extend(kept.exemplars.iter().flat_map(|(_, images)| images.clone()));
            }
        }
    }
}

/// The Ghost model in small, with every stage: a generator, planes, the offsets.
fn ghost_recipe() -> Recipe {
    let mut recipe = small_recipe();
    recipe.complete.epochs = 2;
    recipe.calibrate.max_seen_drop = 0.05;
    recipe.ghosts.per_class = 20;
    recipe.ghosts.generator = GeneratorKind::Gmmn(Gmmn { epochs: 3, lr: 1e-3, hidden: 16, ..Default::default() });
    assert!(recipe.loss.svm_reg.weight > 0.0, "planes are fitted");
    recipe
}

#[test]
fn the_base_model_reads_only_what_its_tasks_may_read() {
    assert_reads_are_allowed("base", small_recipe());
}

#[test]
fn the_ghost_model_reads_only_what_its_tasks_may_read() {
    assert_reads_are_allowed("ghost", ghost_recipe());
}

/// Ghosts from the first task on and drawn anew, restarts of the first task, places kept for new classes.
#[test]
fn neither_restarts_nor_refreshed_ghosts_read_more() {
    let mut recipe = ghost_recipe();
    recipe.train.restarts = 2;
    recipe.ghosts.refresh_epochs = 1;
    recipe.ghosts.init_from_ghosts = true;
    assert_reads_are_allowed("restarts and refresh", recipe);
}

#[test]
fn the_control_reads_only_what_its_tasks_may_read() {
    let mut recipe = small_recipe();
    recipe.complete.seen_only = true;
    recipe.complete.epochs = 2;
    assert_reads_are_allowed("control", recipe);
}

/// The spy is not blind: an oracle, which breaks the rules by name, is seen to read the future.
#[test]
fn an_oracle_is_caught() {
    let mut recipe = ghost_recipe();
    recipe.ghosts.generator = GeneratorKind::Real;
    let spy = Spy::new();
    let record = spy.watch(recipe);
    let seen = &record.start.classes[..12];
    let name = |sample: &Sample| spy.catalogue().name(sample.class).to_owned();
    assert!(spy.during(2).iter().any(|sample| !seen.contains(&name(sample))), "task 1 of an oracle read the future");
}

/// What lies on a device is read through the seal and noted in the ledger: exactly the samples asked for. One that the task may not
/// read is refused, and nothing is laid out.
#[test]
fn the_device_cache_gathers_only_what_the_task_may_read() {
    let spy = Spy::new();
    let scenario = Scenario::new(spy.catalogue().names(), &Order::Listed, &"12+6+6".parse().unwrap()).unwrap();
    let sealed = Sealed::new(spy.clone(), scenario);
    let of_class = |slot: usize, subset: Subset| -> Vec<Sample> {
        let class = sealed.scenario().order()[slot];
        spy.samples(subset).iter().filter(|sample| sample.class == class).copied().collect()
    };
    let kept = of_class(0, Subset::Train)[..5].to_vec();
    let data = sealed.open(&sealed.scenario().task(2), kept.clone());
    let view = View { size: 32, resize: 32, augmentation: Default::default() };
    let gather = |samples: &[Sample]| {
        spy.reads.lock().unwrap().clear();
        DeviceCache::gather(samples, |sample| data.training_image(sample), view, Device::Cpu)
    };
    let read = || -> BTreeSet<Sample> { spy.reads.lock().unwrap().iter().map(|(_, sample)| *sample).collect() };

    data.enter("train");
    let allowed: Vec<Sample> = data.present().into_iter().chain(data.memory()).collect();
    assert_eq!(allowed.len(), 6 * 20 + 5);
    assert!(gather(&allowed).unwrap().is_some(), "they are laid out");
    assert_eq!(read(), allowed.iter().copied().collect());
    let noted = data.readings();
    assert_eq!(noted.len(), allowed.len());
    let names: BTreeSet<String> = allowed.iter().map(|sample| spy.name(sample)).collect();
    assert!(noted.iter().all(|reading| reading.usage == Usage::Learn && reading.stages == ["train"]));
    assert_eq!(noted.iter().map(|reading| reading.name.clone()).collect::<BTreeSet<_>>(), names);

    for (what, forbidden) in [
        ("the future", of_class(20, Subset::Train)[0]),
        ("what was forgotten", of_class(0, Subset::Train)[7]),
        ("a test image", of_class(13, Subset::Test)[0]),
    ] {
        let samples: Vec<Sample> = allowed.iter().copied().chain([forbidden]).collect();
        assert!(matches!(gather(&samples), Err(DataError::Sealed { task: 2, .. })), "{what}");
        assert!(!read().contains(&forbidden), "{what} was read");
        assert_eq!(data.readings().len(), allowed.len(), "{what} was noted");
    }
}

/// Settings are compared on held-out training images: no test image is read, and the report says what it shows.
#[test]
fn a_validating_run_leaves_the_test_images_alone() {
    let spy = Spy::new();
    let mut recipe = small_recipe();
    recipe.train.epochs = 1;
    recipe.scenario.val_fraction = Some(0.25);
    let record = spy.watch(recipe);
    assert!(spy.reads.lock().unwrap().iter().all(|(_, sample)| sample.subset == Subset::Train));
    assert_eq!(record.evaluations().next().unwrap().answers.truth.len(), 24 * 5);
    assert!(prescient::report::text(&record).starts_with("VALIDATION, not a result: 25 % of the training images"));
}
