//! A split made elsewhere, judged by its list: `train PATH` and `test PATH`, a line each, or a CSV with `side,path`.

use crate::audit::text;
use crate::data::perceptual_hash::content;
use crate::data::{Channels, Image, Seen, Subset, Thumbnail, near_duplicates};
use crate::error::{DataError, Result};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const HINT: &str = "a split is a text with lines such as `train cats/1.jpg` and `test cats/2.jpg`, or a CSV with the \
                    columns `side,path`";

/// What was found of a split.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SplitAudit {
    /// Training images, each path once.
    pub train: usize,
    /// Test images, each path once.
    pub test: usize,
    /// How many of them could be opened.
    pub opened: usize,
    /// Test images whose very path is on the other side.
    pub same_path: Vec<String>,
    /// Other test images whose pixels, or bytes where it is no image, are on the other side.
    pub same_content: Vec<String>,
    /// Other test images that look like a training image, if that was asked for.
    pub near: Vec<String>,
}

impl SplitAudit {
    /// Test images that are training images.
    pub fn shared(&self) -> usize {
        self.same_path.len() + self.same_content.len()
    }

    /// Whether the sides are apart.
    pub fn holds(&self) -> bool {
        self.shared() == 0 && self.near.is_empty()
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data")
    }

    /// As text.
    pub fn text(&self) -> String {
        text::split(self)
    }
}

/// Judges the split that the file `list` names; `near` also looks for test images that look like training images.
///
/// Paths are looked for in the working directory, then beside the list.
pub fn audit_split(list: &Path, near: bool) -> Result<SplitAudit> {
    let text = crate::disk::read_text(list).map_err(DataError::io(list))?;
    let split = parse(&text, list)?;
    let paths = |subset| split.iter().filter(move |(side, _)| *side == subset).map(|(_, path)| path.as_str());
    let train: BTreeSet<&str> = paths(Subset::Train).collect();
    let test: BTreeSet<&str> = paths(Subset::Test).collect();
    let found: Vec<(&str, Found)> = train
        .union(&test)
        .collect::<Vec<_>>()
        .into_par_iter()
        .filter_map(|path| Some((*path, found(path, list)?)))
        .collect();
    let here: BTreeMap<&str, &Found> = found.iter().map(|(path, found)| (*path, found)).collect();
    let learned: BTreeMap<[u8; 32], &str> =
        train.iter().filter_map(|path| Some((here.get(path)?.content, *path))).collect();
    let mut audit = SplitAudit { train: train.len(), test: test.len(), opened: found.len(), ..Default::default() };
    let mut unlike: Vec<&str> = Vec::new();
    for path in &test {
        if train.contains(path) {
            audit.same_path.push(format!("`{path}`"));
        } else if let Some(found) = here.get(path) {
            match learned.get(&found.content) {
                Some(other) => audit.same_content.push(format!("`{path}` is `{other}`")),
                None => unlike.push(path),
            }
        }
    }
    if near {
        audit.near = alike(&train.into_iter().collect::<Vec<_>>(), &unlike, &here);
    }
    Ok(audit)
}

/// What a file is, whatever it is called.
struct Found {
    content: [u8; 32],
    thumbnail: Option<Thumbnail>,
}

/// The file at `path`, if it is here.
fn found(path: &str, list: &Path) -> Option<Found> {
    let beside = list.parent().unwrap_or(Path::new("")).join(path);
    let (bytes, path): (Vec<u8>, PathBuf) = [PathBuf::from(path), beside]
        .into_iter()
        .find_map(|path| Some((crate::disk::read(&path, crate::disk::IMAGE).ok()?, path)))?;
    Some(match Image::decode(&bytes, Channels::Rgb, &path) {
        Ok(image) => Found { content: *content(&image).as_bytes(), thumbnail: Thumbnail::of(&image) },
        Err(_) => Found { content: *blake3::hash(&bytes).as_bytes(), thumbnail: None },
    })
}

/// Test images that look like a training image; images in one folder are of one class.
fn alike(train: &[&str], test: &[&str], here: &BTreeMap<&str, &Found>) -> Vec<String> {
    fn folder(path: &str) -> &str {
        path.rsplit('/').nth(1).unwrap_or_default()
    }
    let folders: BTreeSet<&str> = train.iter().chain(test).map(|path| folder(path)).collect();
    let numbers: BTreeMap<&str, usize> = folders.into_iter().zip(0..).collect();
    let seen = |paths: &[&str]| -> (Vec<usize>, Vec<Seen>) {
        let shown = paths.iter().enumerate();
        shown.filter_map(|(at, path)| Some((at, (here.get(path)?.thumbnail?, numbers[folder(path)])))).unzip()
    };
    let ((train_places, learned), (test_places, asked)) = (seen(train), seen(test));
    let found = near_duplicates(&learned, &asked).into_iter().map(|near| {
        let (test, train) = (test[test_places[near.test]], train[train_places[near.train]]);
        format!("`{test}` looks like `{train}`")
    });
    found.collect()
}

fn parse(text: &str, list: &Path) -> Result<Vec<(Subset, String)>, DataError> {
    let wrong = |line: Option<usize>, expected: &str, found: &str| DataError::Malformed {
        path: list.to_owned(),
        line,
        expected: expected.to_owned(),
        found: found.to_owned(),
        hint: HINT.to_owned(),
    };
    let text = text.trim_start_matches('\u{feff}');
    let mut split = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || (index == 0 && line.replace(' ', "") == "side,path") {
            continue;
        }
        let (side, path) = line.split_once([',', ' ', '\t']).unwrap_or((line, ""));
        let subset = match side {
            "train" => Subset::Train,
            "test" => Subset::Test,
            other => return Err(wrong(Some(index + 1), "`train` or `test`", &format!("`{other}`"))),
        };
        let path = path.trim().trim_matches('"').replace('\\', "/");
        let path = path.strip_prefix("./").unwrap_or(&path);
        if path.is_empty() {
            return Err(wrong(Some(index + 1), &format!("a path after `{side}`"), "none"));
        }
        split.push((subset, path.to_owned()));
    }
    for (subset, side) in [(Subset::Train, "train"), (Subset::Test, "test")] {
        if !split.iter().any(|(other, _)| *other == subset) {
            return Err(wrong(None, &format!("images of the side `{side}`"), "none"));
        }
    }
    Ok(split)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(Subset, String)>, DataError> {
        parse(text, Path::new("split.txt"))
    }

    #[test]
    fn lines_and_tables_read_alike() {
        let expected = vec![(Subset::Train, "a b/1.jpg".to_owned()), (Subset::Test, "c,d/2.jpg".to_owned())];
        assert_eq!(read("# mine\ntrain a b/1.jpg\n\ntest\t./c,d/2.jpg\n").expect("lines"), expected);
        assert_eq!(read("side,path\r\ntrain,a b/1.jpg\r\ntest,\"c,d/2.jpg\"\r\n").expect("a table"), expected);
    }

    #[test]
    fn faults_are_told_by_line() {
        let says = |text| read(text).expect_err(text).to_string();
        assert_eq!(says("train a\nval b\n"), "`split.txt`, line 2: expected `train` or `test`, found `val`");
        assert_eq!(says("train\n"), "`split.txt`, line 1: expected a path after `train`, found none");
        assert_eq!(says("train a\n"), "`split.txt`: expected images of the side `test`, found none");
    }

    /// Three of four by path. Of the fourth, nothing is here to compare it by.
    #[test]
    fn a_share_is_counted_over_different_test_images() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = folder.path().join("split.txt");
        let lines = "train a\ntrain b\ntrain c\ntrain e\ntest a\ntest b\ntest c\ntest c\ntest d\n";
        std::fs::write(&list, lines).expect("a file");
        let audit = audit_split(&list, false).expect("a split");
        assert_eq!((audit.train, audit.test, audit.opened, audit.shared()), (4, 4, 0, 3));
        assert!(audit.text().contains("✗ 75.0 % of the test images are training images: 3 of 4"), "{}", audit.text());
    }
}
