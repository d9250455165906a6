//! Bad input: one clear error with file, line, expected and found; exit code 2; no panic, nothing half-written.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use assert_cmd::Command;
use common::photo_folder;
use std::path::{Path, PathBuf};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs the command in this place; it must fail with code 2, say each of `parts`, and leave no run behind.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], parts: &[&str]) -> String {
        let mut command = Command::cargo_bin("prescient").unwrap();
        command.current_dir(self.folder.path()).env("PRESCIENT_DATA", self.path("data")).args(arguments);
        command.env("PRESCIENT_FEATURES", self.path("features"));
        let output = command.output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        // A run that has begun says what it is about.
        let is_said = |line: &&str| line.starts_with("note: ") || line.contains(" images to learn from and ");
        let message: String = message.split_inclusive('\n').skip_while(is_said).collect();
        assert!(message.starts_with("error: "), "{message}");
        assert_eq!(message.matches("error: ").count(), 1, "one error: {message}");
        assert!(!message.contains("panicked"), "{message}");
        for part in parts {
            assert!(message.contains(part), "expected `{part}` in:\n{message}");
        }
        let left = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("out")).collect();
        assert!(left.is_empty(), "something was written: {left:?}");
        assert!(output.stdout.is_empty());
        message
    }

    /// A recipe for the photos in `photos`, with the table `attributes.csv`.
    fn photo_recipe(&self, split: &str) {
        self.write(
            "r.toml",
            format!(
                "[data]\nkind = \"folder\"\npath = \"photos\"\nattributes = [\"photos/attributes.csv\"]\n\
                 [scenario]\nsplit = \"{split}\"\n\
                 [model]\nextractor = {{ kind = \"small-cnn\", width = 4 }}\n[train]\nepochs = 1\nbatch_size = 4\n"
            ),
        );
    }
}

const RUN: &[&str] = &["run", "r.toml", "--out", "out", "--device", "cpu"];

fn photos(place: &Place) -> PathBuf {
    place.photo_recipe("2+1");
    photo_folder(&place.path("photos"), &["ant", "bee", "cat"])
}

/// The idx file of so many images, all of one grey, and that of their labels.
fn idx(count: u32) -> (Vec<u8>, Vec<u8>) {
    let mut images = [2051, count, 28, 28].map(u32::to_be_bytes).concat();
    images.extend(std::iter::repeat_n(7, (count * 28 * 28) as usize));
    let mut labels = [2049, count].map(u32::to_be_bytes).concat();
    labels.extend((0..count).map(|label| (label % 10) as u8));
    (images, labels)
}

fn mnist(place: &Place) {
    for side in ["train", "t10k"] {
        let (images, labels) = idx(20);
        place.write(&format!("data/mnist/{side}-images-idx3-ubyte"), images);
        place.write(&format!("data/mnist/{side}-labels-idx1-ubyte"), labels);
    }
    place.write("r.toml", "[data]\nkind = \"mnist\"\n[scenario]\nsplit = \"6+2+2\"\n");
}

#[test]
fn good_photos_do_run() {
    let place = Place::new();
    photos(&place);
    let mut command = Command::cargo_bin("prescient").unwrap();
    let output = command.current_dir(place.folder.path()).args(RUN).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(place.path("out/record.jsonl").is_file());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        said,
        "3 classes in 2 tasks (2+1), 12 images to learn from and 6 to test on as 16×16 pixels, ghosts off, on the CPU\n",
        "one line when not a terminal, and no colours"
    );
}

/// A recipe that names neither a learner nor a network trains a ResNet from scratch, and a column of prices is taken for
/// something that photos show: whoever did not mean that is told before the first step.
#[test]
fn what_may_not_be_meant_is_said_at_the_start() {
    let place = Place::new();
    photos(&place);
    place.write("photos/attributes.csv", "class,wings,price\nant,0,9.5\nbee,1,9.5\ncat,0,3\n");
    let written = std::fs::read_to_string(place.path("r.toml")).unwrap();
    let bare = written.replace("[model]\nextractor = { kind = \"small-cnn\", width = 4 }\n", "");
    let note = "note: no `learner` is given, so `resnet18` is trained from scratch, 1 epochs a task; `learner = { kind = \
                \"closed-form\" }` takes";
    let price = "note: the column `price` is used to imagine classes: if no photo shows it, as with a price";
    let said = |recipe: &str, more: &[&str]| {
        place.write("r.toml", recipe);
        let run = [&["run", "r.toml", "--device", "cpu", "--stop-after", "1"], more].concat();
        let output =
            Command::cargo_bin("prescient").unwrap().current_dir(place.folder.path()).args(run).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).unwrap()
    };
    let from_scratch = said(&bare, &["--out", "1"]);
    assert!(from_scratch.starts_with(note) && !from_scratch.contains(price), "ghosts are off: {from_scratch}");
    let chosen = said(&written, &["--out", "2"]);
    assert!(!chosen.contains("note: no `learner`"), "{chosen}");
    let closed = written.split("[train]").next().unwrap().to_owned() + "[learner]\nkind = \"closed-form\"\n";
    let closed = said(&closed, &["--out", "3"]);
    let ends = closed.ends_with("on the CPU; class information: wings, price\n");
    assert!(closed.starts_with("note: `small-cnn` has random weights") && closed.contains(price) && ends, "{closed}");
}

#[test]
fn a_missing_idx_file() {
    let place = Place::new();
    mnist(&place);
    std::fs::remove_file(place.path("data/mnist/t10k-labels-idx1-ubyte")).unwrap();
    place.refuses(RUN, &["cannot open the dataset `mnist`", "t10k-labels-idx1-ubyte", "No such file", "hint: "]);
}

#[test]
fn a_cut_idx_file() {
    let place = Place::new();
    mnist(&place);
    let (images, _) = idx(20);
    place.write("data/mnist/train-images-idx3-ubyte", &images[..5000]);
    place.refuses(RUN, &["train-images-idx3-ubyte", "expected ", "15680", "found ", "hint: "]);
}

#[test]
fn a_ragged_table() {
    let place = Place::new();
    let table = photos(&place);
    std::fs::write(table, "class,number,one\nant,1,1\nbee,2\ncat,3,1\n").unwrap();
    place.refuses(RUN, &["photos/attributes.csv`, line 3: expected 2 attributes, found 1", "hint: "]);
}

#[test]
fn an_attribute_twice() {
    let place = Place::new();
    let table = photos(&place);
    std::fs::write(table, "class,number,number\nant,1,1\nbee,2,1\ncat,3,1\n").unwrap();
    place.refuses(RUN, &["photos/attributes.csv`, line 1: expected every attribute once", "`number` a second time"]);
}

#[test]
fn a_source_of_attributes_with_a_typo() {
    let place = Place::new();
    photos(&place);
    let set = "data.attributes=[{path=\"photos/attributes.csv\", clases=[]}]";
    place.refuses(&[RUN, &["--set", set]].concat(), &["unknown field `clases`", "expected one of `path`", "hint: "]);
}

#[test]
fn class_information_of_an_unknown_kind() {
    let place = Place::new();
    photos(&place);
    place.write("animals.xlsx", "PK");
    place.write("animals.docx", "PK");
    let set = |name: &str| format!("data.attributes=[\"{name}\"]");
    let (workbook, letter) = (set("animals.xlsx"), set("animals.docx"));
    let parts = ["`animals.xlsx`: expected UTF-8 text, found a workbook", "hint: ", "save it as \"CSV UTF-8\""];
    place.refuses(&[RUN, &["--set", &workbook]].concat(), &parts);
    let parts = ["`animals.docx`: expected class information", "hint: ", "a CSV"];
    place.refuses(&[RUN, &["--set", &letter]].concat(), &parts);
}

#[test]
fn an_order_that_the_dataset_does_not_know() {
    let place = Place::new();
    photos(&place);
    let arguments = [RUN, &["--set", "scenario.order=proposed"]].concat();
    place.refuses(
        &arguments,
        &["cannot deal out the classes", "no order called `proposed`", "hint: only `awa2` and `apy`"],
    );
}

#[test]
fn awa2_without_its_photos() {
    let place = Place::new();
    place.write("data/awa2/classes.txt", "1 antelope\n2 zebra\n");
    place.write("data/awa2/predicates.txt", "1 stripes\n");
    place.write("data/awa2/predicate-matrix-continuous.txt", "0\n");
    place.write("r.toml", "[data]\nkind = \"awa2\"\n[scenario]\nsplit = \"1+1\"\n");
    place.refuses(
        RUN,
        &[
            "cannot open the dataset `awa2`",
            "expected a line for each of 2 classes, found 1",
            "hint: ",
            "data check awa2",
        ],
    );
    place.write("data/awa2/predicate-matrix-continuous.txt", "0\n99.5\n");
    place.refuses(RUN, &["data/awa2/JPEGImages", "No such file", "hint: "]);
    place.write("r.toml", "[data]\nkind = \"apy\"\n[scenario]\nsplit = \"16+8x2\"\n");
    place.refuses(RUN, &["cannot open the dataset `apy`", "data/apy", "No such file", "hint: "]);
}

#[test]
fn an_empty_table() {
    let place = Place::new();
    let table = photos(&place);
    std::fs::write(table, "").unwrap();
    place.refuses(RUN, &["photos/attributes.csv`: expected a header", "found an empty file"]);
}

#[test]
fn a_class_with_images_alone() {
    let place = Place::new();
    let table = photos(&place);
    std::fs::write(table, "class,number\nant,1\nbee,2\n").unwrap();
    place.refuses(RUN, &["photos", "attributes.csv", "`cat` has images but no attributes", "hint: "]);
}

/// A row without images is a class that is guessed; but here `cat` has no row, and `cats` may be meant.
#[test]
fn a_class_that_is_written_otherwise_in_the_table() {
    let place = Place::new();
    let table = photos(&place);
    std::fs::write(table, "class,number\nant,1\nbee,2\ncats,3\n").unwrap();
    let both = "`cat` has images but no attributes; `cats` has attributes but no images";
    place.refuses(RUN, &["photos", "attributes.csv", both, "hint: "]);
}

#[test]
fn a_class_without_a_description() {
    let place = Place::new();
    let table = photos(&place);
    std::fs::write(table, "class,description\nant,it crawls\nbee,\ncat,it purrs\n").unwrap();
    place.refuses(RUN, &["attributes.csv`, line 3: expected a description of `bee`, found an empty cell", "hint: "]);
}

/// A file of safetensors with one tensor of two numbers.
fn one_tensor(name: &str) -> Vec<u8> {
    let header = format!("{{\"{name}\":{{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}}}");
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0; 8]].concat()
}

#[test]
fn weights_of_another_network_cut_short_or_with_code_in_them() {
    let place = Place::new();
    photos(&place);
    let whole = one_tensor("layer4.1.bn2.weight");
    place.write("other.safetensors", &whole);
    place.write("cut.safetensors", &whole[..whole.len() - 3]);
    place.write("code.pth", b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00echo\x85R.");
    for (file, parts) in [
        ("other.safetensors", ["does not have the weights of a `mobilenet-v2`", "`model.extractor.kind`"]),
        ("cut.safetensors", ["cannot be read as weights", "cut short"]),
        ("code.pth", ["asks to call `os.system`; nothing was run", "safetensors"]),
        ("gone.pth", ["gone.pth", "is the path right?"]),
    ] {
        let set = format!("model.extractor={{kind=\"mobilenet-v2\", weights=\"{file}\"}}");
        place.refuses(&[RUN, &["--set", &set]].concat(), &[&[file, "hint: "][..], &parts].concat());
    }
}

#[test]
fn an_exported_network_that_gives_no_features() {
    let place = Place::new();
    photos(&place);
    let maps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../prescient/tests/golden/maps.pt");
    let set = format!("model.extractor={{kind=\"torchscript\", path=\"{}\"}}", maps.display());
    place.refuses(&[RUN, &["--set", &set]].concat(), &["maps.pt", "expected a row of numbers", "hint: export the"]);
}

/// A changed byte is told with what to do, both runs and the cache's other files stay, and once it is cleared the run goes through.
#[test]
fn a_cache_that_was_tampered_with() {
    let place = Place::new();
    photos(&place);
    let recipe = std::fs::read_to_string(place.path("r.toml")).unwrap();
    let recipe = recipe.split("[train]").next().unwrap().to_owned() + "[learner]\nkind = \"closed-form\"\n";
    place.write("r.toml", recipe);
    let does = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("prescient").unwrap();
        command.current_dir(place.folder.path()).env("PRESCIENT_FEATURES", place.path("features")).args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    does(&["run", "r.toml", "--out", "first", "--device", "cpu"]);
    let shown = does(&["cache"]);
    assert!(shown.contains("features  18 in 3 files") && shown.contains("of 4.0 GiB at most"), "{shown}");
    assert_eq!(does(&["cache", "check"]), "18 features in 3 files are as they were written\n");

    let shelf = std::fs::read_dir(place.path("features")).unwrap().next().unwrap().unwrap().path();
    let part = std::fs::read_dir(&shelf).unwrap().map(|entry| entry.unwrap().path()).min().unwrap();
    let mut bytes = std::fs::read(&part).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&part, &bytes).unwrap();
    let told =
        ["a part of the cache of features: its content is not what was written", "hint: delete it", "cache clear"];
    place.refuses(RUN, &told);
    place.refuses(&["cache", "check"], &told);
    assert_eq!(std::fs::read(&part).unwrap(), bytes, "nobody deletes it unasked");
    assert!(place.path("first/record.jsonl").is_file() && std::fs::read_dir(&shelf).unwrap().count() == 3);

    assert_eq!(does(&["cache", "clear"]).split(',').next(), Some("18 features deleted"));
    does(&["run", "r.toml", "--out", "second", "--device", "cpu"]);
    let record = |run: &str| std::fs::read(place.path(run).join("record.jsonl")).unwrap();
    assert_eq!(record("first"), record("second"));
}

#[test]
fn a_photo_that_does_not_decode() {
    let place = Place::new();
    photos(&place);
    place.write("photos/train/bee/2.jpg", [0xff, 0xd8, 0xff, 0xe0, 0, 16, b'J', b'F']);
    let unchecked = [RUN, &["--no-check"]].concat();
    let parts = ["cannot learn task 1", "photos/train/bee/2.jpg", "expected an image", "found one", "hint: "];
    place.refuses(&unchecked, &parts);
    // With the check: all that is wrong at once, before the first step, and what to do about it.
    place.write("photos/test/cat/9.png", b"not a photo");
    std::fs::copy(place.path("photos/train/ant/1.png"), place.path("photos/test/ant/8.png")).unwrap();
    std::fs::copy(place.path("photos/train/ant/2.png"), place.path("photos/train/cat/again.png")).unwrap();
    let parts = [
        "4 photos cannot be learned from or tested on as they are\n",
        "`photos/train/bee/2.jpg`: expected a whole JPEG",
        "`photos/test/cat/9.png`: expected an image",
        "`photos/test/ant/8.png`: expected a test image of its own",
        "`photos/train/cat/again.png`: expected `cat`, found the image `photos/train/ant/2.png` once more",
        "exclude = [\n    \"test/cat/9.png\",\n    \"train/ant/1.png\",\n    \"train/bee/2.jpg\",\n    \
         # one photo in several classes: delete the line of the copy to keep\n    \
         \"train/ant/2.png\",\n    \"train/cat/again.png\",\n]\n",
        "`--no-check`",
    ];
    let message = place.refuses(RUN, &parts);
    let exclude = &message[message.find("exclude = ").unwrap()..message.find("\n]\n").unwrap() + 3];
    let recipe = std::fs::read_to_string(place.path("r.toml")).unwrap();
    let kept = exclude.replace("    \"train/cat/again.png\",\n", "");
    assert_ne!(kept, exclude);
    for (lines, out) in [(exclude, "out"), (&kept, "kept")] {
        place.write("r.toml", recipe.replace("[scenario]", &format!("{lines}[scenario]")));
        let mut command = Command::cargo_bin("prescient").unwrap();
        let run = ["run", "r.toml", "--out", out, "--device", "cpu"];
        let output = command.current_dir(place.folder.path()).args(run).output().unwrap();
        assert!(output.status.success(), "pasted, it runs: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_photo_of_a_later_task_that_does_not_decode_leaves_the_finished_tasks() {
    let place = Place::new();
    photos(&place);
    place.write("photos/train/cat/2.jpg", b"not a photo");
    let mut command = Command::cargo_bin("prescient").unwrap();
    let unchecked = [RUN, &["--no-check"]].concat();
    let output = command.current_dir(place.folder.path()).args(unchecked).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("photos/train/cat/2.jpg"));
    assert!(place.path("out/tasks/01/weights.safetensors").is_file(), "task 1 is not lost");
    assert!(!place.path("out/tasks/02").exists() && !place.path("out/tasks/02.tmp").exists());
}

/// Photos that no further task would read: one of a class that was learned, of which another was kept, and one to test on that
/// looks as before; and one of a class that is still to come.
#[test]
fn a_photo_that_is_replaced_before_a_run_goes_on() {
    let place = Place::new();
    photos(&place);
    let run = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("prescient").unwrap();
        let output = command.current_dir(place.folder.path()).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let first =
        ["run", "r.toml", "--out", "run", "--device", "cpu", "--stop-after", "1", "--set", "memory.per_class=1"];
    assert_eq!(run(&first).0, Some(0));
    let resume = ["run", "--resume", "run", "--device", "cpu"];
    for name in ["train/ant/0.png", "train/ant/1.png", "train/cat/1.png"] {
        let photo = place.path(&format!("photos/{name}"));
        let before = std::fs::read(&photo).unwrap();
        common::patch(20, 16, [9, 99, 199]).write_png(&photo).unwrap();
        place.refuses(&resume, &[&format!("1 photo of this run has changed since it began: `{name}`"), "hint: "]);
        std::fs::write(&photo, before).unwrap();
    }
    // Where the data is not there any more, that is said, and not that each photo has changed.
    std::fs::rename(place.path("photos"), place.path("elsewhere")).unwrap();
    place.refuses(&resume, &["cannot open the dataset `folder`", "hint: "]);
    let list = place.path("run/photos.json");
    let noted = std::fs::read_to_string(&list).unwrap();
    std::fs::write(&list, noted.replacen("ant", "bee", 1)).unwrap();
    place.refuses(&resume, &["run/photos.json", "is not as the run wrote it"]);
    assert_eq!(run(&["audit", "run"]).0, Some(1));
    std::fs::write(&list, &noted).unwrap();
    let table = std::fs::read(place.path("elsewhere/attributes.csv")).unwrap();
    place.write("photos/attributes.csv", table);
    let moved = [&resume[..], &["--set", "data.path=elsewhere"]].concat();
    std::fs::remove_file(&list).unwrap();
    place.refuses(&moved, &["run/photos.json", "is not as the run wrote it"]);
    // Whoever wants to, goes on all the same; what was kept and what is tested on is compared in any case.
    let begun = [&first[..3], &["unchecked"], &first[4..], &["--set", "data.path=elsewhere", "--no-check"]].concat();
    assert_eq!(run(&begun).0, Some(0));
    let without = ["run", "--resume", "unchecked", "--device", "cpu", "--stop-after", "1"];
    assert!(run(&without).1.contains("no list of its photos: only exemplars and test images are compared"));
    std::fs::write(&list, &noted).unwrap();
    common::patch(20, 16, [9, 99, 199]).write_png(&place.path("elsewhere/train/cat/1.png")).unwrap();
    place.refuses(&moved, &["1 photo of this run has changed since it began: `train/cat/1.png`"]);
    let (code, message) = run(&[&moved[..], &["--no-check"]].concat());
    assert_eq!(code, Some(0), "{message}");
}

/// A new kind of network takes nothing over from the one before, its weights neither.
#[test]
fn random_weights_that_nobody_trains_are_told_of() {
    let place = Place::new();
    photos(&place);
    let run = |sets: &[&str]| {
        let mut command = Command::cargo_bin("prescient").unwrap();
        let closed = ["--set", "learner.kind=closed-form", "--stop-after", "1"];
        command.current_dir(place.folder.path()).args([RUN, &closed, sets].concat());
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    place.write("r.toml", "[data]\nkind = \"folder\"\npath = \"photos\"\n[scenario]\nsplit = \"2+1\"\n");
    let told = run(&["--set", "model.extractor.kind=small-cnn"]);
    assert!(
        told.starts_with("note: `small-cnn` has random weights, and the closed form trains none; `prescient weights"),
        "{told}"
    );
}

#[test]
fn an_unknown_key() {
    let place = Place::new();
    place.write("r.toml", "[scenario]\nsplit = \"12+12\"\n[train]\nepoch = 3\n");
    place
        .refuses(RUN, &["`r.toml`", "line 4", "there is no key `train.epoch`; did you mean `train.epochs`?", "hint: "]);
    place.write("r.toml", "[scenario]\nsplit = \"12+12\"\n");
    place.refuses(
        &[RUN, &["--set", "train.epoch=3"]].concat(),
        &["`--set train.epoch=3`", "there is no key `train.epoch`"],
    );
}

#[test]
fn a_split_that_does_not_add_up() {
    let place = Place::new();
    photos(&place);
    place.photo_recipe("2+2");
    place.refuses(
        RUN,
        &["the split `2+2` deals out 4 classes, but the dataset has 3", "add up to 3, for example `2+1`\n"],
    );
    let table = std::fs::read_to_string(place.path("photos/attributes.csv")).unwrap();
    place.write("photos/attributes.csv", format!("{table}dog,9,1\n"));
    place.refuses(RUN, &["but the dataset has 3", "`2+1`; 1 described without photos do not count"]);
}

#[test]
fn cuda_where_there_is_none() {
    if torch_shim::open_cuda().is_available() {
        eprintln!("left out: this machine has a CUDA device");
        return;
    }
    let place = Place::new();
    place.refuses(
        &["run", "demo-base", "--out", "out", "--device", "cuda"],
        &["there is no CUDA device", "hint: ", "--device cpu"],
    );
}

#[test]
fn nothing_to_imagine_from() {
    let place = Place::new();
    mnist(&place);
    let arguments = [RUN, &["--set", "ghosts.generator={kind=\"gaussian\"}"]].concat();
    place.refuses(&arguments, &["the classes have no attributes", "hint: ", "attributes.csv"]);
}

#[test]
fn a_recipe_that_is_not_there() {
    let place = Place::new();
    place
        .refuses(&["run", "nonsense", "--out", "out"], &["`nonsense` is neither a file nor", "hint: `prescient list`"]);
    place.refuses(&["run", "nonsense.toml", "--out", "out"], &["`nonsense.toml`", "No such file"]);
}

#[test]
fn a_folder_that_is_taken() {
    let place = Place::new();
    std::fs::create_dir(place.path("taken")).unwrap();
    place.write("taken/mine.txt", "dear to me");
    place.refuses(&["run", "demo-base", "--out", "taken"], &["`taken` exists already", "hint: ", "--out"]);
    assert_eq!(std::fs::read_to_string(place.path("taken/mine.txt")).unwrap(), "dear to me");
}

#[test]
fn a_folder_with_a_name_like_ours_is_not_touched() {
    let place = Place::new();
    photos(&place);
    place.write("out.tmp/thesis.txt", "dear to me");
    let mut command = Command::cargo_bin("prescient").unwrap();
    assert!(command.current_dir(place.folder.path()).args(RUN).output().unwrap().status.success());
    assert_eq!(std::fs::read_to_string(place.path("out.tmp/thesis.txt")).unwrap(), "dear to me");
}

#[test]
fn values_that_make_no_sense() {
    let place = Place::new();
    for (set, part) in [
        ("data.train=0", "`data.train` is 0; expected a whole number, 1 to 10000"),
        ("data.train=99999999999", "`data.train` is 99999999999"),
        ("model.extractor.width=0", "`model.extractor.width` is 0; expected a whole number, 1 to 65536"),
        ("complete.batch_size=0", "`complete.batch_size` is 0"),
        ("memory.repeat=1000000000", "`memory.repeat` is 1000000000; expected a whole number, 0 to 1000"),
        ("images.crop=shift 4000000000", "the crop `shift 4000000000` cannot be read"),
        ("scenario.split=nonsense", "expected a number of classes, found `nonsense`"),
    ] {
        place.refuses(&["run", "demo-base", "--out", "out", "--device", "cpu", "--set", set], &[part, "hint: "]);
    }
}

/// Nothing is read before every key is checked: the data is not even there.
#[test]
fn values_out_of_range_are_refused_before_anything_is_read() {
    let place = Place::new();
    place.write("r.toml", "[data]\nkind = \"folder\"\npath = \"nowhere\"\n[scenario]\nsplit = \"2+1\"\n");
    for (set, part) in [
        ("ghosts.generator={kind=\"gmmn\", dropout=1.5}", "there is no key `ghosts.generator.dropout`"),
        ("ghosts.generator={kind=\"gmmn\", hidden=1000000000}", "`ghosts.generator.hidden` is 1000000000"),
        ("ghosts.generator={kind=\"gmmn\", limit=0}", "`ghosts.generator.limit` is 0"),
        ("ghosts.generator={kind=\"gmmn\", lr=-1}", "`ghosts.generator.lr` is -1"),
        ("ghosts.generator={kind=\"gmmn\", bandwidths=[]}", "there is no key `ghosts.generator.bandwidths`"),
        ("train.lr=-0.1", "`train.lr` is -0.1; expected a number, at least 0"),
        ("train.lr=nan", "`train.lr` is NaN"),
        ("train.weight_decay=-1", "`train.weight_decay` is -1"),
        ("train.momentum=2", "there is no key `train.momentum`"),
        ("loss.distillation.weight=-3", "`loss.distillation.weight` is -3"),
        ("ghosts.ratio=-2", "`ghosts.ratio` is -2"),
        ("images.size=100000000", "`images.size` is 100000000"),
        (
            "model.extractor={kind=\"torchscript\", path=\"x\", normalization=\"mine\"}",
            "`model.extractor.normalization` is `mine`",
        ),
        ("scenario.val_fraction=1", "`scenario.val_fraction` is 1"),
        ("calibrate.max_seen_drop=inf", "`calibrate.max_seen_drop` is inf"),
    ] {
        let message = place.refuses(&[RUN, &["--set", set]].concat(), &[part, "hint: "]);
        assert!(!message.contains("nowhere"), "{set}: the data was asked for first: {message}");
    }
}

/// Endless, or never there: refused at once, and not read.
#[test]
fn only_regular_files_are_read() {
    let place = Place::new();
    let regular = "expected a regular file, found a pipe, a socket or a device";
    std::os::unix::fs::symlink("/dev/zero", place.path("endless.toml")).unwrap();
    place.refuses(&["run", "endless.toml", "--out", "out"], &["`endless.toml`", regular]);
    photos(&place);
    let pipe = place.path("photos/train/bee/pipe.jpg");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    place.refuses(RUN, &["photos/train/bee/pipe.jpg", regular]);
    std::fs::remove_file(pipe).unwrap();
    std::os::unix::fs::symlink("/dev/zero", place.path("endless.csv")).unwrap();
    place.refuses(&[RUN, &["--set", "data.attributes=[\"endless.csv\"]"]].concat(), &["endless.csv", regular]);
}

#[test]
fn a_training_that_diverges() {
    let place = Place::new();
    photos(&place);
    place.photo_recipe("3");
    // One step alone: its loss is still a number, what comes after is not.
    let sets = ["--set", "train.lr=1e38", "--set", "train.batch_size=64"];
    place.refuses(&[RUN, &sets].concat(), &["cannot evaluate task 1", "diverged", "hint: a smaller"]);
}

#[test]
fn a_recipe_that_was_changed_under_a_run() {
    let place = Place::new();
    photos(&place);
    let mut command = Command::cargo_bin("prescient").unwrap();
    let arguments = ["run", "r.toml", "--out", "begun", "--device", "cpu", "--stop-after", "1"];
    assert!(command.current_dir(place.folder.path()).args(arguments).output().unwrap().status.success());
    let recipe = std::fs::read_to_string(place.path("begun/recipe.toml")).unwrap();
    place.write("begun/recipe.toml", recipe.replace("seed = 0", "seed = 7"));
    place.refuses(
        &["run", "--resume", "begun"],
        &["begun/recipe.toml", "not the recipe that this run began with", "hint: "],
    );
}

/// A reader that has seen enough is no error.
#[test]
fn a_closed_pipe_is_no_panic() {
    let program = assert_cmd::cargo::cargo_bin("prescient");
    let mut child = std::process::Command::new(program)
        .arg("list")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_is_no_run_cannot_be_reported_or_resumed() {
    let place = Place::new();
    std::fs::create_dir(place.path("empty")).unwrap();
    for arguments in [&["report", "empty"][..], &["run", "--resume", "empty"]] {
        place.refuses(arguments, &["`empty` is not a run", "recipe.toml", "hint: "]);
    }
}

#[test]
fn a_damaged_record_is_told_by_line() {
    let place = Place::new();
    place.write("run/recipe.toml", "");
    place.write("run/record.jsonl", "{\"line\":\"start\"\n");
    place.refuses(&["report", "run"], &["record.jsonl`, line 1", "hint: "]);
}

#[test]
fn usage_errors_exit_with_2_as_well() {
    for arguments in [&["fly"][..], &["run"], &["run", "demo-base", "--device", "abacus"]] {
        let output = Command::cargo_bin("prescient").unwrap().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    assert!(!Path::new("out").exists());
}
