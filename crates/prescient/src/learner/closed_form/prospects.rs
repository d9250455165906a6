//! What photos would be worth, class by class: played through with real photos of classes that have some.
//!
//! ```text
//! a seen class c is taken away:  covariance without its fold, every ghost g without it
//! a photo of c:                  x = g_c + miss_c + ρ                   miss_c: how far its ghost misses, ρ: how a photo lies
//! as one of an unseen class u:   z = g_u + √doubt_u · miss_c + ρ        u misses as c does, further where it is unlike all others
//! with k photos                  μ_u = (κ g_u + Σ z_i) / (κ + k)        the z_i are other photos of c
//! gain                           photos z named right with μ_u, less those named right with g_u
//! ```
//!
//! A class that has photos is asked about photos that are left out one by one. More photos make it better as they made the
//! players better: errors fall with `1 / (κ + n)`. What one class wins from others, or loses to them, is not counted.

use super::covariance::Covariance;
use super::fit::Fitted;
use super::ghosts::Ghosts;
use super::information::{COMMON, Information};
use super::sums::{FOLDS, Sums, fold};
use super::worlds::{Answers, Played, World, sum};
use crate::error::LearnError;
use tch::{Kind, Tensor, no_grad};

/// Numbers of photos that are tried.
pub const MORE: [usize; 6] = [1, 2, 5, 10, 20, 40];
/// Scores that are looked at, about: with very many classes, fewer photos.
const MOST_SCORES: usize = 200_000_000;
/// No photos, then [`MORE`].
pub(super) const STEPS: usize = MORE.len() + 1;

/// What photos of a class would be worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Prospect {
    /// The class.
    pub class: String,
    /// Photos that it has.
    pub photos: u64,
    /// How often its photos are expected to be named right.
    pub right: f64,
    /// For each of [`MORE`]: by how much the accuracy over all classes is expected to rise.
    pub gains: Vec<f64>,
    /// What its photos are taken for, and how often: the first few.
    pub taken_for: Vec<(String, f64)>,
    /// How far its ghost is expected to miss, over how far ghosts miss on average; 1 for a class that has many photos.
    pub doubt: f64,
}

/// What photos of each class would be worth. None where fewer than two classes have photos, or nothing is known of classes.
pub fn prospects(sums: &Sums, information: &Information, fitted: &Fitted) -> Result<Option<Vec<Prospect>>, LearnError> {
    no_grad(|| {
        let Some(stage) = Stage::new(sums, information, fitted)? else { return Ok(None) };
        let mut seen = Vec::new();
        let mut tally = Tally::new(stage.unseen());
        for (covariance, classes) in stage.folds(sums) {
            let whitening = covariance.whitening(fitted.worth.shrinkage)?;
            let means = whitening.apply(&stage.means);
            let ghosts = stage.ghosts.seen_from(&means);
            for class in classes {
                let world = World::without(&stage, &ghosts, &means, class);
                let photos = whitening.apply(&stage.sample(sums, class));
                seen.push((class, world.itself(&stage, &photos)?));
                if photos.size()[0] >= 2 {
                    tally.add(world.play(&stage, &photos)?);
                }
            }
        }
        seen.sort_by_key(|(class, _)| *class);
        Ok((tally.players > 0.0).then(|| stage.prospects(&seen, &tally)))
    })
}

/// What is the same whoever plays.
pub(super) struct Stage {
    /// Of all classes, those with photos first.
    names: Vec<String>,
    /// `n_c` of those with photos.
    pub(super) counts: Vec<f64>,
    /// Of those with photos, `[seen, width]`.
    means: Tensor,
    pub(super) ghosts: Ghosts,
    pub(super) kappa: f64,
    noise: f64,
    /// How much of how uncertain a class is speaks for it.
    lean: f64,
    /// How uncertain each ghost is over the mean: 1 is as usual.
    pub(super) doubt: Vec<f64>,
    /// Whether classes without photos are answered with today.
    pub(super) guesses: bool,
    /// Photos that each class plays with, at most.
    each: usize,
}

impl Stage {
    fn new(sums: &Sums, information: &Information, fitted: &Fitted) -> Result<Option<Self>, LearnError> {
        let (Some((means, counts)), Some(kappa)) = (sums.means(), fitted.worth.kappa) else { return Ok(None) };
        let seen: Vec<&str> = sums.classes().keys().map(String::as_str).collect();
        let is_unseen = |name: &&str| !sums.classes().contains_key(*name);
        let unseen: Vec<&str> = information.names().iter().map(String::as_str).filter(is_unseen).collect();
        let likenesses = information.likenesses(&seen, &unseen);
        let ghosts = Ghosts::new(&likenesses, &means.matmul(&fitted.whiten), &counts, fitted.noise)?;

        // How uncertain the regression is of each ghost, over its mean for classes that it was tried on.
        let alone = ghosts.inverse.diagonal(0, 0, 1).reciprocal();
        let doubt_of_seen = Vec::<f64>::try_from(&alone - (counts.reciprocal() * kappa + 1.0) * ghosts.ridge)?;
        let mean = (doubt_of_seen.iter().sum::<f64>() / seen.len() as f64).max(1e-9);
        let explained = sum(&(&ghosts.shares * &likenesses.unseen));
        let doubt_of_unseen = Vec::<f64>::try_from(explained.neg() + (COMMON + 1.0))?;
        let doubt = seen.iter().map(|_| 1.0).chain(doubt_of_unseen.iter().map(|doubt| (doubt / mean).clamp(0.25, 4.0)));
        let scores = ((seen.len() + unseen.len()) * unseen.len().max(1) * seen.len()).max(1);
        Ok(Some(Self {
            counts: Vec::<f64>::try_from(&counts)?,
            means,
            ghosts,
            kappa,
            noise: fitted.noise,
            lean: fitted.worth.offset,
            doubt: doubt.collect(),
            guesses: fitted.guesses(),
            each: (MOST_SCORES / scores).clamp(2, usize::MAX),
            names: seen.iter().chain(&unseen).map(|name| (*name).to_owned()).collect(),
        }))
    }

    pub(super) fn seen(&self) -> usize {
        self.counts.len()
    }

    fn unseen(&self) -> usize {
        self.names.len() - self.seen()
    }

    /// The classes with photos fold by fold, each with the covariance of the others where that still says enough.
    fn folds(&self, sums: &Sums) -> Vec<(Covariance, Vec<usize>)> {
        let whole = Covariance::new(sums, &self.means, None).freedom;
        let classes = |place: usize| (0..self.seen()).filter(|&class| fold(&self.names[class]) == place).collect();
        let folds = (0..FOLDS).map(|place| (place, classes(place))).filter(|(_, of): &(_, Vec<usize>)| !of.is_empty());
        let covariance = |place: usize| {
            let without = Covariance::new(sums, &self.means, Some(place));
            if without.freedom >= 0.5 * whole { without } else { Covariance::new(sums, &self.means, None) }
        };
        folds.map(|(place, of)| (covariance(place), of)).collect()
    }

    /// Features of a class, `[sample, width]`.
    fn sample(&self, sums: &Sums, class: usize) -> Tensor {
        let sample = &sums.classes()[&self.names[class]].sample;
        let values: Vec<f32> = sample.values().take(self.each).flatten().copied().collect();
        Tensor::from_slice(&values).to_kind(Kind::Double).reshape([-1, sums.width() as i64])
    }

    /// What is added to a score, for a class that is known so well.
    pub(super) fn lift(&self, known: f64) -> f64 {
        self.lean * 0.5 * self.noise / known.max(1e-3)
    }

    fn prospects(&self, seen: &[(usize, Answers)], tally: &Tally) -> Vec<Prospect> {
        let classes = self.names.len() as f64;
        let worth = tally.worth_of_knowing(self.kappa);
        let gained = |from: f64, to: f64| worth * (1.0 / (self.kappa + from) - 1.0 / (self.kappa + to));
        let missed = seen.iter().map(|(_, answers)| 1.0 - answers.right()).sum::<f64>() / seen.len() as f64;
        let of_seen = seen.iter().map(|(class, answers)| {
            let (photos, right) = (self.counts[*class], answers.right());
            // Where others are often mistaken for it, or it for others, there is more to win; never more than all.
            let share = (1.0 - right) / missed.max(1e-9);
            let gain = |more: &usize| (share * gained(photos, photos + *more as f64)).min(1.0 - right) / classes;
            self.prospect(*class, answers, MORE.iter().map(gain).collect())
        });
        let of_unseen = (0..self.unseen()).map(|place| {
            let gain = |(place_of_more, &more): (usize, &usize)| {
                let (step, more) = (place_of_more + 1, more as f64);
                // Beyond what there were photos to play with, as far as errors fall.
                let beyond = gained(tally.photos(step).min(more), more);
                ((tally.right(step, place) + beyond).min(1.0) - tally.right(0, place)) / classes
            };
            let gains = MORE.iter().enumerate().map(gain).collect();
            self.prospect(self.seen() + place, &tally.answers[place], gains)
        });
        of_seen.chain(of_unseen).collect()
    }

    fn prospect(&self, class: usize, answers: &Answers, gains: Vec<f64>) -> Prospect {
        Prospect {
            class: self.names[class].clone(),
            photos: self.counts.get(class).map_or(0, |count| *count as u64),
            right: answers.right(),
            gains,
            taken_for: answers.most_often().map(|(other, share)| (self.names[other].clone(), share)).collect(),
            doubt: self.doubt[class].sqrt(),
        }
    }
}

/// What all players came to: a class without photos that is given none of them, then each of [`MORE`].
struct Tally {
    players: f64,
    /// Photos that were given at each step, over all players: a class with few photos cannot play one with many.
    photos: [f64; STEPS],
    /// Shares of the players' own photos that were named right.
    own: [f64; STEPS],
    /// The same for each class without photos that they played.
    unseen: Vec<[f64; STEPS]>,
    answers: Vec<Answers>,
}

impl Tally {
    fn new(unseen: usize) -> Self {
        let answers = (0..unseen).map(|_| Answers::default()).collect();
        Self { players: 0.0, photos: [0.0; STEPS], own: [0.0; STEPS], unseen: vec![[0.0; STEPS]; unseen], answers }
    }

    fn add(&mut self, played: Played) {
        self.players += 1.0;
        for step in 0..STEPS {
            self.photos[step] += played.photos[step] as f64;
            self.own[step] += played.own[step];
            self.unseen.iter_mut().zip(&played.unseen).for_each(|(sum, played)| sum[step] += played[step]);
        }
        self.answers.iter_mut().zip(played.answers).for_each(|(all, played)| all.join(played));
    }

    fn photos(&self, step: usize) -> f64 {
        self.photos[step] / self.players
    }

    fn right(&self, step: usize, unseen: usize) -> f64 {
        self.unseen[unseen][step] / self.players
    }

    /// `b` where errors are `a + b / (κ + n)`, by the two largest numbers of photos that were played.
    fn worth_of_knowing(&self, kappa: f64) -> f64 {
        let last = STEPS - 1;
        let before = (0..last).rev().find(|&step| self.photos(step) < self.photos(last) - 0.5);
        before.map_or(0.0, |before| {
            let known = |step: usize| 1.0 / (kappa + self.photos(step));
            ((self.own[last] - self.own[before]) / self.players / (known(before) - known(last))).max(0.0)
        })
    }
}
