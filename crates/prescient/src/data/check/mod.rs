//! Reads every file of a dataset, says all that is wrong and what to do about it, and goes on to the end.

mod duplicates;
mod inventory;
mod jpeg;
pub(crate) use jpeg::is_cut;
mod quick;

use crate::data::datasets::apy;
use crate::data::perceptual_hash::content;
use crate::data::{Channels, Source, Thumbnail};
use crate::error::DataError;
use duplicates::Trace;
pub(crate) use inventory::{Inventory, Item, Pictures, warnings};
pub use quick::{QuickCheck, check_photos};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What kind of thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Something is not where it should be.
    Layout,
    /// Attributes are missing, damaged, or cannot tell classes apart.
    ClassInformation,
    /// A column of attributes that photos may not show.
    Column,
    /// More or fewer images than published.
    Count,
    /// An image that is much smaller than the others.
    Size,
    /// A file that cannot be read, or is no image, or not a whole one.
    Image,
    /// One image twice where that does harm.
    Duplicate,
    /// One image twice on one side, in one class.
    Repeated,
    /// Two images on two sides with nearly the same perceptual hash.
    NearDuplicate,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What kind of thing.
    pub kind: Kind,
    /// Which file, what was expected, what was found.
    pub what: String,
    /// What to do about it; nothing must be done about a notice.
    pub mend: Option<String>,
    /// Whether something is wrong, and not just worth a look.
    pub wrong: bool,
    /// The images without which it would not be, where a recipe can exclude them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Whether it is mended as well if one of those, whichever is right, is not excluded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeps_one: bool,
}

impl Finding {
    pub(crate) fn new(kind: Kind, what: String, mend: &str) -> Self {
        Self { kind, what, mend: Some(mend.to_owned()), wrong: true, exclude: Vec::new(), keeps_one: false }
    }

    pub(crate) fn fault(kind: Kind, error: &DataError) -> Self {
        Self { kind, what: error.to_string(), mend: error.hint(), wrong: true, exclude: Vec::new(), keeps_one: false }
    }

    pub(crate) fn notice(kind: Kind, what: String) -> Self {
        Self { kind, what, mend: None, wrong: false, exclude: Vec::new(), keeps_one: false }
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Checkup {
    /// How many images, or objects, each class has to learn from and to be asked about.
    pub counts: Vec<(String, [usize; 2])>,
    /// How many files were opened.
    pub opened: usize,
    /// Whether they are rows of numbers, and no images.
    pub rows: bool,
    /// All that was found, by kind.
    pub findings: Vec<Finding>,
}

impl Checkup {
    /// How many things are wrong.
    pub fn faults(&self) -> usize {
        self.findings.iter().filter(|finding| finding.wrong).count()
    }

    /// What a recipe can exclude to mend what is wrong, as it would be written in `[data]`; none where nothing can. Copies of which
    /// one may stay come last, with a comment that says so.
    pub fn exclude(&self) -> Option<String> {
        let (choices, others): (Vec<&Finding>, Vec<&Finding>) =
            self.findings.iter().filter(|finding| finding.wrong).partition(|finding| finding.keeps_one);
        let names: BTreeSet<&String> = others.iter().flat_map(|finding| &finding.exclude).collect();
        let mut groups: Vec<BTreeSet<&String>> = Vec::new();
        for finding in choices {
            let mut group: BTreeSet<&String> = finding.exclude.iter().filter(|name| !names.contains(name)).collect();
            let (same, rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(|other| !other.is_disjoint(&group));
            group.extend(same.into_iter().flatten());
            groups = rest;
            groups.push(group);
        }
        let line = |name: &&String| format!("    {},\n", quoted(name));
        let mut lines: String = names.iter().map(line).collect();
        for group in groups.iter().filter(|group| !group.is_empty()) {
            if group.len() > 1 {
                lines.push_str("    # one photo in several classes: delete the line of the copy to keep\n");
            }
            lines.extend(group.iter().map(line));
        }
        (!lines.is_empty()).then(|| format!("exclude = [\n{lines}]\n"))
    }

    /// How many of the things that are wrong those lines mend.
    pub fn mended(&self) -> usize {
        self.findings.iter().filter(|finding| finding.wrong && !finding.exclude.is_empty()).count()
    }
}

/// A name as TOML has it. Rust would escape the accents of a name whose letters are decomposed, in a way that TOML does not read.
pub(crate) fn quoted(name: &str) -> String {
    let letter = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        control if control.is_control() => format!("\\u{:04X}", u32::from(control)),
        plain => plain.to_string(),
    };
    format!("\"{}\"", name.chars().map(letter).collect::<String>())
}

impl TryFrom<Checkup> for DataError {
    type Error = Checkup;

    /// What stops a run; the checkup itself where nothing does.
    fn try_from(checkup: Checkup) -> Result<Self, Checkup> {
        let lines: Vec<String> = checkup.findings.iter().filter(|it| it.wrong).map(|it| it.what.clone()).collect();
        match lines.len() {
            0 => Err(checkup),
            count => {
                let more = (count > SHOWN).then(|| format!("… and {} more", count - SHOWN));
                let lines = lines.into_iter().take(SHOWN).chain(more).collect();
                Ok(Self::BadPhotos { count, lines, exclude: checkup.exclude() })
            }
        }
    }
}

/// So many findings are named where a run stops.
const SHOWN: usize = 10;

/// Checks every file of a dataset. `progress` is told how many images of how many have been read.
pub fn check(source: &Source, progress: &(dyn Fn(usize, usize) + Sync)) -> Checkup {
    match source.inventory() {
        Ok(inventory) => check_items(inventory, progress),
        // Nothing more can be read.
        Err(errors) => {
            let findings = errors.iter().map(|error| Finding::fault(Kind::Layout, error)).collect();
            Checkup { findings, ..Checkup::default() }
        }
    }
}

fn check_items(mut inventory: Inventory, progress: &(dyn Fn(usize, usize) + Sync)) -> Checkup {
    let (done, of) = (AtomicUsize::new(0), inventory.items.len());
    let examined: Vec<Result<Trace, Vec<DataError>>> = inventory
        .items
        .par_iter()
        .map(|item| {
            let trace = examine(&inventory.pictures, item);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, of);
            trace
        })
        .collect();
    let mut findings = std::mem::take(&mut inventory.findings);
    let mut traces = Vec::new();
    for (item, result) in inventory.items.iter().zip(examined) {
        match result {
            Ok(trace) => traces.push(Some(trace)),
            Err(errors) => {
                let exclude = inventory.excluding([item]);
                findings.extend(errors.iter().map(|error| Finding { exclude: exclude.clone(), ..unusable(error) }));
                traces.push(None);
            }
        }
    }
    findings.extend(duplicates::duplicates(&inventory, &traces));
    findings.sort_by_key(|finding| (!finding.wrong, finding.kind));
    Checkup { counts: inventory.counts, opened: of, rows: inventory.pictures.are_rows(), findings }
}

/// An image that cannot be used. One that was listed a moment ago and is not there is a link.
fn unusable(error: &DataError) -> Finding {
    match error {
        DataError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            let mend = "a link to a file that is gone: put a copy in its place, or take it away";
            Finding::new(Kind::Image, error.to_string(), mend)
        }
        _ => Finding::fault(Kind::Image, error),
    }
}

/// A JPEG whose end is missing.
fn cut(pictures: &Pictures, item: &Item) -> DataError {
    DataError::Malformed {
        path: PathBuf::from(pictures.path(item)),
        line: None,
        expected: "a whole JPEG".to_owned(),
        found: "one that is cut short: its end is missing".to_owned(),
        hint: "put a whole copy in its place, or take it away".to_owned(),
    }
}

/// Decodes one image and checks all of it.
fn examine(pictures: &Pictures, item: &Item) -> Result<Trace, Vec<DataError>> {
    let (bytes, image) = pictures.open(item).map_err(|error| vec![error])?;
    if jpeg::is_cut(&bytes) {
        return Err(vec![cut(pictures, item)]);
    }
    if let Pictures::Files(files) = pictures {
        let beyond = item.objects.iter().filter(|object| object.bounds.cut(&image).is_none());
        let faults: Vec<DataError> = beyond.map(|object| apy::outside(files, object, &image)).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
    }
    // Handwritten digits are not looked at: they are tens of thousands, and all alike.
    let thumbnail = if image.channels == Channels::Rgb { Thumbnail::of(&image) } else { None };
    Ok(Trace { content: *content(&image).as_bytes(), thumbnail })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(exclude: &[&str], keeps_one: bool) -> Finding {
        let exclude = exclude.iter().map(|name| (*name).to_owned()).collect();
        Finding { exclude, keeps_one, ..Finding::new(Kind::Duplicate, String::new(), "") }
    }

    /// `b.jpg` lies in three classes, and one of the three may stay; `c.jpg` lies in two and is tested on as well.
    #[test]
    fn of_a_photo_in_several_classes_one_copy_can_be_kept() {
        let findings = vec![
            finding(&["train/ant/b.jpg", "train/bee/b.jpg"], true),
            finding(&["train/ant/c.jpg", "train/bee/c.jpg"], true),
            finding(&["train/ant/b.jpg", "train/cat/b.jpg"], true),
            finding(&["train/ant/c.jpg", "train/bee/c.jpg"], false),
            finding(&["test/ant/cut.jpg"], false),
        ];
        let checkup = Checkup { findings, ..Checkup::default() };
        insta::assert_snapshot!(checkup.exclude().expect("lines"), @r#"
        exclude = [
            "test/ant/cut.jpg",
            "train/ant/c.jpg",
            "train/bee/c.jpg",
            # one photo in several classes: delete the line of the copy to keep
            "train/ant/b.jpg",
            "train/bee/b.jpg",
            "train/cat/b.jpg",
        ]
        "#);
        assert_eq!(checkup.mended(), 5);
    }

    #[test]
    fn any_name_can_be_pasted() {
        for name in ["train/na\u{308}her/1.jpg", "a \"b\"\\c.jpg", "tab\there.jpg"] {
            let checkup = Checkup { findings: vec![finding(&[name], false)], ..Checkup::default() };
            let read: toml::Table = checkup.exclude().expect("a line").parse().expect("TOML");
            assert_eq!(read["exclude"].as_array().expect("a list"), &[toml::Value::from(name)]);
        }
    }
}
