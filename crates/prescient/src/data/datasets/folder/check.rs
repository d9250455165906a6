//! What a check of photos in folders goes through.

use crate::catalogue::{self, AttributeSource, Scale, class_information};
use crate::data::check::{Finding, Inventory, Kind, warnings};
use crate::data::datasets::folder::{FolderSettings, files, outliers, survey, typical, undivided};
use crate::data::datasets::photos::{fault, shorter_sides};
use crate::data::formats::files::Files;
use crate::error::DataError;
use std::collections::BTreeSet;
use std::path::Path;

/// All files, and the classes that only photos or only attributes have.
pub(crate) fn inventory(path: &Path, settings: &FolderSettings) -> Result<Inventory, DataError> {
    let sources = &settings.attributes;
    let files = files(path)?;
    let survey = survey(&files, &settings.exclude);
    let mut findings = unread(&files);
    let mut classes: Vec<String> = survey.train.keys().chain(survey.test.keys()).cloned().collect();
    classes.sort();
    classes.dedup();
    for source in sources {
        let read = match source.is_names() {
            true => class_information(path, classes.clone(), std::slice::from_ref(source), Scale::None),
            false => catalogue::read(source),
        };
        match read {
            Ok(table) => findings.extend(unmatched(&files, &classes, source, table.names())),
            Err(error) => findings.push(Finding::fault(Kind::ClassInformation, &error)),
        }
    }
    if !sources.is_empty()
        && let Ok(catalogue) = class_information(path, classes.clone(), sources, Scale::None)
    {
        findings.extend(warnings(&catalogue));
    } else if let Ok(Some(catalogue)) = catalogue::joined(sources, Scale::None) {
        findings.extend(warnings(&catalogue));
    }
    let names: Vec<String> = survey.train.values().flatten().cloned().collect();
    let sides = shorter_sides(&files, &names);
    findings.extend(outliers(&sides).into_iter().map(|(name, side)| {
        let what =
            format!("`{name}` is {side} pixels on its shorter side, most photos are {} or more", typical(&sides));
        Finding::notice(Kind::Size, what)
    }));
    Ok(Inventory { can_exclude: true, ..Inventory::of_survey(files, survey, classes, findings) })
}

/// A notice for each folder that is not looked into.
fn unread(files: &Files) -> Vec<Finding> {
    let top = files.entries("").unwrap_or_default().into_iter();
    if let Some(classes) = undivided(files) {
        let what = format!(
            "no `train` and no `test`: of each of {} folders a fifth is tested on, always the same",
            classes.len()
        );
        let without = top.filter(|name| name.ends_with('/') && !classes.contains(name));
        let without = without.map(|name| {
            let class = name.trim_end_matches('/');
            Finding::notice(Kind::Layout, format!("`{class}` has no images, and is no class"))
        });
        return std::iter::once(Finding::notice(Kind::Layout, what)).chain(without).collect();
    }
    let others = top.filter(|name| name.ends_with('/') && !["train/", "test/"].contains(&name.as_str()));
    let hidden = ["", "train/", "test/"].into_iter().flat_map(|within| files.hidden(within));
    let notice = |name: String| {
        Finding::notice(
            Kind::Layout,
            format!("`{name}` is not read: photos are learned from in `train` and tested in `test`"),
        )
    };
    others.chain(hidden).map(notice).collect()
}

/// A finding for each class that only images have, and a notice of those that only a table has.
fn unmatched(files: &Files, classes: &[String], source: &AttributeSource, named: &[String]) -> Vec<Finding> {
    let table = source.path.display();
    let (known, rows): (BTreeSet<&String>, BTreeSet<&String>) = (classes.iter().collect(), named.iter().collect());
    let hint = "names must agree to the letter: rename the folder or the row, or add what is missing";
    let below = if undivided(files).is_some() { "" } else { "train/" };
    let without = known.difference(&rows).map(|class| {
        let expected = format!("a row for the class in `{table}`");
        Finding::fault(Kind::ClassInformation, &fault(files, &format!("{below}{class}"), &expected, "none", hint))
    });
    let mut findings: Vec<Finding> = without.collect();
    let beyond: Vec<&String> = named.iter().filter(|name| !known.contains(name)).collect();
    if let [first, rest @ ..] = &beyond[..] {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let what = format!("`{table}`: `{first}`{more} described without an image: guessed, never learned or tested");
        findings.push(Finding::notice(Kind::ClassInformation, what));
    }
    findings
}
