//! What the project has promised about itself: short files, short documents, links that lead somewhere, few dependencies.
#![allow(clippy::unwrap_used)]

mod tree;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tree::{files, root};

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}

fn lines(path: &Path) -> usize {
    read(path).lines().count()
}

#[test]
fn algorithm_1_is_one_page() {
    let found = lines(&root().join("crates/prescient/src/learner/ghost/algorithm.rs"));
    assert!(found <= 150, "{found} lines");
}

#[test]
fn a_source_file_is_short() {
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let others = ["bench/src", "xtask/src"].map(|folder| root().join(folder));
    let mut lengths = Vec::new();
    for file in crates.chain(others).flat_map(|folder| files(&folder, ".rs")) {
        let found = lines(&file);
        assert!(found <= 400, "`{}` has {found} lines", file.display());
        lengths.push(found);
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(lengths.len() > 100 && median < 130, "{} files, the median is {median} lines", lengths.len());
}

#[test]
fn recipes_are_few() {
    let found = files(&root().join("recipes"), "");
    assert!((1..=14).contains(&found.len()), "{found:?}");
}

#[test]
fn documents_are_short() {
    let words = read(&root().join("README.md")).split_whitespace().count();
    assert!(words <= 1000, "README.md has {words} words");
    let found = lines(&root().join("REPRODUCIBILITY.md"));
    assert!(found <= 250, "REPRODUCIBILITY.md has {found} lines");
}

/// The documents that people read.
fn documents() -> Vec<PathBuf> {
    let top = std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let top = top.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    top.chain(files(&root().join("docs"), ".md")).collect()
}

/// The text of a document without its blocks of code.
fn prose(text: &str) -> String {
    let mut inside = false;
    let kept = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !fence && !inside
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// Where the links of a document lead: `[text](target)` and `src="target"`.
fn targets(text: &str) -> Vec<String> {
    let between = |start: &str, end: char| -> Vec<String> {
        text.split(start).skip(1).filter_map(|rest| Some(rest.split_once(end)?.0.to_owned())).collect()
    };
    [between("](", ')'), between("src=\"", '"'), between("href=\"", '"')].concat()
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let anchor = |line: &str| -> String {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    prose(text).lines().filter(|line| line.starts_with('#')).map(anchor).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    let mut found = 0;
    for document in documents() {
        let text = read(&document);
        for target in targets(&prose(&text)) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            found += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            let known =
                || path.extension().is_none_or(|ending| ending != "md") || anchors(&read(&path)).contains(anchor);
            if !path.exists() || !anchor.is_empty() && !known() {
                broken.push(format!("`{}`: {target}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(found > 20, "{found} links");
}

/// What cargo prints, without the network.
fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(arguments).arg("--offline").current_dir(root()).output().unwrap();
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Who uses the library compiles no argument parser, no HTTP and no progress bars.
#[test]
fn the_library_needs_no_terminal_and_no_network() {
    let tree = cargo(&["tree", "--package", "prescient", "--edges", "normal", "--prefix", "none"]);
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains("tch") && names.contains("prescient"), "{tree}");
    for unwanted in ["clap", "ureq", "indicatif", "console", "rustls", "axum", "hyper", "tokio"] {
        assert!(!names.contains(unwanted), "the library depends on `{unwanted}`");
    }
}

/// A version such as `1.90` or `1.90.1`.
fn version(text: &str) -> [u32; 3] {
    let mut numbers = text.split('.').map(|number| number.parse().unwrap_or_else(|_| panic!("`{text}` is no version")));
    [(); 3].map(|()| numbers.next().unwrap_or(0))
}

/// `rust-version` is what cargo promises our users; what we call of std is held to it by clippy's `incompatible_msrv`.
#[test]
fn no_dependency_asks_for_a_newer_rust_than_we_do() {
    // Of other systems cargo has not even fetched the packages.
    let about = cargo(&["--version", "--verbose"]);
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo knows its host");
    let metadata = cargo(&["metadata", "--format-version", "1", "--filter-platform", host]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let asks = |package: &Value| package["rust_version"].as_str().map(version);
    let ours = packages.iter().find(|package| package["name"] == "prescient").and_then(asks).expect("a rust-version");
    assert!(packages.len() > 100);
    for package in packages {
        let fine = asks(package).is_none_or(|wanted| wanted <= ours);
        assert!(fine, "{} {} asks for Rust {}", package["name"], package["version"], package["rust_version"]);
    }
    let lints = read(&root().join("Cargo.toml"));
    assert!(lints.contains("incompatible_msrv"), "clippy looks for newer parts of std");
    let shown = format!("Rust {}.{}", ours[0], ours[1]);
    for document in ["README.md", "docs/guide/setup.md"] {
        assert!(read(&root().join(document)).contains(&shown), "{document} says which Rust it takes: {shown}");
    }
}
