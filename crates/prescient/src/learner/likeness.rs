//! Ghosts beside real features of the same classes: how far they miss, and whom they would be taken for.

use crate::class::Slot;
use crate::engine::norm::{norm, unit_rows};
use crate::error::LearnError;
use crate::evaluation::Likeness;
use crate::ghost::Scaler;
use crate::loss::Mmd;
use std::collections::BTreeMap;
use tch::{Kind, Tensor, no_grad};

/// Real features of classes, of length 1.
pub(super) struct Real {
    slots: Vec<Slot>,
    features: Vec<Tensor>,
    /// Their directions, `[classes, width]`.
    means: Tensor,
    scaler: Scaler,
}

impl Real {
    /// The features of each class, `[images, width]`.
    ///
    /// # Panics
    /// If there are none.
    pub(super) fn new(classes: BTreeMap<Slot, Tensor>) -> Self {
        let (slots, features): (Vec<Slot>, Vec<Tensor>) = classes.into_iter().unzip();
        let means = no_grad(|| {
            let means: Vec<Tensor> = features.iter().map(mean).collect();
            unit_rows(&Tensor::stack(&means, 0))
        });
        let scaler = Scaler::fit(&Tensor::cat(&features, 0));
        Self { slots, features, means, scaler }
    }

    /// The classes.
    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// How like `ghosts`, `[count, width]` and of length 1, are to the class at `place`.
    pub(super) fn like(
        &self,
        place: usize,
        ghosts: &Tensor,
        (class, seen): (String, bool),
    ) -> Result<Likeness, LearnError> {
        let (features, means) = (&self.features[place], &self.means);
        let ghost_mean = unit_rows(&mean(ghosts).unsqueeze(0));
        let to_means = ghost_mean.matmul(&means.tr()).squeeze_dim(0);
        let own = means.get(place as i64);
        let to_others = Vec::<f32>::try_from(means.mv(&own))?;
        let others = to_others.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, cosine)| *cosine);
        let nearest = others.fold(-1.0f32, f32::max);
        let answers = ghosts.matmul(&means.tr()).argmax(1, false).eq(place as i64);
        let (scaled_real, scaled_ghosts) = (self.scaler.scale(features), self.scaler.scale(ghosts));
        Ok(Likeness {
            class,
            seen,
            turned: degrees(to_means.double_value(&[place as i64])),
            nearest: degrees(f64::from(nearest)),
            spread: spread(ghosts)? / spread(features)?.max(1e-12),
            mmd: f64::try_from(Mmd::default().loss(&scaled_real, &scaled_ghosts))?,
            agree: f64::try_from(answers.mean(Kind::Float))?,
        })
    }
}

fn mean(rows: &Tensor) -> Tensor {
    rows.mean_dim([0i64].as_slice(), false, Kind::Float)
}

/// The root mean square of the distances from the mean.
fn spread(rows: &Tensor) -> Result<f64, LearnError> {
    Ok(f64::try_from(norm(&(rows - mean(rows))).square().mean(Kind::Float).sqrt())?)
}

fn degrees(cosine: f64) -> f64 {
    cosine.clamp(-1.0, 1.0).acos().to_degrees()
}
