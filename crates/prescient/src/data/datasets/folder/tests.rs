//! Folders and archives that are as they should be, and what is said of those that are not.

use super::*;
use crate::class::ClassId;
use crate::data::{Channels, Image};
use crate::required::real_data;
use std::fs;
use std::io::Write;
use tempfile::TempDir;

const GOOD: [&str; 5] = ["train/dog/2.png", "train/dog/1.PNG", "train/cat/1.png", "test/cat/9.png", "test/dog/8.png"];

fn open(path: &Path, attributes: &[PathBuf]) -> Result<Folder, DataError> {
    let attributes: Vec<AttributeSource> = attributes.iter().map(AttributeSource::new).collect();
    Folder::open(path, &FolderSettings { attributes, ..FolderSettings::new(path) })
}

/// A PNG, three pixels wide and two high, of one grey.
fn png(grey: u8) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.png");
    let image = Image { width: 3, height: 2, channels: Channels::Grey, pixels: vec![grey; 6].into() };
    image.write_png(&path).expect("a file");
    fs::read(path).expect("the file")
}

/// A folder with these files (folders end in `/`); the i-th image is of grey i.
fn tree(names: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (index, name) in names.iter().enumerate() {
        let path = folder.path().join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).expect("a folder");
        } else {
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, png(index as u8)).expect("a file");
        }
    }
    folder
}

/// The same as an archive.
fn zipped(names: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("images.zip");
    let mut writer = zip::ZipWriter::new(fs::File::create(&path).expect("a file"));
    for (index, name) in names.iter().enumerate() {
        let options = zip::write::SimpleFileOptions::default();
        if name.ends_with('/') {
            writer.add_directory(*name, options).expect("a folder");
        } else {
            writer.start_file(*name, options).expect("a file");
            writer.write_all(&png(index as u8)).expect("bytes");
        }
    }
    writer.finish().expect("an archive");
    (folder, path)
}

fn table(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.csv");
    fs::write(&path, text).expect("a file");
    (folder, path)
}

/// What is said of a tree, without the folder's name, for a folder and for an archive: the same.
fn says(names: &[&str]) -> String {
    let folder = tree(names);
    let text = open(folder.path(), &[]).err().expect("a fault").to_string();
    let root = folder.path().display().to_string();
    let of_folder = text.replace(&format!("{root}/"), "").replace(&root, "ROOT");

    let (_folder, path) = zipped(names);
    let text = open(&path, &[]).err().expect("a fault").to_string();
    let root = path.display().to_string();
    let of_archive = text.replace(&format!("{root}/"), "").replace(&root, "ROOT");
    assert_eq!(of_folder, of_archive);
    of_folder
}

fn names(data: &Folder, subset: Subset) -> Vec<String> {
    data.samples(subset).iter().map(|sample| data.name(sample)).collect()
}

fn check_good(data: &Folder) {
    assert_eq!(data.catalogue().names(), ["cat", "dog"]);
    assert_eq!(names(data, Subset::Train), ["train/cat/1.png", "train/dog/1.PNG", "train/dog/2.png"]);
    assert_eq!(names(data, Subset::Test), ["test/cat/9.png", "test/dog/8.png"]);
    assert_eq!(data.size(), 2);
    let last = data.samples(Subset::Train)[2];
    assert_eq!((last.class, last.index), (ClassId(1), 2));
    let image = data.image(&last).expect("an image");
    assert_eq!((image.width, image.height, image.channels), (3, 2, Channels::Rgb));
    assert_eq!(data.image(&data.samples(Subset::Test)[0]).expect("an image").pixels[..], [3; 18]);
}

#[test]
fn folders_and_archives_read_alike() {
    let folder = tree(&GOOD);
    check_good(&open(folder.path(), &[]).expect("a folder"));
    let (_folder, path) = zipped(&GOOD);
    check_good(&open(&path, &[]).expect("an archive"));
}

#[test]
fn an_archive_may_have_a_folder_on_top() {
    let inside: Vec<String> = GOOD.iter().map(|name| format!("pets/{name}")).collect();
    let mut inside: Vec<&str> = inside.iter().map(String::as_str).collect();
    inside.extend(["__MACOSX/pets/train/cat/._1.png", "pets/README.txt"]);
    let (_folder, path) = zipped(&inside);
    check_good(&open(&path, &[]).expect("an archive"));
}

#[test]
fn what_systems_leave_behind_is_skipped() {
    let left = ["train/.DS_Store", "train/cat/Thumbs.db", "test/__MACOSX/x.png", "README.txt", "val/cat/1.txt"];
    let all = [&GOOD[..], &left].concat();
    let folder = tree(&all);
    check_good(&open(folder.path(), &[]).expect("a folder"));
    let (_folder, path) = zipped(&all);
    check_good(&open(&path, &[]).expect("an archive"));
}

#[test]
fn names_that_point_outside_do_no_harm() {
    let (_folder, path) = zipped(&[&GOOD[..], &["../../x.png", "train/../../y.png", "/z.png"]].concat());
    check_good(&open(&path, &[]).expect("an archive"));
}

#[test]
fn the_first_table_gives_the_order() {
    let (_one, first) = table("class,legs\ndog,4\ncat,3\n");
    let (_two, second) = table("class,purrs\ncat,1\ndog,0\n");
    let folder = tree(&GOOD);
    let attributes = [first, second].iter().map(AttributeSource::new).collect();
    let settings = FolderSettings { attributes, scale: Scale::None, ..FolderSettings::new(folder.path()) };
    let data = Folder::open(folder.path(), &settings).expect("data");
    assert_eq!(data.catalogue().names(), ["dog", "cat"]);
    assert_eq!(data.catalogue().attribute_names(), ["legs", "purrs"]);
    assert_eq!(data.catalogue().attributes(ClassId(0)), [4.0, 0.0]);
    assert_eq!(names(&data, Subset::Train)[0], "train/dog/1.PNG");
    assert_eq!(data.samples(Subset::Train)[2].class, ClassId(1));
}

/// `ö` as an `o` and its dots in the names of folders, as macOS writes it, and as one letter in the table.
#[test]
fn a_folder_and_a_row_may_write_an_umlaut_in_two_ways() {
    let folder = tree(&["train/lo\u{308}we/1.png", "test/l\u{f6}we/2.png"]);
    let (_table, path) = table("class,legs\nl\u{f6}we,4\n");
    let data = open(folder.path(), &[path]).expect("one class");
    assert_eq!(data.catalogue().names(), ["l\u{f6}we"]);
    assert_eq!((names(&data, Subset::Train).len(), names(&data, Subset::Test).len()), (1, 1));
}

#[test]
fn other_classes_in_a_table_are_told_both_ways() {
    let (_table, path) = table("class,legs\ncat,4\nwhale,0\n");
    let folder = tree(&GOOD);
    match open(folder.path(), &[path]).err() {
        Some(DataError::Classes { only_images, only_attributes, .. }) => {
            assert_eq!(only_images, ["dog"]);
            assert_eq!(only_attributes, ["whale"]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_wrong_path_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("none");
    assert!(matches!(open(&missing, &[]), Err(DataError::Io { path, .. }) if path == missing));
    let (_table, csv) = table("class,legs\n");
    let text = open(&csv, &[]).err().expect("a fault").to_string();
    assert!(text.contains("a.csv`: expected a folder or a zip archive, found one that cannot be read"), "{text}");
    let good = tree(&GOOD);
    assert!(matches!(open(good.path(), &[missing]), Err(DataError::Io { .. })));
}

#[test]
fn a_missing_side_is_told() {
    assert_eq!(says(&["a.png"]), "`ROOT`: expected a folder `train` in it, found none");
    assert_eq!(says(&["train/cat/1.png"]), "`ROOT`: expected a folder `test` in it, found none");
    assert_eq!(says(&["test/cat/1.png"]), "`ROOT`: expected a folder `train` in it, found none");
    assert_eq!(says(&["train/", "test/"]), "`train`: expected a folder for each class, found none");
}

#[test]
fn a_class_on_one_side_is_told() {
    let text = says(&["train/cat/1.png", "train/dog/1.png", "test/cat/1.png"]);
    assert_eq!(text, "`test`: expected a folder `dog`, as in `train`, found none");
    let text = says(&["train/cat/1.png", "test/dog/1.png", "test/cat/1.png"]);
    assert_eq!(text, "`train`: expected a folder `dog`, as in `test`, found none");
}

#[test]
fn a_class_without_images_is_told() {
    let text = says(&["train/cat/1.png", "train/dog/", "test/dog/1.png", "test/cat/1.png"]);
    assert_eq!(text, "`train/dog`: expected images of the class, found none");
    let text = says(&["train/cat/1.png", "train/dog/1.png", "test/dog/.hidden.png", "test/dog/", "test/cat/1.png"]);
    assert_eq!(text, "`test/dog`: expected images of the class, found none");
}

/// Of `ox`, whose only test image is left out, none remains; a name that is not there is told as it would lie.
#[test]
fn what_is_left_out_is_not_there() {
    let names = [&GOOD[..], &["train/ox/1.png", "test/ox/1.png"]].concat();
    let folder = tree(&names);
    let (_folder, archive) = zipped(&names);
    for path in [folder.path(), archive.as_path()] {
        let without = |names: &[&str]| {
            let exclude = names.iter().map(|name| (*name).to_owned()).collect();
            Folder::open(path, &FolderSettings { exclude, ..FolderSettings::new(path) })
        };
        let data = without(&["train/dog/1.PNG"]).expect("data");
        let left = data.samples(Subset::Train).iter().map(|sample| data.name(sample)).collect::<Vec<_>>();
        assert_eq!(left, ["train/cat/1.png", "train/dog/2.png", "train/ox/1.png"]);
        assert_eq!(data.samples(Subset::Test).len(), 3);
        let says = |names: &[&str]| without(names).err().expect("a fault");
        let text = says(&["train/dog/1.png"]).to_string();
        assert!(text.ends_with("/train/dog/1.png`: expected an image to exclude, found none"), "{text}");
        assert!(says(&["dog/1.png"]).hint().is_some_and(|hint| hint.contains("such as `train/cat/0001.jpg`")));
        let text = says(&["test/ox/1.png"]).to_string();
        assert!(text.ends_with("/test/ox`: expected images of the class, found none"), "{text}");
    }
}

#[test]
fn what_is_no_image_is_told() {
    let text = says(&[&GOOD[..], &["train/cat/notes.txt"]].concat());
    assert_eq!(text, "`train/cat/notes.txt`: expected an image, found a file of another kind");
    let text = says(&[&GOOD[..], &["train/cat/png"]].concat());
    assert_eq!(text, "`train/cat/png`: expected an image, found a file of another kind");
    let text = says(&[&GOOD[..], &["train/1.png"]].concat());
    assert_eq!(text, "`train/1.png`: expected a folder for each class here, found a file");
    let text = says(&[&GOOD[..], &["test/cat/young/"]].concat());
    assert_eq!(text, "`test/cat/young/`: expected images in the folder of a class, found a folder in it");
}

#[test]
fn an_image_that_does_not_decode_is_told_by_its_path() {
    let folder = tree(&GOOD);
    fs::write(folder.path().join("test/dog/8.png"), b"not a png").expect("a file");
    let data = open(folder.path(), &[]).expect("data");
    let error = data.image(&data.samples(Subset::Test)[1]).expect_err("no image");
    assert!(matches!(error, DataError::Image { path, .. } if path == folder.path().join("test/dog/8.png")));

    let (_folder, path) = zipped(&["train/cat/1.png", "test/cat/1.png"]);
    let mut bytes = fs::read(&path).expect("bytes");
    let at = bytes.len() - 5;
    bytes[at] ^= 0xff;
    fs::write(&path, bytes).expect("a damaged archive");
    assert!(matches!(open(&path, &[]), Err(DataError::Malformed { .. })));
}

#[test]
fn the_real_animals_are_read() {
    let Some(folder) = real_data("animals12") else { return };
    let data = open(&folder.join("images.zip"), &[folder.join("attributes.csv")]).expect("animals12");
    assert_eq!(data.catalogue().len(), 12);
    assert_eq!(data.catalogue().attribute_names().len(), 85);
    assert_eq!(data.size(), 64);
    for (subset, each) in [(Subset::Train, 500), (Subset::Test, 50)] {
        for class in 0..12 {
            let count = data.samples(subset).iter().filter(|sample| sample.class == ClassId(class)).count();
            assert_eq!(count, each);
        }
    }
    for sample in data.samples(Subset::Test) {
        let image = data.image(sample).expect("an image");
        assert_eq!((image.width, image.height, image.channels), (64, 64, Channels::Rgb));
    }
}

/// The whale is described and has no photo: it comes last, whatever its row, and has no sample.
#[test]
fn a_class_may_be_described_and_have_no_photo() {
    let (_table, path) = table("class,legs\nwhale,0\ndog,4\ncat,4\n");
    let folder = tree(&GOOD);
    let data = open(folder.path(), &[path]).expect("a folder");
    assert_eq!(data.catalogue().names(), ["dog", "cat", "whale"]);
    assert_eq!(data.catalogue().rows().last().map(|(_, row)| row[0]), Some(0.0));
    for subset in [Subset::Train, Subset::Test] {
        assert!(data.samples(subset).iter().all(|sample| sample.class != ClassId(2)));
    }
    assert_eq!((names(&data, Subset::Train).len(), names(&data, Subset::Test).len()), (3, 2));
}

/// Eleven photos of 40 pixels and one thumbnail, which comes first: the photos decide, and the thumbnail is told of.
#[test]
fn the_size_is_that_of_most_photos() {
    let folder = tree(&GOOD);
    let write = |name: &str, side: u32| {
        let image = image::GrayImage::from_fn(side, side + 3, |x, y| image::Luma([(x * 7 + y * 13) as u8]));
        image.save(folder.path().join(name)).expect("an image");
    };
    for entry in fs::read_dir(folder.path().join("train/cat"))
        .expect("cats")
        .chain(fs::read_dir(folder.path().join("train/dog")).expect("dogs"))
    {
        fs::remove_file(entry.expect("a photo").path()).expect("gone");
    }
    write("train/cat/0.png", 12);
    (1..8).for_each(|number| write(&format!("train/cat/{number}.png"), 40));
    (1..5).for_each(|number| write(&format!("train/dog/{number}.png"), 40));
    assert_eq!(open(folder.path(), &[]).expect("data").size(), 40);
    let checkup =
        crate::data::check::check(&crate::data::Source::Folder(FolderSettings::new(folder.path())), &|_, _| {});
    let told = checkup.findings.iter().any(|finding| {
        finding.what == "`train/cat/0.png` is 12 pixels on its shorter side, most photos are 40 or more"
    });
    assert!(told, "{:?}", checkup.findings);
}

#[test]
fn folders_that_are_not_read_are_told_of() {
    let folder = tree(&[&GOOD[..], &["val/cat/1.png", "train/.thumbs/1.png"]].concat());
    let source = crate::data::Source::Folder(FolderSettings::new(folder.path()));
    let checkup = crate::data::check::check(&source, &|_, _| {});
    let what: Vec<&str> = checkup.findings.iter().map(|finding| finding.what.as_str()).collect();
    for name in ["val/", "train/.thumbs/"] {
        let expected = format!("`{name}` is not read: photos are learned from in `train` and tested in `test`");
        assert!(what.contains(&expected.as_str()), "{what:?}");
    }
}

/// Ten cats and five dogs in a folder each: eight and four to learn from, two and one to be tested on, always the same.
#[test]
fn one_folder_a_class_is_divided() {
    let names: Vec<String> =
        (0..10).map(|i| format!("cat/{i}.png")).chain((0..5).map(|i| format!("dog/{i}.png"))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (folder, (_folder, archive)) = (tree(&names), zipped(&names));
    let sides = |path: &Path| {
        let data = open(path, &[]).expect("data");
        [Subset::Train, Subset::Test].map(|subset| super::tests::names(&data, subset))
    };
    let [train, test] = sides(folder.path());
    assert_eq!(test, ["cat/8.png", "cat/9.png", "dog/4.png"], "the last by name");
    assert_eq!(
        says(&["cat/1.png", "cat/2.png", "dog/1.png"]),
        "`dog`: expected two images of the class, one to test on, found one"
    );
    let count = |side: &[String], class: &str| side.iter().filter(|name| name.starts_with(class)).count();
    assert_eq!([&train, &test].map(|side| (count(side, "cat/"), count(side, "dog/"))), [(8, 4), (2, 1)]);
    let mut all = [train.clone(), test.clone()].concat();
    all.sort();
    let mut expected: Vec<&str> = names.clone();
    expected.sort_unstable();
    assert_eq!(all, expected, "each photo is on one side");
    assert_eq!(sides(&archive), [train, test]);
}
