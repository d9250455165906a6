//! Duplicate images, and near duplicates by their thumbnails.

use crate::data::Subset;
use crate::data::check::inventory::{Inventory, Item};
use crate::data::check::{Finding, Kind, quoted};
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
    let mut copies: BTreeMap<[u8; 32], Vec<&Item>> = BTreeMap::new();
    // Training images come first, so that the one named first is what is learned from.
    let mut order: Vec<usize> = (0..inventory.items.len()).collect();
    order.sort_by_key(|&index| inventory.items[index].subset);
    for index in order {
        let Some(trace) = traces[index] else { continue };
        let (before, item) = (copies.entry(trace.content).or_default(), &inventory.items[index]);
        if !before.is_empty() {
            findings.push(same(inventory, before, item));
        }
        before.push(item);
    }
    findings.extend(near(inventory, traces));
    findings
}

/// `after` is an image that is there before, in all of `copies`.
fn same(inventory: &Inventory, copies: &[&Item], after: &Item) -> Finding {
    let before = copies[0];
    let (a, b) = (inventory.pictures.path(before), inventory.pictures.path(after));
    let two_classes = before.classes != after.classes && before.objects.is_empty();
    let (one, other) = (before.classes.join(", "), after.classes.join(", "));
    let what = match before.subset != after.subset {
        true => {
            let kind = if inventory.pictures.are_rows() { "row" } else { "image" };
            let which = if two_classes { format!(", which is `{one}`") } else { String::new() };
            format!("`{b}`: expected a test {kind} of its own, found the training {kind} `{a}` once more{which}")
        }
        false if two_classes => format!("`{b}`: expected `{other}`, found the image `{a}` once more, which is `{one}`"),
        false => return Finding::notice(Kind::Repeated, format!("`{b}` is `{a}` once more, on the same side")),
    };
    if two_classes {
        let mend = match inventory.can_exclude {
            true => {
                "one of the two is in the wrong place: take it away, or exclude it in the recipe; `--fix` writes the lines"
            }
            false => "one of the two is in the wrong place: take it away",
        };
        let finding = Finding::new(Kind::Duplicate, what, mend);
        // Which of the two is not for us to say.
        let exclude = inventory.excluding(copies.iter().copied().chain([after]));
        return Finding { exclude, keeps_one: inventory.can_exclude, ..finding };
    }
    let learned = copies.iter().copied().filter(|copy| copy.subset == before.subset);
    let exclude = inventory.excluding(learned);
    let mend = match inventory.can_exclude {
        true => format!(
            "take one of the two away, for what was learned from tests nothing; or exclude it in the recipe: \
             `exclude = [{}]` in `[data]`, and `--exclude` here",
            exclude.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
        ),
        false => "take one of the two away: what was learned from tests nothing".to_owned(),
    };
    Finding { exclude, ..Finding::new(Kind::Duplicate, what, &mend) }
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
