//! Whether an image was learned from and tested on: by its pixels, or on request by their perceptual hash.

use crate::audit::Check;
use crate::audit::evidence::Evidence;
use crate::data::perceptual_hash::PerceptualHash;
use crate::protocol::{Reading, Usage};
use rayon::prelude::*;
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
        if near { ", also to the eye" } else { "" }
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
    let hashes: Vec<(PerceptualHash, &Reading)> =
        learned.values().filter_map(|image| Some((image.perceptual_hash?, *image))).collect();
    let others: Vec<&Reading> =
        tested.iter().filter(|(hash, _)| !learned.contains_key(*hash)).map(|(_, image)| *image).collect();
    let nearest = others.par_iter().filter_map(|test| {
        let own = test.perceptual_hash?;
        let near = hashes.iter().filter_map(|(other, train)| Some((own.nearness(*other)?, train)));
        let (near, train) = near.min_by_key(|(near, _)| near.places)?;
        Some(format!("`{}` looks like `{}`, which was learned from ({near})", test.name, train.name))
    });
    nearest.collect()
}
