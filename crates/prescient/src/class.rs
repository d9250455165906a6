//! The two ways to number a class, as two types: mixing them up is how class information ends on the wrong class.

use serde::{Deserialize, Serialize};
use std::ops::Range;

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
