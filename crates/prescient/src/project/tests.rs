use super::*;
use crate::data::{Dataset, Subset, Synthetic, SyntheticSettings};
use crate::error::Error;
use crate::extractor::{ExtractorKind, SmallCnn};
use crate::learner::Silent;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use tempfile::TempDir;

const TABLE: &str = "class,number,odd\na,0,0\nb,1,1\nc,2,0\nd,3,1\n";

/// A folder with a project of the classes `a` to `d` in it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder") };
        let settings =
            Settings { size: 32, ..Settings::new(ExtractorKind::SmallCnn(SmallCnn { features: 16, width: 4 })) };
        Project::create(place.path("shop"), &table(TABLE), settings, Device::Cpu).expect("a project");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self) -> Project {
        Project::open(self.path("shop")).expect("a project")
    }

    /// Drawings in `name/CLASS/N.png`: of each class those in the range.
    fn draw(&self, name: &str, classes: &[(&str, std::ops::Range<usize>)]) -> Lesson {
        let drawn = Synthetic::new(&SyntheticSettings { train: 24, test: 1 });
        for (class, range) in classes {
            let place = "abcdefgh".find(&class[..1]).expect("a class of eight");
            let folder = self.path(name).join(class);
            std::fs::create_dir_all(&folder).expect("a folder");
            let samples = drawn.samples(Subset::Train).iter().filter(|sample| sample.class.index() == place);
            for (number, sample) in samples.enumerate().filter(|(number, _)| range.contains(number)) {
                let image = drawn.image(sample).expect("a drawing");
                image.write_png(&folder.join(format!("{number:02}.png"))).expect("a file");
            }
        }
        Lesson::from_folder(self.path(name)).expect("photos")
    }

    fn learn(&self, name: &str, classes: &[(&str, std::ops::Range<usize>)]) -> Learned {
        let lesson = self.draw(name, classes);
        self.open().learn(&lesson, &mut Silent).expect("learned")
    }

    /// The same with another share held out.
    fn teach(&self, name: &str, classes: &[(&str, std::ops::Range<usize>)], hold_out: u32) -> Learned {
        let lesson = Lesson { hold_out: Some(hold_out), ..self.draw(name, classes) };
        self.open().learn(&lesson, &mut Silent).expect("learned")
    }
}

fn table(text: &str) -> ClassTable {
    ClassTable::parse(text.as_bytes(), Path::new("classes.csv")).expect("a table")
}

/// What answers, byte for byte.
fn answers(project: &Project) -> Vec<u8> {
    fs::read(project.folder().join("predictor.safetensors")).expect("an answer")
}

/// Up to rounding: the feature of a photo depends in its last digits on the photos that it goes through the network with.
fn assert_answers_alike(one: &Project, other: &Project) {
    let [one, other] = [one, other].map(|project| {
        let path = project.folder().join("predictor.safetensors");
        tch::Tensor::read_safetensors(path).expect("tensors").into_iter().collect::<BTreeMap<_, _>>()
    });
    assert!(one.keys().eq(other.keys()) && !one.is_empty());
    for (name, tensor) in &one {
        assert_eq!(tensor.size(), other[name].size(), "{name}");
        let apart = (tensor - &other[name]).abs().max().double_value(&[]);
        assert!(apart < 1e-4, "{name}: {apart}");
    }
}

#[test]
fn a_new_project_knows_classes_and_no_photo() {
    let place = Place::new();
    let project = place.open();
    assert_eq!((project.version().number, project.version().seen()), (1, 0));
    let names: Vec<&str> = project.version().classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let error = project.predictor().err().expect("nothing was learned").to_string();
    assert!(error.ends_with("has not learned from a photo yet"), "{error}");
    let again = Project::create(place.path("shop"), &table(TABLE), project.settings().clone(), Device::Cpu);
    assert!(matches!(again.err(), Some(Error::Project(ProjectError::Exists { .. }))));
}

/// Seven photos of `a` and one of `b`: all are learned from; the fifth of seven is held out from the twin, which is measured by it.
#[test]
fn photos_are_learned_and_a_fifth_is_held_out() {
    let place = Place::new();
    let learned = place.learn("one", &[("a", 0..7), ("b", 0..1)]);
    assert_eq!((learned.version, learned.new, learned.held_out, learned.known), (Some(2), 8, 1, 0));
    assert_eq!(learned.first_photos, ["a", "b"]);
    let version = place.open().version().clone();
    let counts: Vec<(u64, u64)> = version.classes.iter().map(|class| (class.photos, class.held_out)).collect();
    assert_eq!(counts, [(7, 1), (1, 0), (0, 0), (0, 0)]);
    assert_eq!(version.held_out.expect("one photo").all.of, 1);
    assert!(version.made.ends_with("one: 8 photos learned, 1 held out, first photos of a, b"), "{}", version.made);
}

#[test]
fn the_order_in_which_photos_come_does_not_matter() {
    let (one, two) = (Place::new(), Place::new());
    one.learn("first", &[("a", 0..6), ("b", 0..3)]);
    one.learn("second", &[("c", 0..4), ("a", 6..8)]);
    two.learn("second", &[("c", 0..4)]);
    two.learn("first", &[("a", 0..6), ("b", 0..3)]);
    two.learn("third", &[("a", 6..8)]);
    assert_answers_alike(&one.open(), &two.open());
}

/// What answers learns from held-out photos as well, so it is the same to the byte whatever is held out. Only the twin differs: it is
/// what answers where those photos never came. Photos that are only measured by change nothing.
#[test]
fn holding_out_costs_what_answers_nothing_and_measures_a_twin_that_has_not_learned() {
    let (fifth, none, without) = (Place::new(), Place::new(), Place::new());
    fifth.learn("one", &[("a", 0..5), ("b", 0..5)]);
    none.teach("one", &[("a", 0..5), ("b", 0..5)], 0);
    without.teach("one", &[("a", 0..4), ("b", 0..4)], 0);
    assert_eq!(answers(&fifth.open()), answers(&none.open()));
    let (version, nothing) = (fifth.open().version().clone(), none.open().version().clone());
    assert_eq!((nothing.held_out, nothing.tested), (None, None));
    // The two photos that were held out, asked of a project that never had them.
    without.teach("two", &[("a", 4..5), ("b", 4..5)], 1);
    let tested = without.open().version().clone();
    assert_eq!(tested.held_out, None);
    assert_eq!(version.held_out, tested.tested);
    assert_eq!(tested.tested.expect("two photos").all.of, 2);
    assert_eq!(tested.classes[0].photos, 4);
}

/// Version 2 holds out one photo each of `a` and `b`, version 3 one more. Twins are compared by all three: neither has learned from
/// one, though version 3 itself has.
#[test]
fn versions_are_compared_by_what_their_twins_have_not_learned() {
    let place = Place::new();
    place.learn("one", &[("a", 0..5), ("b", 0..5)]);
    place.learn("two", &[("a", 5..10)]);
    let versions = ["shop@2", "shop@3"].map(|name| Project::open(place.path(name)).expect("a version"));
    let found = diff(&versions[0], &versions[1]).expect("compared");
    assert_eq!(found.all.map(|tally| tally.of), [3, 3]);
    let of_a = versions[1].version().held_out.as_ref().expect("three photos").classes["a"];
    assert_eq!(found.classes[0].right[1], of_a);
    // Photos that are only measured by are asked of the versions themselves.
    place.teach("three", &[("a", 10..12)], 1);
    let last = Project::open(place.path("shop@4")).expect("a version");
    let found = diff(&versions[1], &last).expect("compared");
    assert_eq!((found.all[0].of, found.all[0]), (5, found.all[1]));
}

#[test]
fn a_photo_counts_once_and_nothing_new_makes_no_version() {
    let place = Place::new();
    place.learn("one", &[("a", 0..4), ("b", 0..4)]);
    let learned = place.learn("one", &[]);
    assert_eq!((learned.version, learned.new, learned.known), (None, 0, 8));
    assert_eq!(place.open().version().number, 2);
}

/// Two photos of `a` were taken for `b`. Learned again as `a`, they leave `b`: the same as if they had never been there.
#[test]
fn a_photo_that_comes_again_in_another_class_is_corrected() {
    let (wrong, right) = (Place::new(), Place::new());
    let lesson = wrong.draw("one", &[("a", 0..2), ("b", 0..4)]);
    std::fs::rename(wrong.path("one/a"), wrong.path("aside")).expect("moved");
    for number in ["00", "01"] {
        let name = format!("{number}.png");
        fs::copy(wrong.path("aside").join(&name), wrong.path("one/b").join(format!("wrong-{name}"))).expect("copied");
    }
    drop(lesson);
    wrong.open().learn(&Lesson::from_folder(wrong.path("one")).expect("photos"), &mut Silent).expect("learned");
    fs::create_dir(wrong.path("two")).expect("a folder");
    fs::rename(wrong.path("aside"), wrong.path("two/a")).expect("moved");
    let lesson = Lesson { hold_out: Some(0), ..Lesson::from_folder(wrong.path("two")).expect("photos") };
    let learned = wrong.open().learn(&lesson, &mut Silent).expect("learned");
    assert_eq!(learned.moved, BTreeMap::from([(("b".to_owned(), "a".to_owned()), 2)]));
    right.learn("one", &[("a", 0..2), ("b", 0..4)]);
    let version = wrong.open().version().clone();
    assert_eq!(version.classes.iter().map(|class| class.photos).collect::<Vec<_>>(), [2, 4, 0, 0]);
    assert_answers_alike(&wrong.open(), &right.open());
}

#[test]
fn what_is_forgotten_was_never_there_and_what_is_renamed_stays() {
    let (place, never) = (Place::new(), Place::new());
    place.learn("one", &[("a", 0..6), ("b", 0..6), ("c", 0..6)]);
    place.open().forget(&["c".to_owned()], &mut Silent).expect("forgotten");
    never.learn("one", &[("a", 0..6), ("b", 0..6)]);
    never.open().forget(&["c".to_owned()], &mut Silent).expect("forgotten");
    assert_eq!(answers(&place.open()), answers(&never.open()));
    let version = place.open().rename("a", "apple", &mut Silent).expect("renamed").clone();
    assert_eq!((version.classes[0].name.as_str(), version.classes[0].photos), ("apple", 6));
    let predictor = place.open().predictor().expect("it answers");
    assert!(predictor.about().classes.contains(&"apple".to_owned()));
    let refused = |done: Result<&Version>| done.expect_err("refused").to_string();
    assert_eq!(
        refused(place.open().forget(&["aple".into()], &mut Silent)),
        "there is no class `aple`; did you mean `apple`?"
    );
    assert_eq!(refused(place.open().rename("apple", "b", &mut Silent)), "there is a class `b` already");
}

/// A description that is corrected is as if it had been right from the start; a class added later is guessed at.
#[test]
fn the_catalogue_can_change_later() {
    let (place, right) = (Place::new(), Place::new());
    let wrong = table("class,number,odd\na,0,1\nb,1,0\nc,2,1\n");
    place.open().describe(&wrong, &mut Silent).expect("described");
    place.learn("one", &[("a", 0..6), ("b", 0..6), ("d", 0..6)]);
    assert_eq!(place.open().version().class("d").map(|class| class.described), Some(false));
    place.open().describe(&table(TABLE), &mut Silent).expect("described");
    right.learn("one", &[("a", 0..6), ("b", 0..6), ("d", 0..6)]);
    assert_eq!(answers(&place.open()), answers(&right.open()));
    let dropped = place.open().describe(&table("class,number,odd\na,0,1\n"), &mut Silent).expect("described");
    assert_eq!(dropped, ["b", "c", "d"]);
    let version = place.open().version().clone();
    let names: Vec<&str> = version.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "d"], "what has photos stays");
}

#[test]
fn a_version_can_be_brought_back_and_shares_its_files() {
    let place = Place::new();
    place.learn("one", &[("a", 0..6), ("b", 0..6)]);
    let then = answers(&place.open());
    place.learn("two", &[("b", 6..12), ("c", 0..6)]);
    assert_ne!(answers(&place.open()), then);
    place.open().rollback(2).expect("back");
    let project = place.open();
    assert_eq!((project.version().number, project.version().made.as_str()), (4, "rollback to version 2"));
    assert_eq!(answers(&project), then);
    let task = |name: &str| crate::Predictor::load(place.path(name)).expect("a model").about().task;
    assert_eq!((task("shop"), task("shop@2")), (4, 2), "an answer names the version that was asked");
    let about = project.folder().join("predictor.json");
    let whole = fs::read(&about).expect("a file");
    fs::write(&about, "{}").expect("a file");
    let hint = crate::Predictor::load(place.path("shop")).map(drop).expect_err("damaged");
    let hint = crate::Error::from(hint).hint().expect("what to do");
    assert!(hint.ends_with("`prescient rollback PROJECT N`"), "{hint}");
    fs::write(&about, whole).expect("a file");
    let inode = |version: usize, name: &str| {
        fs::metadata(version_folder(project.path(), version).join(name)).expect("a file").ino()
    };
    for name in ["weights.safetensors", "predictor.safetensors", "classes.csv"] {
        assert_eq!(inode(2, name), inode(4, name), "{name}");
    }
    let of_a = project.version().classes[0].features.clone().expect("photos");
    assert_eq!(inode(2, &of_a), inode(3, &of_a), "a class without new photos");
    let error = place.open().rollback(9).expect_err("refused").to_string();
    assert!(error.ends_with("has no version 9: it has 1 to 4"), "{error}");
    let mut old = Project::open(place.path("shop@2")).expect("an old version");
    assert_eq!(old.version().number, 2);
    let error = old.forget(&["a".to_owned()], &mut Silent).expect_err("refused").to_string();
    assert!(error.contains("version 2 of") && error.contains("cannot change: version 4 came after it"), "{error}");
    let predictor = Predictor::load(place.path("shop@3")).expect("a predictor");
    assert_eq!(predictor.seen().len(), 3);
}

/// Any byte of any file of a version, and of the project's settings.
#[test]
fn what_was_tampered_with_is_refused() {
    let place = Place::new();
    place.learn("one", &[("a", 0..5), ("b", 0..4)]);
    let more = place.draw("two", &[("c", 0..1)]);
    let folder = place.open().folder();
    let mut files = vec![place.path("shop/project.toml"), place.path("shop/HEAD"), folder.join("version.json")];
    let version = place.open().version().clone();
    files.extend(version.files.keys().map(|name| folder.join(name)));
    for path in files {
        let whole = fs::read(&path).expect("a file");
        let mut bytes = whole.clone();
        // Not the line break at the end of `HEAD`, which says nothing.
        bytes[(whole.len() - 1) / 2] ^= 1;
        fs::write(&path, &bytes).expect("written");
        let learned =
            Project::open(place.path("shop")).and_then(|mut project| project.learn(&more, &mut Silent).map(|_| ()));
        let answered = Project::open(place.path("shop")).and_then(|project| project.predictor().map(|_| ()));
        assert!(learned.is_err() || answered.is_err(), "{}", path.display());
        fs::write(&path, &whole).expect("written");
        assert_eq!(place.open().latest().expect("a version"), 2, "{}", path.display());
    }
}

#[test]
fn a_folder_that_is_no_class_is_added_unless_it_looks_like_a_typing_error() {
    let place = Place::new();
    place.open().describe(&table("class,x\nzebra,1\nhorse,0\n"), &mut Silent).expect("described");
    place.draw("one", &[("a", 0..2), ("b", 0..2)]);
    fs::rename(place.path("one/a"), place.path("one/zbera")).expect("renamed");
    let lesson = Lesson::from_folder(place.path("one")).expect("photos");
    let error = place.open().learn(&lesson, &mut Silent).expect_err("refused");
    assert_eq!(error.to_string(), "`zbera` is not in the catalogue; did you mean `zebra`?");
    assert!(error.hint().expect("a hint").contains("--add-classes"));
    let lesson = Lesson { add_classes: true, ..lesson };
    let learned = place.open().learn(&lesson, &mut Silent).expect("learned");
    assert_eq!(learned.added, ["b", "zbera"]);
}

#[test]
fn damaged_photos_are_named_together_and_skipped_only_with_a_word() {
    let place = Place::new();
    place.draw("one", &[("a", 0..3), ("b", 0..3)]);
    fs::write(place.path("one/a/bad.png"), b"no photo").expect("a file");
    fs::write(place.path("one/b/worse.jpg"), [0xff, 0xd8, 0xff]).expect("a file");
    let lesson = Lesson::from_folder(place.path("one")).expect("photos");
    let error = place.open().learn(&lesson, &mut Silent).expect_err("refused").to_string();
    assert!(error.starts_with("2 of 8 photos cannot be read:\n") && error.contains("bad.png"), "{error}");
    assert!(error.contains("worse.jpg") && error.contains("cut short"), "{error}");
    assert_eq!(place.open().version().number, 1);
    let learned = place.open().learn(&Lesson { skip_damaged: true, ..lesson }, &mut Silent).expect("learned");
    assert_eq!((learned.new, learned.damaged.len()), (6, 2));
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let place = Place::new();
    fs::create_dir_all(place.path("empty/cat")).expect("a folder");
    let refused = |name: &str| Lesson::from_folder(place.path(name)).err().expect("refused").to_string();
    assert!(refused("empty").ends_with("has no photos"));
    place.draw("loose", &[("a", 0..1)]);
    fs::rename(place.path("loose/a/00.png"), place.path("loose/00.png")).expect("moved");
    assert!(refused("loose").contains("has photos in no folder of a class, such as `00.png`"));
    place.draw("twice", &[("a", 0..1)]);
    fs::create_dir_all(place.path("twice/b")).expect("a folder");
    fs::copy(place.path("twice/a/00.png"), place.path("twice/b/00.png")).expect("copied");
    let lesson = Lesson::from_folder(place.path("twice")).expect("photos");
    let error = place.open().learn(&lesson, &mut Silent).expect_err("refused").to_string();
    assert!(error.ends_with("are the same photo, in the folders of two classes"), "{error}");
    let error = Project::open(place.path("empty")).err().expect("refused").to_string();
    assert!(error.ends_with("is not a project: expected `HEAD` in it, found none"), "{error}");
}

/// What a killed command leaves behind: a version in the making, and one that was given its name and never answered.
#[test]
fn what_killed_commands_left_behind_is_taken_away() {
    let place = Place::new();
    let versions = place.path("shop/versions");
    for name in [".0002.tmp", "0002"] {
        fs::create_dir(versions.join(name)).expect("a folder");
        fs::write(versions.join(name).join("version.json"), "half").expect("a file");
    }
    assert_eq!(place.open().version().number, 1);
    assert_eq!(place.learn("one", &[("a", 0..2)]).version, Some(2));
    assert!(!versions.join(".0002.tmp").exists());
    assert_eq!(place.open().version().photos(), 2);
}

#[test]
fn one_process_writes_at_a_time_and_readers_do_not_wait() {
    let place = Place::new();
    place.learn("one", &[("a", 0..2)]);
    let lock = Lock::take(&place.path("shop")).expect("a folder").expect("nobody has it");
    let mut waiting = place.open().waiting(Duration::from_millis(100));
    let error = waiting.forget(&["b".to_owned()], &mut Silent).expect_err("locked").to_string();
    assert!(error.starts_with("another process is writing") && error.ends_with("waited 0 s for it"), "{error}");
    assert!(place.open().predictor().is_ok());
    drop(lock);
    waiting.forget(&["b".to_owned()], &mut Silent).expect("forgotten");
}

/// A pipe waits for who writes to it: nobody does.
#[test]
fn a_pipe_in_a_project_is_refused() {
    let place = Place::new();
    place.learn("month", &[("a", 0..6), ("b", 0..6)]);
    for file in ["project.toml", "HEAD", "versions/0002/version.json", "versions/0002/classes.csv"] {
        let path = place.path("shop").join(file);
        let whole = fs::read(&path).expect("a file");
        fs::remove_file(&path).expect("a file that is taken away");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("a pipe").success());
        let (shop, lesson) = (place.path("shop"), place.draw("more", &[("a", 6..9)]));
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let learned = Project::open(&shop).and_then(|mut project| project.learn(&lesson, &mut Silent).map(|_| ()));
            tell.send(learned.expect_err("a pipe").to_string()).expect("somebody listens");
        });
        let said = told.recv_timeout(std::time::Duration::from_secs(60)).expect("an answer, and not a wait for ever");
        assert!(said.contains("expected a regular file") || said.contains(file), "{file}: {said}");
        fs::remove_file(&path).expect("the pipe");
        fs::write(&path, whole).expect("the file again");
    }
    place.learn("more", &[("a", 6..9)]);
}
