//! Which offset is best, given for which offsets each answer is right.

use super::probabilities::Scored;
use crate::evaluation::harmonic;
use crate::learner::Target;
use std::collections::BTreeMap;

/// Features asked about in one part that seen classes play.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) role: Role,
    /// For each feature: the offsets for which its class is the answer, from and to.
    pub(super) right: Vec<(f64, f64)>,
    /// The class of each.
    pub(super) truth: Vec<usize>,
    /// How many of all classes this part stands for.
    pub(super) share: f64,
    /// Some of the features with all their scores, to make probabilities of.
    pub(super) scored: Vec<Scored>,
}

/// What was chosen, and what is to be expected of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Calibrated {
    /// How much of its lean is added to the score of each class.
    pub(super) offset: f64,
    /// Over all classes.
    pub(super) accuracy: f64,
    /// Part by part.
    parts: Vec<Expected>,
    /// What was played, to make probabilities of.
    pub(super) played: Vec<Part>,
}

/// The accuracy to be expected in one part.
#[derive(Clone, Debug, PartialEq)]
struct Expected {
    role: Role,
    /// How many of all classes it stands for.
    share: f64,
    /// Of each class that plays it.
    accuracies: BTreeMap<usize, f64>,
}

/// What a seen class plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Itself.
    Itself,
    /// A class with so many photos.
    Few(usize),
    /// A class without photos.
    Unseen,
}

/// What one way to answer gains over another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gain {
    /// In accuracy over all classes.
    pub(super) mean: f64,
    /// Its standard error, over classes.
    pub(super) error: f64,
    /// In accuracy over classes with photos.
    pub(super) seen: f64,
}

impl Gain {
    /// Whether it is larger than its error.
    pub(super) fn beats_chance(&self) -> bool {
        self.mean > self.error
    }
}

impl Calibrated {
    /// What it gains over another. Where the other does not play a part, it has no right answer there.
    pub(super) fn gain_over(&self, other: &Self) -> Gain {
        let total: f64 = self.parts.iter().map(|part| part.share).sum();
        let (mut mean, mut variance, mut seen, mut seen_share) = (0.0, 0.0, 0.0, 0.0);
        for part in &self.parts {
            let there = other.parts.iter().find(|other| other.role == part.role);
            let gain = |(class, accuracy): (&usize, &f64)| {
                accuracy - there.and_then(|there| there.accuracies.get(class)).copied().unwrap_or(0.0)
            };
            let gains: Vec<f64> = part.accuracies.iter().map(gain).collect();
            let count = gains.len() as f64;
            let of_part = gains.iter().sum::<f64>() / count;
            let spread: f64 = gains.iter().map(|gain| (gain - of_part).powi(2)).sum();
            let error = if gains.len() > 1 { spread / (count - 1.0) / count } else { 1.0 };
            let share = part.share / total;
            mean += share * of_part;
            variance += share * share * error;
            if part.role != Role::Unseen {
                seen += part.share * of_part;
                seen_share += part.share;
            }
        }
        Gain { mean, error: variance.sqrt(), seen: seen / f64::max(seen_share, 1.0) }
    }

    /// Whether classes without photos play a part.
    pub(super) fn guesses(&self) -> bool {
        self.parts.iter().any(|part| part.role == Role::Unseen)
    }
}

/// The offsets `b` for which `score + b·lean` of class `own` is above `row[c] + b·leans[c]` of every other class: an interval,
/// empty where its end is not above its start.
pub(super) fn right(row: &[f64], leans: &[f64], own: usize, (score, lean): (f64, f64)) -> (f64, f64) {
    let (mut from, mut to) = (f64::NEG_INFINITY, f64::INFINITY);
    for (class, (other, other_lean)) in row.iter().zip(leans).enumerate() {
        if class == own {
            continue;
        }
        let (ahead, slope) = (score - other, lean - other_lean);
        if slope.abs() < 1e-9 {
            if ahead <= 0.0 {
                return (f64::INFINITY, f64::NEG_INFINITY);
            }
        } else if slope > 0.0 {
            from = from.max(-ahead / slope);
        } else {
            to = to.min(-ahead / slope);
        }
    }
    (from, to)
}

impl Part {
    /// The accuracy of each class at an offset.
    fn accuracies(&self, offset: f64) -> BTreeMap<usize, f64> {
        let mut counts: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (&(from, to), &class) in self.right.iter().zip(&self.truth) {
            let count = counts.entry(class).or_default();
            count.0 += f64::from(from < offset && offset < to);
            count.1 += 1.0;
        }
        counts.into_iter().map(|(class, (right, all))| (class, right / all)).collect()
    }

    /// The mean accuracy over classes at each of some offsets.
    fn curve(&self, offsets: &[f64]) -> Vec<f64> {
        let mut images: BTreeMap<usize, f64> = BTreeMap::new();
        self.truth.iter().for_each(|&class| *images.entry(class).or_default() += 1.0);
        let mut changes = vec![0.0; offsets.len() + 1];
        for (&(from, to), class) in self.right.iter().zip(&self.truth) {
            let (first, last) =
                (offsets.partition_point(|offset| *offset <= from), offsets.partition_point(|offset| *offset < to));
            if first < last {
                let weight = 1.0 / (images[class] * images.len() as f64);
                changes[first] += weight;
                changes[last] -= weight;
            }
        }
        let mut sum = 0.0;
        changes[..offsets.len()]
            .iter()
            .map(|change| {
                sum += change;
                sum
            })
            .collect()
    }
}

/// The same features played in two ways, each of which stands for half of the classes. Where there is no other way, as it was.
pub(super) fn half_each(mut played: Vec<Part>, other: Vec<Part>) -> Vec<Part> {
    for part in other {
        if let Some(same) = played.iter_mut().find(|same| same.role == part.role) {
            same.share *= 0.5;
            played.push(Part { share: 0.5 * part.share, ..part });
        }
    }
    played
}

/// The offsets that are tried, in shares of the lean: 0 gives nothing back, 1 all.
fn offsets() -> Vec<f64> {
    (-40..=120).map(|step| f64::from(step) * 0.025).collect()
}

/// Chooses the offset for `target`: the best, once neighbours have smoothed the steps of few photos.
pub(super) fn choose(mut played: Vec<Part>, target: Target) -> Calibrated {
    let parts = &played;
    let total: f64 = parts.iter().map(|part| part.share).sum();
    let matters = parts.iter().any(|part| part.role != Role::Itself) && target != Target::None;
    let offset = match matters {
        true => best_offset(parts, &offsets(), target),
        false => 0.0,
    };
    let expected = |part: &Part| Expected { role: part.role, share: part.share, accuracies: part.accuracies(offset) };
    let parts: Vec<Expected> = parts.iter().map(expected).collect();
    let of = |part: &Expected| part.accuracies.values().sum::<f64>() / part.accuracies.len().max(1) as f64;
    let accuracy = parts.iter().map(|part| part.share * of(part)).sum::<f64>() / total.max(1.0);
    played.iter_mut().for_each(|part| (part.right, part.truth) = Default::default());
    Calibrated { offset, accuracy, parts, played }
}

/// The best of some offsets for `target`.
pub(super) fn best_offset(parts: &[Part], offsets: &[f64], target: Target) -> f64 {
    let sum = |of: &dyn Fn(&&Part) -> bool| {
        let mut sum = vec![0.0; offsets.len()];
        let of: Vec<&Part> = parts.iter().filter(of).collect();
        let total: f64 = of.iter().map(|part| part.share).sum();
        for part in of {
            part.curve(offsets).iter().zip(&mut sum).for_each(|(value, sum)| *sum += part.share / total * value);
        }
        sum
    };
    let (all, seen) = (sum(&|_| true), sum(&|part| part.role != Role::Unseen));
    let unseen = sum(&|part| part.role == Role::Unseen);
    let worth: Vec<f64> = match target {
        Target::Balance => seen.iter().zip(&unseen).map(|(seen, unseen)| harmonic(*seen, *unseen)).collect(),
        Target::Price(price) => {
            let best = seen.iter().copied().fold(0.0, f64::max);
            let dear = |seen: &f64| best - seen > price * best;
            let affordable = seen.iter().zip(&unseen);
            affordable.map(|(seen, unseen)| if dear(seen) { -1.0 } else { *unseen }).collect()
        }
        Target::Accuracy | Target::None => all,
    };
    let smooth = |place: usize| {
        let weight = |other: usize| (-0.5 * ((other as f64 - place as f64) * 0.5).powi(2)).exp();
        let near = place.saturating_sub(8)..(place + 9).min(worth.len());
        let (sum, weights) = near
            .fold((0.0, 0.0), |(sum, weights), other| (sum + weight(other) * worth[other], weights + weight(other)));
        sum / weights
    };
    let smoothed: Vec<f64> = match target {
        // A promise is kept to the letter.
        Target::Price(_) => worth,
        _ => (0..worth.len()).map(smooth).collect(),
    };
    let mut best = 0;
    for place in 0..smoothed.len() {
        if smoothed[place] > smoothed[best] {
            best = place;
        }
    }
    offsets[best]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Own score 1 with lean 1. Another of score 2 and lean 0 is beaten above b = 1, one of score 0 and lean 2 wins above b = 1 too;
    /// with lean 1.5 it wins above 2.
    #[test]
    fn an_answer_is_right_in_one_interval() {
        assert_eq!(right(&[0.0, 2.0, 0.0], &[1.0, 0.0, 1.5], 0, (1.0, 1.0)), (1.0, 2.0));
        let (from, to) = right(&[0.0, 2.0, 0.0], &[1.0, 0.0, 2.0], 0, (1.0, 1.0));
        assert!(from >= to);
        let (from, to) = right(&[0.0, 2.0], &[1.0, 1.0], 0, (1.0, 1.0));
        assert!(from >= to, "another of the same lean is ahead whatever the offset");
    }

    /// Five classes without photos are played in two ways: each stands for two and a half. Classes with photos stay as they are.
    #[test]
    fn two_ways_to_play_stand_for_half_each() {
        let part = |role, share| Part { role, right: Vec::new(), truth: vec![1], share, scored: Vec::new() };
        let played = vec![part(Role::Itself, 4.0), part(Role::Unseen, 5.0)];
        let shares = |parts: Vec<Part>| parts.iter().map(|part| (part.role, part.share)).collect::<Vec<_>>();
        let both = half_each(played.clone(), vec![part(Role::Unseen, 5.0)]);
        assert_eq!(shares(both), [(Role::Itself, 4.0), (Role::Unseen, 2.5), (Role::Unseen, 2.5)]);
        assert_eq!(half_each(played.clone(), Vec::new()), played);
    }

    /// Two seen classes, right up to the offsets 1 and 0.2; two unseen ones, right from 0.5. Best between 0.5 and 1: (1 + 2) / 4. At no
    /// cost to seen classes none of the unseen is right; at half of their answers both are.
    #[test]
    fn the_offset_is_the_best_for_what_it_is_chosen_for() {
        let infinite = f64::INFINITY;
        let parts = [
            Part {
                role: Role::Itself,
                right: vec![(-infinite, 0.2), (-infinite, 1.0)],
                truth: vec![0, 1],
                share: 2.0,
                scored: Vec::new(),
            },
            Part {
                role: Role::Unseen,
                right: vec![(0.5, infinite); 2],
                truth: vec![0, 1],
                share: 2.0,
                scored: Vec::new(),
            },
        ];
        let chosen = choose(parts.to_vec(), Target::Accuracy);
        assert!((0.5..1.0).contains(&chosen.offset) && (chosen.accuracy - 0.75).abs() < 1e-12, "{chosen:?}");
        assert!(choose(parts.to_vec(), Target::Price(0.01)).offset < 0.2);
        assert!((0.5..1.0).contains(&choose(parts.to_vec(), Target::Price(0.5)).offset));
        assert!((0.5..1.0).contains(&choose(parts.to_vec(), Target::Balance).offset));
        assert_eq!(choose(parts.to_vec(), Target::None).offset, 0.0);
        // Against never guessing: class 0 loses its answer, and the unseen part is won.
        let base = choose(parts[..1].to_vec(), Target::None);
        let gain = chosen.gain_over(&base);
        assert!((gain.mean - (2.0 * -0.5 + 2.0) / 4.0).abs() < 1e-12 && (gain.seen + 0.5).abs() < 1e-12, "{gain:?}");
    }
}
