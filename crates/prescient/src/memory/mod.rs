//! The rehearsal memory: a few images of each past class, chosen once and kept.

mod herding;

pub use herding::herd;

use crate::class::{Slot, Slots};
use crate::data::Sample;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much is kept, and how often it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemorySettings {
    /// `s`: how many images of each class are kept. 0: none, no rehearsal.
    pub per_class: usize,
    /// How often each is seen in an epoch of the main training, where an image of a new class is seen once. 1: as in the
    /// authors' code. 0: in the balanced fine-tune alone. The fewer are kept beside the new ones, the less the past counts.
    pub repeat: usize,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { per_class: 20, repeat: 1 }
    }
}

/// What is kept of each class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    exemplars: BTreeMap<Slot, Vec<Sample>>,
}

impl Memory {
    /// Keeps `exemplars` of a class. Old exemplars are never chosen anew: their siblings are gone.
    ///
    /// # Panics
    /// If the class is in memory already.
    pub fn keep(&mut self, slot: Slot, exemplars: Vec<Sample>) {
        let before = self.exemplars.insert(slot, exemplars);
        assert!(before.is_none(), "the exemplars of {slot:?} were chosen already");
    }

    /// Every sample that is kept, class by class.
    pub fn samples(&self) -> impl Iterator<Item = Sample> + '_ {
        self.exemplars.values().flatten().copied()
    }

    /// The exemplars of each class.
    pub fn by_class(&self) -> impl Iterator<Item = (Slot, &[Sample])> {
        self.exemplars.iter().map(|(slot, samples)| (*slot, samples.as_slice()))
    }

    /// Whether every one of `slots` is remembered.
    pub fn covers(&self, slots: Slots) -> bool {
        slots.iter().all(|slot| self.exemplars.get(&slot).is_some_and(|samples| !samples.is_empty()))
    }

    /// How many images are kept.
    pub fn len(&self) -> usize {
        self.exemplars.values().map(Vec::len).sum()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
