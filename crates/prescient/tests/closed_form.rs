//! The closed form: the same classifier however the photos came, nothing lost on the way to disk, and the base model where class
//! information says nothing.
#![allow(clippy::unwrap_used)]

mod common;

use prescient::catalogue::Catalogue;
use prescient::engine::with_seed;
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::learner::closed_form::{Information, Sums, fit};
use prescient::learner::{Silent, Target};
use prescient::predictor::Head;
use proptest::prelude::*;
use std::path::Path;
use tch::{Device, Kind, Tensor};

const WIDTH: i64 = 12;
const CLASSES: usize = 9;
const ATTRIBUTES: i64 = 4;

/// Classes whose means follow from their attributes, and `photos` photos of each of the first `seen`.
struct World {
    names: Vec<String>,
    attributes: Tensor,
    photos: Vec<Tensor>,
}

impl World {
    fn new(seed: i64, seen: usize, photos: i64) -> Self {
        with_seed(seed, || Self::drawn(seen, photos))
    }

    fn drawn(seen: usize, photos: i64) -> Self {
        let draw = |rows: i64, columns: i64| Tensor::randn([rows, columns], (Kind::Float, Device::Cpu));
        let attributes = draw(CLASSES as i64, ATTRIBUTES);
        let means = attributes.matmul(&draw(ATTRIBUTES, WIDTH));
        let unit = |rows: Tensor| &rows / rows.square().sum_dim_intlist([1i64].as_slice(), true, Kind::Float).sqrt();
        let of = |class: usize| unit(means.get(class as i64).unsqueeze(0) + draw(photos, WIDTH) * 0.8);
        let names = (0..CLASSES).map(|class| format!("class {class}")).collect();
        Self { names, attributes, photos: (0..seen).map(of).collect() }
    }

    fn information(&self) -> Information {
        let rows = (0..CLASSES).map(|class| Vec::<f32>::try_from(self.attributes.get(class as i64)).unwrap()).collect();
        let attributes = (0..ATTRIBUTES).map(|attribute| format!("a{attribute}")).collect();
        Information::new(&Catalogue::new(self.names.clone(), attributes, rows))
    }

    fn digests(&self, class: usize, photos: &[i64]) -> Vec<[u8; 32]> {
        photos.iter().map(|photo| *blake3::hash(format!("{class}/{photo}").as_bytes()).as_bytes()).collect()
    }

    /// Adds some photos of a class.
    fn add(&self, sums: &mut Sums, class: usize, photos: &[i64]) {
        let rows = self.photos[class].index_select(0, &Tensor::from_slice(photos));
        sums.add(&self.names[class], &rows, &self.digests(class, photos)).unwrap();
    }

    /// All photos of all classes at once.
    fn at_once(&self, forgettable: bool) -> Sums {
        let mut sums = Sums::new(WIDTH as usize, forgettable);
        for (class, photos) in self.photos.iter().enumerate() {
            self.add(&mut sums, class, &(0..photos.size()[0]).collect::<Vec<_>>());
        }
        sums
    }

    /// The scores of all photos for all classes that the classifier answers with.
    fn scores(&self, sums: &Sums) -> (Vec<String>, Tensor) {
        let fitted = fit(sums, &self.information(), Target::Accuracy).unwrap();
        let answers = |name: &&String| fitted.guesses() || sums.classes().contains_key(*name);
        let names: Vec<String> = self.names.iter().filter(answers).cloned().collect();
        let all = Tensor::cat(&self.photos, 0).to_kind(Kind::Double);
        (names.clone(), Head::Gaussian(fitted.head(&names)).scores(&all))
    }
}

fn assert_alike(world: &World, one: &Sums, other: &Sums) {
    let ((names, scores), (other_names, other_scores)) = (world.scores(one), world.scores(other));
    assert_eq!(names, other_names);
    let apart = (scores - other_scores).abs().max().double_value(&[]);
    assert!(apart < 1e-4, "scores are {apart} apart");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// In one task or photo by photo in any order, in one process or in several that are merged.
    #[test]
    fn however_photos_come_the_classifier_is_the_same(seed in 0i64..1000, parts in 1usize..5, turn in 0usize..50) {
        let world = World::new(seed, 6, 8);
        let mut places: Vec<(usize, i64)> = (0..6).flat_map(|class| (0..8).map(move |photo| (class, photo))).collect();
        let turned = turn % places.len();
        places.rotate_left(turned);
        places.reverse();
        let mut shares: Vec<Sums> = (0..parts).map(|_| Sums::new(WIDTH as usize, false)).collect();
        for (place, (class, photo)) in places.into_iter().enumerate() {
            world.add(&mut shares[place % parts], class, &[photo]);
        }
        let mut merged = shares.remove(0);
        shares.into_iter().for_each(|share| merged.merge(share));
        assert_alike(&world, &world.at_once(false), &merged);
    }

    /// A class that was learned and forgotten leaves no trace.
    #[test]
    fn what_is_forgotten_leaves_no_trace(seed in 0i64..1000) {
        let world = World::new(seed, 7, 8);
        let mut sums = world.at_once(true);
        prop_assert!(sums.forget(&world.names[3]));
        let mut never = Sums::new(WIDTH as usize, true);
        for class in (0..7).filter(|class| *class != 3) {
            world.add(&mut never, class, &(0..8).collect::<Vec<_>>());
        }
        assert_alike(&world, &never, &sums);
    }
}

/// One photo of one class, one photo each of two, two photos each of three: finite scores, whatever there is to choose by.
#[test]
fn very_little_is_enough_to_answer() {
    for (seen, photos) in [(1, 1), (2, 1), (3, 2), (6, 1), (1, 30)] {
        let world = World::new(5, seen, photos);
        let (names, scores) = world.scores(&world.at_once(false));
        assert!(names.len() >= seen);
        let finite = i64::try_from(scores.isfinite().all().to_kind(Kind::Int64)).unwrap();
        assert_eq!(finite, 1, "{seen} classes with {photos} photos: {scores:?}");
    }
}

/// Attributes that say where classes lie are worth photos; those of other classes are worth none, and the base model answers.
#[test]
fn class_information_is_worth_what_it_says() {
    let mut world = World::new(11, 8, 40);
    let told = fit(&world.at_once(false), &world.information(), Target::Accuracy).unwrap().worth;
    assert!(told.kappa.unwrap() > 0.5, "{told:?}");
    world.attributes = world.attributes.roll([3i64], [0i64]);
    let shuffled = fit(&world.at_once(false), &world.information(), Target::Accuracy).unwrap();
    assert!(shuffled.worth.kappa.unwrap() < told.kappa.unwrap(), "{:?}", shuffled.worth);
    let bare = Information::new(&Catalogue::bare(world.names.clone()));
    let base = fit(&world.at_once(false), &bare, Target::Accuracy).unwrap();
    assert!(!base.guesses() && base.worth.why_not.unwrap().contains("base model"));
}

fn recipe(more: &str) -> Recipe {
    let text = format!(
        r#"
        seed = 1
        data = {{ kind = "synthetic", train = 12, test = 4 }}
        scenario.split = "12+6+6"
        learner.kind = "closed-form"
        model.extractor = {{ kind = "small-cnn", features = 32, width = 8 }}
        {more}
        "#
    );
    text.parse().unwrap()
}

fn run(recipe: Recipe, out: &Path) -> Record {
    Experiment::new(recipe, Device::Cpu).unwrap().run(out, None, &mut Silent).unwrap()
}

/// A run that stopped after its first task goes on to the same record; the audit finds nothing wrong; no image is kept.
#[test]
fn a_run_resumes_to_the_same_record_and_passes_the_audit() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let record = run(recipe(""), &whole);
    assert_eq!(record.worths().count(), 3);
    let experiment = Experiment::new(recipe(""), Device::Cpu).unwrap();
    experiment.run(&parts, Some(1), &mut Silent).unwrap();
    Experiment::resume(&parts, Device::Cpu, None, &mut Silent).unwrap();
    let read = |folder: &Path| std::fs::read_to_string(folder.join("record.jsonl")).unwrap();
    assert_eq!(read(&whole), read(&parts));
    let found = prescient::audit::audit(&whole, false).unwrap();
    assert_eq!(found.failed(), 0, "{}", found.text());
}

/// The keys of the other learner are refused, with their line, and not silently ignored.
#[test]
fn keys_of_the_other_learner_are_refused() {
    let says = |more: &str| {
        let text = format!("learner.kind = \"closed-form\"\n[scenario]\nsplit = \"24\"\n{more}");
        text.parse::<Recipe>().unwrap_err().to_string()
    };
    let found = says("[train]\nepochs = 3\n");
    assert_eq!(
        found,
        "`recipe.toml`, line 4: `train` belongs to the learner `ghost`; with `closed-form` there is nothing to train by it"
    );
}

/// With actual photos of the future an oracle answers after every task as after the last: what ghosts could gain at most. Record
/// and audit say what it is, and its recipe reads back.
#[test]
fn an_oracle_knows_the_future_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let record = run(recipe("ghosts.generator.kind = \"real\""), &folder.path().join("oracle"));
    assert!(record.start.oracle.as_ref().unwrap().contains("actual future images"));
    let accuracy = |record: &Record, task: usize| {
        prescient::evaluation::metrics::find("accuracy").unwrap().value(&record.run(), task).unwrap()
    };
    let ghosts = run(recipe(""), &folder.path().join("ghosts"));
    let (first, last) = (accuracy(&record, 1), accuracy(&record, 3));
    assert!((first - last).abs() < 1e-9, "the same photos, the same answers: {first}, {last}");
    assert!(first > accuracy(&ghosts, 1), "half of the classes have not come: {first}");
    assert!((last - accuracy(&ghosts, 3)).abs() < 1e-9, "once all classes have come it knows no more than others");
    let text = std::fs::read_to_string(folder.path().join("oracle/recipe.toml")).unwrap();
    assert_eq!(text.parse::<Recipe>().unwrap().ghosts.generator, prescient::ghost::GeneratorKind::Real);
}
