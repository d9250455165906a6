//! Four fifths to learn from, one fifth to be asked about: drawn by a seed, and never both.

use crate::seeds::Stream;
use rand::seq::SliceRandom;

/// The seed of every split into training and test images: its own, so that all runs share a split.
pub(crate) const SPLIT_SEED: u64 = 1;

/// `⌊0.8 n⌋` of the items, drawn at random, and the rest. Both keep the order in which the items came.
///
/// The items must come in an order of their own, such as by name: what a directory happens to list first differs between
/// machines, and with it the authors' split did (errata 10).
pub(crate) fn four_fifths<T>(items: Vec<T>, stream: &mut Stream) -> (Vec<T>, Vec<T>) {
    let mut places: Vec<usize> = (0..items.len()).collect();
    places.shuffle(stream);
    let mut learned = vec![false; items.len()];
    for &place in &places[..items.len() * 4 / 5] {
        learned[place] = true;
    }
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (item, learned) in items.into_iter().zip(learned) {
        if learned { train.push(item) } else { test.push(item) }
    }
    (train, test)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Seeds;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_item_is_on_one_side(count in 0usize..300, seed: u64) {
            let split = || four_fifths((0..count).collect(), &mut Seeds::new(seed).stream("split", 0));
            let (train, test) = split();
            prop_assert_eq!(train.len(), count * 4 / 5);
            let mut all = [train.clone(), test.clone()].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
            prop_assert!(train.is_sorted() && test.is_sorted());
            prop_assert_eq!((train, test), split());
        }
    }

    #[test]
    fn another_seed_splits_otherwise() {
        let split = |seed| four_fifths((0..100).collect::<Vec<_>>(), &mut Seeds::new(seed).stream("split", 0));
        assert_ne!(split(1), split(2));
    }
}
