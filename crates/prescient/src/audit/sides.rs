//! Whether an image was learned from and tested on: by its pixels, or on request by its looks.

use crate::audit::Check;
use crate::audit::evidence::Evidence;
use crate::data::{Seen, near_duplicates};
use crate::protocol::{Reading, Usage};
use std::collections::BTreeMap;

pub(super) fn check(evidence: &Evidence, near: bool) -> Check {
    let (learned, tested) = (distinct(evidence, Usage::Learn), distinct(evidence, Usage::Test));
    let mut against: Vec<String> = tested
        .iter()
        .filter_map(|(hash, test)| Some((learned.get(hash)?, test)))
        .map(|(train, test)| format!("`{}` was learned from as `{}`", test.name, train.name))
        .collect();
    if near {
        against.extend(alike(&learned, &tested));
    }
    let says = format!(
        "no image was learned from and tested on: {} learned from, {} tested on, all different{}",
        learned.len(),
        tested.len(),
        match near {
            true if learned.values().any(|image| image.perceptual_hash.is_some()) => {
                "; an early version wrote this run, without thumbnails that could be compared"
            }
            true => ", also to the eye",
            false => "",
        }
    );
    Check::new("sides", says, "images were learned from and tested on", against)
}

/// By their pixels, the images that were used so in any task.
fn distinct(evidence: &Evidence, usage: Usage) -> BTreeMap<&str, &Reading> {
    let images = evidence.tasks.iter().flat_map(|task| task.used(usage));
    images.map(|image| (image.hash.as_str(), image)).collect()
}

/// Test images that look like a training image and are not the same.
fn alike(learned: &BTreeMap<&str, &Reading>, tested: &BTreeMap<&str, &Reading>) -> Vec<String> {
    let seen = |images: &[&Reading]| -> Vec<Seen> {
        images.iter().filter_map(|image| Some((**image.thumbnail.as_ref()?, image.slot.index()))).collect()
    };
    let shown = |image: &&&Reading| image.thumbnail.is_some();
    let train: Vec<&Reading> = learned.values().filter(shown).copied().collect();
    let others = tested.iter().filter(|(hash, _)| !learned.contains_key(*hash)).map(|(_, image)| image);
    let test: Vec<&Reading> = others.filter(shown).copied().collect();
    let found = near_duplicates(&seen(&train), &seen(&test)).into_iter().map(|near| {
        let (test, train) = (&test[near.test].name, &train[near.train].name);
        format!("`{test}` looks like `{train}`, which was learned from ({near})")
    });
    found.collect()
}
