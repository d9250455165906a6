//! The two ways to number a class, as two types: mixing them up is how class information ends on the wrong class.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// The most classes of a dataset, with photos or without.
pub const MOST: usize = 1_000_000;

/// A class as its dataset numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClassId(pub u32);

impl ClassId {
    /// The class as an index into its catalogue.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A class as the model numbers it: the row of its proxy, in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slot(pub u32);

impl Slot {
    /// The slot as a row of the classifier.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A run of consecutive slots. Slots are dealt in order of arrival, so past, present and future each are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slots {
    start: u32,
    end: u32,
}

impl Slots {
    /// The slots from `start` up to, but without, `end`.
    ///
    /// # Panics
    /// If `start` lies behind `end`: only a bug can ask for that.
    pub fn new(start: usize, end: usize) -> Self {
        assert!(start <= end, "a run of slots ends before it starts: {start}..{end}");
        let narrow = |slot: usize| u32::try_from(slot).expect("a scenario has at most `MOST` classes");
        Self { start: narrow(start), end: narrow(end) }
    }

    /// How many slots there are.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether `slot` is one of them.
    pub fn contains(self, slot: Slot) -> bool {
        (self.start..self.end).contains(&slot.0)
    }

    /// As rows of the classifier.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Each slot in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Slot> + ExactSizeIterator {
        (self.start..self.end).map(Slot)
    }
}

/// A name as it is kept and compared, in NFC: macOS writes `ä` into the names of folders as an `a` with dots to be put on it, and
/// spreadsheets as one letter.
pub(crate) fn spelled(name: &str) -> String {
    name.nfc().collect()
}

/// How many letters have to be put in, taken out, changed, or swapped with the next one to make one name of another.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|name| name.chars().collect::<Vec<_>>());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_between_names_by_hand() {
        let expected = [("zebra", "zbera", 1), ("zebra", "zebras", 1), ("cat", "dog", 3), ("", "ox", 2), ("a", "a", 0)];
        for (a, b, far) in expected {
            assert_eq!(distance(a, b), far, "{a}, {b}");
        }
    }
}
