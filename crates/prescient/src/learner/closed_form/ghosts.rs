//! Ghosts: the means of classes as their descriptions predict them, by kernel ridge regression.
//!
//! A class with photos has a ghost too, predicted without its own photos: in closed form, for all classes at once. How far
//! those ghosts miss says what a description is worth, in photos.

use super::information::Likenesses;
use crate::error::LearnError;
use tch::{Kind, Tensor};

/// What a description is taken to be worth before that is known, in photos.
const FIRST_GUESS: f64 = 5.0;

/// Ghosts in whitened space.
pub(super) struct Ghosts {
    /// Of classes with photos, each predicted without its own: `[seen, width]`.
    pub(super) left_out: Tensor,
    /// By how much each of those misses, `[seen, width]`.
    pub(super) misses: Tensor,
    /// Of classes without photos, `[unseen, width]`.
    pub(super) unseen: Tensor,
    /// How much each seen mean counts for each ghost, `[unseen, seen]`.
    pub(super) shares: Tensor,
    /// `κ`: what a description is worth, in photos.
    pub(super) kappa: f64,
    /// The ridge that predicted best.
    pub(super) ridge: f64,
}

/// The ridges that are tried.
fn ridges() -> impl Iterator<Item = f64> {
    (-8..=8).map(|quarter| 10f64.powf(f64::from(quarter) / 4.0))
}

/// One ridge, and how it does.
struct Tried {
    error: f64,
    ridge: f64,
    inverse: Tensor,
    misses: Tensor,
}

impl Ghosts {
    /// From whitened means `[seen, width]` of classes with `counts` photos, `[seen]`; `noise` is the mean squared distance of a
    /// photo to its class's mean.
    pub(super) fn new(
        likenesses: &Likenesses,
        means: &Tensor,
        counts: &Tensor,
        noise: f64,
    ) -> Result<Self, LearnError> {
        let mut kappa = FIRST_GUESS;
        let mut best: Option<Tried> = None;
        // Once with the guess, once with what came out of it.
        for _ in 0..2 {
            best = None;
            for ridge in ridges() {
                let tried = Tried::new(likenesses, means, counts, noise, (ridge, kappa))?;
                if best.as_ref().is_none_or(|best| tried.error < best.error) {
                    best = Some(tried);
                }
            }
            let error = best.as_ref().expect("there are ridges").error;
            kappa = noise / error.max(1e-3 * noise);
        }
        let Tried { ridge, inverse, misses, .. } = best.expect("there are ridges");
        let shares = likenesses.unseen.matmul(&inverse);
        Ok(Self { left_out: means - &misses, misses, unseen: shares.matmul(means), shares, kappa, ridge })
    }
}

impl Tried {
    fn new(
        likenesses: &Likenesses,
        means: &Tensor,
        counts: &Tensor,
        noise: f64,
        (ridge, kappa): (f64, f64),
    ) -> Result<Self, LearnError> {
        // The mean of few photos is itself uncertain: it resists less, and counts less as a target.
        let doubt = counts.reciprocal() * kappa + 1.0;
        let inverse = (&likenesses.seen + (&doubt * ridge).diag(0)).f_inverse()?;
        let misses = inverse.matmul(means) / inverse.diagonal(0, 0, 1).unsqueeze(1);
        let errors =
            misses.square().sum_dim_intlist([1i64].as_slice(), false, Kind::Double) - counts.reciprocal() * noise;
        let trust = doubt.reciprocal();
        let error = (errors * &trust).sum(Kind::Double) / trust.sum(Kind::Double);
        Ok(Self { error: error.double_value(&[]), ridge, inverse, misses })
    }
}
