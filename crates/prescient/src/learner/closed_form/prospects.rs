//! What photos would be worth, class by class: played through with the errors that the fit has found.
//!
//! ```text
//! true mean        m_c = μ_c + e_c,                ‖e_c‖² ≈ noise / known_c      a ghost's as another ghost misses
//! photo            z   = m_c + ρ                   ρ: how a photo of some class lies around its mean
//! with k photos    μ_c′ = (known_c μ_c + Σ z_i) / (known_c + k)
//! gain             accuracy over all classes with μ_c′, less that with μ_c
//! ```
//!
//! `known_c` counts photos, and a description as κ of them: fewer where the description is unlike those of all photographed
//! classes, or where it was seen to mislead. So a class is worth photographing if it is uncertain, if it is near others, or both.

use super::fit::Fitted;
use super::ghosts::Ghosts;
use super::information::{COMMON, Information};
use super::sums::Sums;
use crate::engine::with_seed;
use crate::error::LearnError;
use tch::{Device, Kind, Tensor, no_grad};

/// Numbers of photos that are tried.
pub const MORE: [usize; 6] = [1, 2, 5, 10, 20, 40];
/// Photos that are asked about, of all classes together, about.
const PHOTOS: usize = 4000;
/// How often each number of photos is drawn.
const DRAWS: usize = 12;

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
        with_seed(1, || stage.play().map(Some))
    })
}

/// Scores with which a class cannot win.
fn without(scores: &Tensor, class: usize) -> Tensor {
    scores.index_fill(1, &Tensor::from_slice(&[class as i64]), f64::NEG_INFINITY)
}

/// All classes, those with photos first, in whitened space around the middle of those.
struct Stage {
    names: Vec<String>,
    photos: Vec<u64>,
    noise: f64,
    /// How much of how uncertain a class is speaks for it.
    lean: f64,
    /// `[classes, width]`, as they are answered with.
    means: Tensor,
    /// What the classifier takes each to be known by.
    known: Vec<f64>,
    /// Where each is expected to be, `[classes, width]`, and how well that is known.
    expected: Tensor,
    believed: Vec<f64>,
    doubt: Vec<f64>,
    /// How photos lie around the means of their classes, `[sample, width]`.
    around: Tensor,
    /// How ghosts miss, `[seen, width]`, of mean square `noise`.
    misses: Tensor,
}

fn squared(rows: &Tensor) -> Tensor {
    rows.square().sum_dim_intlist([1i64].as_slice(), false, Kind::Float)
}

fn scaled(rows: &Tensor, square: f64) -> Tensor {
    let mean = squared(rows).mean(Kind::Float).double_value(&[]);
    rows * (square / mean.max(1e-12)).sqrt()
}

fn column(values: &[f64]) -> Tensor {
    Tensor::from_slice(values).to_kind(Kind::Float).unsqueeze(1)
}

impl Stage {
    fn new(sums: &Sums, information: &Information, fitted: &Fitted) -> Result<Option<Self>, LearnError> {
        let (Some((means, counts)), Some(kappa)) = (sums.means(), fitted.worth.kappa) else { return Ok(None) };
        let seen: Vec<&str> = sums.classes().keys().map(String::as_str).collect();
        let is_unseen = |name: &&str| !sums.classes().contains_key(*name);
        let unseen: Vec<&str> = information.names().iter().map(String::as_str).filter(is_unseen).collect();
        let noise = fitted.noise;
        let likenesses = information.likenesses(&seen, &unseen);
        let whitened = means.matmul(&fitted.whiten);
        let ghosts = Ghosts::new(&likenesses, &whitened, &counts, noise)?;
        let middle = fitted.centre.unsqueeze(0).matmul(&fitted.whiten);
        let photos = Vec::<f64>::try_from(&counts)?;

        // How uncertain the regression is of each ghost, over its mean for classes that it was tried on.
        let alone = ghosts.inverse.diagonal(0, 0, 1).reciprocal();
        let doubt_of_seen = Vec::<f64>::try_from(&alone - (counts.reciprocal() * kappa + 1.0) * ghosts.ridge)?;
        let mean = (doubt_of_seen.iter().sum::<f64>() / seen.len() as f64).max(1e-9);
        let explained = (&ghosts.shares * &likenesses.unseen).sum_dim_intlist([1i64].as_slice(), false, Kind::Double);
        let doubt_of_unseen = Vec::<f64>::try_from(explained.neg() + (COMMON + 1.0))?;
        let misses =
            Vec::<f64>::try_from(ghosts.misses.square().sum_dim_intlist([1i64].as_slice(), false, Kind::Double))?;
        // A description that was seen to mislead is believed less: half what ghosts miss on average, half what this one missed.
        let doubt = misses.iter().zip(&photos).map(|(miss, photos)| {
            let own = (miss - noise / photos).max(0.0) * kappa / noise;
            0.5 + 0.5 * own
        });
        let doubt: Vec<f64> =
            doubt.chain(doubt_of_unseen.iter().map(|doubt| (doubt / mean).clamp(0.25, 4.0))).collect();
        let photos: Vec<f64> = photos.into_iter().chain(unseen.iter().map(|_| 0.0)).collect();
        let known: Vec<f64> = photos.iter().map(|photos| photos + kappa).collect();
        let believed: Vec<f64> = photos.iter().zip(&doubt).map(|(photos, doubt)| photos + kappa / doubt).collect();

        let prior = Tensor::cat(&[&ghosts.left_out, &ghosts.unseen], 0);
        let shown = Tensor::cat(&[&whitened, &ghosts.unseen], 0);
        let between = |weights: Vec<f64>| {
            let weight = Tensor::from_slice(&weights).unsqueeze(1);
            (&prior * &weight + &shown * (weight.neg() + 1.0) - &middle).to_kind(Kind::Float)
        };
        let share =
            |known: &[f64]| photos.iter().zip(known).map(|(photos, known)| 1.0 - photos / known).collect::<Vec<f64>>();
        let (means, expected) = (between(share(&known)), between(share(&believed)));

        let mut around = Vec::new();
        for (row, class) in sums.classes().values().enumerate().filter(|(_, class)| class.count >= 2) {
            let values: Vec<f32> = class.sample.values().flatten().copied().collect();
            let sample = Tensor::from_slice(&values).to_kind(Kind::Double).reshape([class.sample.len() as i64, -1]);
            around.push(sample.matmul(&fitted.whiten) - whitened.get(row as i64).unsqueeze(0));
        }
        if around.is_empty() {
            return Ok(None);
        }
        let around = scaled(&Tensor::cat(&around, 0).to_kind(Kind::Float), noise);
        let misses = scaled(&ghosts.misses.to_kind(Kind::Float), noise);
        let names = seen.iter().chain(&unseen).map(|name| (*name).to_owned()).collect();
        Ok(Some(Self {
            names,
            photos: photos.into_iter().map(|photos| photos as u64).collect(),
            noise,
            lean: fitted.worth.offset,
            means,
            known,
            expected,
            believed,
            doubt,
            around,
            misses,
        }))
    }

    /// Rows of `from`, drawn at random.
    fn drawn(from: &Tensor, count: usize) -> Tensor {
        let places = Tensor::randint(from.size()[0], [count as i64], (Kind::Int64, Device::Cpu));
        from.index_select(0, &places)
    }

    /// Where the mean of a class may be: `count` draws, `[count, width]`.
    fn places(&self, class: usize, count: usize) -> Tensor {
        let from = if self.photos[class] == 0 { &self.misses } else { &self.around };
        self.expected.get(class as i64).unsqueeze(0) + Self::drawn(from, count) / self.believed[class].sqrt()
    }

    /// What is added to a score, for a class that is known so well.
    fn lift(&self, known: f64) -> f64 {
        self.lean * 0.5 * self.noise / known.max(1e-3)
    }

    /// The same for all classes as they are.
    fn lifts(&self) -> Vec<f64> {
        self.known.iter().map(|&known| self.lift(known)).collect()
    }

    /// The scores of photos `[photos, width]` for classes with these means and lifts, `[photos, classes]`.
    fn scores(photos: &Tensor, means: &Tensor, lifts: &[f64]) -> Tensor {
        photos.matmul(&means.tr()) - (squared(means) * 0.5).unsqueeze(0) + column(lifts).tr()
    }

    fn play(&self) -> Result<Vec<Prospect>, LearnError> {
        let classes = self.names.len();
        let each = (PHOTOS / classes).clamp(4, 64);
        let photos: Vec<Tensor> =
            (0..classes).map(|class| self.places(class, each) + Self::drawn(&self.around, each)).collect();
        let photos = Tensor::cat(&photos, 0);
        let scores = Self::scores(&photos, &self.means, &self.lifts());
        let answers = Vec::<i64>::try_from(scores.argmax(1, false))?;
        let truth: Vec<i64> = (0..classes * each).map(|place| (place / each) as i64).collect();
        let truth = Tensor::from_slice(&truth);
        let mut found = Vec::with_capacity(classes);
        for class in 0..classes {
            // Photos of other classes that are named right unless this class takes them.
            let others = without(&scores, class);
            let (best, answer) = others.max_dim(1, false);
            let right = answer.eq_tensor(&truth);
            let at_stake = right.nonzero().squeeze_dim(1);
            let (at_stake, best) = (photos.index_select(0, &at_stake), best.index_select(0, &at_stake));
            let gains = self.gains(class, each, (&at_stake, &best));
            let of_class = &answers[class * each..(class + 1) * each];
            found.push(Prospect {
                class: self.names[class].clone(),
                photos: self.photos[class],
                right: of_class.iter().filter(|answer| **answer as usize == class).count() as f64 / each as f64,
                gains: gains.into_iter().map(|gain| gain / (classes * each) as f64).collect(),
                taken_for: self.taken_for(class, of_class),
                doubt: self.doubt[class].sqrt(),
            });
        }
        Ok(found)
    }

    /// How many more photos are named right once a class has more photos, for each of [`MORE`]: the mean over draws. `at_stake` are
    /// photos of other classes that it could take, with the best score of other classes for each.
    fn gains(&self, class: usize, each: usize, (at_stake, best): (&Tensor, &Tensor)) -> Vec<f64> {
        let places = self.places(class, DRAWS);
        // Photos of its own, around where it is in each draw: `[draws, each, width]`.
        let own = Self::drawn(&self.around, DRAWS * each).reshape([DRAWS as i64, each as i64, -1]);
        let own = own + places.unsqueeze(1);
        let all = own.reshape([(DRAWS * each) as i64, -1]);
        let best_of_others =
            without(&Self::scores(&all, &self.means, &self.lifts()), class).amax([1i64].as_slice(), false);
        let best_of_others = best_of_others.reshape([DRAWS as i64, each as i64]);
        let right = |means: &Tensor, known: f64| {
            let lift = self.lift(known);
            let lengths = squared(means) * 0.5;
            let mine = own.matmul(&means.unsqueeze(2)).squeeze_dim(2) - lengths.unsqueeze(1) + lift;
            let won = mine.gt_tensor(&best_of_others).sum(Kind::Double).double_value(&[]);
            let taken = Self::scores(at_stake, means, &[lift; DRAWS]).gt_tensor(&best.unsqueeze(1));
            (won - taken.sum(Kind::Double).double_value(&[])) / DRAWS as f64
        };
        let (mean, known) = (self.means.get(class as i64).unsqueeze(0), self.known[class]);
        let now = right(&mean.repeat([DRAWS as i64, 1]), known);
        let with = |more: usize| {
            let brought = Self::drawn(&self.around, DRAWS * more).reshape([DRAWS as i64, more as i64, -1]);
            let sum = brought.sum_dim_intlist([1i64].as_slice(), false, Kind::Float) + &places * more as f64;
            let total = known + more as f64;
            right(&((&mean * known + sum) / total), total) - now
        };
        MORE.iter().map(|&more| with(more)).collect()
    }

    fn taken_for(&self, class: usize, answers: &[i64]) -> Vec<(String, f64)> {
        let mut counts = std::collections::BTreeMap::new();
        for &answer in answers.iter().filter(|answer| **answer as usize != class) {
            *counts.entry(answer).or_insert(0usize) += 1;
        }
        let mut counts: Vec<(i64, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(answer, count)| (std::cmp::Reverse(*count), *answer));
        let share = |count: usize| count as f64 / answers.len() as f64;
        counts.into_iter().take(3).map(|(answer, count)| (self.names[answer as usize].clone(), share(count))).collect()
    }
}
