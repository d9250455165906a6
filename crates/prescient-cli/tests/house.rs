//! The house itself: imports point one way, and the documents name what is there.
#![allow(clippy::unwrap_used)]

mod tree;

use std::collections::BTreeSet;
use std::path::PathBuf;
use tree::{files, root};

/// From the ground up. A room may use what stands below it, or beside it.
const FLOORS: &[&[&str]] = &[
    &["class", "seeds", "error", "disk"],
    &["scenario", "weights"],
    &["text"],
    &["catalogue", "data"],
    &["protocol"],
    &["memory", "evaluation"],
    &["engine"],
    &["extractor", "classifier", "loss", "ghost"],
    &["predictor"],
    &["learner"],
    &["experiment", "project"],
    &["audit", "report", "export"],
];

/// The library's code.
fn library() -> PathBuf {
    root().join("crates/prescient/src")
}

fn floor(room: &str) -> usize {
    FLOORS.iter().position(|rooms| rooms.contains(&room)).unwrap_or_else(|| panic!("`{room}` has no floor"))
}

/// The rooms that a file's code, tests aside, names with `crate::`.
fn imports(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    lines.flat_map(|line| line.split("crate::").skip(1).map(name).collect::<Vec<String>>()).collect()
}

#[test]
fn imports_point_one_way() {
    let source = library();
    for file in files(&source, ".rs") {
        let below = file.strip_prefix(&source).unwrap();
        let room = below.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        if ["lib", "main"].contains(&room.as_str()) || below.ends_with("testing.rs") || below.ends_with("tests.rs") {
            continue;
        }
        for import in imports(&std::fs::read_to_string(&file).unwrap()) {
            let fine = floor(&import) <= floor(&room);
            assert!(fine, "`{}` reaches up to `{import}`", below.display());
        }
    }
}

/// A pipe or a device in a folder of others is refused in one place: `disk::read` and its like.
#[test]
fn files_are_read_in_one_place() {
    for (source, except) in [(library(), "disk"), (root().join("crates/prescient-cli/src"), "-")] {
        for file in files(&source, ".rs") {
            let below = file.strip_prefix(&source).unwrap();
            if below.starts_with(except) || below.ends_with("testing.rs") || below.ends_with("tests.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for way in ["fs::read(", "fs::read_to_string(", " File::open(", "(File::open(", "fs::File::open("] {
                assert!(!code.contains(way), "`{}` reads with `{way}…)`: `disk::read` has a cap", below.display());
            }
        }
    }
}

#[test]
fn a_report_reads_records_alone() {
    for file in files(&library().join("report"), ".rs") {
        let text = std::fs::read_to_string(&file).unwrap();
        for room in ["learner", "extractor", "ghost", "engine", "loss", "memory", "data"] {
            assert!(!imports(&text).contains(room), "`{}` uses `{room}`", file.display());
        }
        assert!(!text.contains("tch::"), "`{}` touches tensors", file.display());
    }
}

#[test]
fn tensors_stay_in_their_rooms() {
    for room in ["scenario", "weights", "catalogue", "data", "protocol", "memory", "evaluation", "audit", "report"] {
        for file in files(&library().join(room), ".rs") {
            assert!(!std::fs::read_to_string(&file).unwrap().contains("tch::"), "`{}`", file.display());
        }
    }
}

/// `errata N` in the code has its paragraph, and every paragraph of a built part its place in the code.
#[test]
fn errata_are_explained() {
    let text = std::fs::read_to_string(root().join("docs/reference/errata.md")).unwrap();
    let explained: BTreeSet<usize> =
        text.lines().filter_map(|line| line.strip_prefix("## ")?.split('.').next()?.parse().ok()).collect();
    for file in files(&library(), ".rs") {
        let text = std::fs::read_to_string(&file).unwrap();
        for rest in text.split("errata ").skip(1) {
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            let number: usize = number.parse().unwrap_or_else(|_| panic!("`{}`: which errata?", file.display()));
            assert!(explained.contains(&number), "`{}`: errata {number} is not explained", file.display());
        }
    }
}

#[test]
fn adrs_that_are_named_exist() {
    let folder = root().join("docs/adr");
    let numbers: BTreeSet<String> = files(&folder, ".md")
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().chars().take(4).collect())
        .collect();
    for file in files(&library(), ".rs") {
        for rest in std::fs::read_to_string(&file).unwrap().split("ADR ").skip(1) {
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            assert!(numbers.contains(&format!("{:0>4}", number)), "`{}`: ADR {number}", file.display());
        }
    }
}
