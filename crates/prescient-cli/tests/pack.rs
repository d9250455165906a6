//! `prescient data pack`: a run on a pack is the run on the photos it was made from.
#![allow(clippy::unwrap_used)]

mod command;
#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use command::prescient;
use common::{drawn_photos, real_data};
use prescient::data::Files;
use std::path::Path;

/// Twelve animals of which eight photos each are learned from, or drawings where they are not here; and a table.
fn photos(at: &Path) {
    let mut classes: Vec<String> = ["ant", "bee", "cat", "dog"].map(String::from).to_vec();
    match real_data("animals12") {
        Some(animals) => {
            let files = Files::open(&animals.join("images.zip")).unwrap();
            for (side, count) in [("train/", 8), ("test/", 2)] {
                let folders = files.entries(side).unwrap();
                for name in folders.iter().flat_map(|class| files.entries(class).unwrap().into_iter().take(count)) {
                    let path = at.join(&name);
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(path, files.read(&name).unwrap()).unwrap();
                }
                classes = folders.iter().map(|class| class[side.len()..].trim_end_matches('/').to_owned()).collect();
            }
        }
        None => drawn_photos(at, &["ant", "bee", "cat", "dog"], 8, 2),
    }
    let rows: String = classes.iter().enumerate().map(|(i, class)| format!("{class},{i},1\n")).collect();
    std::fs::write(at.join("attributes.csv"), format!("class,number,one\n{rows}")).unwrap();
    let half = classes.len() / 2;
    std::fs::write(
        at.join("../photos.toml"),
        format!(
            "[data]\nkind = \"folder\"\npath = \"photos\"\nattributes = [\"photos/attributes.csv\"]\nscale = \"range\"\n\
             exclude = [\"{}\"]\n[scenario]\nsplit = \"{half}+{half}\"\n[memory]\nper_class = 2\n\
             [model]\nextractor = {{ kind = \"small-cnn\", width = 4 }}\n[train]\nepochs = 2\nbatch_size = 16\n",
            left_out(at, &classes[0]),
        ),
    )
    .unwrap();
}

/// The first training photo of a class.
fn left_out(at: &Path, class: &str) -> String {
    let mut names: Vec<_> = std::fs::read_dir(at.join("train").join(class)).unwrap().map(Result::unwrap).collect();
    names.sort_by_key(|entry| entry.file_name());
    format!("train/{class}/{}", names[0].file_name().to_str().unwrap())
}

/// All of the record but the recipe, which says where the images come from, and the images file by file.
#[test]
fn a_run_on_the_pack_gives_the_same_record() {
    let folder = tempfile::tempdir().unwrap();
    photos(&folder.path().join("photos"));
    let recipe = std::fs::read_to_string(folder.path().join("photos.toml")).unwrap();
    let out = recipe.split("exclude = [\"").nth(1).unwrap().split('"').next().unwrap();
    let (code, text, error) = prescient(
        &[
            &["data", "pack", "folder", "photos", "--attributes", "photos/attributes.csv", "--scale", "range"][..],
            &["--exclude", out, "--out", "photos.pack", "--size", "64"],
        ]
        .concat(),
        folder.path(),
    );
    assert_eq!(code, 0, "{text}{error}");
    assert!(
        text.contains("packed to photos.pack") && text.contains("kind = \"pack\"\npath = \"photos.pack\"\n"),
        "{text}"
    );
    let rest = recipe.split_once("[scenario]").unwrap().1;
    let packed = format!("[data]\nkind = \"pack\"\npath = \"photos.pack\"\n[scenario]{rest}");
    std::fs::write(folder.path().join("pack.toml"), packed).unwrap();
    for name in ["photos", "pack"] {
        let arguments = ["run", &format!("{name}.toml"), "--out", &format!("run-{name}"), "--device", "cpu"];
        let (code, text, error) = prescient(&arguments, folder.path());
        assert_eq!(code, 0, "{text}{error}");
        assert_eq!(prescient(&["audit", &format!("run-{name}")], folder.path()).0, 0);
    }
    let record = |run: &str| common::lines(&folder.path().join(run).join("record.jsonl"));
    let (one, other) = (record("run-photos"), record("run-pack"));
    // Digests cover the first line, which has the recipe.
    let rest = |lines: &[String]| -> Vec<String> {
        lines[1..].iter().filter(|line| !line.starts_with("{\"line\":\"digests\"")).cloned().collect()
    };
    assert_eq!(rest(&one), rest(&other), "another record");
    let start = |lines: &[String]| -> serde_json::Value {
        let mut start: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        let fields = start.as_object_mut().unwrap();
        fields.remove("recipe");
        // The digests of photos that lie in files of their own.
        fields.remove("photos");
        start
    };
    assert_eq!(start(&one), start(&other), "another dataset");
    let weights = |run: &str| std::fs::read(folder.path().join(run).join("tasks/02/weights.safetensors")).unwrap();
    assert!(weights("run-photos") == weights("run-pack"), "other weights");
}

#[test]
fn a_pack_that_is_none_or_in_the_way_is_told() {
    let folder = tempfile::tempdir().unwrap();
    drawn_photos(&folder.path().join("photos"), &["ant", "bee"], 2, 1);
    let pack = ["data", "pack", "folder", "photos", "--out", "a.pack", "--size", "16"];
    assert_eq!(prescient(&pack, folder.path()).0, 0);
    let (code, _, error) = prescient(&pack, folder.path());
    assert_eq!(code, 2);
    assert!(
        error.contains("`a.pack`: expected a name that is free, found a file") && error.contains("hint: "),
        "{error}"
    );

    let mut bytes = std::fs::read(folder.path().join("a.pack")).unwrap();
    bytes.truncate(bytes.len() - 100);
    std::fs::write(folder.path().join("cut.pack"), bytes).unwrap();
    std::fs::write(
        folder.path().join("r.toml"),
        "[data]\nkind = \"pack\"\npath = \"cut.pack\"\n[scenario]\nsplit = \"1+1\"\n",
    )
    .unwrap();
    let (code, _, error) = prescient(&["run", "r.toml", "--out", "out"], folder.path());
    assert_eq!(code, 2);
    assert!(error.contains("cannot open the dataset `pack`"), "{error}");
    assert!(error.contains("`cut.pack`: expected a whole pack, found one whose end is missing or damaged"), "{error}");
    assert!(error.contains("hint: ") && error.contains("prescient data pack"), "{error}");

    // A photo that cannot be decoded leaves no half of a pack behind.
    std::fs::write(folder.path().join("photos/test/bee/0.png"), "no photo").unwrap();
    let (code, _, error) =
        prescient(&["data", "pack", "folder", "photos", "--out", "b.pack", "--size", "16"], folder.path());
    assert_eq!(code, 2);
    assert!(error.contains("photos/test/bee/0.png"), "{error}");
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with("b.pack")));
}
