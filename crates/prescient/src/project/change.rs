//! Changes without photos: a class forgotten or renamed, classes described anew, an earlier version brought back.

use super::draft::{self, Draft};
use super::{ClassTable, Project, Version};
use crate::class::spelled;
use crate::error::{ProjectError, Result};
use crate::learner::Observer;
use crate::predictor::place::{head, version_folder};

impl Project {
    /// Forgets classes, their photos and their rows of the catalogue: the new version is as if they had never been there. Earlier
    /// versions still have them.
    pub fn forget(&mut self, classes: &[String], observer: &mut dyn Observer) -> Result<&Version> {
        let mut step = self.step()?;
        for class in classes.iter().map(|class| spelled(class)) {
            let class = &class;
            known(&step.table, class)?;
            if step.table.names().count() == 1 {
                return Err(ProjectError::OnlyClass { class: class.clone() }.into());
            }
            step.album.forget(class);
            step.table.remove(class);
        }
        self.commit(step, &format!("forget {}", classes.join(", ")), None, observer)
    }

    /// Gives a class another name; its photos and its description stay.
    pub fn rename(&mut self, class: &str, name: &str, observer: &mut dyn Observer) -> Result<&Version> {
        let mut step = self.step()?;
        let (class, name) = (&spelled(class), &spelled(name.trim()));
        known(&step.table, class)?;
        if name.is_empty() || name.contains(char::is_control) {
            return Err(ProjectError::BadName { class: name.to_owned() }.into());
        }
        if step.table.names().any(|other| other == name) {
            return Err(ProjectError::ClassExists { class: name.to_owned() }.into());
        }
        step.album.rename(class, name);
        step.table.rename(class, name);
        self.commit(step, &format!("rename {class} to {name}"), None, observer)
    }

    /// Takes another catalogue over; comes back with the classes that it does not have. Those with photos stay, known by these
    /// alone; the others are gone.
    pub fn describe(&mut self, classes: &ClassTable, observer: &mut dyn Observer) -> Result<Vec<String>> {
        let mut step = self.step()?;
        let dropped = step.describe(classes, &self.settings)?;
        let said = format!("describe: {} classes, {}", step.table.names().count(), step.table.kind());
        self.commit(step, &said, None, observer)?;
        Ok(dropped)
    }

    /// Brings an earlier version back: a new version with the same files. Nothing is lost, and it can be undone in the same way.
    pub fn rollback(&mut self, number: usize) -> Result<&Version> {
        let lock = draft::lock(&self.path, self.patience)?;
        let last = head(&self.path)?;
        let back = Self::read(&self.path, Some(number))?;
        let folder = version_folder(&self.path, number);
        for name in back.files.keys() {
            back.file(&folder, name)?;
        }
        let mut draft = Draft::from_version(&self.path, last, &back, lock)?;
        back.files.keys().try_for_each(|name| draft.keep(name))?;
        self.version =
            draft.commit(Version { made: format!("rollback to version {number}"), arrived: None, ..back })?;
        self.pinned = false;
        Ok(&self.version)
    }
}

/// Whether there is a class of that name.
fn known(table: &ClassTable, class: &str) -> Result<(), ProjectError> {
    match table.names().any(|name| name == class) {
        true => Ok(()),
        false => {
            let near = table.find(class).map_or_else(|| table.near(class), |name| vec![name.to_owned()]);
            Err(ProjectError::UnknownClass { class: class.to_owned(), near })
        }
    }
}
