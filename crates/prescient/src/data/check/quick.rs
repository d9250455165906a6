//! The check before the first step of a run: every file is read and hashed, none decoded but for those that have no end to look
//! for. It finds what would cost a task: photos that cannot be read, and the same file on both sides or in two classes.

use crate::data::check::duplicates::{Trace, duplicates};
use crate::data::check::inventory::{Inventory, Item, Pictures};
use crate::data::check::{Checkup, Finding, Kind, cut, jpeg, unusable};
use crate::data::{Channels, Image, Source};
use crate::error::DataError;
use rayon::prelude::*;
use std::io::Cursor;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a quick check found.
#[derive(Debug, Default)]
pub struct QuickCheck {
    /// What is wrong, and worth knowing.
    pub checkup: Checkup,
    /// A digest of each file that could be read, by its name.
    pub digests: Vec<(String, blake3::Hash)>,
}

/// Checks the photos of a dataset; those that lie in one file with others are checked when that is opened. `progress` is told
/// how many of how many have been read.
pub fn check_photos(source: &Source, progress: &(dyn Fn(usize, usize) + Sync)) -> QuickCheck {
    let inventory = match source.inventory() {
        Ok(inventory) => inventory,
        // Opening it says what is wrong.
        Err(_) => return QuickCheck::default(),
    };
    let Pictures::Files(files) = &inventory.pictures else { return QuickCheck::default() };
    let (done, of) = (AtomicUsize::new(0), inventory.items.len());
    let examine = |item: &Item| {
        let trace = files.read(&item.name).and_then(|bytes| examine(&inventory, item, &bytes, &files.path(&item.name)));
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, of);
        trace
    };
    let examined: Vec<Result<Trace, DataError>> = inventory.items.par_iter().map(examine).collect();
    // Folders that are not read, photos that were divided, and columns that may be meant otherwise: whoever runs it wants to know.
    let told = [Kind::Layout, Kind::Column];
    let notices = inventory.findings.iter().filter(|finding| told.contains(&finding.kind) && !finding.wrong);
    let mut findings: Vec<Finding> = notices.cloned().collect();
    let traces: Vec<Option<Trace>> = inventory
        .items
        .iter()
        .zip(examined)
        .map(|(item, trace)| {
            trace
                .map_err(|error| {
                    findings.push(Finding { exclude: inventory.excluding([item]), ..unusable(&error) });
                })
                .ok()
        })
        .collect();
    // Published sets have some, and nobody can leave them out: their check tells of them.
    if inventory.can_exclude {
        findings.extend(duplicates(&inventory, &traces).into_iter().filter(|finding| finding.kind == Kind::Duplicate));
    }
    findings.sort_by_key(|finding| finding.kind);
    let read = inventory.items.iter().zip(&traces);
    let digests =
        read.filter_map(|(item, trace)| Some((item.name.clone(), blake3::Hash::from(trace.as_ref()?.content))));
    let digests = digests.collect();
    QuickCheck { checkup: Checkup { counts: inventory.counts, opened: of, rows: false, findings }, digests }
}

fn examine(inventory: &Inventory, item: &Item, bytes: &[u8], path: &Path) -> Result<Trace, DataError> {
    let is_jpeg = bytes.starts_with(&[0xff, 0xd8]);
    if jpeg::is_cut(bytes) {
        return Err(cut(&inventory.pictures, item));
    }
    if !is_jpeg || Image::dimensions(Cursor::new(bytes)).is_none() {
        Image::decode(bytes, Channels::Rgb, path)?;
    }
    Ok(Trace { content: *blake3::hash(bytes).as_bytes(), thumbnail: None })
}
