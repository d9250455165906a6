//! What photos would be worth, class by class: played through with real photos of classes that have some.
//!
//! ```text
//! a seen class c is taken away:  covariance without its fold, every ghost without it
//! with k of its photos back:     μ_c = (κ g_c + Σ x_i) / (κ + k)          right(k): how often its other photos are named right
//! an unseen class u:             gain = doubt_u · (right(k) − right(0))    by the mean of right over all c
//! a seen class:                  gain = b / (κ + n) − b / (κ + n + k)      as far as errors fall with photos
//! ```
//!
//! `doubt_u` is how uncertain the regression is of a ghost, over the mean: large where a description is unlike those of all photographed
//! classes. A play of each unseen class by itself, with the errors of seen ones, was tried: it orders classes no better than chance.
//! What one class wins from others, or loses to them, is not counted.

use super::covariance::{Covariance, fold_by_fold};
use super::fit::Fitted;
use super::ghosts::Ghosts;
use super::information::{COMMON, Information};
use super::sums::Sums;
use super::worlds::{Answers, World, sum};
use crate::error::LearnError;
use std::collections::BTreeMap;
use tch::{Kind, Tensor, no_grad};

/// Numbers of photos that are tried.
pub const MORE: [usize; 6] = [1, 2, 5, 10, 20, 40];
/// Classes that play, at most: with very many the others are taken to be like them.
const MOST: usize = 100;
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
    /// What its photos are taken for, and how often: the first few. Of a class without photos the class that its ghost is nearest to.
    pub taken_for: Vec<(String, Option<f64>)>,
    /// How uncertain its ghost is, over the mean of all classes without photos; 1 for a class that has photos.
    pub doubt: f64,
}

/// What photos of each class would be worth. None where fewer than two classes have photos, or nothing is known of classes.
pub fn prospects(sums: &Sums, information: &Information, fitted: &Fitted) -> Result<Option<Vec<Prospect>>, LearnError> {
    no_grad(|| {
        let Some(stage) = Stage::new(sums, information, fitted)? else { return Ok(None) };
        let (mut seen, mut curve) = (BTreeMap::new(), Curve::default());
        let step = stage.seen().div_ceil(MOST);
        for (covariance, classes) in stage.folds(sums) {
            let whitening = covariance.whitening(fitted.worth.shrinkage)?;
            let means = whitening.apply(&stage.means);
            let ghosts = stage.ghosts.seen_from(&means);
            for class in classes.into_iter().filter(|class| class % step == 0) {
                let world = World::without(&stage, &ghosts, &means, class);
                let photos = whitening.apply(&stage.sample(sums, class));
                seen.insert(class, world.left_out(&stage, &photos)?);
                if photos.size()[0] >= 2 {
                    curve.add(world.returning(&stage, &photos));
                }
            }
        }
        if curve.players == 0.0 {
            return Ok(None);
        }
        stage.prospects(&seen, &curve).map(Some)
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
    /// How uncertain each class is, over the mean of those without photos.
    doubt: Vec<f64>,
    /// Whether classes without photos are answered with today.
    pub(super) guesses: bool,
}

impl Stage {
    fn new(sums: &Sums, information: &Information, fitted: &Fitted) -> Result<Option<Self>, LearnError> {
        let (Some((means, counts)), Some(kappa)) = (sums.means(), fitted.worth.kappa) else { return Ok(None) };
        let seen: Vec<&str> = sums.classes().keys().map(String::as_str).collect();
        let is_unseen = |name: &&str| !sums.classes().contains_key(*name);
        let unseen: Vec<&str> = information.names().iter().map(String::as_str).filter(is_unseen).collect();
        let likenesses = information.likenesses(&seen, &unseen);
        let ghosts = Ghosts::new(&likenesses, &means.matmul(&fitted.whiten), &counts, fitted.noise)?;

        // How uncertain the regression is of each ghost.
        let doubt = Vec::<f64>::try_from(sum(&(&ghosts.shares * &likenesses.unseen)).neg() + (COMMON + 1.0))?;
        let mean = (doubt.iter().sum::<f64>() / unseen.len().max(1) as f64).max(1e-9);
        let doubt = seen.iter().map(|_| 1.0).chain(doubt.iter().map(|doubt| doubt / mean));
        Ok(Some(Self {
            counts: Vec::<f64>::try_from(&counts)?,
            means,
            ghosts,
            kappa,
            noise: fitted.noise,
            lean: fitted.worth.offset,
            doubt: doubt.collect(),
            guesses: fitted.guesses(),
            names: seen.iter().chain(&unseen).map(|name| (*name).to_owned()).collect(),
        }))
    }

    pub(super) fn seen(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn unseen(&self) -> usize {
        self.names.len() - self.seen()
    }

    /// The classes with photos fold by fold, each with the covariance of the others where that still says enough.
    fn folds(&self, sums: &Sums) -> Vec<(Covariance, Vec<usize>)> {
        let whole = || Covariance::new(sums, &self.means, None);
        let enough = 0.5 * whole().freedom;
        let seen: Vec<&str> = self.names[..self.seen()].iter().map(String::as_str).collect();
        let folds = fold_by_fold(sums, &self.means, &seen).into_iter();
        folds.map(|(others, of)| (if others.freedom >= enough { others } else { whole() }, of)).collect()
    }

    /// Features of a class, `[sample, width]`.
    fn sample(&self, sums: &Sums, class: usize) -> Tensor {
        let sample = &sums.classes()[&self.names[class]].sample;
        let values: Vec<f32> = sample.values().flatten().copied().collect();
        Tensor::from_slice(&values).to_kind(Kind::Double).reshape([-1, sums.width() as i64])
    }

    /// What is added to a score, for a class that is known so well.
    pub(super) fn lift(&self, known: f64) -> f64 {
        self.lean * 0.5 * self.noise / known.max(1e-3)
    }

    fn prospects(&self, seen: &BTreeMap<usize, Answers>, curve: &Curve) -> Result<Vec<Prospect>, LearnError> {
        let classes = self.names.len() as f64;
        let worth = curve.worth_of_knowing(self.kappa);
        let gained = |from: f64, to: f64| worth * (1.0 / (self.kappa + from) - 1.0 / (self.kappa + to));
        let missed = seen.values().map(|answers| 1.0 - answers.right()).sum::<f64>() / seen.len() as f64;
        let of_seen = self.counts.iter().enumerate().map(|(class, &photos)| {
            let answers = seen.get(&class);
            let right = answers.map_or(1.0 - missed, Answers::right);
            // Where others are often mistaken for it, or it for others, there is more to win; never more than all.
            let share = (1.0 - right) / missed.max(1e-9);
            let gain = |more: &usize| (share * gained(photos, photos + *more as f64)).min(1.0 - right) / classes;
            let often = answers.into_iter().flat_map(Answers::most_often);
            let often = often.map(|(other, share)| (self.names[other].clone(), Some(share))).collect();
            Prospect { right, ..self.prospect(class, MORE.iter().map(gain).collect(), often) }
        });
        let mut found: Vec<Prospect> = of_seen.collect();
        let nearest = self.nearest_to_ghosts()?;
        for (place, near) in nearest.into_iter().enumerate() {
            let class = self.seen() + place;
            let doubt = self.doubt[class];
            let right = if self.guesses { (curve.right(0) / doubt).min(1.0) } else { 0.0 };
            let gain = |(place, &more): (usize, &usize)| {
                let (step, more) = (place + 1, more as f64);
                // Beyond what there were photos to play with, as far as errors fall.
                let with = curve.right(step) + gained(curve.photos(step).min(more), more);
                (doubt * (with - curve.right(0))).min(1.0 - right) / classes
            };
            let gains = MORE.iter().enumerate().map(gain).collect();
            let near = vec![(self.names[near].clone(), None)];
            found.push(Prospect { right, ..self.prospect(class, gains, near) });
        }
        Ok(found)
    }

    /// For each class without photos the other class whose mean or ghost is nearest to its ghost.
    fn nearest_to_ghosts(&self) -> Result<Vec<usize>, LearnError> {
        let all = Tensor::cat(&[&self.ghosts.left_out + &self.ghosts.misses, self.ghosts.unseen.shallow_clone()], 0);
        let distances = sum(&all.square()).unsqueeze(0) - self.ghosts.unseen.matmul(&all.tr()) * 2.0;
        let (seen, unseen) = (self.seen() as i64, self.unseen() as i64);
        let _ = distances.narrow(1, seen, unseen).diagonal(0, 0, 1).fill_(f64::INFINITY);
        Ok(Vec::<i64>::try_from(distances.argmin(1, false))?.into_iter().map(|near| near as usize).collect())
    }

    fn prospect(&self, class: usize, gains: Vec<f64>, taken_for: Vec<(String, Option<f64>)>) -> Prospect {
        Prospect {
            class: self.names[class].clone(),
            photos: self.counts.get(class).map_or(0, |count| *count as u64),
            right: 0.0,
            gains,
            taken_for,
            doubt: self.doubt[class],
        }
    }
}

/// How often photos of a class are named right that is given none of them, then each of [`MORE`]: summed over all players.
#[derive(Default)]
struct Curve {
    players: f64,
    /// Photos that were given at each step: a class with few photos cannot play one with many.
    photos: [f64; STEPS],
    right: [f64; STEPS],
}

impl Curve {
    fn add(&mut self, played: [(usize, f64); STEPS]) {
        self.players += 1.0;
        for (step, (photos, right)) in played.into_iter().enumerate() {
            self.photos[step] += photos as f64;
            self.right[step] += right;
        }
    }

    fn photos(&self, step: usize) -> f64 {
        self.photos[step] / self.players
    }

    fn right(&self, step: usize) -> f64 {
        self.right[step] / self.players
    }

    /// `b` where errors are `a + b / (κ + n)`, by the two largest numbers of photos that were played.
    fn worth_of_knowing(&self, kappa: f64) -> f64 {
        let last = STEPS - 1;
        let before = (0..last).rev().find(|&step| self.photos(step) < self.photos(last) - 0.5);
        before.map_or(0.0, |before| {
            let known = |step: usize| 1.0 / (kappa + self.photos(step));
            ((self.right(last) - self.right(before)) / (known(before) - known(last))).max(0.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::engine::with_seed;
    use crate::learner::Target;
    use crate::learner::closed_form::fit;
    use tch::Device;

    const CLASSES: usize = 40;
    const SEEN: usize = 30;
    const WIDTH: i64 = 32;

    /// Classes whose means follow from six attributes, but for a part of their own.
    struct Drawn {
        catalogue: Catalogue,
        means: Tensor,
    }

    fn randn(rows: usize, columns: i64) -> Tensor {
        Tensor::randn([rows as i64, columns], (Kind::Double, Device::Cpu))
    }

    impl Drawn {
        fn new() -> Self {
            let attributes = randn(CLASSES, 6);
            // One attribute has a value for the last class alone.
            let (own, last) = (attributes.select(1, 5), CLASSES as i64 - 1);
            let _ = (own.shallow_clone().fill_(0.0), own.narrow(0, last, 1).fill_(1.0));
            let means = attributes.matmul(&randn(6, WIDTH)) + randn(CLASSES, WIDTH) * 2.0;
            let rows: Vec<Vec<f64>> = Vec::try_from(&attributes).expect("numbers");
            let rows = rows.into_iter().map(|row| row.into_iter().map(|value| value as f32).collect()).collect();
            let names = (0..CLASSES).map(|class| format!("{class:02}")).collect();
            let attributes = (0..6).map(|place| format!("attribute {place}")).collect();
            Self { catalogue: Catalogue::new(names, attributes, rows), means }
        }

        fn photos(&self, class: usize, count: usize) -> Tensor {
            let photos = self.means.get(class as i64).unsqueeze(0) + randn(count, WIDTH) * 3.0;
            &photos / sum(&photos.square()).sqrt().unsqueeze(1)
        }

        fn learn(&self, sums: &mut Sums, class: usize, count: usize) {
            let digest = |photo: usize| *blake3::hash(format!("{class} {photo}").as_bytes()).as_bytes();
            let digests: Vec<[u8; 32]> = (0..count).map(digest).collect();
            sums.add(&format!("{class:02}"), &self.photos(class, count), &digests).expect("photos");
        }

        /// How often new photos of each class are named right. Classes with photos come first.
        fn right(&self, sums: &Sums, fitted: &Fitted) -> Vec<f64> {
            let head = crate::predictor::Head::Gaussian(fitted.head(self.catalogue.names()));
            let seen = sums.classes().len() as i64;
            let right = |class: usize| {
                let scores = head.scores(&self.photos(class, 200).to_kind(Kind::Float));
                let (known, guessed) = (scores.narrow(1, 0, seen), scores.narrow(1, seen, CLASSES as i64 - seen));
                let novelty = fitted.novelty.as_ref().expect("classes are guessed at");
                let scores = novelty.log_probabilities(fitted.scale, &known, &guessed);
                let _ = scores.narrow(1, 0, seen).g_sub_scalar_(fitted.offset);
                let answers = scores.argmax(1, false);
                answers.eq(class as i64).to_kind(Kind::Double).mean(Kind::Double).double_value(&[])
            };
            (0..CLASSES).map(right).collect()
        }
    }

    /// Thirty classes with forty photos each let expect how ten others are named by their descriptions alone, and what ten photos of one
    /// of them add to it: both about as it then comes. Who is described unlike all others comes first.
    #[test]
    fn what_is_expected_of_classes_without_photos_is_what_comes() {
        with_seed(5, || {
            let drawn = Drawn::new();
            let information = Information::new(&drawn.catalogue);
            let mut sums = Sums::new(WIDTH as usize, false);
            (0..SEEN).for_each(|class| drawn.learn(&mut sums, class, 40));
            let fitted = fit(&sums, &information, Target::Accuracy).expect("a fit");
            assert!(fitted.guesses());
            let found = prospects(&sums, &information, &fitted).expect("a play").expect("classes with photos");
            let now = drawn.right(&sums, &fitted);
            let mean = |values: &mut dyn Iterator<Item = f64>| {
                let values: Vec<f64> = values.collect();
                values.iter().sum::<f64>() / values.len() as f64
            };
            let unseen = SEEN..CLASSES;
            let expected = mean(&mut found[unseen.clone()].iter().map(|prospect| prospect.right));
            let came = mean(&mut now[unseen.clone()].iter().copied());
            assert!((expected - came).abs() < 0.15 && came > 0.1, "expected {expected:.2}, came {came:.2}");
            let seen = mean(&mut found[..SEEN].iter().map(|prospect| prospect.right));
            let came = mean(&mut now[..SEEN].iter().copied());
            assert!((seen - came).abs() < 0.15, "expected {seen:.2}, came {came:.2}");

            let ten = MORE.iter().position(|&more| more == 10).expect("ten");
            drawn.learn(&mut sums, SEEN, 10);
            let fitted = fit(&sums, &information, Target::Accuracy).expect("a fit");
            let came = drawn.right(&sums, &fitted)[SEEN] - now[SEEN];
            let expected = found[SEEN].gains[ten] * CLASSES as f64;
            assert!((expected - came).abs() < 0.2 && came > 0.1, "expected {expected:.2}, came {came:.2}");
            let first = found.iter().max_by(|a, b| a.gains[ten].total_cmp(&b.gains[ten])).expect("classes");
            assert_eq!(first.class, format!("{:02}", CLASSES - 1));
            // More photos never lose, and a class that has forty gains least.
            for prospect in &found {
                assert!(prospect.gains.is_sorted(), "{prospect:?}");
                assert!(prospect.photos == 0 || prospect.gains[ten] < first.gains[ten] / 3.0, "{prospect:?}");
            }
        });
    }
}
