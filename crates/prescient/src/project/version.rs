//! A version of a project: what it knows, where it comes from, and how good it is on held-out photos. `version.json`.

use super::held_out::{HeldOut, Tally};
use crate::disk;
use crate::error::ProjectError;
use crate::evaluation::Worth;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The file.
pub(super) const FILE: &str = "version.json";

/// A version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// From 1.
    pub number: usize,
    /// What made it, as in `learn photos/month_01: 120 photos of 5 classes`.
    pub made: String,
    /// When, in seconds since 1970.
    pub when: u64,
    /// A digest of `project.toml`.
    pub(super) settings: String,
    /// What is known of each class, in the order of the catalogue.
    pub classes: Vec<KnownClass>,
    /// How its twin does on held-out photos. What answers has learned from these as well; the twin has not, and so is a little
    /// worse if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
    /// How it does itself on photos that are only measured by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested: Option<HeldOut>,
    /// How the version before did on the photos that made this one, before it had learned from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<Arrived>,
    /// What class information is worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worth: Option<Worth>,
    /// The digest of each other file of the version.
    pub files: BTreeMap<String, String>,
}

/// What is known of a class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownClass {
    /// Its name.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// How many photos were learned from.
    pub photos: u64,
    /// How many of these the twin has not learned from.
    pub held_out: u64,
    /// How many others are only measured by.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tested: u64,
    /// Whether the catalogue says more than its name.
    pub described: bool,
    /// The file with the features of photos that the twin has learned from, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) features: Option<String>,
    /// The file with the features of those held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) held_out_features: Option<String>,
    /// The file with the features of those that are only measured by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tested_features: Option<String>,
}

/// As names are compared now: those of early projects are as they were read.
fn name<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|name| crate::class::spelled(&name))
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How a version did on photos that came later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrived {
    /// Of classes that it had photos of.
    pub seen: Tally,
    /// Of classes that it only guessed at.
    pub guessed: Tally,
}

impl Version {
    /// One that is made in the way that `made` says, with what is known of classes; the rest comes when it is committed.
    pub(super) fn new(made: String, settings: String, classes: Vec<KnownClass>) -> Self {
        Self {
            number: 0,
            made,
            when: 0,
            settings,
            classes,
            held_out: None,
            tested: None,
            arrived: None,
            worth: None,
            files: BTreeMap::new(),
        }
    }

    /// Reads and checks it.
    pub(super) fn read(folder: &Path) -> Result<Self, ProjectError> {
        let path = folder.join(FILE);
        let damaged = |reason: String| ProjectError::Damaged { path: path.clone(), reason };
        let text = disk::read_text(&path).map_err(|error| damaged(error.to_string()))?;
        let text = disk::opened(&text).map_err(damaged)?;
        serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))
    }

    /// The bytes of one of its files, checked.
    pub(super) fn file(&self, folder: &Path, name: &str) -> Result<Vec<u8>, ProjectError> {
        let path = folder.join(name);
        let damaged = |reason: String| ProjectError::Damaged { path: path.clone(), reason };
        let bytes = disk::read(&path, disk::TABLE << 4).map_err(|error| damaged(error.to_string()))?;
        match self.files.get(name) {
            Some(expected) if *expected == disk::digest(&bytes) => Ok(bytes),
            Some(_) => Err(damaged("it is not as it was written: its digest is another".to_owned())),
            None => Err(damaged("it is no part of the version".to_owned())),
        }
    }

    /// The class called `name`.
    pub fn class(&self, name: &str) -> Option<&KnownClass> {
        self.classes.iter().find(|class| class.name == name)
    }

    /// Photos learned from, of all classes.
    pub fn photos(&self) -> u64 {
        self.classes.iter().map(|class| class.photos).sum()
    }

    /// How many classes have photos.
    pub fn seen(&self) -> usize {
        self.classes.iter().filter(|class| class.photos > 0).count()
    }
}
