//! Duplicate images, and near duplicates by perceptual hash.

use crate::data::Subset;
use crate::data::check::inventory::{Inventory, Item};
use crate::data::check::{Finding, Kind};
use crate::data::perceptual_hash::PerceptualHash;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// What is kept of an image that has been read.
#[derive(Clone, Copy)]
pub(crate) struct Trace {
    pub(crate) content: [u8; 32],
    pub(crate) perceptual_hash: Option<PerceptualHash>,
}

/// Every pair worth telling of; `traces` belong to the inventory's items, and are none where an image could not be read.
pub(crate) fn duplicates(inventory: &Inventory, traces: &[Option<Trace>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut first: BTreeMap<[u8; 32], usize> = BTreeMap::new();
    // Training images come first, so that the one named first is what is learned from.
    let mut order: Vec<usize> = (0..inventory.items.len()).collect();
    order.sort_by_key(|&index| inventory.items[index].subset);
    for index in order {
        let Some(trace) = traces[index] else { continue };
        match first.get(&trace.content) {
            None => drop(first.insert(trace.content, index)),
            Some(&before) => findings.push(same(inventory, &inventory.items[before], &inventory.items[index])),
        }
    }
    findings.extend(near(inventory, traces));
    findings
}

fn same(inventory: &Inventory, before: &Item, after: &Item) -> Finding {
    let (a, b) = (inventory.pictures.path(before), inventory.pictures.path(after));
    if before.subset != after.subset {
        let kind = if inventory.pictures.are_rows() { "row" } else { "image" };
        let what = format!("`{b}`: expected a test {kind} of its own, found the training {kind} `{a}` once more");
        let mend = match inventory.can_exclude {
            true => format!(
                "take one of the two away, for what was learned from tests nothing; or exclude it in the recipe: \
                 `exclude = [\"{}\"]` in `[data]`, and `--exclude` here",
                before.name
            ),
            false => "take one of the two away: what was learned from tests nothing".to_owned(),
        };
        return Finding { exclude: inventory.excluding([before]), ..Finding::new(Kind::Duplicate, what, &mend) };
    }
    if before.classes != after.classes && before.objects.is_empty() {
        let (one, other) = (before.classes.join(", "), after.classes.join(", "));
        let what = format!("`{b}`: expected `{other}`, found the image `{a}` once more, which is `{one}`");
        let finding = Finding::new(Kind::Duplicate, what, "one of the two is in the wrong place: take it away");
        // Which of the two is not for us to say.
        return Finding { exclude: inventory.excluding([before, after]), ..finding };
    }
    Finding::notice(Kind::Repeated, format!("`{b}` is `{a}` once more, on the same side"))
}

/// Test images whose perceptual hash is near that of a training image. A hash can be wrong, so these are for a person to judge.
fn near(inventory: &Inventory, traces: &[Option<Trace>]) -> Vec<Finding> {
    let on = |subset| {
        let items = inventory.items.iter().zip(traces).filter(move |(item, _)| item.subset == subset);
        items.filter_map(|(item, trace)| trace.and_then(|trace| Some((item, trace.content, trace.perceptual_hash?))))
    };
    let train: Vec<_> = on(Subset::Train).collect();
    let test: Vec<_> = on(Subset::Test).collect();
    let found = test.par_iter().filter_map(|(item, content, hash)| {
        let near = train.iter().filter_map(|(other, _, theirs)| Some((hash.nearness(*theirs)?, other)));
        let (near, nearest) = near.min_by_key(|(near, _)| near.places)?;
        let is_same = || train.iter().any(|(_, other, _)| other == content);
        (!is_same()).then(|| {
            let (a, b) = (inventory.pictures.path(nearest), inventory.pictures.path(item));
            let what = format!("`{b}` looks like the training image `{a}` ({near})");
            Finding::notice(Kind::NearDuplicate, what)
        })
    });
    found.collect()
}
