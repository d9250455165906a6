//! Any images: the simple rival of herding.

use crate::seeds::Stream;
use rand::seq::index::sample;

/// `count` of `0..total` at most, at random.
pub fn pick(total: usize, count: usize, stream: &mut Stream) -> Vec<usize> {
    sample(stream, total, count.min(total)).into_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Seeds;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_row_is_picked_twice(total in 0usize..50, count in 0usize..60, seed: u64) {
            let mut rows = pick(total, count, &mut Seeds::new(seed).stream("memory", 1));
            rows.sort_unstable();
            rows.dedup();
            prop_assert_eq!(rows.len(), count.min(total));
            prop_assert!(rows.iter().all(|&row| row < total));
        }
    }
}
