//! aP&Y in the layout of its official archives: the real annotations, real photos under the names of its own.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Album, copy_files, lines, real_data};
use prescient::catalogue::Scale;
use prescient::class::ClassId;
use prescient::data::{Apy, ApySettings, Channels, Dataset, Image, Sample, Subset};
use prescient::experiment::Recipe;
use prescient::protocol::HeldOut;
use prescient::scenario::{Order, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILES: [(&str, &str); 3] = [
    ("apascal_train.txt", "VOCdevkit/VOC2008/JPEGImages"),
    ("apascal_test.txt", "VOCdevkit/VOC2008/JPEGImages"),
    ("ayahoo_test.txt", "ayahoo_test_images"),
];

/// The annotations in `attribute_data`, and every photo that they name.
fn lay_out(at: &Path) -> Option<PathBuf> {
    let metadata = real_data("apy")?;
    let mut album = Album::new(&at.join("album"), 60)?;
    let root = at.join("apy");
    copy_files(&metadata, &root.join("attribute_data"));
    let photos: BTreeSet<String> = annotated().into_iter().map(|(photo, ..)| photo).collect();
    photos.iter().for_each(|photo| album.place(&root.join(photo)));
    Some(root)
}

/// Photo, class and attributes of every object, read off the files.
fn annotated() -> Vec<(String, String, Vec<f64>)> {
    let metadata = real_data("apy").unwrap();
    let mut objects = Vec::new();
    for (file, folder) in FILES {
        for line in lines(&metadata.join(file)) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let flags = words[6..].iter().map(|flag| flag.parse().unwrap()).collect();
            objects.push((format!("{folder}/{}", words[0]), words[1].to_owned(), flags));
        }
    }
    objects
}

/// The photo of a sample, without its box.
fn photo(data: &Apy, sample: &Sample) -> String {
    data.name(sample).split(':').next().unwrap().to_owned()
}

fn photos(data: &Apy, subset: Subset) -> BTreeSet<String> {
    data.samples(subset).iter().map(|sample| photo(data, sample)).collect()
}

/// The same with six objects of each class, each in a photo of its own that is like no other. The photos are 64 pixels
/// wide, so their boxes are made to fit.
fn lay_out_few(at: &Path) -> Option<PathBuf> {
    let metadata = real_data("apy")?;
    let mut album = Album::new(&at.join("album"), 32 * 6)?;
    let root = at.join("apy");
    copy_files(&metadata, &root.join("attribute_data"));
    let (mut taken, mut counts) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
    for (file, folder) in FILES {
        let mut few = String::new();
        for line in lines(&metadata.join(file)) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let count = counts.entry(words[1].to_owned()).or_default();
            if *count < 6 && taken.insert(words[0].to_owned()) {
                *count += 1;
                album.place(&root.join(folder).join(words[0]));
                few += &format!("{} {} 3 3 60 60 {}\n", words[0], words[1], words[6..].join(" "));
            }
        }
        std::fs::write(root.join("attribute_data").join(file), few).unwrap();
    }
    Some(root)
}

/// Every row of the tables on the official layout, as small as can be: it runs, and passes its audit unless it is an oracle.
#[test]
fn the_recipes_of_the_tables_run_and_pass() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out_few(folder.path()) else { return };
    let recipes = common::recipes_of("apy-");
    assert_eq!(recipes.len(), 15);
    common::assert_recipes_pass(&recipes, &[format!("data.path={}", root.display())], folder.path());
}

/// One tree for all that only reads: it has thousands of files.
#[test]
fn the_real_annotations_make_a_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let Some(root) = lay_out(folder.path()) else { return };
    let data = Apy::open(&root, &ApySettings { scale: Scale::None, ..Default::default() }).unwrap();
    no_photo_is_on_both_sides(&data);
    each_class_is_dealt_out_four_to_one(&data);
    classes_come_in_the_standard_order(&data);
    attributes_are_averages_over_training_objects(&data);
    an_object_is_cut_out_by_its_box(&root, &data);
    the_view_is_the_papers(&data);
    the_split_stays(&root, &data);
    a_missing_photo_is_told(&root);
    whole_photos_are_held_out(data);
}

/// Objects of one photo are all learned from or all held out, and each class has about its share of both.
fn whole_photos_are_held_out(data: Apy) {
    let data = Arc::new(data);
    let held_out = HeldOut::new(data.clone(), 0.2);
    let photos = |subset| -> BTreeSet<String> {
        held_out
            .samples(subset)
            .iter()
            .map(|sample| held_out.name(sample).split(':').next().unwrap().to_owned())
            .collect()
    };
    assert!(photos(Subset::Train).is_disjoint(&photos(Subset::Test)));
    let count = |dataset: &dyn Dataset, subset, class| {
        dataset.samples(subset).iter().filter(|sample| sample.class == ClassId(class)).count()
    };
    for class in 0..32 {
        let (all, tested) = (count(&*data, Subset::Train, class), count(&held_out, Subset::Test, class));
        assert_eq!(count(&held_out, Subset::Train, class) + tested, all);
        let share = tested as f64 / all as f64;
        assert!((0.15..=0.35).contains(&share), "class {class}: {tested} of {all}");
    }
    let groups: BTreeSet<u64> = data.samples(Subset::Train).iter().map(|sample| data.group(sample)).collect();
    assert!(groups.len() < data.samples(Subset::Train).len(), "some photos have several objects");
}

fn no_photo_is_on_both_sides(data: &Apy) {
    let (train, test) = (photos(data, Subset::Train), photos(data, Subset::Test));
    assert!(train.is_disjoint(&test));
    assert_eq!(train.len() + test.len(), 6_577);
    let objects = data.samples(Subset::Train).len() + data.samples(Subset::Test).len();
    assert_eq!(objects, 15_339);
    let names: BTreeSet<String> =
        [Subset::Train, Subset::Test].iter().flat_map(|side| data.samples(*side)).map(|s| data.name(s)).collect();
    assert_eq!(names.len(), 15_339, "every object has a name of its own");
}

/// Of the objects of each class, between 70 and 90 in a hundred: photos are dealt out, and hold several objects.
fn each_class_is_dealt_out_four_to_one(data: &Apy) {
    let counts = |subset| {
        let mut counts: BTreeMap<ClassId, usize> = BTreeMap::new();
        data.samples(subset).iter().for_each(|sample| *counts.entry(sample.class).or_default() += 1);
        counts
    };
    let (train, test) = (counts(Subset::Train), counts(Subset::Test));
    assert_eq!((train.len(), test.len()), (32, 32));
    for (class, count) in train {
        let share = count as f64 / (count + test[&class]) as f64;
        assert!((0.7..0.9).contains(&share), "{}: {share}", data.catalogue().name(class));
    }
    // Written down: a split must stay what it was.
    assert_eq!((data.samples(Subset::Train).len(), data.samples(Subset::Test).len()), (12_336, 3_003));
}

fn classes_come_in_the_standard_order(data: &Apy) {
    let metadata = real_data("apy").unwrap();
    let listed = lines(&metadata.join("class_names.txt"));
    assert_eq!(data.catalogue().names(), listed);
    assert_eq!((listed[0].as_str(), listed[19].as_str(), listed[20].as_str()), ("aeroplane", "tvmonitor", "donkey"));
    let order = |order: Order| -> Vec<String> {
        data.order(&order).unwrap().iter().map(|class| data.catalogue().name(*class).to_owned()).collect()
    };
    assert_eq!(order(Order::Standard), listed);
    assert_eq!(order(Order::Proposed)[20..], lines(&metadata.join("proposed-split/testclasses.txt")));
    for split in ["16+8x2", "20+6x2"] {
        Scenario::new(data.catalogue().names(), &Order::Listed, &split.parse().unwrap()).unwrap();
    }
}

fn attributes_are_averages_over_training_objects(data: &Apy) {
    assert_eq!(data.catalogue().attribute_names().len(), 64);
    assert_eq!(data.catalogue().attribute_names()[6], "Tail");
    let learned = photos(data, Subset::Train);
    for class in ["aeroplane", "person", "centaur"] {
        let objects = annotated().into_iter().filter(|(photo, name, _)| name == class && learned.contains(photo));
        let rows: Vec<Vec<f64>> = objects.map(|(_, _, flags)| flags).collect();
        let row = data.catalogue().attributes(data.catalogue().find(class).unwrap());
        for (at, value) in row.iter().enumerate() {
            let mean = rows.iter().map(|row| row[at]).sum::<f64>() / rows.len() as f64;
            assert!((f64::from(*value) - mean).abs() < 1e-6, "{class}, {at}");
        }
    }
    // What a person would say: zebras are furry and have tails, buildings are neither.
    let value = |class: &str, attribute: &str| {
        let at = data.catalogue().attribute_names().iter().position(|name| name == attribute).unwrap();
        data.catalogue().attributes(data.catalogue().find(class).unwrap())[at]
    };
    assert!(value("zebra", "Furry") > 0.5 && value("building", "Furry") < 0.01 && value("building", "Tail") < 0.01);
}

/// `donkey_1.jpg donkey 14 21 54 72`, in a photo of 64 × 64: columns 14 to 54, rows 21 to 64, counted from 1.
fn an_object_is_cut_out_by_its_box(root: &Path, data: &Apy) {
    let path = root.join("ayahoo_test_images/donkey_1.jpg");
    let whole = Image::decode(&std::fs::read(&path).unwrap(), Channels::Rgb, &path).unwrap();
    let all = [Subset::Train, Subset::Test].into_iter().flat_map(|side| data.samples(side));
    let mut all = all.filter(|sample| data.name(sample).ends_with("donkey_1.jpg:14,21,54,72"));
    let sample = all.next().unwrap();
    assert_eq!(data.catalogue().name(sample.class), "donkey");
    let cut = data.image(sample).unwrap();
    assert_eq!((cut.width, cut.height), (41, 44));
    let pixel = |image: &Image, x: usize, y: usize| {
        let at = (y * image.width as usize + x) * 3;
        [image.pixels[at], image.pixels[at + 1], image.pixels[at + 2]]
    };
    assert_eq!(pixel(&cut, 0, 0), pixel(&whole, 13, 20));
    assert_eq!(pixel(&cut, 40, 43), pixel(&whole, 53, 63));

    // A horse from column 54 to 471 has nothing to do with a photo of 64 columns and 64 rows from row 87 on.
    let mut all = [Subset::Train, Subset::Test].into_iter().flat_map(|side| data.samples(side));
    let horse = all.find(|sample| data.name(sample).ends_with("2008_000008.jpg:54,87,471,419")).unwrap();
    let error = data.image(horse).unwrap_err().to_string();
    assert!(error.contains("2008_000008.jpg`: expected a photo with the box 54 87 471 419 in it"), "{error}");
    assert!(error.ends_with("found one of 64 × 64 pixels"), "{error}");
}

fn the_view_is_the_papers(data: &Apy) {
    let text = "data = { kind = \"apy\" }\nscenario = { split = \"20+6x2\" }\n";
    let recipe = Recipe::parse(text, Path::new("r.toml")).unwrap().effective(data).unwrap();
    assert_eq!((recipe.images.size, data.resize()), (Some(224), 256));
    assert_eq!(data.normalization().std, [0.2272, 0.2147, 0.2105]);
}

fn the_split_stays(root: &Path, data: &Apy) {
    let again = Apy::open(root, &ApySettings::default()).unwrap();
    assert_eq!(photos(&again, Subset::Test), photos(data, Subset::Test));
}

/// Every row of the tables: its classes are dealt out in the order that it names.
fn a_missing_photo_is_told(root: &Path) {
    std::fs::remove_file(root.join("ayahoo_test_images/bag_1.jpg")).ok();
    let first = std::fs::read_dir(root.join("ayahoo_test_images")).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&first).unwrap();
    let error = Apy::open(root, &ApySettings::default()).err().unwrap().to_string();
    assert!(error.contains("ayahoo_test_images/") && error.ends_with("expected a photo, as annotated, found none"));
}
