//! What a check of aP&Y goes through.

use crate::data::Subset;
use crate::data::check::{Finding, Inventory, Item, Kind, Pictures};
use crate::data::datasets::apy::{Annotations, SOURCES, missing, sides};
use crate::data::datasets::photos::fault;
use crate::data::datasets::shares::SPLIT_SEED;
use crate::data::formats::files::Files;
use crate::error::DataError;
use std::collections::BTreeMap;
use std::path::Path;

/// An item is a photo, a count is of objects.
pub(crate) fn inventory(path: &Path) -> Result<Inventory, DataError> {
    let files = Files::open(path)?;
    let annotations = Annotations::read(&files)?;
    let mut findings = Vec::new();
    for ((name, _, expected), found) in SOURCES.into_iter().zip(annotations.counts) {
        if found != expected {
            let error = fault(&files, name, &format!("{expected} objects"), &found.to_string(), "fetch the file again");
            findings.push(Finding::fault(Kind::Count, &error));
        }
    }
    findings.extend(missing(&files, &annotations).iter().map(|error| Finding::fault(Kind::Layout, error)));
    let (train, test) = sides(&annotations, SPLIT_SEED);
    let mut counts: Vec<(String, [usize; 2])> = annotations.classes.iter().map(|name| (name.clone(), [0; 2])).collect();
    let mut photos: BTreeMap<&str, Item> = BTreeMap::new();
    for (subset, side, objects) in [(Subset::Train, 0, train), (Subset::Test, 1, test)] {
        for object in objects {
            counts[object.class].1[side] += 1;
            let name = object.photo.clone();
            let empty = || Item { subset, classes: Vec::new(), name, sample: None, objects: Vec::new() };
            let item = photos.entry(&object.photo).or_insert_with(empty);
            item.classes.push(annotations.classes[object.class].clone());
            item.objects.push(object.clone());
        }
    }
    let items = photos.into_values().filter(|item| files.has(&item.name)).collect();
    Ok(Inventory { pictures: Pictures::Files(files), items, counts, findings, can_exclude: false })
}
