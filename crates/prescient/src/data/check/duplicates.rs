//! Duplicate images, and near duplicates by their thumbnails.

use crate::data::Subset;
use crate::data::check::inventory::{Inventory, Item};
use crate::data::check::{Finding, Kind};
use crate::data::{Seen, Thumbnail, near_duplicates};
use std::collections::{BTreeMap, BTreeSet};

/// What is kept of an image that has been read.
#[derive(Clone, Copy)]
pub(crate) struct Trace {
    pub(crate) content: [u8; 32],
    pub(crate) thumbnail: Option<Thumbnail>,
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

/// Test images that look like a training image. That may be chance, so these are for a person to judge.
fn near(inventory: &Inventory, traces: &[Option<Trace>]) -> Vec<Finding> {
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut on = |subset| -> (Vec<&Item>, Vec<[u8; 32]>, Vec<Seen>) {
        let mut side = (Vec::new(), Vec::new(), Vec::new());
        for (item, trace) in inventory.items.iter().zip(traces).filter(|(item, _)| item.subset == subset) {
            if let Some(Trace { content, thumbnail: Some(thumbnail) }) = *trace {
                let (next, class) = (classes.len(), item.classes.first().map_or("", String::as_str));
                side.0.push(item);
                side.1.push(content);
                side.2.push((thumbnail, *classes.entry(class).or_insert(next)));
            }
        }
        side
    };
    let (train, contents, learned) = on(Subset::Train);
    let (test, own, asked) = on(Subset::Test);
    let contents: BTreeSet<[u8; 32]> = contents.into_iter().collect();
    // Those that are the same have been told.
    let found = near_duplicates(&learned, &asked).into_iter().filter(|near| !contents.contains(&own[near.test]));
    let told = found.map(|near| {
        let (a, b) = (inventory.pictures.path(train[near.train]), inventory.pictures.path(test[near.test]));
        Finding::notice(Kind::NearDuplicate, format!("`{b}` looks like the training image `{a}` ({near})"))
    });
    told.collect()
}
