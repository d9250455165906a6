//! AwA2 in its official layout: the real metadata, real photos of other animals under the names of its own.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Album, copy_files, lines, real_data};
use prescient::catalogue::Scale;
use prescient::data::{Awa2, Awa2Settings, Channels, Dataset, Matrix, Source, Subset};
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::learner::Silent;
use prescient::protocol::Sealed;
use prescient::scenario::{Order, Scenario};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const STANDARD_TEST: &str =
    "chimpanzee giant+panda leopard persian+cat pig hippopotamus humpback+whale raccoon rat seal";

/// The images of each class as published, in the order of `classes.txt`.
const SIZES: [usize; 50] = [
    1046, 852, 291, 193, 549, 747, 1645, 1033, 174, 500, 188, 100, 877, 684, 720, 704, 291, 709, 1038, 872, 728, 664,
    1420, 988, 728, 779, 1200, 696, 1088, 383, 1202, 589, 567, 310, 272, 758, 895, 1170, 874, 1344, 630, 713, 1019,
    185, 868, 1028, 215, 512, 1338, 946,
];

/// `Animals_with_Attributes2` below `at`, with so many photos of each class.
fn lay_out(at: &Path, sizes: &[usize; 50]) -> Option<PathBuf> {
    let metadata = real_data("awa2")?;
    // No two alike, as long as there are enough: an auditor compares them.
    let mut album = Album::new(&at.join("album"), sizes.iter().sum::<usize>().min(600))?;
    let root = at.join("Animals_with_Attributes2");
    copy_files(&metadata, &root);
    for (class, size) in class_names(&metadata).iter().zip(sizes) {
        for number in 1..=*size {
            album.place(&root.join(format!("JPEGImages/{class}/{class}_{}.jpg", 10_000 + number)));
        }
    }
    Some(root)
}

fn class_names(metadata: &Path) -> Vec<String> {
    lines(&metadata.join("classes.txt")).iter().map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect()
}

fn names(data: &Awa2, subset: Subset) -> BTreeSet<String> {
    data.samples(subset).iter().map(|sample| data.name(sample)).collect()
}

/// The line of a class in a matrix.
fn row(metadata: &Path, matrix: &str, class: &str) -> Vec<f32> {
    let at = class_names(metadata).iter().position(|name| name == class).unwrap();
    lines(&metadata.join(matrix))[at].split_whitespace().map(|value| value.parse().unwrap()).collect()
}

/// Four fifths of each class, rounded down: 29,841 and 7,481 of 37,322.
#[test]
fn the_split_has_the_sizes_that_the_class_sizes_give() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out(folder.path(), &SIZES) else { return };
    let data = Awa2::open(&root, &Awa2Settings::default()).unwrap();
    assert_eq!(data.samples(Subset::Train).len(), 29_841);
    assert_eq!(data.samples(Subset::Test).len(), 7_481);
    assert!(names(&data, Subset::Train).is_disjoint(&names(&data, Subset::Test)));
    let listed = class_names(&root);
    for (class, size) in listed.iter().zip(SIZES) {
        let id = data.catalogue().find(class).unwrap();
        let count = |subset| data.samples(subset).iter().filter(|sample| sample.class == id).count();
        assert_eq!((count(Subset::Train), count(Subset::Test)), (size * 4 / 5, size - size * 4 / 5), "{class}");
    }
    for sample in data.samples(Subset::Test) {
        let class = data.catalogue().name(sample.class);
        assert!(data.name(sample).starts_with(&format!("JPEGImages/{class}/{class}_1")), "{}", data.name(sample));
    }
    let image = data.image(&data.samples(Subset::Train)[0]).unwrap();
    assert_eq!((image.width, image.height, image.channels), (64, 64, Channels::Rgb));
}

#[test]
fn nothing_but_a_fixed_seed_decides_the_split() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out(folder.path(), &[10; 50]) else { return };
    let split = || names(&Awa2::open(&root, &Awa2Settings::default()).unwrap(), Subset::Test);
    assert_eq!(split(), split());
    // What is drawn for one class does not hang on another.
    let before: BTreeSet<String> = split().into_iter().filter(|name| name.contains("/zebra/")).collect();
    std::fs::remove_file(root.join("JPEGImages/antelope/antelope_10001.jpg")).unwrap();
    let after: BTreeSet<String> = split().into_iter().filter(|name| name.contains("/zebra/")).collect();
    assert_eq!(before, after);
}

#[test]
fn orders_are_those_of_the_literature() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out(folder.path(), &[2; 50]) else { return };
    let metadata = real_data("awa2").unwrap();
    let data = Awa2::open(&root, &Awa2Settings::default()).unwrap();
    let order = |order: &Order| -> Vec<String> {
        data.order(order).unwrap().iter().map(|class| data.catalogue().name(*class).to_owned()).collect()
    };

    let standard = order(&Order::Standard);
    assert_eq!(standard, data.catalogue().names());
    assert_eq!(standard[40..].join(" "), STANDARD_TEST);
    let rest: Vec<String> =
        class_names(&metadata).into_iter().filter(|name| !STANDARD_TEST.split(' ').any(|test| test == name)).collect();
    assert_eq!(standard[..40], rest);

    let proposed = order(&Order::Proposed);
    assert_eq!(proposed[40..], lines(&metadata.join("proposed-split/testclasses.txt")));
    let train: BTreeSet<String> = lines(&metadata.join("proposed-split/trainvalclasses.txt")).into_iter().collect();
    assert_eq!(proposed[..40].iter().cloned().collect::<BTreeSet<_>>(), train);
    assert_eq!(data.order(&Order::Listed), None);

    for split in ["25+5x5", "40+5x2"] {
        Scenario::new(data.catalogue().names(), &Order::Listed, &split.parse().unwrap()).unwrap();
    }
    assert_eq!("25+5x5".parse::<prescient::scenario::Split>().unwrap().sizes().len(), 6);
}

/// The archive's own two files, where they are there, have the last word.
#[test]
fn the_archives_own_split_files_decide_the_standard_order() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out(folder.path(), &[2; 50]) else { return };
    let mut turned = class_names(&root);
    turned.reverse();
    std::fs::write(root.join("trainclasses.txt"), turned[..40].join("\n")).unwrap();
    std::fs::write(root.join("testclasses.txt"), turned[40..].join("\n")).unwrap();
    assert_eq!(Awa2::open(&root, &Awa2Settings::default()).unwrap().catalogue().names(), turned);
    std::fs::write(root.join("testclasses.txt"), "unicorn\n").unwrap();
    let error = Awa2::open(&root, &Awa2Settings::default()).err().unwrap().to_string();
    assert!(error.ends_with("testclasses.txt`: expected the classes that are left, found others"), "{error}");
}

/// Attributes belong to names: they are compared with the lines of the file, though the order is another.
#[test]
fn attributes_are_those_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out(folder.path(), &[2; 50]) else { return };
    let metadata = real_data("awa2").unwrap();
    let open =
        |attributes, scale| Awa2::open(&root, &Awa2Settings { attributes, scale, ..Default::default() }).unwrap();
    let data = open(Matrix::Continuous, Scale::None);
    assert_eq!(data.catalogue().attribute_names().len(), 85);
    assert_eq!(data.catalogue().attribute_names()[..3], ["black", "white", "blue"]);
    for class in ["antelope", "seal", "dolphin", "persian+cat"] {
        let id = data.catalogue().find(class).unwrap();
        assert_eq!(data.catalogue().attributes(id), row(&metadata, "predicate-matrix-continuous.txt", class));
    }
    // Read off the file by eye: the killer whale is 83.40 black, 64.79 white, 0.00 blue.
    let whale = data.catalogue().find("killer+whale").unwrap();
    assert_eq!(data.catalogue().attributes(whale)[..3], [83.40, 64.79, 0.0]);

    let binary = open(Matrix::Binary, Scale::None);
    assert_eq!(binary.catalogue().attributes(whale), row(&metadata, "predicate-matrix-binary.txt", "killer+whale"));

    let unit = open(Matrix::Continuous, Scale::UnitL2);
    let length: f64 = unit.catalogue().attributes(whale).iter().map(|&value| f64::from(value).powi(2)).sum();
    assert!((length - 1.0).abs() < 1e-6);
}

#[test]
fn the_view_is_the_papers() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out(folder.path(), &[2; 50]) else { return };
    let data = Awa2::open(&root, &Awa2Settings::default()).unwrap();
    let text = "data = { kind = \"awa2\" }\nscenario = { split = \"25+5x5\" }\n";
    let recipe = Recipe::parse(text, Path::new("r.toml")).unwrap().effective(&data).unwrap();
    assert_eq!((recipe.images.size, recipe.images.flip), (Some(224), Some(true)));
    let learned = |recipe: Recipe| {
        let split = recipe.scenario.split.clone().unwrap();
        let scenario = Scenario::in_order(data.order(&Order::Standard).unwrap(), &split).unwrap();
        let data: Arc<dyn Dataset> = Arc::new(Awa2::open(&root, &Awa2Settings::default()).unwrap());
        recipe.learn_settings(&Sealed::new(data, scenario))
    };
    let settings = learned(recipe);
    assert_eq!((settings.view.size, settings.view.resize), (224, 256));
    assert_eq!(settings.normalization.mean, [0.466, 0.459, 0.397]);
    // A smaller size keeps the proportion: 112 · 256 / 224.
    let smaller = Recipe::parse(&format!("{text}images = {{ size = 112 }}\n"), Path::new("r.toml")).unwrap();
    assert_eq!(learned(smaller.effective(&data).unwrap()).view.resize, 128);
}

/// The archive as it is published: everything in one folder of a zip.
#[test]
fn the_archive_is_read_as_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out(folder.path(), &[3; 50]) else { return };
    let of_folder = Awa2::open(folder.path(), &Awa2Settings::default()).unwrap();
    let packed = folder.path().join("AwA2-data.zip");
    pack(&root, &packed);
    let of_archive = Awa2::open(&packed, &Awa2Settings::default()).unwrap();
    assert_eq!(of_archive.catalogue(), of_folder.catalogue());
    for subset in [Subset::Train, Subset::Test] {
        assert_eq!(names(&of_archive, subset), names(&of_folder, subset));
    }
    let sample = of_folder.samples(Subset::Test)[7];
    assert_eq!(of_archive.image(&sample).unwrap(), of_folder.image(&sample).unwrap());
}

fn pack(root: &Path, to: &Path) {
    use std::io::Write;
    let mut writer = zip::ZipWriter::new(std::fs::File::create(to).unwrap());
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(root.parent().unwrap()).unwrap().to_string_lossy().into_owned();
                writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
                writer.write_all(&std::fs::read(path).unwrap()).unwrap();
            }
        }
    }
    writer.finish().unwrap();
}

/// Six tasks on a tiny tree, in the proposed order.
#[test]
fn a_whole_protocol_runs() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out(folder.path(), &[5; 50]) else { return };
    let text = r#"
        scenario = { split = "25+5x5", order = "proposed" }
        images = { size = 16 }
        model = { extractor = { kind = "small-cnn", width = 4, features = 8 } }
        train = { epochs = 1, batch_size = 64 }
        finetune = { epochs = 1 }
        memory = { per_class = 2 }
    "#;
    let mut recipe = Recipe::parse(text, Path::new("r.toml")).unwrap();
    recipe.data = Source::Awa2(Awa2Settings { path: Some(root), ..Default::default() }).into();
    let experiment = Experiment::new(recipe, tch::Device::Cpu).unwrap();
    let record = experiment.run(&folder.path().join("run"), None, &mut Silent).unwrap();
    assert_eq!(record.evaluations().count(), 6);
    assert_eq!(record.start.classes[40..42], ["sheep", "dolphin"]);
}

/// Every row of the tables on the official layout, as small as can be: it runs, and passes its audit unless it is an oracle.
#[test]
fn the_recipes_of_the_tables_run_and_pass() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out(folder.path(), &[3; 50]) else { return };
    let recipes = common::recipes_of("awa2-");
    assert_eq!(recipes.len(), 15);
    common::assert_recipes_pass(&recipes, &[format!("data.path={}", root.display())], folder.path());
    let record = Record::read(&folder.path().join("awa2-podnet-ghost-svm/record.jsonl")).unwrap();
    assert_eq!((record.start.tasks.as_slice(), record.start.stamp()), ([25, 5, 5, 5, 5, 5].as_slice(), None));
    assert_eq!(record.evaluations().count(), 6);
}

#[test]
fn what_is_not_in_the_layout_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out(folder.path(), &[2; 50]) else { return };
    let says = || {
        let text = Awa2::open(&root, &Awa2Settings::default()).err().unwrap().to_string();
        text.replace(&format!("{}/", root.display()), "")
    };
    let moved = |from: &str, to: &str| std::fs::rename(root.join(from), root.join(to)).unwrap();
    moved("JPEGImages/zebra", "zebra");
    assert_eq!(says(), "`JPEGImages`: expected a folder `zebra`, as in `classes.txt`, found none");
    moved("zebra", "JPEGImages/unicorn");
    assert_eq!(says(), "`JPEGImages/unicorn/`: expected a class of `classes.txt`, found `unicorn`");
    moved("JPEGImages/unicorn", "JPEGImages/zebra");
    moved("JPEGImages/ox/ox_10001.jpg", "JPEGImages/zebra/ox_10001.jpg");
    assert!(says().starts_with("`JPEGImages/ox`: expected at least 2 images of the class, found 1"), "{}", says());
    moved("JPEGImages/zebra/zebra_10001.jpg", "JPEGImages/ox/ox_10003.jpg");
    assert_eq!(says(), "`JPEGImages/zebra/ox_10001.jpg`: expected a name such as `zebra_10001.jpg`, found another");
    std::fs::remove_dir_all(root.join("JPEGImages")).unwrap();
    assert!(says().starts_with("`JPEGImages/`: "), "{}", says());
}
