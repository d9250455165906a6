//! Learning from photos that arrive: what is new is added to what is kept, and the classifier is made anew from all of it. So the
//! order in which photos come does not matter, a photo counts once, and one that comes again in another class is corrected.

use super::album::{Added, Album};
use super::answer;
use super::classes::ClassTable;
use super::lesson::Lesson;
use super::settings::Settings;
use super::version::Arrived;
use super::{Project, Step};
use crate::error::{ProjectError, Result};
use crate::extractor::feature_file::Row;
use crate::learner::Observer;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a lesson has changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// The version that answers now. None where the lesson brought nothing new, and no version was made.
    pub version: Option<usize>,
    /// Photos that were not known.
    pub new: usize,
    /// Of these, held out from the twin that is measured.
    pub held_out: usize,
    /// Of these, only to measure by.
    pub tested: usize,
    /// Photos that were known already, in the same class.
    pub known: usize,
    /// Photos that were known in another class, and have left it: from where to where, how many.
    pub moved: BTreeMap<(String, String), usize>,
    /// Classes that had no photo before.
    pub first_photos: Vec<String>,
    /// Classes that were not in the catalogue, and are now.
    pub added: Vec<String>,
    /// Classes that the new catalogue does not have any more.
    pub dropped: Vec<String>,
    /// Folders that are written in another way than their classes.
    pub taken_as: Vec<(String, String)>,
    /// Photos that cannot be read and were left out.
    pub damaged: Vec<String>,
    /// How the version before did on the new photos.
    pub arrived: Option<Arrived>,
}

/// A photo of the lesson with the class that is meant.
type Brought = (String, Row);

impl Project {
    /// Learns from photos, with a new catalogue where the lesson has one. All of it is one version; where a photo cannot be read,
    /// or somebody stops it, nothing has changed.
    pub fn learn(&mut self, lesson: &Lesson, observer: &mut dyn Observer) -> Result<Learned> {
        let mut step = self.step()?;
        let mut learned = Learned::default();
        let before = step.table.clone();
        if let Some(table) = &lesson.classes {
            learned.dropped = step.describe(table, &self.settings)?;
        }
        let meant = meant(lesson, &mut step.table, &mut learned)?;
        let (rows, damaged) = self.eye.as_mut().expect("a step has it").look(lesson, observer)?;
        learned.damaged = damaged;
        let brought = brought(lesson, rows, &meant)?;
        learned.arrived = arrived(self, &step.album, &brought)?;
        let hold_out = lesson.hold_out.unwrap_or(self.settings.hold_out);
        for (class, row) in brought {
            let from = step.album.class_of(&row.0).filter(|from| **from != class).map(String::from);
            let had = step.album.has(&class);
            let added = step.album.add(&class, row, hold_out);
            if !had && step.album.has(&class) {
                learned.first_photos.push(class.clone());
            }
            learned.held_out += usize::from(added == Added::HeldOut);
            learned.tested += usize::from(added == Added::Tested);
            match (added, from) {
                (Added::Known, _) => learned.known += 1,
                (_, Some(from)) => *learned.moved.entry((from, class)).or_default() += 1,
                (_, None) => learned.new += 1,
            }
        }
        if learned.new == 0 && learned.moved.is_empty() && step.table == before {
            return Ok(learned);
        }
        learned.version = Some(self.commit(step, &learned.said(lesson), learned.arrived, observer)?.number);
        Ok(learned)
    }
}

/// The class that each folder means. One that is not in the catalogue is added, unless its name looks like a typing error.
fn meant<'a>(
    lesson: &'a Lesson,
    table: &mut ClassTable,
    learned: &mut Learned,
) -> Result<HashMap<&'a str, String>, ProjectError> {
    let (mut meant, mut misspelled) = (HashMap::new(), Vec::new());
    for folder in lesson.folders() {
        let class = match table.find(folder) {
            Some(class) => {
                if class != folder {
                    learned.taken_as.push((folder.to_owned(), class.to_owned()));
                }
                class.to_owned()
            }
            None => {
                if let Some(near) = table.near(folder).into_iter().next().filter(|_| !lesson.add_classes) {
                    misspelled.push((folder.to_owned(), near));
                }
                learned.added.push(folder.to_owned());
                folder.to_owned()
            }
        };
        meant.insert(folder, class);
    }
    if !misspelled.is_empty() {
        return Err(ProjectError::Misspelled { classes: misspelled });
    }
    learned.added.iter().for_each(|class| table.add(class));
    Ok(meant)
}

/// The photos that can be read, each with its class; the same one in two classes is an error.
fn brought(
    lesson: &Lesson,
    rows: Vec<Option<Row>>,
    meant: &HashMap<&str, String>,
) -> Result<Vec<Brought>, ProjectError> {
    let mut first: HashMap<blake3::Hash, usize> = HashMap::new();
    let mut brought = Vec::new();
    for (place, (photo, row)) in lesson.photos().iter().zip(rows).enumerate() {
        let Some(row) = row else { continue };
        let class = meant[photo.class.as_str()].clone();
        let before = &lesson.photos()[*first.entry(row.0).or_insert(place)];
        if meant[before.class.as_str()] != class {
            let [first, second] = [before, photo].map(|photo| photo.path.display().to_string());
            return Err(ProjectError::TwoClasses { first, second });
        }
        brought.push((class, row));
    }
    Ok(brought)
}

/// How the version that answers now does on the photos of which it has none.
fn arrived(project: &Project, album: &Album, brought: &[Brought]) -> Result<Option<Arrived>> {
    let mut before = BTreeSet::new();
    let new = |(_, row): &&Brought| album.class_of(&row.0).is_none() && before.insert(*row.0.as_bytes());
    let new: Vec<(&str, &Row)> = brought.iter().filter(new).map(|(class, row)| (class.as_str(), row)).collect();
    match project.version.worth.is_some() && !new.is_empty() {
        true => Ok(answer::arrived(&project.predictor()?, &new)?),
        false => Ok(None),
    }
}

impl Learned {
    /// What happened, in a line for the history.
    fn said(&self, lesson: &Lesson) -> String {
        let count = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        let moved: usize = self.moved.values().sum();
        let mut parts = vec![format!("{} learned", count(self.new - self.tested.min(self.new), "photo"))];
        for (count, what) in [(self.held_out, "held out"), (self.tested, "only to measure by")] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        if moved > 0 {
            parts.push(format!("{} moved to another class", count(moved, "photo")));
        }
        if !self.first_photos.is_empty() {
            parts.push(format!("first photos of {}", self.first_photos.join(", ")));
        }
        if lesson.classes.is_some() {
            parts.push("a new catalogue".to_owned());
        }
        format!("learn {}: {}", lesson.what(), parts.join(", "))
    }
}

impl Step {
    /// Takes another catalogue over; comes back with the classes that it does not have. Classes with photos stay, known by these
    /// alone.
    pub(super) fn describe(&mut self, table: &ClassTable, settings: &Settings) -> Result<Vec<String>> {
        let mut table = table.clone();
        let mut dropped = Vec::new();
        for class in self.table.names().map(String::from).collect::<Vec<_>>() {
            if table.names().any(|name| name == class) {
                continue;
            }
            if self.album.has(&class) {
                table.add(&class);
            }
            dropped.push(class);
        }
        // What is wrong with it is told before anything is looked at.
        settings.information(&table)?;
        self.table = table;
        Ok(dropped)
    }
}
