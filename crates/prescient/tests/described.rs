//! Classes that are described and have no photo, classes with few photos, and descriptions in words: whole runs.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_audited, drawn_photos, skip};
use prescient::catalogue::{AttributeSource, BlockKind, Catalogue, Scale, joined};
use prescient::data::{DatasetOptions, Fit, Source, Subset, fingerprint, pack};
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::learner::Silent;
use prescient::{Predictor, report, weights};
use std::path::Path;
use tch::Device;

const CLASSES: [&str; 4] = ["ant", "bee", "cat", "dog"];

/// Photos of four classes, and class information beside them.
fn place(table: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    drawn_photos(&folder.path().join("photos"), &CLASSES, 6, 2);
    std::fs::write(folder.path().join("table.csv"), table).unwrap();
    folder
}

fn recipe(place: &Path, attributes: &str, more: &str) -> Recipe {
    let text = format!(
        "seed = 3\n{more}\n[data]\nkind = \"folder\"\npath = {:?}\nattributes = [{attributes}]\n\
         [scenario]\nsplit = \"2+1+1\"\n[images]\nsize = 16\n\
         [model]\nextractor = {{ kind = \"small-cnn\", width = 4, features = 8 }}\n\
         [train]\nepochs = 1\nbatch_size = 4\n[finetune]\nepochs = 1\n[memory]\nper_class = 2\n\
         [complete]\nepochs = 1\n[ghosts]\nper_class = 5\ngenerator = {{ kind = \"gaussian\" }}\n",
        place.join("photos"),
    );
    Recipe::parse(&text, Path::new("r.toml")).unwrap()
}

fn table(place: &Path) -> String {
    format!("{:?}", place.join("table.csv"))
}

/// The yak and the emu are described and never arrive. They are part of every future, the last task's too: all six classes
/// compete after each task. The split counts four.
#[test]
fn described_classes_are_guessed_and_never_tested() {
    let place = place("class,legs,wings\nyak,4,0\nant,6,0\nbee,6,4\nemu,2,2\ncat,4,0\ndog,4,1\n");
    let out = place.path().join("run");
    let recipe = recipe(place.path(), &table(place.path()), "");
    let experiment = Experiment::new(recipe, Device::Cpu).unwrap();
    experiment.run(&out, Some(2), &mut Silent).unwrap();
    let record = Experiment::resume(&out, Device::Cpu, None, &mut Silent).unwrap();

    assert_eq!(record.start.classes, ["ant", "bee", "cat", "dog", "yak", "emu"]);
    assert_eq!((record.start.tasks.clone(), record.start.arriving()), (vec![2, 1, 1], 4));
    for evaluation in record.evaluations() {
        assert_eq!(evaluation.answers.truth.len(), 8, "two test images of each class with images");
        assert!(evaluation.answers.truth.iter().all(|slot| slot.index() < 4));
        let seen = record.present(evaluation.task).range().end;
        let guesses = evaluation.answers.unseen.as_ref().expect("there is a future after each task");
        assert!(guesses.slots.iter().all(|slot| (seen..6).contains(&slot.index())));
        assert_eq!(evaluation.confusion.classes(), 4);
    }
    assert_eq!(Record::read(&out.join("record.jsonl")).unwrap(), record);
    assert!(report::text(&record).contains("continual"));
    assert_audited(&out, false);
    let predictor = Predictor::load(&out).unwrap();
    assert_eq!((predictor.seen().len(), predictor.future().len()), (4, 2));
    assert_eq!(predictor.class(predictor.future().iter().last().unwrap()), "emu");
}

/// A pack has the described classes too.
#[test]
fn a_pack_keeps_described_classes() {
    let place = place("class,legs\nant,6\nbee,6\ncat,4\ndog,4\nemu,2\n");
    let attributes = vec![AttributeSource::new(place.path().join("table.csv"))];
    let options = DatasetOptions { path: Some(place.path().join("photos")), attributes, ..Default::default() };
    let photos = Source::new("folder", options).unwrap().open().unwrap();
    let out = place.path().join("photos.pack");
    pack(photos.as_ref(), &out, Fit { size: 16, whole: false }, &|_, _| ()).unwrap();
    let options = DatasetOptions { path: Some(out), ..Default::default() };
    let packed = Source::new("pack", options).unwrap().open().unwrap();
    assert_eq!(packed.catalogue().names(), photos.catalogue().names());
    assert_eq!(packed.samples(Subset::Test).len(), 8);
}

/// Of six training images one is left of the classes of tasks 2 and 3; another seed leaves others, of the same data.
#[test]
fn few_shots_of_new_classes() {
    let place = place("class,legs\nant,6\nbee,7\ncat,4\ndog,5\n");
    let run = |name: &str, seed: u32| {
        let mut recipe = recipe(place.path(), &table(place.path()), "");
        (recipe.seed, recipe.data.shots) = (seed, Some(1));
        let out = place.path().join(name);
        let record = Experiment::new(recipe, Device::Cpu).unwrap().run(&out, None, &mut Silent).unwrap();
        assert_audited(&out, false);
        (out, record)
    };
    let (out, record) = run("one", 1);
    assert!(record.start.recipe.contains("shots = 1"), "{}", record.start.recipe);
    let learned = |out: &Path, task: usize, class: &str| -> Vec<String> {
        let text = std::fs::read_to_string(out.join(format!("tasks/{task:02}/images.jsonl"))).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let lines = lines.filter(|line| line["use"] == "learn" && line["class"] == class);
        lines.map(|line| line["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!([1, 2, 3].map(|task| learned(&out, task, CLASSES[task]).len()), [6, 1, 1]);
    let others: Vec<_> = (2..6).map(|seed| run(&seed.to_string(), seed)).collect();
    assert!(others.iter().any(|(other, _)| learned(other, 2, "cat") != learned(&out, 2, "cat")));
    assert!(others.iter().all(|(_, other)| other.start.data == record.start.data));
}

fn row<'a>(catalogue: &'a Catalogue, class: &str) -> &'a [f32] {
    catalogue.attributes(catalogue.find(class).unwrap())
}

/// Numbers, a description and a name, side by side: three blocks. Words keep length 1 whatever the scale.
#[test]
fn words_beside_numbers() {
    if let Err(error) = weights::find("minilm") {
        return skip("weights", &error.to_string());
    }
    let place = place(
        "class,legs,description\nant,6,a small insect that lives in colonies\nbee,6,an insect that flies and makes honey\n\
         cat,4,a furry pet that purrs\ndog,4,a furry pet that barks\nwhale_shark,0,the largest fish of the sea\n",
    );
    let sources = [AttributeSource::new("names"), AttributeSource::new(place.path().join("table.csv"))];
    let catalogue = joined(&sources, Scale::Range).unwrap().unwrap();
    let blocks: Vec<_> =
        catalogue.blocks().iter().map(|block| (block.name.as_str(), block.kind, block.columns.clone())).collect();
    let expected = [
        ("names", BlockKind::Names, 0..384),
        ("table.csv: numbers", BlockKind::Attributes, 384..385),
        ("table.csv: descriptions", BlockKind::Text, 385..769),
    ];
    assert_eq!(blocks, expected);
    assert_eq!(row(&catalogue, "ant")[384], 1.0);
    let dot = |a: &str, b: &str| -> f32 {
        row(&catalogue, a)[385..].iter().zip(&row(&catalogue, b)[385..]).map(|(a, b)| a * b).sum()
    };
    assert!((dot("cat", "cat") - 1.0).abs() < 1e-5);
    assert!(dot("cat", "dog") > dot("cat", "bee") + 0.2 && dot("ant", "bee") > dot("ant", "dog"));

    let attributes = format!("\"names\", {}", table(place.path()));
    let recipe = recipe(place.path(), &attributes, "");
    let dataset = recipe.data.open().unwrap();
    let data = fingerprint(dataset.as_ref());
    assert_eq!(fingerprint(recipe.data.open().unwrap().as_ref()), data, "from the cache");
    let record = Experiment::new(recipe.clone(), Device::Cpu).unwrap();
    let record = record.run(&place.path().join("run"), None, &mut Silent).unwrap();
    assert_eq!((record.start.data, record.start.classes.len()), (data.clone(), 5));

    let text = std::fs::read_to_string(place.path().join("table.csv")).unwrap();
    std::fs::write(place.path().join("table.csv"), text.replace("barks", "howls")).unwrap();
    assert_ne!(fingerprint(recipe.data.open().unwrap().as_ref()), data, "another description is other data");
}

/// Names alone are class information, of the classes that have photos.
#[test]
fn names_alone_are_class_information() {
    if let Err(error) = weights::find("minilm") {
        return skip("weights", &error.to_string());
    }
    let place = place("");
    let dataset = recipe(place.path(), "\"names\"", "").data.open().unwrap();
    assert_eq!(dataset.catalogue().names(), CLASSES);
    assert_eq!(dataset.catalogue().blocks().len(), 1);
    let error = joined(&[AttributeSource::new("names")], Scale::None).unwrap_err().to_string();
    assert_eq!(error, "`names`: expected class information, found no list of classes beside it");
}
