//! The offset between seen and future classes, from what is known of both.
//!
//! An image goes to its best future class once the offset exceeds its margin, the best seen score minus the best future
//! one. So a rising offset takes right answers from seen classes, and gives them to future ones:
//!
//! ```text
//!             S · seen(b) + U · unseen(b)
//! all(b)  =  ─────────────────────────────      S seen classes, U future ones
//!                       S + U
//! ```
//!
//! `seen(b)` is measured on held-out images of seen classes. Classes weigh the same.

use crate::class::Slot;
use std::collections::BTreeMap;

/// An image that was asked about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Asked {
    /// Its class.
    pub(super) class: Slot,
    /// By how much the best seen class is ahead of the best future one.
    pub(super) margin: f32,
    /// Whether the best class of its own kind, seen or future, is its own.
    pub(super) right: bool,
}

/// What an offset is chosen on.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    /// Held-out images of seen classes.
    pub(super) seen: &'a [Asked],
    /// Images of classes that were future classes, or play some.
    pub(super) unseen: &'a [Asked],
    /// How many classes are seen, and how many are not.
    pub(super) classes: (usize, usize),
}

/// An offset, and what is expected of it over all classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chosen {
    pub(super) offset: f32,
    /// Against answers with seen classes alone.
    pub(super) gain: f64,
    /// The standard error of the gain, over classes.
    pub(super) error: f64,
}

/// Offsets that are tried, at most.
const TRIED: usize = 500;

/// The accuracy of each class over `asked`, where an image counts if it is right and `stays` by its margin.
fn by_class(asked: &[Asked], stays: impl Fn(f32) -> bool) -> BTreeMap<Slot, f64> {
    let mut counts: BTreeMap<Slot, (f64, f64)> = BTreeMap::new();
    for Asked { class, margin, right } in asked {
        let count = counts.entry(*class).or_default();
        count.0 += f64::from(u8::from(*right && stays(*margin)));
        count.1 += 1.0;
    }
    counts.into_iter().map(|(class, (right, all))| (class, right / all)).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// The mean of some classes' gains, and its variance; with a single class nothing is sure.
fn gained(gains: &[f64]) -> (f64, f64) {
    let (of, count) = (mean(gains.iter().copied()), gains.len() as f64);
    let spread: f64 = gains.iter().map(|gain| (gain - of).powi(2)).sum();
    (of, if gains.len() > 1 { spread / (count - 1.0) / count } else { 1.0 })
}

/// The accuracy over seen classes on held-out images at an offset; without guesses at minus infinity.
pub(super) fn seen_accuracy(seen: &[Asked], offset: f32) -> f64 {
    mean(by_class(seen, |margin| margin >= offset).into_values().collect::<Vec<_>>().into_iter())
}

/// The largest offset at which the accuracy over seen classes falls by at most the share `drop` of itself. None where there is none
/// to lose.
pub(super) fn price(seen: &[Asked], drop: f64) -> Option<f32> {
    let mut of_class: BTreeMap<Slot, f64> = BTreeMap::new();
    seen.iter().for_each(|asked| *of_class.entry(asked.class).or_default() += 1.0);
    let share = |asked: &Asked| (asked.margin, 1.0 / (of_class[&asked.class] * of_class.len() as f64));
    let mut right: Vec<(f32, f64)> = seen.iter().filter(|asked| asked.right).map(share).collect();
    right.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most = drop * right.iter().map(|(_, share)| share).sum::<f64>();
    let mut lost = 0.0;
    let first_kept = right.iter().find(|(_, share)| {
        lost += share;
        lost > most + 1e-9
    });
    first_kept.map(|(margin, _)| *margin)
}

impl Evidence<'_> {
    /// What is expected of an offset.
    fn expected(&self, offset: f32) -> Chosen {
        let (seen, unseen) = (self.classes.0 as f64, self.classes.1 as f64);
        let (with, without) = (by_class(self.seen, |margin| margin >= offset), by_class(self.seen, |_| true));
        let lost: Vec<f64> = with.iter().map(|(class, accuracy)| accuracy - without[class]).collect();
        let won: Vec<f64> = by_class(self.unseen, |margin| margin < offset).into_values().collect();
        let ((lost, lost_variance), (won, won_variance)) = (gained(&lost), gained(&won));
        let (seen, unseen) = (seen / (seen + unseen), unseen / (seen + unseen));
        let variance = seen * seen * lost_variance + unseen * unseen * won_variance;
        Chosen { offset, gain: seen * lost + unseen * won, error: variance.sqrt() }
    }

    /// The offset with the best expected accuracy over all classes, no larger than `most`. None where nothing was asked.
    pub(super) fn best(&self, most: f32) -> Option<Chosen> {
        if self.seen.is_empty() || self.unseen.is_empty() {
            return None;
        }
        let mut offsets: Vec<f32> =
            self.seen.iter().chain(self.unseen).map(|asked| asked.margin).filter(|margin| *margin <= most).collect();
        offsets.extend(most.is_finite().then_some(most));
        offsets.sort_by(f32::total_cmp);
        offsets.dedup();
        let step = offsets.len().div_ceil(TRIED).max(1);
        let tried = offsets.into_iter().step_by(step).map(|offset| self.expected(offset));
        // Of equal ones the smallest offset: it takes least from seen classes.
        tried.reduce(|best, next| if next.gain > best.gain { next } else { best })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(class: u32, margins: &[f32]) -> impl Iterator<Item = Asked> {
        margins.iter().map(move |&margin| Asked { class: Slot(class), margin, right: true })
    }

    /// Two classes: margins 0.1, 0.2, 0.3, 0.4 weigh ⅛ each, 0.15 and 0.5 weigh ¼ each. Sorted: 0.1 (⅛ lost), 0.15 (⅜),
    /// 0.2 (½), 0.3, 0.4, 0.5. A third may be lost: 0.1 alone, and 0.15 must stay.
    #[test]
    fn the_price_by_hand() {
        let right: Vec<Asked> = asked(0, &[0.4, 0.1, 0.3, 0.2]).chain(asked(1, &[0.5, 0.15])).collect();
        assert_eq!(price(&right, 1.0 / 3.0), Some(0.15));
        assert_eq!(price(&right, 0.4), Some(0.2));
        assert_eq!(price(&right, 0.01), Some(0.1));
        assert_eq!(price(&[], 0.1), None);
    }

    /// A guess beats the right answer for one image of two as scores are. Then seen classes get a bonus.
    #[test]
    fn a_promise_is_kept_where_guesses_swamp_seen_classes() {
        let right: Vec<Asked> = asked(0, &[-0.3, 0.2]).collect();
        assert_eq!(price(&right, 0.1), Some(-0.3));
        assert_eq!((seen_accuracy(&right, 0.0), seen_accuracy(&right, -0.3)), (0.5, 1.0));
    }

    /// Three seen classes with margins 0.1 and 0.5 each, one future class with margins 0.2 and 0.3, all right. An offset of 0.3 wins
    /// the first of the future images and loses the first of each seen class: ¾·(−½) + ¼·½ = −¼. With one seen class and three
    /// future ones: ¼·(−½) + ¾·½ = ¼, and 0.5 wins both: ¼·(−½) + ¾ = ⅝.
    #[test]
    fn the_best_offset_depends_on_how_many_classes_are_to_come() {
        let seen: Vec<Asked> = (0..3).flat_map(|class| asked(class, &[0.1, 0.5])).collect();
        let unseen: Vec<Asked> = asked(3, &[0.2, 0.3]).collect();
        let evidence = |classes| Evidence { seen: &seen, unseen: &unseen, classes };
        assert!((evidence((3, 1)).expected(0.3).gain + 0.25).abs() < 1e-12);
        assert!((evidence((1, 3)).expected(0.3).gain - 0.25).abs() < 1e-12);
        let best = evidence((1, 3)).best(f32::INFINITY).expect("an offset");
        assert!(best.offset == 0.5 && (best.gain - 0.625).abs() < 1e-12, "{best:?}");
        let capped = evidence((1, 3)).best(0.3).expect("an offset");
        assert!(capped.offset == 0.3 && (capped.gain - 0.25).abs() < 1e-12, "{capped:?}");
        let none = evidence((3, 1)).best(f32::INFINITY).expect("an offset");
        assert!(none.gain <= 0.0, "nothing is to be gained: {none:?}");
    }

    /// Three future classes of one image each, two of them won: ⅔ of U, with the error √(⅓/3) of three classes.
    #[test]
    fn the_error_of_a_gain_is_over_classes() {
        let seen: Vec<Asked> = (0..2).flat_map(|class| asked(class, &[0.9])).collect();
        let unseen: Vec<Asked> = asked(2, &[0.1]).chain(asked(3, &[0.1])).chain(asked(4, &[0.8])).collect();
        let chosen = Evidence { seen: &seen, unseen: &unseen, classes: (2, 2) }.expected(0.5);
        assert!((chosen.gain - 0.5 * 2.0 / 3.0).abs() < 1e-12);
        assert!((chosen.error - 0.5 * (1.0f64 / 9.0).sqrt()).abs() < 1e-12, "{chosen:?}");
    }
}
