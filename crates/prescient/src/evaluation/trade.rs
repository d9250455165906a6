//! The trade between seen and unseen classes: what an offset on seen scores does to both.
//!
//! An image goes to its best unseen class once the offset exceeds its margin, the best seen score minus the best unseen
//! one. Sorting the margins gives the whole seen–unseen curve in one pass (Chao et al., 2016). Classes weigh the same.

use crate::class::Slot;
use crate::evaluation::Answers;
use std::collections::BTreeMap;

/// The seen–unseen curve of one task.
#[derive(Clone, Debug, PartialEq)]
pub struct Trade {
    /// `(offset, seen accuracy, unseen accuracy)`, by rising offset: from everything seen to everything unseen.
    points: Vec<(f32, f64, f64)>,
}

impl Answers {
    /// The curve, where there are images of both kinds and scores of both.
    pub fn trade(&self, is_seen: impl Fn(Slot) -> bool) -> Option<Trade> {
        let unseen = self.unseen.as_ref()?;
        let mut images_of: BTreeMap<Slot, f64> = BTreeMap::new();
        for slot in &self.truth {
            *images_of.entry(*slot).or_default() += 1.0;
        }
        let seen_classes = images_of.keys().filter(|slot| is_seen(**slot)).count() as f64;
        let unseen_classes = images_of.len() as f64 - seen_classes;
        if seen_classes == 0.0 || unseen_classes == 0.0 {
            return None;
        }
        // What each image adds to the seen accuracy before its margin, and to the unseen accuracy after it.
        let mut changes: Vec<(f32, f64, f64)> = Vec::with_capacity(self.truth.len());
        let mut seen_accuracy = 0.0;
        for (index, truth) in self.truth.iter().enumerate() {
            let margin = self.seen.scores[index] - unseen.scores[index];
            let worth = 1.0 / images_of[truth];
            if is_seen(*truth) {
                let right = if self.seen.slots[index] == *truth { worth / seen_classes } else { 0.0 };
                seen_accuracy += right;
                changes.push((margin, -right, 0.0));
            } else {
                let right = if unseen.slots[index] == *truth { worth / unseen_classes } else { 0.0 };
                changes.push((margin, 0.0, right));
            }
        }
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut points = vec![(f32::NEG_INFINITY, seen_accuracy, 0.0)];
        let mut unseen_accuracy = 0.0;
        for (margin, seen, unseen) in changes {
            seen_accuracy += seen;
            unseen_accuracy += unseen;
            match points.last_mut() {
                Some(last) if last.0 == margin => *last = (margin, seen_accuracy, unseen_accuracy),
                _ => points.push((margin, seen_accuracy, unseen_accuracy)),
            }
        }
        Some(Trade { points })
    }
}

/// How far below the best an offset still counts as equally good.
const NEAR: f64 = 0.02;

/// The harmonic mean of two shares.
pub fn harmonic(seen: f64, unseen: f64) -> f64 {
    if seen + unseen == 0.0 { 0.0 } else { 2.0 * seen * unseen / (seen + unseen) }
}

impl Trade {
    /// The area under the seen–unseen curve, AUSUC.
    pub fn area(&self) -> f64 {
        let slices = self.points.windows(2).map(|pair| {
            let ((_, seen_before, unseen_before), (_, seen_after, unseen_after)) = (pair[0], pair[1]);
            (unseen_after - unseen_before) * (seen_before + seen_after) / 2.0
        });
        slices.sum()
    }

    /// The offset to choose where `worth` says what a seen and an unseen accuracy are worth together: the middle of
    /// those that come within 0.02 of the best.
    ///
    /// On classes that `f` has learned, a wide range of offsets does equally well; features of classes it has not
    /// learned, and of images it has not seen, move in from both ends. The middle leaves most room for both.
    pub fn best_offset(&self, worth: impl Fn(f64, f64) -> f64) -> Option<f32> {
        let values: Vec<f64> = self.points.iter().map(|&(_, seen, unseen)| worth(seen, unseen)).collect();
        let enough = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - NEAR;
        let near = |place: &usize| values[*place] >= enough;
        let first = (1..self.points.len()).find(near)?;
        let last = (1..self.points.len()).rfind(near)?;
        let end = self.points.get(last + 1).map_or(self.points[last].0, |point| point.0);
        Some((self.points[first].0 + end) / 2.0)
    }

    /// The best harmonic mean along the curve: what a perfect offset would give.
    pub fn best_harmonic(&self) -> f64 {
        self.points.iter().map(|&(_, seen, unseen)| harmonic(seen, unseen)).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Best;

    /// Two seen images (slot 0, both right if asked), two unseen (slot 1). Margins: seen 0.6 and 0.2, unseen 0.4 and −0.1,
    /// the unseen candidates right. By rising offset: (1, 0), at −0.1 (1, ½), at 0.2 (½, ½), at 0.4 (½, 1), at 0.6 (0, 1).
    fn answers() -> Answers {
        Answers {
            truth: [0, 0, 1, 1].map(Slot).to_vec(),
            seen: Best { slots: vec![Slot(0); 4], scores: vec![0.8, 0.5, 0.7, 0.2] },
            unseen: Some(Best { slots: vec![Slot(1); 4], scores: vec![0.2, 0.3, 0.3, 0.3] }),
            ..Default::default()
        }
    }

    /// ½ · 1 between (1, 0) and (1, ½); ½ · ½ between (½, ½) and (½, 1): 0.75.
    #[test]
    fn area_by_hand() {
        let trade = answers().trade(|slot| slot.0 == 0).expect("both kinds");
        assert!((trade.area() - 0.75).abs() < 1e-9);
    }

    /// (1, ½) and (½, 1) both give 2/3: offsets from −0.1 up to 0.6. The middle is 0.25.
    #[test]
    fn the_offset_is_in_the_middle_of_the_good_ones() {
        let trade = answers().trade(|slot| slot.0 == 0).expect("both kinds");
        assert!((trade.best_harmonic() - 2.0 / 3.0).abs() < 1e-9);
        assert!((trade.best_offset(harmonic).expect("an offset") - 0.25).abs() < 1e-6);
    }

    #[test]
    fn one_kind_alone_has_no_trade() {
        assert_eq!(answers().trade(|_| true), None);
        assert_eq!(Answers { unseen: None, ..answers() }.trade(|slot| slot.0 == 0), None);
    }
}
