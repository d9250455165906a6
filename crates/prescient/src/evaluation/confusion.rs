//! How often each class was answered for images of each class.

use crate::class::{Slot, Slots};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// With more classes only what is not zero is written, and no square of them is drawn: ten thousand have a hundred million pairs, of
/// which ten thousand images fill hardly any.
const WHOLE: usize = 1000;

/// How often each class was answered for images of each class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    /// By the class that is shown: how often each class was answered, those that were. An answer that is a class without images is
    /// counted behind all others.
    rows: Vec<BTreeMap<u32, u32>>,
}

impl Confusion {
    /// Nothing counted yet.
    pub fn new(classes: usize) -> Self {
        Self { rows: vec![BTreeMap::new(); classes] }
    }

    /// Counts one answer.
    pub fn count(&mut self, truth: Slot, answer: Slot) {
        let column = answer.index().min(self.rows.len());
        *self.rows[truth.index()].entry(column as u32).or_default() += 1;
    }

    /// How many classes have images.
    pub fn classes(&self) -> usize {
        self.rows.len()
    }

    /// Whether a square of all pairs can be shown.
    pub fn is_square(&self) -> bool {
        self.rows.len() <= WHOLE
    }

    /// How often images of `truth` were answered with `answer`.
    pub fn of(&self, truth: Slot, answer: Slot) -> u32 {
        self.rows[truth.index()].get(&answer.0).copied().unwrap_or(0)
    }

    /// How many images of `truth` there are.
    pub fn images(&self, truth: Slot) -> u32 {
        self.rows[truth.index()].values().sum()
    }

    /// The classes that images of `truth` were answered with, and how often each was. What is no class with images is left out.
    pub fn answers(&self, truth: Slot) -> impl Iterator<Item = (Slot, u32)> {
        let classes = self.rows.len();
        let answers = self.rows[truth.index()].iter().map(|(answer, count)| (Slot(*answer), *count));
        answers.filter(move |(answer, _)| answer.index() < classes)
    }

    /// A row for each class with images, a number for each class in it; and one more where the answer was a class that has no
    /// images, whichever.
    pub fn dense(&self) -> Vec<Vec<u32>> {
        let classes = self.rows.len();
        let dense = |row: &BTreeMap<u32, u32>| {
            let mut counts = vec![0; classes + usize::from(row.contains_key(&(classes as u32)))];
            row.iter().for_each(|(answer, count)| counts[*answer as usize] = *count);
            counts
        };
        self.rows.iter().map(dense).collect()
    }

    /// The share of right answers among images of `slots`; none where there are no images.
    pub fn accuracy(&self, slots: Slots) -> Option<f64> {
        let right: u32 = slots.iter().map(|slot| self.of(slot, slot)).sum();
        let all: u32 = slots.iter().map(|slot| self.images(slot)).sum();
        (all > 0).then(|| f64::from(right) / f64::from(all))
    }

    /// The mean over `slots` of each class's share of right answers.
    pub fn class_mean(&self, slots: Slots) -> Option<f64> {
        let shares: Vec<f64> =
            slots.iter().filter_map(|slot| self.accuracy(Slots::new(slot.index(), slot.index() + 1))).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

impl Serialize for Confusion {
    /// As [`dense`](Self::dense), or with very many classes as pairs of an answer and its count.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.is_square() {
            true => self.dense().serialize(serializer),
            false => serializer.collect_seq(self.rows.iter().map(|row| row.iter().collect::<Vec<_>>())),
        }
    }
}

impl<'de> Deserialize<'de> for Confusion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected the answers to a class: counts, or pairs of an answer and its count")]
        enum Row {
            Dense(Vec<u32>),
            Pairs(Vec<(u32, u32)>),
        }
        let rows = Vec::<Row>::deserialize(deserializer)?;
        let (classes, whole) = (rows.len(), rows.len() <= WHOLE);
        let counted = |row: Row| -> Option<BTreeMap<u32, u32>> {
            match row {
                Row::Dense(counts) if !whole && counts.is_empty() => Some(BTreeMap::new()),
                // Early versions wrote all of it, however much that was.
                Row::Dense(counts) if [classes, classes + 1].contains(&counts.len()) => {
                    Some((0..).zip(counts).filter(|(_, count)| *count > 0).collect())
                }
                Row::Pairs(pairs) if !whole && pairs.is_sorted_by(|(one, _), (next, _)| one < next) => {
                    Some(pairs.into_iter().collect())
                }
                _ => None,
            }
        };
        let rows: Option<_> = rows.into_iter().map(counted).collect();
        let wrong = || D::Error::custom(format!("expected the answers to {classes} classes, in order"));
        Ok(Self { rows: rows.ok_or_else(wrong)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots 2 and 3 are described and have no images: an answer there is wrong, and counted together.
    #[test]
    fn an_answer_beyond_the_classes_with_images_is_wrong() {
        let mut confusion = Confusion::new(2);
        for (truth, answer) in [(0, 0), (0, 2), (0, 3), (1, 1)] {
            confusion.count(Slot(truth), Slot(answer));
        }
        assert_eq!(confusion.dense(), [vec![1, 0, 2], vec![0, 1]]);
        assert_eq!(confusion.accuracy(Slots::new(0, 2)), Some(0.5));
    }

    /// Class 0: 3 of 4 right; class 1: 0 of 1. Over images 3/5, over classes (0.75 + 0) / 2.
    #[test]
    fn images_and_classes_weigh_differently() {
        let mut confusion = Confusion::new(2);
        for (truth, answer) in [(0, 0), (0, 0), (0, 0), (0, 1), (1, 0)] {
            confusion.count(Slot(truth), Slot(answer));
        }
        assert_eq!(confusion.accuracy(Slots::new(0, 2)), Some(0.6));
        assert_eq!(confusion.class_mean(Slots::new(0, 2)), Some(0.375));
        assert_eq!(confusion.accuracy(Slots::new(1, 1)), None);
    }

    /// Of two classes every number is written, of 1,001 only those that are not zero.
    #[test]
    fn it_is_read_as_it_was_written() {
        for (classes, written) in [(2, "[[1,0,2],[0,1]]"), (1001, "[[[0,1],[1001,2]],[[1,1]],[],[],")] {
            let mut confusion = Confusion::new(classes);
            for (truth, answer) in [(0, 0), (0, 5000), (0, 5001), (1, 1)] {
                confusion.count(Slot(truth), Slot(answer));
            }
            let text = serde_json::to_string(&confusion).expect("plain data");
            assert!(text.starts_with(written), "{text}");
            assert_eq!(serde_json::from_str::<Confusion>(&text).expect("as written"), confusion);
        }
    }

    #[test]
    fn a_table_that_is_cut_or_says_something_twice_is_refused() {
        for text in ["[[1,0],[0]]", "[[1,0,0,0],[0,1]]", "[[[0,1]],[[1,1]]]", "[[1,0],[]]"] {
            let error = serde_json::from_str::<Confusion>(text).expect_err(text).to_string();
            assert!(error.starts_with("expected the answers to 2 classes"), "{text}: {error}");
        }
        let many = |first: &str| format!("[{first}{}]", ",[]".repeat(1000));
        assert!(serde_json::from_str::<Confusion>(&many("[[0,1],[2,1]]")).is_ok());
        for twice in ["[[2,1],[0,1]]", "[[0,9],[0,1]]"] {
            assert!(serde_json::from_str::<Confusion>(&many(twice)).is_err(), "{twice}");
        }
    }
}
