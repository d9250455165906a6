//! The verbs of a project, by the command: what each says, what each refuses, two at once, and kill −9 at any moment.
#![allow(clippy::unwrap_used)]

mod command;
#[path = "../../prescient/tests/common/mod.rs"]
mod common;
mod small_shop;

use command::prescient;
use prescient::Project;
use prescient::learner::Silent;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const CLASSES: [&str; 5] = ["lion", "bison", "ox", "tiger", "zebra"];
const TABLE: &str = "class,stripes,horns\nlion,0,0\nbison,0,1\nox,0,1\ntiger,1,0\nzebra,1,0\n";

/// A folder with a project `shop` of five classes, and photos of them: `month_01` has lion, bison and tiger; `month_02` more of them
/// and ox; `new` one photo each.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        small_shop::create(place.path("shop"), TABLE);
        common::drawn_photos(&place.path("drawn"), &CLASSES, 16, 1);
        for (month, class, range) in small_shop::MONTHS {
            place.copy(month, class, range);
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Some of the drawn photos of a class, into a folder.
    fn copy(&self, to: &str, class: &str, range: std::ops::Range<usize>) {
        let folder = self.path(to).join(class);
        std::fs::create_dir_all(&folder).unwrap();
        for number in range {
            let name = format!("{number}.png");
            std::fs::copy(self.path("drawn/train").join(class).join(&name), folder.join(&name)).unwrap();
        }
    }

    /// What a command says that must succeed.
    fn says(&self, arguments: &[&str]) -> String {
        let (code, out, error) = prescient(arguments, self.0.path());
        assert_eq!(code, 0, "{arguments:?}: {out}{error}");
        out
    }

    /// What a command says that must fail.
    fn refuses(&self, arguments: &[&str]) -> String {
        let (code, out, error) = prescient(arguments, self.0.path());
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {error}");
        error
    }

    fn version(&self) -> usize {
        Project::open(self.path("shop")).unwrap().version().number
    }

    /// What answers, byte for byte.
    fn answers(&self) -> Vec<u8> {
        std::fs::read(Project::open(self.path("shop")).unwrap().folder().join("predictor.safetensors"))
            .unwrap_or_default()
    }
}

#[test]
fn a_project_from_the_first_photos_to_a_rollback() {
    let place = Place::new();
    let said = place.says(&["learn", "shop", "month_01"]);
    let expected = "version 2: 26 new photos, 5 held out\n  first photos of: bison, lion, tiger\n  held-out photos: ";
    assert!(said.starts_with(expected) && said.ends_with("  3 classes with 26 photos, 2 without\n"), "{said}");
    assert!(said.contains("\n  does not guess yet: "), "{said}");
    let said = place.says(&["learn", "shop", "month_02"]);
    assert!(
        said.contains("before, it named ") && said.contains(" of 2 of these photos right of classes it knew"),
        "{said}"
    );
    // With photos of three classes it does not guess yet, so it cannot have named the others.
    assert!(!said.contains("classes it had never seen"), "{said}");
    assert_eq!(place.says(&["learn", "shop", "month_02"]), "nothing new: 8 photos known already; version 3 stays\n");

    let status = place.says(&["status", "shop"]);
    assert!(status.contains("learned     4 classes from 34 photos"), "{status}");
    let zebra = status.lines().find(|line| line.starts_with("zebra ")).unwrap();
    assert!(zebra.ends_with("–  not yet photographed"), "{status}");
    assert!(
        status.contains("learn month_01: 26 photos learned, 5 held out, first photos of bison, lion, tiger"),
        "{status}"
    );
    let json: Value = serde_json::from_str(&place.says(&["status", "shop@2", "--format", "json"])).unwrap();
    assert_eq!((json["version"].as_u64(), json["classes"][0]["photos"].as_u64()), (Some(2), Some(10)));

    let diff = place.says(&["diff", "shop@2", "shop"]);
    assert!(
        diff.starts_with("shop@2 → shop on the same 6 photos, asked of models that have not learned from them\n"),
        "{diff}"
    );
    assert!(diff.contains("0 → 6") && diff.contains("first photos"), "{diff}");

    let plan: Value = serde_json::from_str(&place.says(&["plan", "shop", "--format", "json"])).unwrap();
    assert_eq!(plan["classes"].as_array().unwrap().len(), 5);
    assert!(place.says(&["plan", "shop", "--top", "2"]).contains("suggested"));

    // Which columns are used is said, and which of them no photo may show.
    std::fs::write(place.path("priced.csv"), "class,stripes,price\nlion,0,5\nbison,0,5\nox,0,7\ntiger,1,8\n").unwrap();
    assert!(status.contains("\nknown by    stripes, horns\n"), "{status}");
    let (code, out, error) = prescient(&["learn", "shop", "--classes", "priced.csv"], place.0.path());
    assert_eq!(code, 0, "{error}");
    assert!(error.contains("warning: the column `price` is used to imagine classes"), "{error}");
    assert!(out.contains("  the table describes classes by: attributes (stripes, price)\n"), "{out}");
    let status = place.says(&["status", "shop"]);
    assert!(status.contains("known by    stripes, price\nlook at     the column `price` is used"), "{status}");
    assert_eq!(place.says(&["rollback", "shop", "3"]), "version 5: as version 3\n");

    assert_eq!(place.says(&["rename", "shop", "ox", "cattle"]), "version 6: `ox` is called `cattle`\n");
    let diff = place.says(&["diff", "shop@3", "shop@6"]);
    assert!(diff.contains("was ox"), "{diff}");
    assert_eq!(place.says(&["forget", "shop", "tiger", "bison"]), "version 7: tiger, bison forgotten\n");
    assert_eq!(place.says(&["rollback", "shop", "3"]), "version 8: as version 3\n");
    assert!(place.says(&["diff", "shop@3", "shop"]).contains("no class changed"));
}

#[test]
fn photos_are_answered_sorted_and_left_open() {
    let place = Place::new();
    place.says(&["learn", "shop", "month_01"]);
    for class in ["lion", "tiger"] {
        place.copy("new", class, 12..14);
    }
    let lines = place.says(&["predict", "shop", "new", "--format", "jsonl", "--sort", "sorted"]);
    let mut sorted = 0;
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let photo = PathBuf::from(line["image"].as_str().unwrap());
        let folder = place.path("sorted").join(line["predictions"][0]["class"].as_str().unwrap());
        let copies = std::fs::read_dir(&folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
        assert!(copies.into_iter().any(|bytes| bytes == std::fs::read(place.path("").join(&photo)).unwrap()), "{line}");
        sorted += 1;
    }
    assert_eq!(sorted, 4);
    let csv = place.says(&[
        "predict",
        "shop",
        "new",
        "--format",
        "csv",
        "--top",
        "1",
        "--abstain-below",
        "100",
        "--sort",
        "open",
    ]);
    assert!(csv.starts_with("image,rank,class,probability,seen,abstains\n"), "{csv}");
    assert_eq!(std::fs::read_dir(place.path("open/not sure")).unwrap().count(), 4);
    let (_, _, told) = prescient(&["predict", "shop", "new", "--abstain-below", "50"], place.0.path());
    assert!(
        told.starts_with("note: from 50 % on it answered ") && told.contains(" of 5 held-out photos of classes"),
        "{told}"
    );
    assert!(place.refuses(&["predict", "shop@9", "new"]).contains("has no version 9: it has 1 to 2"));
    assert!(place.refuses(&["predict", "shop", "new", "--task", "1"]).contains("it has versions, and no tasks"));
    assert!(
        place.refuses(&["predict", "shop@1", "new"]).contains("version 1 of `shop` has not learned from a photo yet")
    );
}

#[test]
fn the_gate_closes_on_a_version_that_got_worse() {
    let place = Place::new();
    place.says(&["learn", "shop", "month_01"]);
    // Lions taken for tigers: what was right is wrong now.
    std::fs::create_dir_all(place.path("wrong")).unwrap();
    for (number, class) in ["lion", "bison"].iter().enumerate() {
        place.copy("other", class, 10..16);
        std::fs::rename(place.path("other").join(class), place.path("wrong").join(["bison", "lion"][number])).unwrap();
    }
    place.says(&["learn", "shop", "wrong", "--hold-out", "0"]);
    for wrong in ["nan", "-2", "x"] {
        let error = place.refuses(&["diff", "shop@2", "shop", "--fail-if-drop", wrong]);
        assert!(error.contains("expected a number of points, at least 0"), "{error}");
    }
    let (_, before, _) = prescient(&["diff", "shop@2", "shop@2", "--fail-if-drop", "0"], place.0.path());
    assert!(before.contains("no class changed"), "{before}");
    let (code, out, told) = prescient(&["diff", "shop@2", "shop", "--fail-if-drop", "0.5"], place.0.path());
    let dropped = out.contains("(-");
    assert_eq!(code, i32::from(dropped), "{out}{told}");
    if dropped {
        assert!(told.contains("got worse by more than 0.5 points: all photos by "), "{told}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let place = Place::new();
    place.says(&["learn", "shop", "month_01"]);
    std::fs::create_dir_all(place.path("empty")).unwrap();
    std::fs::create_dir_all(place.path("typo")).unwrap();
    std::fs::rename(place.path("month_02/ox"), place.path("typo/zbera")).unwrap();
    std::fs::write(place.path("month_02/lion/broken.jpg"), [0xff, 0xd8, 0xff, 0xe0]).unwrap();
    std::fs::write(place.path("bad.csv"), "class,stripes\nlion,many\n").unwrap();
    let expected: &[(&[&str], &str)] = &[
        (&["learn", "empty", "month_01"], "`empty` is not a project: expected `HEAD` in it, found none"),
        (&["learn", "shop", "empty"], "`empty` has no photos"),
        (&["learn", "shop", "missing"], "missing"),
        (&["learn", "shop", "typo"], "`zbera` is not in the catalogue; did you mean `zebra`?"),
        (&["learn", "shop", "month_02"], "1 of 3 photos cannot be read:\n"),
        (
            &["learn", "shop", "--classes", "bad.csv"],
            "`bad.csv`, line 2: expected a finite number for `stripes`, found `many`",
        ),
        (&["learn", "shop@1", "month_01"], "version 1 of `shop` cannot change: version 2 came after it"),
        (&["forget", "shop", "lions"], "there is no class `lions`; did you mean `lion`?"),
        (&["rename", "shop", "gnu", "ox"], "there is no class `gnu`"),
        (&["rename", "shop", "lion", "ox"], "there is a class `ox` already"),
        (&["rename", "shop", "lion", " "], "cannot be the name of a class"),
        (&["rollback", "shop", "3"], "`shop` has no version 3: it has 1 to 2"),
        (&["rollback", "shop", "0"], "0 is not in 1.."),
        (&["diff", "shop@1", "shop@7"], "`shop` has no version 7: it has 1 to 2"),
        (&["status", "empty"], "is not a project"),
        (&["plan", "shop@1"], "cannot say yet what photos would be worth"),
        (&["new", "shop", "--classes", "bad.csv"], "`shop` exists already"),
        (&["new", "other", "--classes", "missing.csv"], "missing.csv"),
        (&["new", "other", "--classes", "bad.csv"], "`bad.csv`, line 2: expected a finite number"),
        (&["learn", "shop"], "PHOTOS"),
    ];
    for (arguments, part) in expected {
        let told = place.refuses(arguments);
        assert!(told.contains(part), "{arguments:?}: expected `{part}` in:\n{told}");
        assert_eq!(place.version(), 2, "{arguments:?}");
    }
    assert!(!place.path("other").exists());
    let (code, out, told) = prescient(&["learn", "shop", "month_02", "--skip-damaged"], place.0.path());
    assert_eq!((code, out.starts_with("version 3: 2 new photos")), (0, true), "{out}{told}");
    assert!(told.contains("warning: left out: ") && told.contains("broken.jpg"), "{told}");
}

#[test]
fn photos_in_formats_that_are_not_read_are_told_once() {
    let place = Place::new();
    for name in ["month_01/lion/IMG_1.HEIC", "month_01/bison/b.dng", "phone/lion/IMG_2.heic", "phone/lion/IMG_3.avif"] {
        std::fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
        std::fs::write(place.path(name), "not decoded").unwrap();
    }
    let (code, _, told) = prescient(&["learn", "shop", "month_01"], place.0.path());
    let left = "warning: left out: 2 photos such as `month_01/bison/b.dng`; HEIC, ";
    assert!(code == 0 && told.contains(left) && told.contains("convert the photos to JPEG"), "{told}");
    assert!(!told.contains("is no photo"), "{told}");
    let few = "`phone` has no photos that can be read: 2 in other formats, such as `phone/lion/IMG_2.heic`\n";
    for arguments in [["learn", "shop", "phone"], ["predict", "shop", "phone"]] {
        let told = place.refuses(&arguments);
        assert!(told.contains(few) && told.contains("hint: HEIC, HEIF, AVIF, TIFF"), "{told}");
    }
    let (code, out, told) = prescient(&["predict", "shop", "month_01/lion"], place.0.path());
    assert!(code == 0 && out.contains("9.png"), "{out}{told}");
    assert!(told.contains("warning: not answered: 1 in other formats, such as `month_01/lion/IMG_1.HEIC`"), "{told}");
}

#[test]
fn a_folder_one_level_too_high_is_told_with_the_one_that_was_meant() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("photos")).unwrap();
    for month in ["month_01", "month_02"] {
        std::fs::rename(place.path(month), place.path("photos").join(month)).unwrap();
    }
    let told = place.refuses(&["learn", "shop", "photos"]);
    let found = "`photos` has no photos in the folders in it; found some deeper, as in `photos/month_01/bison`\n";
    assert!(told.contains(found) && told.contains("did you mean `photos/month_01`?"), "{told}");
    place.says(&["learn", "shop", "photos/month_01"]);
}

#[test]
fn an_empty_folder_of_a_class_is_told() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("month_01/zebra")).unwrap();
    let (code, _, told) = prescient(&["learn", "shop", "month_01"], place.0.path());
    assert!(code == 0 && told.contains("warning: `month_01/zebra` has no photos\n"), "{told}");
    let said = place.says(&["data", "check", "folder", "month_01"]);
    assert!(said.contains("`zebra` has no images, and is no class"), "{said}");
}

#[test]
fn what_is_not_there_is_told_by_what_it_should_be() {
    let place = Place::new();
    place.says(&["learn", "shop", "month_01"]);
    let told = place.refuses(&["predict", "shop", "nofile.jpg"]);
    assert!(told.contains("`nofile.jpg`: no such photo or folder") && !told.contains("PRESCIENT_DATA"), "{told}");
    let told = place.refuses(&["predict", "nosuch", "month_01/lion/0.png"]);
    assert!(told.contains("nothing is there") && told.contains("a project one that `prescient new` made"), "{told}");
    let told = place.refuses(&["data", "check", "month_01"]);
    assert!(told.contains("did you mean `folder month_01`?") && told.contains("possible values"), "{told}");
    assert!(!place.refuses(&["data", "check", "nosuch"]).contains("did you mean"));
}

/// With photos of three classes it does not guess yet; two others are described all the same.
#[test]
fn a_service_counts_the_classes_that_it_does_not_guess_at() {
    let place = Place::new();
    place.says(&["learn", "shop", "month_01"]);
    let mut child = start(&place, &["serve", "shop", "--port", "0", "--device", "cpu"]);
    let mut greeting = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut greeting).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(greeting.starts_with("serving `shop` version 2 (3 classes with photos, 2 described) at "), "{greeting}");
}

fn start(place: &Place, arguments: &[&str]) -> std::process::Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("prescient"));
    command.current_dir(place.0.path()).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn two_commands_at_once_wait_or_say_so() {
    let place = Place::new();
    let children = [start(&place, &["learn", "shop", "month_01"]), start(&place, &["learn", "shop", "month_02"])];
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let project = Project::open(place.path("shop")).unwrap();
    assert_eq!((project.version().number, project.version().photos()), (3, 34));
    // Somebody else has it.
    let folder = std::fs::File::open(place.path("shop")).unwrap();
    folder.lock().unwrap();
    let told = place.refuses(&["forget", "shop", "ox", "--wait", "0"]);
    assert!(told.contains("another process is writing `shop`; waited 0 s for it"), "{told}");
    assert!(place.says(&["status", "shop"]).contains("version 3"), "readers do not wait");
}

/// Each verb that writes, killed 12 times at moments that are spread over how long it takes. Whatever the moment, the project is
/// the version before or the one after, answers as that one does, and the next command works.
#[test]
fn killed_at_any_moment_it_is_the_version_before_or_the_one_after() {
    let place = Place::new();
    place.says(&["learn", "shop", "month_01"]);
    place.says(&["learn", "shop", "month_02"]);
    let mut moments = [0usize; 2];
    for arguments in [&["rollback", "shop", "2"][..], &["forget", "shop", "zebra"], &["learn", "shop", "more"]] {
        place.copy("more", "zebra", 0..6);
        let copy = |from: &str, to: &str| {
            let done = Command::new("cp").args(["-rl"]).arg(place.path(from)).arg(place.path(to)).status().unwrap();
            assert!(done.success());
        };
        copy("shop", "kept");
        let (number, before) = (place.version(), place.answers());
        let begun = std::time::Instant::now();
        place.says(arguments);
        let (took, after) = (begun.elapsed(), place.answers());
        for moment in 0..12u32 {
            std::fs::remove_dir_all(place.path("shop")).unwrap();
            copy("kept", "shop");
            let mut child = start(&place, arguments);
            std::thread::sleep(took * (moment + 1) / 12 + Duration::from_millis(3));
            child.kill().unwrap();
            child.wait().unwrap();
            let now = place.version() - number;
            assert!(now <= 1, "{arguments:?}, moment {moment}");
            assert_eq!(place.answers(), *[&before, &after][now], "{arguments:?}, moment {moment}");
            moments[now] += 1;
            let mut project = Project::open(place.path("shop")).unwrap();
            assert_eq!(project.rename("lion", "king", &mut Silent).unwrap().number, number + now + 1);
        }
        std::fs::remove_dir_all(place.path("kept")).unwrap();
        std::fs::remove_dir_all(place.path("shop")).unwrap();
        let fresh = Place::new();
        std::fs::rename(fresh.path("shop"), place.path("shop")).unwrap();
        place.says(&["learn", "shop", "month_01"]);
        place.says(&["learn", "shop", "month_02"]);
    }
    assert!(moments[0] > 0, "some came before: {moments:?}");
}

/// Files arrive one after the other, one of them in two halves; then somebody stops it.
#[test]
fn what_arrives_is_learned_and_never_half_a_file() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("inbox/lion")).unwrap();
    let child = start(&place, &["learn", "shop", "inbox", "--watch"]);
    let deadline = std::time::Instant::now() + Duration::from_secs(120);
    let photos = || Project::open(place.path("shop")).unwrap().version().photos();
    let wait = |count: u64| {
        while photos() < count {
            assert!(std::time::Instant::now() < deadline, "{count} photos were expected, there are {}", photos());
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let whole = std::fs::read(place.path("drawn/train/lion/0.png")).unwrap();
    std::fs::write(place.path("inbox/lion/0.png"), &whole[..whole.len() / 2]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    std::fs::write(place.path("inbox/lion/0.png"), &whole).unwrap();
    wait(1);
    place.copy("inbox", "tiger", 0..2);
    wait(3);
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let (said, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{told}");
    assert!(said.contains("first photos of: lion") && said.contains("first photos of: tiger"), "{said}");
    assert!(told.contains("stopped watching; `shop` is at version "), "{told}");
}
