//! Chooses the offset of classes without photos by the accuracy that is to be expected over all classes.
//!
//! Seen classes play every part: with all their photos but the one that is asked about, with a few photos, and with none, as a
//! ghost that is predicted without them. An answer is right for one interval of offsets, so one pass over all classes gives the
//! expected accuracy of every offset at once.

use super::ghosts::Ghosts;
use crate::error::LearnError;
use crate::evaluation::harmonic;
use crate::learner::Target;
use rayon::prelude::*;
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// Classes with so many photos can play classes with fewer.
const MANY: f64 = 20.0;
/// So many of them must be there.
const PLAYERS: usize = 3;
/// Numbers of photos that are played, at most.
const PARTS: usize = 6;

/// Seen classes in whitened space, and features to ask about.
pub(super) struct Question<'a> {
    /// `[seen, width]`.
    pub(super) means: Tensor,
    /// `[sample, width]`.
    sample: Tensor,
    /// The class of each.
    truth: &'a [usize],
    counts: Vec<f64>,
    /// From each feature to the mean of its class, `[sample, width]`.
    away: Tensor,
    /// How the covariance changes once a feature is left out of it: `Σ⁻¹ + factor·away awayᵀ`, `[sample]`.
    factor: Tensor,
    /// The mean squared distance of a photo to the mean of its class.
    pub(super) noise: f64,
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
enum Role {
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

/// Features asked about in one part that seen classes play.
struct Part {
    role: Role,
    /// For each feature: the offsets for which its class is the answer, from and to.
    right: Vec<(f64, f64)>,
    /// The class of each.
    truth: Vec<usize>,
    /// How many of all classes this part stands for.
    share: f64,
}

fn squared(rows: &Tensor) -> Tensor {
    rows.square().sum_dim_intlist([1i64].as_slice(), false, Kind::Double)
}

fn column(values: &[f64]) -> Tensor {
    Tensor::from_slice(values)
}

fn rows(places: &[usize]) -> Tensor {
    Tensor::from_slice(&places.iter().map(|&place| place as i64).collect::<Vec<_>>())
}

impl<'a> Question<'a> {
    /// `weight` is how much the covariance depends on photos, `freedom` on how many.
    pub(super) fn new(
        means: Tensor,
        sample: Tensor,
        truth: &'a [usize],
        counts: &Tensor,
        (weight, freedom): (f64, f64),
    ) -> Result<Self, LearnError> {
        let counts = Vec::<f64>::try_from(counts)?;
        let away = &sample - means.index_select(0, &rows(truth));
        let lengths = squared(&away);
        let of_class = |class: &usize| match freedom > 0.0 {
            true => weight / freedom * counts[*class] / (counts[*class] - 1.0).max(1.0),
            false => 0.0,
        };
        let part = column(&truth.iter().map(of_class).collect::<Vec<_>>());
        let left: Tensor = 1.0 - &part * &lengths;
        let factor = &part / left.clamp_min(1e-3);
        let noise = noise(&counts, truth, &Vec::<f64>::try_from(&lengths)?, &Vec::<f64>::try_from(&factor)?);
        let noise = noise.unwrap_or(means.size()[1] as f64);
        Ok(Self { means, sample, truth, counts, away, factor, noise })
    }

    /// The squared distances of some features to `means`, `[places, classes]`, the feature left out of the covariance.
    fn distances(&self, places: &[usize], means: &Tensor) -> Tensor {
        let places = rows(places);
        let (x, away) = (self.sample.index_select(0, &places), self.away.index_select(0, &places));
        let plain = squared(&x).unsqueeze(1) + squared(means).unsqueeze(0) - x.matmul(&means.tr()) * 2.0;
        let along = (&away * &x).sum_dim_intlist([1i64].as_slice(), true, Kind::Double) - away.matmul(&means.tr());
        plain + along.square() * self.factor.index_select(0, &places).unsqueeze(1)
    }

    /// The same to one mean for each feature, `[places]`.
    fn own_distances(&self, places: &[usize], means: &Tensor) -> Tensor {
        let places = rows(places);
        let apart = self.sample.index_select(0, &places) - means;
        let along =
            (self.away.index_select(0, &places) * &apart).sum_dim_intlist([1i64].as_slice(), false, Kind::Double);
        squared(&apart) + along.square() * self.factor.index_select(0, &places)
    }

    /// How uncertain the place of a class is that is known as well as by `known` photos, as a score: half of how much further
    /// away photos are because of it. The offset says how much of it is given back.
    pub(super) fn lean(&self, known: &Tensor) -> Tensor {
        known.clamp_min(1e-3).reciprocal() * (0.5 * self.noise)
    }
}

/// The mean squared distance of a photo to the mean of its class, each photo left out. None where no class has two.
fn noise(counts: &[f64], truth: &[usize], lengths: &[f64], factor: &[f64]) -> Option<f64> {
    let of = truth.iter().zip(lengths).zip(factor).filter(|((class, _), _)| counts[**class] >= 2.0);
    let values: Vec<f64> = of
        .map(|((class, length), factor)| {
            let more = counts[*class] / (counts[*class] - 1.0);
            let distance = length * more * more + factor * (length * more) * (length * more);
            distance / (1.0 + 1.0 / (counts[*class] - 1.0))
        })
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// What the classes are after all: means and leans of all of them, seen ones first.
type Classes<'a> = (&'a Tensor, &'a Tensor);

/// Chooses the offset for `target`.
pub(super) fn calibrate(
    question: &Question<'_>,
    ghosts: Option<&Ghosts>,
    classes: Classes<'_>,
    target: Target,
) -> Result<Calibrated, LearnError> {
    let kappa = ghosts.map_or(0.0, |ghosts| ghosts.kappa);
    let (seen, unseen) = (question.counts.len(), classes.0.size()[0] as usize - question.counts.len());
    let all: Vec<usize> = (0..question.truth.len()).collect();
    let scores = question.distances(&all, classes.0) * -0.5;
    let stage = Stage { question, ghosts, kappa, classes, scores, seen };

    let many = |class: usize| question.counts[class] >= MANY;
    let players = (0..seen).filter(|&class| many(class)).count();
    let enough = players >= PLAYERS;
    let plays =
        |place: &usize| question.counts[question.truth[*place]] >= 2.0 && (!enough || many(question.truth[*place]));
    let cast: Vec<usize> = all.iter().copied().filter(plays).collect();
    let known = |place: &usize| {
        let class = question.truth[*place];
        (many(class) || !enough) && (question.counts[class] >= 2.0 || kappa > 0.0)
    };
    let mut parts = Vec::new();
    let themselves: Vec<usize> = all.iter().copied().filter(known).collect();
    if !themselves.is_empty() {
        parts.push(stage.themselves(themselves, if enough { players } else { seen } as f64)?);
    }
    if enough {
        for (photos, share) in few(&question.counts) {
            parts.push(stage.with_few(&cast, photos, share)?);
        }
    }
    if let Some(ghosts) = ghosts.filter(|_| unseen > 0 && !cast.is_empty()) {
        parts.push(stage.without_photos(&cast, ghosts, unseen as f64)?);
    }
    Ok(choose(&parts, target))
}

/// The numbers of photos of classes with few, and how many classes each stands for.
fn few(counts: &[f64]) -> Vec<(usize, f64)> {
    let mut few: Vec<usize> = counts.iter().filter(|count| **count < MANY).map(|count| *count as usize).collect();
    few.sort_unstable();
    let mut distinct = few.clone();
    distinct.dedup();
    if distinct.len() > PARTS {
        // Quantiles stand for the rest.
        distinct = (0..PARTS).map(|part| few[part * (few.len() - 1) / (PARTS - 1)]).collect();
        distinct.dedup();
    }
    let nearest = |count: &usize| {
        distinct.iter().enumerate().min_by_key(|(_, value)| value.abs_diff(*count)).map_or(0, |(place, _)| place)
    };
    let mut shares = vec![0.0; distinct.len()];
    few.iter().for_each(|count| shares[nearest(count)] += 1.0);
    distinct.into_iter().zip(shares).collect()
}

/// What all parts share.
struct Stage<'a> {
    question: &'a Question<'a>,
    ghosts: Option<&'a Ghosts>,
    kappa: f64,
    classes: Classes<'a>,
    /// Of all features for all classes as they are, `[sample, classes]`.
    scores: Tensor,
    seen: usize,
}

impl Stage<'_> {
    fn truth(&self, places: &[usize]) -> Vec<usize> {
        places.iter().map(|&place| self.question.truth[place]).collect()
    }

    /// The ghosts of the classes of some features, times `κ`.
    fn prior(&self, truth: &[usize]) -> Tensor {
        match self.ghosts {
            Some(ghosts) => ghosts.left_out.index_select(0, &rows(truth)) * self.kappa,
            None => self.question.means.index_select(0, &rows(truth)) * 0.0,
        }
    }

    /// Classes as they are, the feature left out.
    fn themselves(&self, places: Vec<usize>, share: f64) -> Result<Part, LearnError> {
        let truth = self.truth(&places);
        let counts: Vec<f64> = truth.iter().map(|&class| self.question.counts[class]).collect();
        let counts = column(&counts);
        let known = &counts - 1.0 + self.kappa;
        let place = rows(&places);
        let sum = self.question.means.index_select(0, &rows(&truth)) * counts.unsqueeze(1)
            - self.question.sample.index_select(0, &place);
        let mean = (self.prior(&truth) + sum) / known.unsqueeze(1);
        self.part(Role::Itself, &places, truth, (&mean, &known), None, share)
    }

    /// Classes with many photos play classes with a few.
    fn with_few(&self, cast: &[usize], photos: usize, share: f64) -> Result<Part, LearnError> {
        let truth = self.truth(cast);
        let start = |class: usize| self.question.truth.partition_point(|&other| other < class);
        let mut picks = Vec::with_capacity(cast.len() * photos);
        let mut taken = Vec::with_capacity(cast.len());
        for (&place, &class) in cast.iter().zip(&truth) {
            let (first, next) = (start(class), start(class + 1));
            let count = photos.min(next - first - 1);
            picks.extend((1..=count).map(|step| first + (place - first + step) % (next - first)));
            taken.push(count);
        }
        let owners: Vec<usize> =
            taken.iter().enumerate().flat_map(|(row, &count)| std::iter::repeat_n(row, count)).collect();
        let sample = self.question.sample.index_select(0, &rows(&picks));
        let sum = self.prior(&truth).index_add(0, &rows(&owners), &sample);
        let known = column(&taken.iter().map(|&count| count as f64).collect::<Vec<_>>()) + self.kappa;
        let mean = sum / known.clamp_min(1e-12).unsqueeze(1);
        self.part(Role::Few(photos), cast, truth, (&mean, &known), None, share)
    }

    /// Every seen class plays a class without photos: ghosts are predicted without it.
    fn without_photos(&self, cast: &[usize], ghosts: &Ghosts, share: f64) -> Result<Part, LearnError> {
        let truth = self.truth(cast);
        let classes = rows(&truth);
        let mean = ghosts.left_out.index_select(0, &classes);
        let known = Tensor::full([cast.len() as i64], self.kappa, (Kind::Double, tch::Device::Cpu));
        // The ghost of an unseen class without class c: g_u − share_uc·miss_c.
        let question = self.question;
        let place = rows(cast);
        let (x, away) = (question.sample.index_select(0, &place), question.away.index_select(0, &place));
        let misses = ghosts.misses.index_select(0, &classes);
        let shares = ghosts.shares.index_select(1, &classes).tr();
        let dot = |a: &Tensor, b: &Tensor| (a * b).sum_dim_intlist([1i64].as_slice(), true, Kind::Double);
        let plain =
            squared(&x).unsqueeze(1) + squared(&ghosts.unseen).unsqueeze(0) - x.matmul(&ghosts.unseen.tr()) * 2.0;
        let moved = (dot(&x, &misses) - misses.matmul(&ghosts.unseen.tr())) * &shares * 2.0
            + shares.square() * squared(&misses).unsqueeze(1);
        let along = dot(&away, &x) - away.matmul(&ghosts.unseen.tr()) + &shares * dot(&away, &misses);
        let distances = plain + moved + along.square() * question.factor.index_select(0, &place).unsqueeze(1);
        self.part(Role::Unseen, cast, truth, (&mean, &known), Some(&(distances * -0.5)), share)
    }

    /// Asks about features whose class has the mean `own`, known as well as by `known` photos; `others` are the scores of
    /// classes without photos, where they are not as they are.
    fn part(
        &self,
        role: Role,
        places: &[usize],
        truth: Vec<usize>,
        (own, known): (&Tensor, &Tensor),
        others: Option<&Tensor>,
        share: f64,
    ) -> Result<Part, LearnError> {
        let scores = self.scores.index_select(0, &rows(places));
        let scores = match others {
            Some(others) => Tensor::cat(&[&scores.narrow(1, 0, self.seen as i64), others], 1),
            None => scores,
        };
        let own_scores = Vec::<f64>::try_from(self.question.own_distances(places, own) * -0.5)?;
        let own_leans = Vec::<f64>::try_from(self.question.lean(known))?;
        let classes = scores.size()[1] as usize;
        let scores = Vec::<f64>::try_from(scores.contiguous().view([-1]))?;
        let leans = Vec::<f64>::try_from(self.classes.1)?;
        let asked = scores.par_chunks(classes).zip(&truth).zip(own_scores.par_iter().zip(&own_leans));
        let right = asked.map(|((row, &class), (&score, &lean))| right(row, &leans, class, (score, lean))).collect();
        Ok(Part { role, right, truth, share })
    }
}

/// The offsets `b` for which `score + b·lean` of class `own` is above `row[c] + b·leans[c]` of every other class: an interval,
/// empty where its end is not above its start.
fn right(row: &[f64], leans: &[f64], own: usize, (score, lean): (f64, f64)) -> (f64, f64) {
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

/// The offsets that are tried, in shares of the lean: 0 gives nothing back, 1 all.
fn offsets() -> Vec<f64> {
    (-40..=120).map(|step| f64::from(step) * 0.025).collect()
}

/// Chooses the offset for `target`: the best, once neighbours have smoothed the steps of few photos.
fn choose(parts: &[Part], target: Target) -> Calibrated {
    let total: f64 = parts.iter().map(|part| part.share).sum();
    let matters = parts.iter().any(|part| part.role != Role::Itself) && target != Target::None;
    let offset = match matters {
        true => best_offset(parts, target),
        false => 0.0,
    };
    let expected = |part: &Part| Expected { role: part.role, share: part.share, accuracies: part.accuracies(offset) };
    let parts: Vec<Expected> = parts.iter().map(expected).collect();
    let of = |part: &Expected| part.accuracies.values().sum::<f64>() / part.accuracies.len().max(1) as f64;
    let accuracy = parts.iter().map(|part| part.share * of(part)).sum::<f64>() / total.max(1.0);
    Calibrated { offset, accuracy, parts }
}

fn best_offset(parts: &[Part], target: Target) -> f64 {
    let offsets = offsets();
    let sum = |of: &dyn Fn(&&Part) -> bool| {
        let mut sum = vec![0.0; offsets.len()];
        let of: Vec<&Part> = parts.iter().filter(of).collect();
        let total: f64 = of.iter().map(|part| part.share).sum();
        for part in of {
            part.curve(&offsets).iter().zip(&mut sum).for_each(|(value, sum)| *sum += part.share / total * value);
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

    /// Two seen classes, right up to the offsets 1 and 0.2; one unseen class, right from 0.5. Best between 0.5 and 1: (1 + 1) / 3. At no
    /// cost to seen classes none is right; at half of their answers the unseen class is.
    #[test]
    fn the_offset_is_the_best_for_what_it_is_chosen_for() {
        let infinite = f64::INFINITY;
        let parts = [
            Part { role: Role::Itself, right: vec![(-infinite, 0.2), (-infinite, 1.0)], truth: vec![0, 1], share: 2.0 },
            Part { role: Role::Unseen, right: vec![(0.5, infinite); 2], truth: vec![0, 1], share: 1.0 },
        ];
        let chosen = choose(&parts, Target::Accuracy);
        assert!((0.5..1.0).contains(&chosen.offset) && (chosen.accuracy - 2.0 / 3.0).abs() < 1e-12, "{chosen:?}");
        assert!(choose(&parts, Target::Price(0.01)).offset < 0.2);
        assert!((0.5..1.0).contains(&choose(&parts, Target::Price(0.5)).offset));
        assert!((0.5..1.0).contains(&choose(&parts, Target::Balance).offset));
        assert_eq!(choose(&parts, Target::None).offset, 0.0);
        // Against never guessing: class 0 loses its answer, and the unseen part is won.
        let base = choose(&parts[..1], Target::None);
        let gain = chosen.gain_over(&base);
        assert!((gain.mean - (2.0 * -0.5 + 1.0) / 3.0).abs() < 1e-12 && (gain.seen + 0.5).abs() < 1e-12, "{gain:?}");
    }

    #[test]
    fn numbers_of_photos_are_played_by_quantiles() {
        assert_eq!(few(&[100.0, 3.0, 1.0, 3.0]), [(1, 1.0), (3, 2.0)]);
        let counts: Vec<f64> = (1..=19).map(f64::from).collect();
        let played = few(&counts);
        assert!(played.len() <= PARTS && played.iter().map(|(_, share)| share).sum::<f64>() == 19.0, "{played:?}");
    }
}
