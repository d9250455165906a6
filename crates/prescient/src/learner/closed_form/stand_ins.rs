//! Classes with many photos play classes with a few, or with none.
//!
//! A class that stands in must not have shaped what it is judged by: the covariance is that of the classes of other folds, and
//! every ghost is predicted without it. Photos alone would otherwise look far better with few photos than they are.

use super::choose::{Part, Role, right};
use super::ghosts::Ghosts;
use super::probabilities::{ENOUGH, Scored};
use crate::error::LearnError;
use std::collections::BTreeSet;
use tch::{Kind, Tensor};

/// Classes that stand in, at most: more would cost time and say nothing new.
const MOST: usize = 200;

/// The classes of one fold, seen with the covariance of all others.
pub(super) struct Fold {
    /// The means of all classes, whitened, `[seen, width]`.
    means: Tensor,
    /// Features of each class of the fold, whitened, `[sample, width]` each.
    samples: Vec<(usize, Tensor)>,
}

impl Fold {
    /// `sample` has a row for each feature, whose class is in `truth`, class by class. Classes without any do not play.
    pub(super) fn new(
        means: Tensor,
        whiten: impl Fn(&Tensor) -> Tensor,
        (sample, truth): (&Tensor, &[usize]),
        classes: &[usize],
    ) -> Self {
        let start = |class: usize| truth.partition_point(|&other| other < class) as i64;
        let rows = |class: usize| whiten(&sample.narrow(0, start(class), start(class + 1) - start(class)));
        let asked = classes.iter().filter(|&&class| start(class + 1) > start(class));
        Self { means, samples: asked.map(|&class| (class, rows(class))).collect() }
    }
}

/// What is played.
pub(super) struct Played<'a> {
    /// How many photos each seen class has.
    pub(super) counts: &'a [f64],
    /// The mean squared distance of a photo to the mean of its class.
    pub(super) noise: f64,
    /// The classes that can stand in.
    pub(super) players: &'a [usize],
    /// Numbers of photos, and how many classes each stands for.
    pub(super) photos: &'a [(usize, f64)],
}

fn squared(rows: &Tensor) -> Tensor {
    rows.square().sum_dim_intlist([1i64].as_slice(), false, Kind::Double)
}

/// Plays them all. `leans` are those of all classes, seen ones first.
pub(super) fn stand_ins(
    folds: &[Fold],
    ghosts: Option<&Ghosts>,
    leans: &Tensor,
    played: &Played<'_>,
) -> Result<Vec<Part>, LearnError> {
    let role = |photos: usize| if photos == 0 { Role::Unseen } else { Role::Few(photos) };
    let empty = |&(photos, share): &(usize, f64)| Part {
        role: role(photos),
        right: Vec::new(),
        truth: Vec::new(),
        share,
        scored: Vec::new(),
    };
    let mut parts: Vec<Part> = played.photos.iter().map(empty).collect();
    let leans = Vec::<f64>::try_from(leans)?;
    let counts = Tensor::from_slice(played.counts);
    let kappa = ghosts.map_or(0.0, |ghosts| ghosts.kappa);
    let asked: BTreeSet<usize> = folds.iter().flat_map(|fold| fold.samples.iter().map(|(class, _)| *class)).collect();
    let able: Vec<usize> = played.players.iter().copied().filter(|class| asked.contains(class)).collect();
    let cast: Vec<usize> = able.iter().copied().step_by(able.len().div_ceil(MOST).max(1)).collect();
    for fold in folds {
        let ghosts = ghosts.map(|ghosts| ghosts.seen_from(&fold.means));
        for (class, sample) in fold.samples.iter().filter(|(class, _)| cast.binary_search(class).is_ok()) {
            let means = match &ghosts {
                None => fold.means.shallow_clone(),
                Some(ghosts) => {
                    let (misses, unseen) = ghosts.without(*class);
                    let trust = (&counts + kappa).reciprocal() * kappa;
                    Tensor::cat(&[&fold.means - misses * trust.unsqueeze(1), unseen], 0)
                }
            };
            let scores =
                (squared(sample).unsqueeze(1) + squared(&means).unsqueeze(0) - sample.matmul(&means.tr()) * 2.0) * -0.5;
            let scores = Vec::<f64>::try_from(scores.contiguous().view([-1]))?;
            let prior = ghosts.as_ref().map(|ghosts| ghosts.left_out.get(*class as i64).unsqueeze(0) * kappa);
            for (part, &(photos, _)) in parts.iter_mut().zip(played.photos) {
                let (sum, photos) = following(sample, photos);
                let sum = prior.as_ref().map_or_else(|| sum.shallow_clone(), |prior| &sum + prior);
                let known = (photos as f64 + kappa).max(1e-3);
                let own = Vec::<f64>::try_from(squared(&(sample - sum / known)) * -0.5)?;
                let lean = 0.5 * played.noise / known;
                let rows = || scores.chunks(leans.len()).zip(&own);
                part.right.extend(rows().map(|(row, score)| right(row, &leans, *class, (*score, lean))));
                let scored =
                    |(row, score): (&[f64], &f64)| Scored { scores: row.to_vec(), truth: *class, own: (*score, lean) };
                part.scored.extend(rows().take(ENOUGH.div_ceil(cast.len())).map(scored));
                part.truth.resize(part.right.len(), *class);
            }
        }
    }
    parts.retain(|part| !part.right.is_empty());
    Ok(parts)
}

/// For each feature the sum of the `photos` that follow it, round the circle, and how many they are: never the feature itself.
pub(super) fn following(sample: &Tensor, photos: usize) -> (Tensor, usize) {
    let rows = sample.size()[0];
    let photos = photos.min(rows as usize - 1);
    let mut sum = sample.zeros_like();
    for step in 1..=photos as i64 {
        sum += sample.roll([-step], [0]);
    }
    (sum, photos)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Classes 0 and 2 have two features and one, class 1 none: it does not play.
    #[test]
    fn a_class_without_features_does_not_play() {
        let sample = Tensor::from_slice(&[1.0, 2.0, 3.0]).unsqueeze(1);
        let means = Tensor::from_slice(&[1.0, 5.0, 3.0]).unsqueeze(1);
        let fold = Fold::new(means, Tensor::shallow_clone, (&sample, &[0, 0, 2]), &[0, 1, 2]);
        let found: Vec<(usize, i64)> = fold.samples.iter().map(|(class, rows)| (*class, rows.size()[0])).collect();
        assert_eq!(found, [(0, 2), (2, 1)]);
    }

    #[test]
    fn the_photos_that_follow_are_summed_round_the_circle() {
        let sample = Tensor::from_slice(&[1.0, 10.0, 100.0]).unsqueeze(1);
        let sums = |photos| Vec::<f64>::try_from(following(&sample, photos).0.squeeze()).expect("numbers");
        assert_eq!(sums(1), [10.0, 100.0, 1.0]);
        assert_eq!(sums(9), [110.0, 101.0, 11.0]);
        assert_eq!(following(&sample, 9).1, 2);
        assert_eq!(sums(0), [0.0; 3]);
    }
}
