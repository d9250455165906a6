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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Calibrated {
    /// Added to scores of classes without photos.
    pub(super) offset: f64,
    pub(super) scale: f64,
    /// Over all classes.
    pub(super) accuracy: f64,
    pub(super) guesses: bool,
    pub(super) gain: Option<(f64, f64)>,
    pub(super) seen_drop: Option<f64>,
}

/// Features asked about in one part that seen classes play.
struct Part {
    /// For each feature: the offsets for which its class is the answer, from and to.
    right: Vec<(f64, f64)>,
    /// Whether its class is the answer when only seen classes compete.
    base: Vec<bool>,
    /// The class of each.
    truth: Vec<usize>,
    /// How many of all classes this part stands for.
    share: f64,
    /// Whether it plays classes without photos.
    unseen: bool,
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
        let along = (self.away.index_select(0, &places) * &apart).sum_dim_intlist([1i64].as_slice(), false, Kind::Double);
        squared(&apart) + along.square() * self.factor.index_select(0, &places)
    }

    fn score(&self, distances: &Tensor, spread: &Tensor) -> Tensor {
        distances / (spread + 1.0) * -0.5 - spread.log1p() * (0.5 * self.noise)
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

/// What the classes are after all: means, spreads and leans of all of them, seen ones first.
type Classes<'a> = (&'a Tensor, &'a Tensor, &'a Tensor);

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
    let scores = question.score(&question.distances(&all, classes.0), &classes.1.unsqueeze(0));
    let stage = Stage { question, ghosts, kappa, classes, scores, seen };

    let many = |class: usize| question.counts[class] >= MANY;
    let players = (0..seen).filter(|&class| many(class)).count();
    let enough = players >= PLAYERS;
    let plays = |place: &usize| question.counts[question.truth[*place]] >= 2.0 && (!enough || many(question.truth[*place]));
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
    Ok(choose(&parts, (seen, unseen), ghosts.is_some(), target))
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
        self.part(&places, truth, &mean, &known, None, share)
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
        let owners: Vec<usize> = taken.iter().enumerate().flat_map(|(row, &count)| std::iter::repeat_n(row, count)).collect();
        let sample = self.question.sample.index_select(0, &rows(&picks));
        let sum = self.prior(&truth).index_add(0, &rows(&owners), &sample);
        let known = column(&taken.iter().map(|&count| count as f64).collect::<Vec<_>>()) + self.kappa;
        let mean = sum / known.clamp_min(1e-12).unsqueeze(1);
        self.part(cast, truth, &mean, &known, None, share)
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
        let plain = squared(&x).unsqueeze(1) + squared(&ghosts.unseen).unsqueeze(0) - x.matmul(&ghosts.unseen.tr()) * 2.0;
        let moved = (dot(&x, &misses) - misses.matmul(&ghosts.unseen.tr())) * &shares * 2.0
            + shares.square() * squared(&misses).unsqueeze(1);
        let along = dot(&away, &x) - away.matmul(&ghosts.unseen.tr()) + &shares * dot(&away, &misses);
        let distances = plain + moved + along.square() * question.factor.index_select(0, &place).unsqueeze(1);
        let spread = self.classes.1.narrow(0, self.seen as i64, shares.size()[1]);
        let others = question.score(&distances, &spread.unsqueeze(0));
        let part = self.part(cast, truth, &mean, &known, Some(&others), share)?;
        Ok(Part { unseen: true, base: vec![false; part.truth.len()], ..part })
    }

    /// Asks about features whose class has the mean `own`, known as well as by `known` photos; `others` are the scores of
    /// classes without photos, where they are not as they are.
    fn part(
        &self,
        places: &[usize],
        truth: Vec<usize>,
        own: &Tensor,
        known: &Tensor,
        others: Option<&Tensor>,
        share: f64,
    ) -> Result<Part, LearnError> {
        let scores = self.scores.index_select(0, &rows(places));
        let scores = match others {
            Some(others) => Tensor::cat(&[&scores.narrow(1, 0, self.seen as i64), others], 1),
            None => scores,
        };
        let own_scores = self.question.score(&self.question.own_distances(places, own), &known.clamp_min(1e-12).reciprocal());
        let own_scores = Vec::<f64>::try_from(own_scores)?;
        let own_leans = Vec::<f64>::try_from(known.clamp_min(1e-12).reciprocal() * self.kappa)?;
        let (classes, seen) = (scores.size()[1] as usize, self.seen);
        let scores = Vec::<f64>::try_from(scores.contiguous().view([-1]))?;
        let leans = Vec::<f64>::try_from(self.classes.2)?;
        let asked: Vec<((f64, f64), bool)> = scores
            .par_chunks(classes)
            .zip(&truth)
            .zip(own_scores.par_iter().zip(&own_leans))
            .map(|((row, &class), (&score, &lean))| {
                let base = (0..seen).all(|other| other == class || row[other] < score);
                (right(row, &leans, class, (score, lean)), base)
            })
            .collect();
        let (right, base) = asked.into_iter().unzip();
        Ok(Part { right, base, truth, share, unseen: false })
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
    /// What each right answer adds to the accuracy over the part's classes.
    fn weights(&self) -> Vec<f64> {
        let classes = self.truth.iter().max().map_or(0, |most| most + 1);
        let mut images = vec![0.0; classes];
        self.truth.iter().for_each(|&class| images[class] += 1.0);
        let present = images.iter().filter(|count| **count > 0.0).count() as f64;
        self.truth.iter().map(|&class| 1.0 / (images[class] * present)).collect()
    }

    fn accuracy(&self, offset: f64) -> f64 {
        let right = self.right.iter().zip(self.weights());
        right.filter(|((from, to), _)| *from < offset && offset < *to).map(|(_, weight)| weight).sum()
    }

    /// The mean gain over the base model at `offset`, and its squared standard error over classes.
    fn gain(&self, offset: f64) -> (f64, f64) {
        let classes = self.truth.iter().max().map_or(0, |most| most + 1);
        let mut gains = vec![(0.0, 0.0); classes];
        for ((&(from, to), &base), &class) in self.right.iter().zip(&self.base).zip(&self.truth) {
            let right = from < offset && offset < to;
            gains[class].0 += f64::from(right) - f64::from(base);
            gains[class].1 += 1.0;
        }
        let of: Vec<f64> = gains.into_iter().filter(|(_, images)| *images > 0.0).map(|(gain, images)| gain / images).collect();
        let mean = of.iter().sum::<f64>() / of.len().max(1) as f64;
        if of.len() < 2 {
            return (mean, 1.0);
        }
        let variance = of.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>() / (of.len() - 1) as f64;
        (mean, variance / of.len() as f64)
    }
}

/// The accuracy over some parts as a function of the offset: steps, each an offset from which it holds and a value for each of
/// two kinds of parts.
fn curve(parts: &[Part]) -> Vec<(f64, [f64; 2])> {
    let mut changes: Vec<(f64, usize, f64)> = Vec::new();
    for part in parts {
        let kind = usize::from(part.unseen);
        for (&(from, to), weight) in part.right.iter().zip(part.weights()) {
            if from < to {
                changes.push((from, kind, weight * part.share));
                changes.push((to, kind, -weight * part.share));
            }
        }
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut values, mut steps) = ([0.0; 2], Vec::<(f64, [f64; 2])>::new());
    for (offset, kind, change) in changes {
        values[kind] += change;
        match steps.last_mut() {
            Some(last) if last.0 == offset => last.1 = values,
            _ => steps.push((offset, values)),
        }
    }
    steps
}

fn choose(parts: &[Part], (seen, unseen): (usize, usize), described: bool, target: Target) -> Calibrated {
    let total = (seen + unseen) as f64;
    let nothing = Calibrated { offset: 0.0, scale: 1.0, accuracy: 0.0, guesses: false, gain: None, seen_drop: None };
    if parts.is_empty() {
        return Calibrated { guesses: unseen > 0, ..nothing };
    }
    let accuracy = |offset: f64| parts.iter().map(|part| part.share / total * part.accuracy(offset)).sum::<f64>();
    let few = parts.iter().filter(|part| !part.unseen).count() > 1;
    if !described || (unseen == 0 && !few) || target == Target::None {
        return Calibrated { accuracy: accuracy(0.0), guesses: unseen > 0, ..nothing };
    }
    let offset = best_offset(&curve(parts), (seen, unseen), target);
    let accuracy = accuracy(offset);
    if unseen == 0 {
        return Calibrated { offset, accuracy, ..nothing };
    }
    // Guess only where the gain to be expected is larger than its error.
    let gains = parts.iter().map(|part| (part.share / total, part.gain(offset)));
    let (gain, variance) = gains.fold((0.0, 0.0), |(gain, variance), (share, (mean, error))| {
        (gain + share * mean, variance + share * share * error)
    });
    let error = variance.sqrt();
    let lost: f64 = parts.iter().filter(|part| !part.unseen).map(|part| -part.share * part.gain(offset).0).sum();
    let seen_drop = Some(lost / seen as f64);
    let guesses = gain > error;
    let accuracy = if guesses { accuracy } else { accuracy - gain };
    let offset = if guesses { offset } else { 0.0 };
    Calibrated { offset, accuracy, guesses, gain: Some((gain, error)), seen_drop, ..nothing }
}

/// The middle of the offsets that are best for `target`.
fn best_offset(steps: &[(f64, [f64; 2])], (seen, unseen): (usize, usize), target: Target) -> f64 {
    let worth = |values: &[f64; 2]| match target {
        Target::Balance => harmonic(values[0] / seen as f64, values[1] / unseen.max(1) as f64),
        _ => values[0] + values[1],
    };
    let mut best = (f64::NEG_INFINITY, 0.0);
    for pair in steps.windows(2) {
        let (value, middle) = (worth(&pair[0].1), (pair[0].0 + pair[1].0) / 2.0);
        if value > best.0 + 1e-12 && middle.is_finite() {
            best = (value, middle);
        }
    }
    best.1
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

    /// Two seen classes, one unseen. Seen answers are right up to 1 and up to 3, the unseen one from 2: best between 2 and 3, with
    /// 1 + 1 of 3.
    #[test]
    fn the_best_offset_is_in_the_middle_of_the_best_interval() {
        let infinite = f64::INFINITY;
        let part = |right: Vec<(f64, f64)>, truth: Vec<usize>, share: f64, unseen: bool| Part {
            base: right.iter().map(|_| !unseen).collect(),
            right,
            truth,
            share,
            unseen,
        };
        let parts = [
            part(vec![(-infinite, 1.0), (-infinite, 3.0)], vec![0, 1], 2.0, false),
            part(vec![(2.0, infinite), (2.0, infinite)], vec![0, 1], 1.0, true),
        ];
        let chosen = choose(&parts, (2, 1), true, Target::Accuracy);
        assert!((chosen.accuracy - 2.0 / 3.0).abs() < 1e-12, "{chosen:?}");
    }

    #[test]
    fn numbers_of_photos_are_played_by_quantiles() {
        assert_eq!(few(&[100.0, 3.0, 1.0, 3.0]), [(1, 1.0), (3, 2.0)]);
        let counts: Vec<f64> = (1..=19).map(f64::from).collect();
        let played = few(&counts);
        assert!(played.len() <= PARTS && played.iter().map(|(_, share)| share).sum::<f64>() == 19.0, "{played:?}");
    }
}
