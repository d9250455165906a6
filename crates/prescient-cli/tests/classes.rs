//! `prescient classes`: what is known of classes, seen from the command line.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use assert_cmd::Command;
use common::real_data;

fn classes(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("prescient").unwrap().arg("classes").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn similar_animals_of_awa2_are_neighbours() {
    let Some(folder) = real_data("awa2") else { return };
    let (code, out, error) = classes(&[folder.to_str().unwrap(), "--nearest", "1"]);
    assert_eq!(code, 0, "{error}");
    assert!(out.starts_with("50 classes, 85 attributes\n"), "{out}");
    let nearest = |class: &str| {
        let line = out.lines().find(|line| line.split_whitespace().next() == Some(class)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(nearest("persian+cat"), "siamese+cat");
    assert_eq!(nearest("blue+whale"), "humpback+whale");
    assert!(!out.contains("cannot be told apart"), "all fifty differ: {out}");
}

#[test]
fn sources_are_put_side_by_side() {
    let Some(folder) = real_data("awa2") else { return };
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (code, out, error) = classes(&[&path("predicate-matrix-binary.txt"), &path("att_splits.mat")]);
    assert_eq!(code, 0, "{error}");
    assert!(out.starts_with("50 classes, 170 attributes\n"), "{out}");
}

/// A sentence a class: the lion is like the tiger, and the whale like the dolphin.
#[test]
fn similar_descriptions_are_neighbours() {
    if let Err(error) = prescient::weights::find("minilm") {
        return common::skip("weights", &error.to_string());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let rows = "class;description\nlion;a big wild cat with a mane\nwhale;a huge animal that swims in the sea\n\
                tiger;a big wild cat with stripes\ndolphin;a playful animal that swims in the sea\n";
    std::fs::write(&path, rows).unwrap();
    let (code, out, error) = classes(&[path.to_str().unwrap(), "names", "--nearest", "1"]);
    assert_eq!(code, 0, "{error}");
    assert!(out.starts_with("4 classes, descriptions of `a.csv`, their names\n"), "{out}");
    for (class, other) in [("lion", "tiger"), ("whale", "dolphin"), ("tiger", "lion"), ("dolphin", "whale")] {
        assert!(out.lines().any(|line| line.starts_with(class) && line.contains(other)), "{out}");
    }
}

#[test]
fn a_copied_row_and_a_copied_name_are_worth_a_look() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "class,a,b\npolar bear,1,2\nPolar_Bear,2,1\nwolf,1,1\ndog,1,1\n").unwrap();
    let (code, out, _) = classes(&[path.to_str().unwrap()]);
    assert_eq!(code, 0);
    assert!(out.contains("`polar bear` and `Polar_Bear` may be one class twice"), "{out}");
    assert!(out.contains("`wolf` and `dog` have the same attributes"), "{out}");
}

#[test]
fn faults_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("a.csv"), "class,a,a\ncat,1,2\n").unwrap();
    std::fs::write(path("b.csv"), "class,b\ncat,1\n").unwrap();
    std::fs::write(path("c.csv"), "class,c\ndog,1\n").unwrap();
    for (files, part) in [
        (&["a.csv"][..], "line 1: expected every attribute once, found `a` a second time"),
        (&["none.csv"], "No such file"),
        (&["b.csv", "c.csv"], "b.csv`, found no `cat`, and `dog` beyond them"),
    ] {
        let files: Vec<String> = files.iter().map(|name| path(name)).collect();
        let (code, out, error) = classes(&files.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((code, out.as_str()), (2, ""), "{error}");
        assert!(error.starts_with("error: cannot read the class information") && error.contains(part), "{error}");
    }
}
