//! A predictor, loaded from a run folder, gives the answers that the run recorded, image by image; and says what is wrong
//! with a folder that it cannot be loaded from.
#![allow(clippy::unwrap_used)]

mod common;

use common::{copy_files, drawn_features, drawn_photos, real_data};
use prescient::data::{Channels, Dataset, Files, Subset, Synthetic, SyntheticSettings};
use prescient::engine::{TensorFile, write_tensors};
use prescient::error::{LearnError, RunError};
use prescient::experiment::{Experiment, Recipe, Record, overridden};
use prescient::learner::Silent;
use prescient::{Image, Predictor};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tch::{Device, Kind, Tensor};

const CLASSES: [&str; 8] = ["ant", "bee", "cat", "dog", "emu", "fox", "gnu", "hen"];
const GHOSTS: &str =
    "[ghosts]\nper_class = 30\ngenerator = { kind = \"gaussian\" }\n[calibrate]\nmax_seen_drop = 0.05\n";

/// Three tasks on the data that `data` says, in seconds: eight classes unless `split` says otherwise.
fn recipe(data: &str, split: &str, more: &str) -> Recipe {
    let text = format!(
        r#"
        seed = 1
        [data]
        {data}
        [scenario]
        split = "{split}"
        [model]
        extractor = {{ kind = "small-cnn", features = 16, width = 4 }}
        [train]
        epochs = 2
        batch_size = 16
        [finetune]
        epochs = 2
        [memory]
        per_class = 4
        [complete]
        epochs = 3
        {more}
        "#
    );
    text.parse().unwrap()
}

fn run(recipe: Recipe, out: &Path) -> Record {
    Experiment::new(recipe, Device::Cpu).unwrap().run(out, None, &mut Silent).unwrap()
}

/// Drawings as photos, and what is known of their classes.
fn photos(at: &Path) -> String {
    drawn_photos(at, &CLASSES, 12, 4);
    let drawn = Synthetic::new(&SyntheticSettings { train: 1, test: 1 });
    let catalogue = drawn.catalogue();
    let rows = CLASSES
        .iter()
        .zip(catalogue.rows())
        .map(|(class, (_, row))| row.iter().fold((*class).to_owned(), |line, value| format!("{line},{value}")) + "\n");
    let table = format!("class,{}\n{}", catalogue.attribute_names().join(","), rows.collect::<String>());
    std::fs::write(at.join("attributes.csv"), table).unwrap();
    format!("kind = \"folder\"\npath = {at:?}\nattributes = [{:?}]", at.join("attributes.csv"))
}

/// After every task of the run in `out`, the answer for each of `images` (all test images, in order) is the recorded one, and so is
/// its score.
#[track_caller]
fn assert_answers_are_the_recorded_ones(out: &Path, record: &Record, images: &[Image]) {
    for evaluation in record.evaluations() {
        let (task, answers) = (evaluation.task, &evaluation.answers);
        let predictor = Predictor::load_on(out, Some(task), Device::Cpu).unwrap();
        assert_eq!(predictor.about().classes, record.start.classes);
        assert_eq!(predictor.seen().len(), record.present(task).range().end);
        assert_eq!(predictor.future().is_empty(), answers.unseen.is_none(), "task {task}");
        let predictions = predictor.predict(images).unwrap();
        assert_eq!(predictions.len(), answers.truth.len());
        let offset = answers.own_offset.unwrap_or(0.0);
        for (index, prediction) in predictions.iter().enumerate() {
            let best = prediction.guesses[0];
            assert_eq!(best.slot, answers.answer(index), "task {task}, image {index}");
            let recorded = match &answers.unseen {
                Some(unseen) if !predictor.is_seen(best.slot) => unseen.scores[index],
                _ => answers.seen.scores[index] - offset,
            };
            assert!((best.score - recorded).abs() < 1e-4, "task {task}, image {index}: {} and {recorded}", best.score);
            let sum: f32 = prediction.guesses.iter().map(|guess| guess.probability).sum();
            assert!((sum - 1.0).abs() < 1e-4 && prediction.guesses.is_sorted_by(|a, b| a.score >= b.score));
            assert_eq!(prediction.guesses.len(), predictor.seen().len() + predictor.future().len());
        }
    }
}

/// All test images of `dataset`, read by `read` from their names.
fn test_images(dataset: &dyn Dataset, read: impl Fn(&str) -> Image) -> Vec<Image> {
    dataset.samples(Subset::Test).iter().map(|sample| read(&dataset.name(sample))).collect()
}

#[test]
fn answers_for_png_files_are_the_recorded_ones() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("photos");
    let data = photos(&at);
    for (name, more) in [("base", ""), ("ghost", GHOSTS)] {
        let recipe = recipe(&data, "4+2+2", more);
        let dataset = recipe.data.open().unwrap();
        let images = test_images(dataset.as_ref(), |file| Image::read(at.join(file), Channels::Rgb).unwrap());
        let out = folder.path().join(name);
        let record = run(recipe, &out);
        assert_answers_are_the_recorded_ones(&out, &record, &images);
        let last = Predictor::load(&out).unwrap();
        assert_eq!((last.about().task, last.future().len()), (3, 0));
        let first = Predictor::load(out.join("tasks/01")).unwrap();
        assert_eq!((first.about().task, first.future().len()), (1, if name == "ghost" { 4 } else { 0 }));
        assert!(first.predict(&[]).unwrap().is_empty());
    }
}

#[test]
fn answers_for_photos_of_animals12_are_the_recorded_ones() {
    let Some(data) = real_data("animals12") else { return };
    let folder = tempfile::tempdir().unwrap();
    let small = [
        format!("data.path={:?}", data.join("images.zip")),
        format!("data.attributes=[{:?}]", data.join("attributes.csv")),
        "images.size=16".to_owned(),
        "model.extractor={ kind = \"small-cnn\", features = 16, width = 4 }".to_owned(),
        "train.epochs=1".to_owned(),
        "finetune.epochs=1".to_owned(),
    ];
    let ghosts = ["ghosts.per_class=30", "ghosts.generator={ kind = \"gaussian\" }", "complete.epochs=1"];
    let base = prescient::experiment::recipes::find("animals12-podnet").unwrap();
    let photos = Files::open(&data.join("images.zip")).unwrap();
    for (name, more) in [("base", &[][..]), ("ghost", &ghosts[..])] {
        let sets: Vec<String> = small.iter().cloned().chain(more.iter().map(ToString::to_string)).collect();
        let recipe = overridden(&base.0, &base.1, &sets).unwrap();
        let dataset = recipe.data.open().unwrap();
        let decode = |file: &str| Image::decode(&photos.read(file).unwrap(), Channels::Rgb, Path::new(file)).unwrap();
        let images = test_images(dataset.as_ref(), decode);
        assert_eq!(images.len(), 600);
        let out = folder.path().join(name);
        let record = run(recipe, &out);
        assert_answers_are_the_recorded_ones(&out, &record, &images);
    }
}

/// A file as MNIST's are: a magic number, the lengths, the bytes.
fn idx(magic: u32, lengths: &[u32], bytes: &[u8]) -> Vec<u8> {
    let header = std::iter::once(magic).chain(lengths.iter().copied()).flat_map(u32::to_be_bytes);
    header.chain(bytes.iter().copied()).collect()
}

/// Ten digits of grey images, each with a bar in a place of its own: `count` of each digit.
fn digits(at: &Path, side: &str, count: u32) {
    std::fs::create_dir_all(at).unwrap();
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for image in 0..10 * count {
        let digit = image % 10;
        labels.push(digit as u8);
        pixels.extend(
            (0..28 * 28).map(|p| if (p / 28) / 3 == digit % 9 { 255 - (image % 7) as u8 } else { (digit * 9) as u8 }),
        );
    }
    std::fs::write(at.join(format!("{side}-images-idx3-ubyte")), idx(2051, &[10 * count, 28, 28], &pixels)).unwrap();
    std::fs::write(at.join(format!("{side}-labels-idx1-ubyte")), idx(2049, &[10 * count], &labels)).unwrap();
}

#[test]
fn grey_models_answer_for_grey_images() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("digits");
    digits(&at, "train", 8);
    digits(&at, "t10k", 3);
    let recipe = recipe(&format!("kind = \"mnist\"\npath = {at:?}"), "6+2+2", "");
    let dataset = recipe.data.open().unwrap();
    let file = folder.path().join("digit.png");
    // Through a PNG, as a user would.
    let images: Vec<Image> = dataset
        .samples(Subset::Test)
        .iter()
        .map(|sample| {
            dataset.image(sample).unwrap().write_png(&file).unwrap();
            Image::read(&file, Channels::Grey).unwrap()
        })
        .collect();
    let out = folder.path().join("run");
    let record = run(recipe, &out);
    assert_answers_are_the_recorded_ones(&out, &record, &images);
    let predictor = Predictor::load(&out).unwrap();
    assert_eq!(predictor.about().input.channels, Channels::Grey);
    let colour = Image::read(&file, Channels::Rgb).unwrap();
    let refused = predictor.predict(&[colour]).unwrap_err();
    assert!(matches!(refused, LearnError::Channels { .. }), "{refused}");
}

#[test]
fn a_model_of_feature_rows_takes_no_images() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("vectors");
    drawn_features(&at, &CLASSES, 8, 2);
    let text = format!(
        "[data]\nkind = \"features\"\npath = {at:?}\n[scenario]\nsplit = \"4+4\"\n[model]\nextractor = {{ kind = \"mlp\", \
         width = 8, features = 8 }}\n[loss]\ndistillation = {{ kind = \"pod\", weight = 0.0 }}\n[train]\nepochs = 1\n\
         [finetune]\nepochs = 1\n"
    );
    let out = folder.path().join("run");
    run(text.parse().unwrap(), &out);
    let file = folder.path().join("grey.png");
    common::patch(8, 8, [9, 9, 9]).write_png(&file).unwrap();
    let refused = Predictor::load(&out).unwrap().predict(&[Image::read(&file, Channels::Rgb).unwrap()]).unwrap_err();
    assert!(matches!(refused, LearnError::NoImages), "{refused}");
}

/// A copy of a task's folder in which something is changed, and what loading it says.
struct Broken {
    made: PathBuf,
    at: PathBuf,
}

impl Broken {
    fn says(&self, change: impl FnOnce(&Path)) -> String {
        let _ = std::fs::remove_dir_all(&self.at);
        copy_files(&self.made, &self.at);
        change(&self.at);
        match Predictor::load(&self.at) {
            Ok(_) => panic!("a damaged predictor was loaded"),
            Err(error) => error.to_string(),
        }
    }

    /// The same with one text of `predictor.json` replaced by another.
    fn says_edited(&self, from: &str, to: &str) -> String {
        self.says(|folder| {
            let file = folder.join("predictor.json");
            undigested(&file);
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.contains(from), "`{from}` is in {text}");
            std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
        })
    }
}

/// Takes the digests out of `predictor.json`, as early versions wrote it: what is wrong beside them is told, too.
fn undigested(file: &Path) {
    let mut fields: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    for digests in ["files", "digest"] {
        fields.as_object_mut().unwrap().remove(digests).unwrap();
    }
    std::fs::write(file, serde_json::to_string_pretty(&fields).unwrap()).unwrap();
}

#[test]
fn what_is_wrong_with_a_predictor_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let data = photos(&folder.path().join("photos"));
    run(recipe(&data, "4+2+2", GHOSTS), &out);
    let broken = Broken { made: out.join("tasks/01"), at: folder.path().join("broken") };
    let named = |says: String, file: &str, reason: &str| {
        assert!(says.contains(file) && says.contains(reason), "expected `{file}` and `{reason}`: {says}");
    };

    let cut = |name: &'static str| {
        move |folder: &Path| {
            let bytes = std::fs::read(folder.join(name)).unwrap();
            std::fs::write(folder.join(name), &bytes[..bytes.len() / 2]).unwrap();
        }
    };
    named(broken.says(cut("predictor.json")), "predictor.json", "EOF");
    named(broken.says(cut("predictor.safetensors")), "predictor.safetensors", "");
    named(broken.says(cut("weights.safetensors")), "weights.safetensors", "");
    let gone = |name: &'static str| move |folder: &Path| std::fs::remove_file(folder.join(name)).unwrap();
    named(broken.says(gone("weights.safetensors")), "weights.safetensors", "No such file");
    named(broken.says(gone("predictor.safetensors")), "predictor.safetensors", "No such file");
    named(broken.says(gone("predictor.json")), "broken", "is not a run: expected `tasks/01/predictor.json`");

    named(broken.says_edited("\"seen\": 4", "\"seen\": 9"), "predictor.json", "as many seen classes as classes");
    named(broken.says_edited("\"seen\"", "\"known\""), "predictor.json", "unknown field `known`");
    named(broken.says_edited("\"size\": 32", "\"size\": 0"), "predictor.json", "a sensible image size");
    named(broken.says_edited("\"features\": 16", "\"features\": 17"), "weights.safetensors", "expected the shape");
    for (from, to) in
        [("\"features\": 16", "\"features\": 0"), ("\"width\": 4", "\"width\": 0"), ("\"size\": 32", "\"size\": 3")]
    {
        let says = broken.says_edited(from, to);
        assert!(says.contains("would have a layer without weights"), "{to}: {says}");
    }
    let other_width = |folder: &Path| {
        undigested(&folder.join("predictor.json"));
        let proxies = Tensor::zeros([8, 15], (Kind::Float, Device::Cpu));
        write_tensors(&folder.join("predictor.safetensors"), &BTreeMap::from([("proxies".to_owned(), proxies)]))
            .unwrap();
    };
    named(broken.says(other_width), "predictor.safetensors", "expected rows of 16 numbers");

    let head = out.join("tasks/01/predictor.safetensors");
    let proxies = TensorFile::open(&head).unwrap().read("proxies", None).unwrap();
    let image = Image { width: 32, height: 32, channels: Channels::Rgb, pixels: vec![100; 32 * 32 * 3].into() };
    let answers = |run: &Path| Predictor::load(run).unwrap().predict(std::slice::from_ref(&image)).unwrap();
    let single = answers(&out.join("tasks/01"));
    copy_files(&out.join("tasks/01"), &broken.at);
    undigested(&broken.at.join("predictor.json"));
    let double = BTreeMap::from([("proxies".to_owned(), proxies.to_kind(Kind::Double))]);
    write_tensors(&broken.at.join("predictor.safetensors"), &double).unwrap();
    assert_eq!(answers(&broken.at), single, "double precision gave other answers");

    let task = |number| Predictor::load_on(&out, Some(number), Device::Cpu).map(|_| ()).unwrap_err();
    assert!(matches!(task(4), RunError::NoSuchTask { task: 4, finished: 3 }), "{}", task(4));
}
