//! What a check of AwA2 goes through.

use crate::data::check::{Finding, Inventory, Kind, Pictures};
use crate::data::datasets::awa2::{SIZES, classes, files, survey};
use crate::data::datasets::photos::fault;
use crate::data::datasets::shares::SPLIT_SEED;
use crate::error::DataError;
use std::path::Path;

/// All photos, against the numbers that were published.
pub(crate) fn inventory(path: &Path) -> Result<Inventory, DataError> {
    let files = files(path)?;
    let (classes, faults) = classes(&files);
    let mut findings: Vec<Finding> = faults.iter().map(|error| Finding::fault(Kind::ClassInformation, error)).collect();
    let published: Vec<String> = SIZES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let classes = if classes.is_empty() { published } else { classes };
    let survey = survey(&files, &classes, SPLIT_SEED);
    let mut inventory = Inventory::of_survey(files, survey, classes, Vec::new());
    for (class, expected) in SIZES {
        let count = inventory.counts.iter().find(|(name, _)| name == class);
        let found: usize = count.map_or(0, |(_, sides)| sides.iter().sum());
        if found != expected {
            let Pictures::Files(files) = &inventory.pictures else { continue };
            let hint = "some photos may not have been unpacked, or others added: unpack the archive once more";
            let error =
                fault(files, &format!("JPEGImages/{class}"), &format!("{expected} images"), &found.to_string(), hint);
            findings.push(Finding::fault(Kind::Count, &error));
        }
    }
    inventory.findings.splice(0..0, findings);
    Ok(inventory)
}
