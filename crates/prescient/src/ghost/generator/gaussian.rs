//! The simple rival that every generator has to beat: mean and spread of a class by ridge regression.
//!
//! ```text
//! M = argmin Σ_c ‖ [μ_c ; log s_c] − M [E_c ; 1] ‖² + λ ‖M‖²,      h = μ + s ⊙ z,      z ~ N(0, 1)
//! ```
//!
//! The constant is not shrunk. Spreads are regressed as logarithms, so that they stay positive.

use crate::class::Slot;
use crate::engine::{Changing, Follow, with_seed};
use crate::ghost::generator::{FeatureBank, Generator};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tch::{Kind, Tensor, no_grad};

/// The regression's settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gaussian {
    /// `λ`. Not a key of a recipe.
    #[serde(skip)]
    pub ridge: f64,
}

impl Default for Gaussian {
    fn default() -> Self {
        Self { ridge: 0.3 }
    }
}

pub(crate) struct Regression {
    settings: Gaussian,
    /// `E`, `[classes, attributes]`.
    attributes: Tensor,
    /// `M`, `[attributes, 2 · width]`.
    map: Tensor,
    /// The constant, `[2 · width]`.
    constant: Tensor,
    /// The mean of the seen classes' attributes, `[attributes]`.
    center: Tensor,
}

impl Regression {
    pub(crate) fn new(settings: Gaussian, attributes: &Tensor, width: usize) -> Self {
        let options = (Kind::Float, attributes.device());
        let inputs = attributes.size()[1];
        Self {
            settings,
            attributes: attributes.shallow_clone(),
            map: Tensor::zeros([inputs, 2 * width as i64], options),
            constant: Tensor::zeros([2 * width as i64], options),
            center: Tensor::zeros([inputs], options),
        }
    }

    fn changing(&self) -> Changing {
        Changing { left: self.tensors().into_iter().collect(), meanwhile: Vec::new() }
    }
}

impl Generator for Regression {
    fn fit(&mut self, seen: &FeatureBank, _: i64, follow: &mut dyn Follow) {
        if follow.begin(&self.changing()) > 0 {
            return;
        }
        let error = no_grad(|| {
            let slots: Vec<i64> = seen.keys().map(|slot| slot.index() as i64).collect();
            let slots = Tensor::from_slice(&slots).to_device(self.attributes.device());
            let inputs = self.attributes.index_select(0, &slots).to_kind(Kind::Double);
            let moments: Vec<Tensor> = seen
                .values()
                .map(|features| {
                    let mean = features.mean_dim([0i64].as_slice(), false, Kind::Double);
                    let spread = (features - &mean.to_kind(Kind::Float)).square();
                    let spread = spread.mean_dim([0i64].as_slice(), false, Kind::Double).sqrt();
                    Tensor::cat(&[mean, spread.clamp_min(1e-4).log()], 0)
                })
                .collect();
            let outputs = Tensor::stack(&moments, 0);
            // A constant that is not shrunk is the same as centering both sides.
            let (center, constant) = (column_means(&inputs), column_means(&outputs));
            let (x, y) = (&inputs - &center, &outputs - &constant);
            let square = x.tr().matmul(&x) + Tensor::eye(x.size()[1], (Kind::Double, x.device())) * self.settings.ridge;
            let map = Tensor::linalg_solve(&square, &x.tr().matmul(&y), true);
            let error = (x.matmul(&map) - y).square().mean(Kind::Double);
            // Row by row, as it comes back from a file: a product rounds by how its factors lie in memory.
            self.map = map.to_kind(Kind::Float).contiguous();
            self.constant = constant.to_kind(Kind::Float);
            self.center = center.to_kind(Kind::Float);
            error
        });
        follow.epoch(1, f64::try_from(error).unwrap_or(f64::NAN), &self.changing());
    }

    fn epochs(&self) -> usize {
        1
    }

    fn draw(&self, slot: Slot, count: usize, seed: i64) -> Tensor {
        no_grad(|| {
            let input = (self.attributes.get(slot.index() as i64) - &self.center).unsqueeze(0);
            let moments = (input.matmul(&self.map) + &self.constant).squeeze_dim(0).chunk(2, 0);
            let (mean, spread) = (&moments[0], moments[1].exp());
            let shape = [count as i64, mean.size()[0]];
            let noise = with_seed(seed, || Tensor::randn(shape, (Kind::Float, mean.device())));
            mean + spread * noise
        })
    }

    fn tensors(&self) -> BTreeMap<String, Tensor> {
        let parts = [("map", &self.map), ("constant", &self.constant), ("center", &self.center)];
        parts.into_iter().map(|(name, tensor)| (name.to_owned(), tensor.shallow_clone())).collect()
    }

    fn restore(&mut self, tensors: &BTreeMap<String, Tensor>) -> Result<(), String> {
        let device = self.attributes.device();
        let get = |name: &str| tensors.get(name).map(|tensor| tensor.to_device(device)).ok_or_else(|| name.to_owned());
        (self.map, self.constant, self.center) = (get("map")?, get("constant")?, get("center")?);
        Ok(())
    }
}

fn column_means(rows: &Tensor) -> Tensor {
    rows.mean_dim([0i64].as_slice(), false, Kind::Double)
}
