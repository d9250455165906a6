//! What a project knows, how good it believes it is and on what evidence, and how much it keeps.

use super::{HeldOut, KnownClass, Project, Tally, Version};
use crate::error::{Result, RunError};
use crate::evaluation::Worth;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a project is, for people and programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The version.
    pub version: usize,
    /// What made it.
    pub made: String,
    /// When, in seconds since 1970.
    pub when: u64,
    /// What turns photos into features, and at what size.
    pub extractor: String,
    /// In pixels.
    pub size: u32,
    /// The columns of the catalogue that classes are known by; none where they are known by their names alone.
    pub columns: Vec<String>,
    /// Columns that look like a price or a number of each class, and what to do about them.
    pub warnings: Vec<String>,
    /// The classes, in the order of the catalogue.
    pub classes: Vec<ClassStatus>,
    /// What held-out photos show of a twin that has not learned from them; what answers has.
    pub held_out: Option<HeldOut>,
    /// What photos that are only measured by show of what answers.
    pub tested: Option<HeldOut>,
    /// How photos were named before anything was learned from them, over all versions up to this: of classes with photos.
    pub arrived_seen: Tally,
    /// The same of classes without: what guesses were worth.
    pub arrived_guessed: Tally,
    /// What class information is worth.
    pub worth: Option<Worth>,
    /// What is kept on disk.
    pub disk: Disk,
    /// Every version up to this.
    pub history: Vec<Made>,
}

/// What is known of a class, and how well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassStatus {
    /// Its name.
    pub name: String,
    /// Photos learned from.
    pub photos: u64,
    /// Of these, photos that the twin has not learned from.
    pub held_out: u64,
    /// Other photos, that are only measured by.
    pub tested: u64,
    /// Whether the catalogue says more than its name.
    pub described: bool,
    /// Right answers on its held-out photos, of the twin.
    pub right: Option<Tally>,
    /// Right answers on its photos that are only measured by.
    pub right_tested: Option<Tally>,
    /// The class that its description leads to instead, where it does.
    pub misleads_to: Option<String>,
}

/// What is kept on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Disk {
    /// All of it; a file with two names counts once.
    pub bytes: u64,
    /// As if nothing were shared between versions.
    pub unshared: u64,
    /// The features of photos in this version.
    pub features: u64,
}

/// A line of the history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Made {
    /// The version.
    pub version: usize,
    /// In seconds since 1970.
    pub when: u64,
    /// What made it.
    pub made: String,
}

impl Project {
    /// What this version is.
    pub fn status(&self) -> Result<Status> {
        let version = self.version();
        let mut versions = self.versions()?;
        versions.truncate(version.number);
        let arrived = |of: fn(&super::Arrived) -> Tally| {
            let each = versions.iter().filter_map(|version| version.arrived.as_ref()).map(of);
            each.fold(Tally::default(), |sum, one| Tally { right: sum.right + one.right, of: sum.of + one.of })
        };
        let mut seen = BTreeSet::new();
        let (bytes, unshared) = size(self.path(), &mut seen)?;
        let features = size(&self.folder().join("features"), &mut BTreeSet::new()).map_or(0, |(bytes, _)| bytes);
        let table = self.classes()?;
        Ok(Status {
            columns: table.columns().to_vec(),
            warnings: table.warnings().iter().map(ToString::to_string).collect(),
            version: version.number,
            made: version.made.clone(),
            when: version.when,
            extractor: self.settings().extractor.name().to_owned(),
            size: self.settings().size,
            classes: version.classes.iter().map(|class| ClassStatus::new(class, version)).collect(),
            held_out: version.held_out.clone(),
            tested: version.tested.clone(),
            arrived_seen: arrived(|arrived| arrived.seen),
            arrived_guessed: arrived(|arrived| arrived.guessed),
            worth: version.worth.clone(),
            disk: Disk { bytes, unshared, features },
            history: versions
                .iter()
                .map(|version| Made { version: version.number, when: version.when, made: version.made.clone() })
                .collect(),
        })
    }
}

impl ClassStatus {
    fn new(class: &KnownClass, version: &Version) -> Self {
        let of = |found: &Option<HeldOut>| found.as_ref().and_then(|found| found.classes.get(&class.name).copied());
        let (right, right_tested) = (of(&version.held_out), of(&version.tested));
        let misleading = version.worth.iter().flat_map(|worth| &worth.misleading);
        let misleads_to =
            misleading.into_iter().find(|other| other.class == class.name).map(|other| other.like.clone());
        let KnownClass { name, photos, held_out, tested, described, .. } = class.clone();
        Self { name, photos, held_out, tested, described, right, right_tested, misleads_to }
    }
}

/// The bytes below a folder: each file once, and each name.
fn size(folder: &Path, seen: &mut BTreeSet<u64>) -> Result<(u64, u64), RunError> {
    let (mut bytes, mut unshared) = (0, 0);
    for entry in fs::read_dir(folder).map_err(RunError::io(folder))? {
        let path = entry.map_err(RunError::io(folder))?.path();
        let about = fs::symlink_metadata(&path).map_err(RunError::io(&path))?;
        if about.is_dir() {
            let below = size(&path, seen)?;
            (bytes, unshared) = (bytes + below.0, unshared + below.1);
            continue;
        }
        unshared += about.len();
        bytes += if seen.insert(about.ino()) { about.len() } else { 0 };
    }
    Ok((bytes, unshared))
}
