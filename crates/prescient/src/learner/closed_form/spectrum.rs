//! The covariance within classes, `Σ`, which all classes share: in its own axes, so that any shrinkage costs nothing more.

use super::sums::Sums;
use crate::error::LearnError;
use tch::{Kind, Tensor};

/// The covariance within classes, in its own axes.
pub(super) struct Spectrum {
    /// The variance along each axis, `[width]`.
    values: Tensor,
    /// The axes, a column each: `[width, width]`.
    pub(super) axes: Tensor,
    /// The mean variance.
    mean: f64,
    /// `N − C`: how many photos speak of it. 0 where every class has one photo.
    pub(super) freedom: f64,
}

impl Spectrum {
    /// Of the photos behind `sums`, with the means of the classes, `[classes, width]`.
    pub(super) fn new(sums: &Sums, means: &Tensor) -> Result<Self, LearnError> {
        let (width, classes) = (sums.width() as i64, means.size()[0]);
        let freedom = sums.photos() as f64 - classes as f64;
        let options = (Kind::Double, tch::Device::Cpu);
        let (values, axes) = match freedom > 0.0 {
            true => {
                let within = sums.within() / freedom;
                let (values, axes) = ((&within + within.tr()) * 0.5).f_linalg_eigh("L")?;
                (values.clamp_min(0.0), axes)
            }
            false => (Tensor::zeros([width], options), Tensor::eye(width, options)),
        };
        let mean = values.mean(Kind::Double).double_value(&[]);
        if mean > 1e-12 {
            return Ok(Self { values, axes, mean, freedom });
        }
        // Nothing is known of it: as far in each direction as half of what classes are apart.
        let apart = means - means.mean_dim([0i64].as_slice(), true, Kind::Double);
        let apart = apart.square().sum(Kind::Double).double_value(&[]) / (classes - 1).max(1) as f64;
        let mean = (apart / width as f64 / 2.0).max(1e-3 / width as f64);
        Ok(Self { values: Tensor::full([width], mean, options), axes, mean, freedom: 0.0 })
    }

    /// `Σ^{−½}` along each axis, for a shrinkage towards a ball: `[width]`.
    pub(super) fn scales(&self, shrinkage: f64) -> Tensor {
        (&self.values * (1.0 - shrinkage) + self.mean * shrinkage).rsqrt()
    }
}
