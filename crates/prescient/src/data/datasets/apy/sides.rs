//! aP&Y dealt out to both sides, photo by photo: two objects of one photo are near duplicates (errata 10).

use crate::data::datasets::apy::annotations::Annotations;
use crate::data::datasets::shares::four_fifths;
use crate::seeds::Seeds;
use std::collections::{BTreeMap, BTreeSet};

/// The photos to learn from: four fifths of those of each class, where a photo with several classes counts for the one
/// with the fewest photos. So rare classes are dealt out evenly too.
pub(crate) fn learned(annotations: &Annotations, seed: u64) -> BTreeSet<String> {
    let mut shown: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for object in &annotations.objects {
        shown.entry(&object.photo).or_default().insert(object.class);
    }
    let mut photos = vec![0; annotations.classes.len()];
    for class in shown.values().flatten() {
        photos[*class] += 1;
    }
    let mut of_class: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (photo, classes) in &shown {
        if let Some(rarest) = classes.iter().min_by_key(|class| photos[**class]) {
            of_class.entry(*rarest).or_default().push(photo);
        }
    }
    let mut learned = BTreeSet::new();
    for (class, photos) in of_class {
        let mut stream = Seeds::new(seed).child("split", 0).stream(&annotations.classes[class], 0);
        learned.extend(four_fifths(photos, &mut stream).0.into_iter().map(String::from));
    }
    learned
}
