//! The covariance within classes, `Σ`, which all classes share.

use super::sums::{FOLDS, Sums, fold};
use crate::error::LearnError;
use tch::{Kind, Tensor};

/// The covariance within classes, before it is shrunk.
pub(super) struct Covariance {
    /// `[width, width]`.
    values: Tensor,
    /// The mean variance of an axis.
    mean: f64,
    /// `N − C`: how many photos speak of it. 0 where every class has one photo.
    pub(super) freedom: f64,
}

impl Covariance {
    /// Of the photos behind `sums`, without those of the classes of a fold where there is one; `means` are those of all
    /// classes, `[classes, width]`.
    pub(super) fn new(sums: &Sums, means: &Tensor, without: Option<usize>) -> Self {
        let (within, freedom) = sums.within(without);
        let width = sums.width() as i64;
        if freedom > 0.0 {
            let values = within / freedom;
            let mean = values.trace().double_value(&[]) / width as f64;
            if mean > 1e-12 {
                return Self { values, mean, freedom };
            }
        }
        // Nothing is known of it: as far in each direction as half of what classes are apart.
        let apart = means - means.mean_dim([0i64].as_slice(), true, Kind::Double);
        let apart = apart.square().sum(Kind::Double).double_value(&[]) / (means.size()[0] - 1).max(1) as f64;
        let mean = (apart / width as f64 / 2.0).max(1e-3 / width as f64);
        Self { values: Tensor::eye(width, (Kind::Double, tch::Device::Cpu)) * mean, mean, freedom: 0.0 }
    }

    /// What makes it a ball, once it is shrunk towards one.
    pub(super) fn whitening(&self, shrinkage: f64) -> Result<Whitening, LearnError> {
        let shrunk = &self.values * (1.0 - shrinkage);
        let _ = shrunk.diagonal(0, 0, 1).g_add_scalar_(self.mean * shrinkage);
        Ok(Whitening { root: shrunk.f_linalg_cholesky(false)? })
    }
}

/// The classes of `sums` fold by fold, by their places among `names`, each fold with the covariance of all others.
pub(super) fn fold_by_fold(sums: &Sums, means: &Tensor, names: &[&str]) -> Vec<(Covariance, Vec<usize>)> {
    let classes = |place: usize| (0..names.len()).filter(|&class| fold(names[class]) == place).collect();
    let folds = (0..FOLDS).map(|place| (place, classes(place))).filter(|(_, of): &(_, Vec<usize>)| !of.is_empty());
    folds.map(|(place, of)| (Covariance::new(sums, means, Some(place)), of)).collect()
}

/// `L⁻¹` where `Σ = L Lᵀ`: what it makes of features has the identity as its covariance.
#[derive(Debug)]
pub(super) struct Whitening {
    root: Tensor,
}

impl Whitening {
    /// The same.
    pub(super) fn shallow_clone(&self) -> Self {
        Self { root: self.root.shallow_clone() }
    }

    /// Rows `[rows, width]`, whitened.
    pub(super) fn apply(&self, rows: &Tensor) -> Tensor {
        // Z = H L⁻ᵀ.
        self.root.tr().linalg_solve_triangular(rows, true, false, false)
    }

    /// The matrix that does the same from the right, `[width, width]`.
    pub(super) fn matrix(&self) -> Tensor {
        self.apply(&Tensor::eye(self.root.size()[0], (Kind::Double, tch::Device::Cpu)))
    }

    /// What [`Whitening::apply`] would make `rows` of, `[rows, width]`.
    pub(super) fn undo(&self, rows: &Tensor) -> Tensor {
        rows.matmul(&self.root.tr())
    }
}
