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
    /// `(K + ridge)⁻¹`, `[seen, seen]`.
    pub(super) inverse: Tensor,
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
        let ridge = best.expect("there are ridges").ridge;
        let Tried { inverse, misses, .. } = Tried::new(likenesses, means, counts, noise, (ridge, kappa))?;
        let shares = likenesses.unseen.matmul(&inverse);
        Ok(Self { left_out: means - &misses, misses, unseen: shares.matmul(means), shares, kappa, ridge, inverse })
    }

    /// The same ghosts where the same classes have other `means`, whitened in another way.
    pub(super) fn seen_from(&self, means: &Tensor) -> Self {
        let Self { shares, kappa, ridge, inverse, .. } = self;
        let misses = misses(inverse, means);
        Self {
            left_out: means - &misses,
            misses,
            unseen: shares.matmul(means),
            shares: shares.shallow_clone(),
            kappa: *kappa,
            ridge: *ridge,
            inverse: inverse.shallow_clone(),
        }
    }

    /// Had one class no photos: by how much the ghosts of the others miss, `[seen, width]`, and the ghosts of classes without
    /// photos, `[unseen, width]`. The row of the class itself means nothing.
    pub(super) fn without(&self, class: usize) -> (Tensor, Tensor) {
        let class = class as i64;
        let (own, column) = (self.inverse.diagonal(0, 0, 1), self.inverse.select(1, class));
        let left = &own - column.square() / own.double_value(&[class]);
        let left = left.index_fill(0, &Tensor::from_slice(&[class]), 1.0);
        let miss = self.misses.get(class).unsqueeze(0);
        let misses = (&self.misses * own.unsqueeze(1) - column.unsqueeze(1) * &miss) / left.unsqueeze(1);
        (misses, &self.unseen - self.shares.select(1, class).unsqueeze(1) * &miss)
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
        let misses = misses(&inverse, means);
        let errors =
            misses.square().sum_dim_intlist([1i64].as_slice(), false, Kind::Double) - counts.reciprocal() * noise;
        let trust = doubt.reciprocal();
        let error = (errors * &trust).sum(Kind::Double) / trust.sum(Kind::Double);
        Ok(Self { error: error.double_value(&[]), ridge, inverse, misses })
    }
}

/// By how much the ghost of each class misses its mean, predicted without it.
fn misses(inverse: &Tensor, means: &Tensor) -> Tensor {
    inverse.matmul(means) / inverse.diagonal(0, 0, 1).unsqueeze(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::with_seed;

    /// Leaving a class out in closed form is the same as never having had it.
    #[test]
    fn a_class_left_out_is_as_if_it_had_never_been_there() {
        let draw = |rows: i64, columns: i64| Tensor::randn([rows, columns], (Kind::Double, tch::Device::Cpu));
        let (described, means) = with_seed(3, || (draw(7, 3), draw(5, 4)));
        let likeness = described.matmul(&described.tr()) + 1.0;
        let of = |seen: &[i64]| {
            let seen = Tensor::from_slice(seen);
            let rows = likeness.index_select(0, &seen);
            Likenesses { seen: rows.index_select(1, &seen), unseen: likeness.narrow(0, 5, 2).index_select(1, &seen) }
        };
        let counts = Tensor::from_slice(&[4.0, 1.0, 9.0, 2.0, 30.0]);
        let ghosts = Ghosts::new(&of(&[0, 1, 2, 3, 4]), &means, &counts, 1.5).expect("ghosts");
        let (misses, unseen) = ghosts.without(2);
        let rest = Tensor::from_slice(&[0i64, 1, 3, 4]);
        let never = Tried::new(
            &of(&[0, 1, 3, 4]),
            &means.index_select(0, &rest),
            &counts.index_select(0, &rest),
            1.5,
            (ghosts.ridge, ghosts.kappa),
        );
        let never = never.expect("ghosts");
        let expected = of(&[0, 1, 3, 4]).unseen.matmul(&never.inverse).matmul(&means.index_select(0, &rest));
        assert!((misses.index_select(0, &rest) - never.misses).abs().max().double_value(&[]) < 1e-9);
        assert!((unseen - expected).abs().max().double_value(&[]) < 1e-9);
    }
}
