//! `prescient data check`: every planted fault is found, told with its file and what to do, and the check goes on.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use assert_cmd::Command;
use common::{Album, copy_files, real_data, real_photos};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const CLASSES: [&str; 3] = ["cat", "cow", "dog"];

/// Real photos of three classes, each once: ten a class to learn from, four to be asked about; and their attributes.
fn photos() -> Option<TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let mut photos = real_photos(42)?.into_iter();
    for class in CLASSES {
        for (side, count) in [("train", 10), ("test", 4)] {
            std::fs::create_dir_all(folder.path().join(side).join(class)).unwrap();
            for number in 0..count {
                let path = folder.path().join(side).join(class).join(format!("{number}.jpg"));
                std::fs::write(path, photos.next().unwrap()).unwrap();
            }
        }
    }
    std::fs::write(folder.path().join("attributes.csv"), "class,barks,milk\ncat,0,2\ncow,0,9\ndog,5,2\n").unwrap();
    Some(folder)
}

/// Exit code, what stands on stdout, what stands on stderr.
fn check(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("prescient").unwrap();
    let output = command.args(["data", "check"]).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn check_photos(folder: &Path) -> (i32, String, String) {
    let table = folder.join("attributes.csv");
    let (code, out, error) =
        check(&["folder", folder.to_str().unwrap(), "--attributes", table.to_str().unwrap(), "--all"]);
    (code, out.replace(&format!("{}/", folder.display()), ""), error)
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "expected `{part}` in:\n{text}");
    }
}

#[test]
fn good_photos_pass() {
    let Some(folder) = photos() else { return };
    let (code, out, error) = check_photos(folder.path());
    assert_eq!(code, 0, "{out}{error}");
    says(
        &out,
        &[
            "class   train    test\ncat        10       4\n",
            "all        30      12\n",
            "42 images opened, nothing is wrong",
        ],
    );
    assert_eq!(error, "", "quiet when not a terminal");
}

/// All faults at once: none hides another.
#[test]
fn every_planted_fault_is_found() {
    let Some(folder) = photos() else { return };
    let at = |name: &str| folder.path().join(name);
    let bytes = |name: &str| std::fs::read(at(name)).unwrap();
    // Cut short: 5 bytes at the end, half of it, and all but the beginning.
    for (name, keep) in [("train/cat/0.jpg", 0.995), ("train/cat/1.jpg", 0.5), ("test/cow/0.jpg", 0.01)] {
        let whole = bytes(name);
        std::fs::write(at(name), &whole[..(whole.len() as f64 * keep) as usize]).unwrap();
    }
    // A class without images, and one without attributes.
    std::fs::create_dir_all(at("train/emu")).unwrap();
    std::fs::create_dir_all(at("test/emu")).unwrap();
    std::fs::write(at("test/emu/0.jpg"), bytes("train/cow/9.jpg")).unwrap();
    // A test image that is learned from, under another name and with another comment in the file.
    let mut copy = bytes("train/dog/3.jpg");
    copy.splice(2..2, [0xff, 0xfe, 0x00, 0x06, b'm', b'i', b'n', b'e']);
    std::fs::write(at("test/dog/holiday.jpg"), copy).unwrap();
    // One image as two classes.
    std::fs::write(at("train/cow/same.jpg"), bytes("train/dog/4.jpg")).unwrap();
    // What is no image.
    std::fs::write(at("train/dog/notes.txt"), "bring food").unwrap();
    std::fs::write(at("train/dog/page.jpg"), "<html>404</html>").unwrap();
    std::fs::write(at("test/dog/empty.png"), "").unwrap();
    std::fs::create_dir_all(at("test/cat/young")).unwrap();
    std::fs::write(at("train/stray.jpg"), bytes("train/dog/5.jpg")).unwrap();
    // What cannot be read: the file that a link points to is gone.
    std::os::unix::fs::symlink(at("gone.jpg"), at("train/cow/link.jpg")).unwrap();

    let (code, out, error) = check_photos(folder.path());
    assert_eq!(code, 2);
    says(
        &out,
        &[
            "`train/cat/0.jpg`: expected a whole JPEG, found one that is cut short",
            "`train/cat/1.jpg`: expected a whole JPEG, found one that is cut short",
            "`test/cow/0.jpg`: expected ",
            "→ put a whole copy in its place, or take it away",
            "`train/emu`: expected images of the class, found none",
            "`train/emu`: expected a row for the class in `attributes.csv`, found none",
            "→ names must agree to the letter",
            "`test/emu/0.jpg`: expected a test image of its own, found the training image `train/cow/9.jpg` once more",
            "`test/dog/holiday.jpg`: expected a test image of its own, found the training image `train/dog/3.jpg` once more",
            "→ take one of the two away",
            "`train/dog/4.jpg`: expected `dog`, found the image `train/cow/same.jpg` once more, which is `cow`",
            "`train/dog/notes.txt`: expected an image, found a file of another kind",
            "→ only jpg, jpeg, png, bmp, gif and webp are read: take other files away",
            "`train/dog/page.jpg`: expected an image, found one that does not decode",
            "`test/dog/empty.png`: expected an image, found one that does not decode",
            "`test/cat/young/`: expected images in the folder of a class, found a folder in it",
            "`train/stray.jpg`: expected a folder for each class here, found a file",
            "`train/cow/link.jpg`: No such file",
            "→ a link to a file that is gone",
            "dog        11       6\n",
        ],
    );
    says(&error, &["things are wrong with", "hint: each one is named above"]);
    assert!(!out.contains("nothing is wrong"));
}

/// A copy that the recipe leaves out does no harm; one that it names wrongly is told.
#[test]
fn a_duplicate_can_be_left_out() {
    let Some(folder) = photos() else { return };
    std::fs::copy(folder.path().join("test/dog/2.jpg"), folder.path().join("train/cow/copy.jpg")).unwrap();
    let (code, out, _) = check_photos(folder.path());
    assert_eq!(code, 2);
    says(
        &out,
        &["`train/cow/copy.jpg` once more, which is `cow`\n", "take it away, or exclude it in the recipe; `--fix`"],
    );
    let photos = folder.path().to_str().unwrap();
    let (code, out, error) = check(&["folder", photos, "--exclude", "train/cow/copy.jpg"]);
    assert_eq!(code, 0, "{out}{error}");
    says(&out, &["cow        10       4\n", "42 images opened, nothing is wrong"]);
    let (code, out, _) = check(&["folder", photos, "--exclude", "cow/copy.jpg"]);
    assert_eq!(code, 2);
    says(&out, &["cow/copy.jpg`: expected an image to exclude, found none", "→ `exclude` names images as they lie"]);
}

/// The same photo, packed anew: no byte agrees, but a person would see it. For a person to judge, so it is no fault.
#[test]
fn a_near_duplicate_is_worth_a_look() {
    let Some(folder) = photos() else { return };
    let photo = image::open(folder.path().join("train/dog/3.jpg")).unwrap();
    let file = std::fs::File::create(folder.path().join("test/dog/again.jpg")).unwrap();
    image::codecs::jpeg::JpegEncoder::new_with_quality(file, 60).encode_image(&photo).unwrap();
    let (code, out, _) = check_photos(folder.path());
    assert_eq!(code, 0, "{out}");
    says(&out, &["worth a look: 1\n", "`test/dog/again.jpg` looks like the training image `train/dog/3.jpg`"]);
}

#[test]
fn classes_that_attributes_cannot_tell_apart_are_worth_a_look() {
    let Some(folder) = photos() else { return };
    std::fs::write(folder.path().join("attributes.csv"), "class,furry,barks\ncat,1,0\ncow,1,0\ndog,1,1\n").unwrap();
    let (code, out, _) = check_photos(folder.path());
    assert_eq!(code, 0, "{out}");
    says(&out, &["`cat` and `cow` have the same attributes", "the attribute `furry` is the same for all classes"]);
}

/// As a user who may not read one file and one folder. Root may read everything, so root becomes nobody for it.
#[test]
fn what_may_not_be_read_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let Some(folder) = photos() else { return };
    let forbid = |name: &str| {
        std::fs::set_permissions(folder.path().join(name), std::fs::Permissions::from_mode(0o000)).unwrap();
    };
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    forbid("train/cat/2.jpg");
    forbid("test/dog");
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("prescient"));
    command.args(["data", "check", "folder"]).arg(folder.path());
    let is_root = std::fs::read(folder.path().join("train/cat/2.jpg")).is_ok();
    if is_root {
        command.uid(65_534).gid(65_534);
    }
    let output = match command.output() {
        Ok(output) if output.status.code() == Some(2) => output,
        other => {
            // The program itself, or libtorch, may lie where nobody may go.
            assert!(is_root, "{other:?}");
            eprintln!("left out: root may read everything, and nobody cannot start the program here: {other:?}");
            return;
        }
    };
    let out = String::from_utf8(output.stdout).unwrap().replace(&format!("{}/", folder.path().display()), "");
    says(
        &out,
        &[
            "`train/cat/2.jpg`: Permission denied",
            "`test/dog/`: Permission denied",
            "→ this user may not read it: `chmod u+rX",
        ],
    );
    std::fs::set_permissions(folder.path().join("test/dog"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_archive_is_checked_like_a_folder() {
    let Some(animals) = real_data("animals12") else { return };
    let (archive, table) = (animals.join("images.zip"), animals.join("attributes.csv"));
    let (_, out, error) = check(&["folder", archive.to_str().unwrap(), "--attributes", table.to_str().unwrap()]);
    says(&out, &["all                 6000     600\n"]);
    assert!(!out.contains("cut short") && !out.contains("does not decode"), "{out}{error}");
}

/// AwA2's own layout with two photos a class: counts are told for each, and what else is wrong too.
#[test]
fn awa2_is_counted_against_what_is_published() {
    let (Some(metadata), folder) = (real_data("awa2"), tempfile::tempdir().unwrap()) else { return };
    let Some(mut album) = Album::new(&folder.path().join("album"), 100) else { return };
    let root = folder.path().join("Animals_with_Attributes2");
    copy_files(&metadata, &root);
    for line in common::lines(&metadata.join("classes.txt")) {
        let class = line.split_whitespace().nth(1).unwrap().to_owned();
        (1..=2).for_each(|n| album.place(&root.join(format!("JPEGImages/{class}/{class}_1000{n}.jpg"))));
    }
    std::fs::remove_dir_all(root.join("JPEGImages/zebra")).unwrap();
    std::fs::create_dir(root.join("JPEGImages/zebra")).unwrap();
    let matrix = root.join("predicate-matrix-binary.txt");
    let cut = std::fs::read_to_string(&matrix).unwrap().lines().take(16).collect::<Vec<_>>().join("\n");
    std::fs::write(&matrix, cut).unwrap();
    let (code, out, _) = check(&["awa2", folder.path().to_str().unwrap(), "--all"]);
    assert_eq!(code, 2);
    says(
        &out,
        &[
            "JPEGImages/antelope`: expected 1046 images, found 2",
            "JPEGImages/zebra`: expected 1170 images, found 0",
            "JPEGImages/zebra`: expected at least 2 images of the class, found 0",
            "predicate-matrix-binary.txt`: expected a line for each of 50 classes, found 16",
            "→ some photos may not have been unpacked",
        ],
    );
}

/// Two of the three annotation files cut at a line, photos that are not there, and one that is too small for its box.
#[test]
fn apy_is_checked_photo_by_photo() {
    let (Some(metadata), folder) = (real_data("apy"), tempfile::tempdir().unwrap()) else { return };
    let Some(mut album) = Album::new(&folder.path().join("album"), 20) else { return };
    let root = folder.path().join("apy");
    copy_files(&metadata, &root);
    for (name, keep) in [("apascal_train.txt", 3), ("apascal_test.txt", 2)] {
        let lines = common::lines(&metadata.join(name));
        std::fs::write(root.join(name), lines[..keep].join("\n")).unwrap();
    }
    album.place(&root.join("VOC2008/JPEGImages/2008_000008.jpg"));
    album.place(&root.join("ayahoo_test_images/donkey_1.jpg"));
    let (code, out, _) = check(&["apy", root.to_str().unwrap(), "--all"]);
    assert_eq!(code, 2);
    says(
        &out,
        &[
            "apascal_train.txt`: expected 6340 objects, found 3",
            "apascal_test.txt`: expected 6355 objects, found 2",
            "VOC2008/JPEGImages/2008_000015.jpg`: expected a photo, as annotated, found none",
            "ayahoo_test_images/donkey_100.jpg`: expected a photo, as annotated, found none",
            "2008_000008.jpg`: expected a photo with the box 54 87 471 419 in it, found one of 64 × 64 pixels",
            "donkey          ",
        ],
    );
    assert!(!out.contains("donkey_1.jpg`:"), "the one that is there is fine");
}

#[test]
fn mnists_files_are_each_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(folder.path().join(name), bytes).unwrap();
    let header = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
    write("train-images-idx3-ubyte", header(&[2051, 3, 28, 28]));
    write("train-labels-idx1-ubyte", [header(&[2049, 2]), vec![3, 4]].concat());
    let (code, out, _) = check(&["mnist", folder.path().to_str().unwrap()]);
    assert_eq!(code, 2);
    says(
        &out,
        &[
            "train-images-idx3-ubyte`: expected 3 × 28 × 28 pixels",
            "t10k-images-idx3-ubyte.gz`: No such file",
            "t10k-labels-idx1-ubyte.gz`: No such file",
        ],
    );
    let images = |grey: &[u8]| {
        let pixels: Vec<u8> = grey.iter().flat_map(|&grey| [grey; 784]).collect();
        [header(&[2051, grey.len() as u32, 28, 28]), pixels].concat()
    };
    write("train-images-idx3-ubyte", images(&[10, 20]));
    write("t10k-images-idx3-ubyte", images(&[20]));
    write("t10k-labels-idx1-ubyte", [header(&[2049, 1]), vec![4]].concat());
    let (code, out, _) = check(&["mnist", folder.path().to_str().unwrap()]);
    assert_eq!(code, 2);
    says(
        &out,
        &[
            "train-images-idx3-ubyte`: expected 60000 images, found 2",
            "`test/00000`: expected a test image of its own, found the training image `train/00001` once more",
        ],
    );
}

#[test]
fn the_real_mnist_passes() {
    let Some(folder) = real_data("mnist") else { return };
    let (code, out, error) = check(&["mnist", folder.to_str().unwrap()]);
    assert_eq!(code, 0, "{out}{error}");
    says(&out, &["all     60000   10000\n", "70000 images opened, nothing is wrong"]);
}

#[test]
fn a_wrong_path_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere: PathBuf = folder.path().join("nowhere");
    for dataset in ["folder", "awa2", "apy", "mnist"] {
        let (code, out, error) = check(&[dataset, nowhere.to_str().unwrap()]);
        assert_eq!(code, 2, "{dataset}: {out}{error}");
        says(&out, &["nowhere", "No such file", "→ "]);
    }
}

/// A broken photo, one on both sides of which two copies are learned from, and one in two classes: lines for the recipe, and all of
/// it for programs.
#[test]
fn what_is_wrong_can_be_pasted_and_parsed() {
    let Some(folder) = photos() else { return };
    std::fs::write(folder.path().join("test/cow/0.jpg"), b"no photo").unwrap();
    std::fs::copy(folder.path().join("train/dog/3.jpg"), folder.path().join("test/dog/copy.jpg")).unwrap();
    std::fs::copy(folder.path().join("train/dog/3.jpg"), folder.path().join("train/dog/three.jpg")).unwrap();
    std::fs::copy(folder.path().join("test/cat/1.jpg"), folder.path().join("train/cow/cat.jpg")).unwrap();
    let path = folder.path().to_str().unwrap();
    let (code, out, _) = check(&["folder", path, "--fix"]);
    assert_eq!(code, 2);
    insta::assert_snapshot!(out, @r#"
    exclude = [
        "test/cow/0.jpg",
        "train/dog/3.jpg",
        "train/dog/three.jpg",
        # one photo in several classes: delete the line of the copy to keep
        "test/cat/1.jpg",
        "train/cow/cat.jpg",
    ]
    "#);
    let (code, out, _) = check(&["folder", path, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 2);
    assert_eq!(json["counts"][0], serde_json::json!(["cat", [10, 4]]));
    let findings = json["findings"].as_array().unwrap();
    let kinds: Vec<&str> = findings.iter().map(|finding| finding["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["image", "duplicate", "duplicate", "repeated"]);
    let pair = findings.iter().find(|finding| finding["keeps_one"] == true).unwrap();
    assert_eq!(pair["exclude"], serde_json::json!(["train/cow/cat.jpg", "test/cat/1.jpg"]));
}
