//! Chooses the offset of classes without photos by the accuracy that is to be expected over all classes.
//!
//! Seen classes play every part: with all their photos but the one that is asked about, with a few photos, and with none, as a
//! ghost that is predicted without them. An answer is right for one interval of offsets, so one pass over all classes gives the
//! expected accuracy of every offset at once. Where there are classes with few photos, [`super::stand_ins`] plays them.

use super::choose::{Calibrated, Part, Role, choose, right};
use super::ghosts::Ghosts;
use super::probabilities::{ENOUGH, Scored};
use super::stand_ins::{Fold, Played, stand_ins};
use crate::error::LearnError;
use crate::learner::Target;
use rayon::prelude::*;
use tch::{Kind, Tensor};

/// Classes with so many photos can play classes with fewer.
const MANY: f64 = 20.0;
/// So many of them must be there.
const PLAYERS: usize = 3;
/// Numbers of photos that are played, at most.
const PARTS: usize = 6;
/// Scores that are looked at to choose by, about: with very many classes, fewer features.
const MOST_SCORES: usize = 10_000_000;

/// How many features of a class are looked at to choose by, two at least, and of every how many-th class: with very many classes,
/// some stand for all.
pub(super) fn asked_about(seen: usize, all: usize) -> (usize, usize) {
    let most = (MOST_SCORES / all).max(2);
    let each = (most / seen).max(2);
    (each, (each * seen).div_ceil(most))
}

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
    folds: &[Fold],
    ghosts: Option<&Ghosts>,
    classes: Classes<'_>,
    target: Target,
) -> Result<Calibrated, LearnError> {
    let kappa = ghosts.map_or(0.0, |ghosts| ghosts.kappa);
    let (seen, unseen) = (question.counts.len(), classes.0.size()[0] as usize - question.counts.len());
    let all: Vec<usize> = (0..question.truth.len()).collect();
    let scores = question.distances(&all, classes.0) * -0.5;
    let stage = Stage { question, ghosts, kappa, classes, scores, seen };

    let players = players(&question.counts);
    let enough = players.len() >= PLAYERS;
    let many = |class: usize| !enough || question.counts[class] >= MANY;
    let known = |place: &usize| {
        let class = question.truth[*place];
        many(class) && (question.counts[class] >= 2.0 || kappa > 0.0)
    };
    let mut parts = Vec::new();
    let themselves: Vec<usize> = all.iter().copied().filter(known).collect();
    if !themselves.is_empty() {
        parts.push(stage.themselves(themselves, if enough { players.len() } else { seen } as f64)?);
    }
    let ghosts = ghosts.filter(|_| unseen > 0);
    if !folds.is_empty() {
        let mut played = few(&question.counts);
        played.extend(ghosts.map(|_| (0, unseen as f64)));
        let played = Played { counts: &question.counts, noise: question.noise, players: &players, photos: &played };
        parts.extend(stand_ins(folds, stage.ghosts, classes.1, &played)?);
        return Ok(choose(parts, target));
    }
    let plays = |place: &usize| question.counts[question.truth[*place]] >= 2.0 && many(question.truth[*place]);
    let cast: Vec<usize> = all.iter().copied().filter(plays).collect();
    if let Some(ghosts) = ghosts.filter(|_| !cast.is_empty()) {
        parts.push(stage.without_photos(&cast, ghosts, unseen as f64)?);
    }
    Ok(choose(parts, target))
}

/// The classes that can play classes with fewer photos.
pub(super) fn players(counts: &[f64]) -> Vec<usize> {
    (0..counts.len()).filter(|&class| counts[class] >= MANY).collect()
}

/// Whether there are classes with few photos, and others that can play them.
pub(super) fn plays_few(counts: &[f64]) -> bool {
    let players = players(counts).len();
    players >= PLAYERS && players < counts.len()
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
        let some = truth.len().min(ENOUGH);
        let scored = |place: usize| Scored {
            scores: scores[place * classes..(place + 1) * classes].to_vec(),
            truth: truth[place],
            own: (own_scores[place], own_leans[place]),
        };
        let scored = (0..some).map(|place| scored(place * truth.len() / some)).collect();
        Ok(Part { role, right, truth, share, scored })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_photos_are_played_by_quantiles() {
        assert_eq!(few(&[100.0, 3.0, 1.0, 3.0]), [(1, 1.0), (3, 2.0)]);
        let counts: Vec<f64> = (1..=19).map(f64::from).collect();
        let played = few(&counts);
        assert!(played.len() <= PARTS && played.iter().map(|(_, share)| share).sum::<f64>() == 19.0, "{played:?}");
    }

    /// Ten million scores are 232,558 features of 43 classes, 5,408 each; of 1,000 classes, 10,000 features; of 10,000 classes a thousand:
    /// two of every twentieth class.
    #[test]
    fn very_many_classes_are_asked_about_by_some() {
        assert_eq!(asked_about(43, 43), (5408, 1));
        assert_eq!(asked_about(1_000, 1_000), (10, 1));
        assert_eq!(asked_about(10_000, 10_000), (2, 20));
        assert_eq!(asked_about(8, 100_000), (12, 1));
    }
}
