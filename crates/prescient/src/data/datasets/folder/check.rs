//! What a check of photos in folders goes through.

use crate::catalogue::{self, AttributeSource, Scale};
use crate::data::check::{Finding, Inventory, Kind, warnings};
use crate::data::datasets::folder::{FolderSettings, files, survey};
use crate::data::datasets::photos::fault;
use crate::data::formats::files::Files;
use crate::error::DataError;
use std::path::Path;

/// All files, and the classes that only photos or only attributes have.
pub(crate) fn inventory(path: &Path, settings: &FolderSettings) -> Result<Inventory, DataError> {
    let sources = &settings.attributes;
    let files = files(path)?;
    let survey = survey(&files, &settings.exclude);
    let mut findings = Vec::new();
    let mut classes: Vec<String> = survey.train.keys().chain(survey.test.keys()).cloned().collect();
    classes.sort();
    classes.dedup();
    for source in sources {
        match catalogue::read(source) {
            Ok(table) => findings.extend(unmatched(&files, &classes, source, table.names())),
            Err(error) => findings.push(Finding::fault(Kind::ClassInformation, &error)),
        }
    }
    if let Ok(Some(catalogue)) = catalogue::joined(sources, Scale::None) {
        findings.extend(warnings(&catalogue));
    }
    Ok(Inventory { can_exclude: true, ..Inventory::of_survey(files, survey, classes, findings) })
}

/// A finding for each class that only images, or only attributes, have.
fn unmatched(files: &Files, classes: &[String], source: &AttributeSource, named: &[String]) -> Vec<Finding> {
    let table = source.path.display();
    let hint = "names must agree to the letter: rename the folder or the row, or add what is missing";
    let without = classes.iter().filter(|class| !named.contains(class)).map(|class| {
        fault(files, &format!("train/{class}"), &format!("a row for the class in `{table}`"), "none", hint)
    });
    let beyond = named.iter().filter(|name| !classes.contains(name)).map(|name| DataError::Malformed {
        path: source.path.clone(),
        line: None,
        expected: "rows for the classes of the images alone".to_owned(),
        found: format!("`{name}`"),
        hint: hint.to_owned(),
    });
    without.chain(beyond).map(|error| Finding::fault(Kind::ClassInformation, &error)).collect()
}
