//! PODNet's distillation: maps keep their profile along width and height, features their direction.
//!
//! ```text
//! p(x) = [ Σ_w x²  ;  Σ_h x² ]             one map's profile, over channels and rows, then channels and columns
//! L    = mean over stages and batch of ‖ p(x^{t−1})/‖p(x^{t−1})‖ − p(x^t)/‖p(x^t)‖ ‖
//! ```
//!
//! Squares before the sums, as the authors do (it "improves results").

use crate::engine::has_kernels;
use crate::engine::norm::{norm, unit_rows};
use crate::extractor::Representation;
use crate::loss::Terms;
use crate::loss::distill::Distillation;
use crate::loss::distill::less_forget::turned;
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

/// POD.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pod {
    /// `λ₁`, the weight of the maps: 3 for AwA2, 15 for aP&Y.
    pub weight: f64,
    /// The weight of the features.
    pub flat: f64,
}

impl Default for Pod {
    fn default() -> Self {
        Self { weight: 3.0, flat: 1.0 }
    }
}

impl Distillation for Pod {
    fn terms(&self, old: &Representation, new: &Representation) -> Terms {
        let mut terms = Terms::default();
        // Rows of numbers have no maps; a recipe that asks for their weight is refused before it begins.
        if !old.stages.is_empty() {
            terms.push("pod", spatial(&old.stages, &new.stages) * self.weight);
        }
        terms.push("pod-flat", turned(&old.features, &new.features) * self.flat);
        terms
    }
}

/// How far the profiles of maps `[batch, channels, height, width]` have moved, over all stages.
fn spatial(old: &[Tensor], new: &[Tensor]) -> Tensor {
    if old.iter().chain(new).all(has_kernels) {
        return torch_shim::pod(old, new).mean(Kind::Float);
    }
    let moved = old.iter().zip(new).map(|(old, new)| norm(&(profile(old) - profile(new))).mean(Kind::Float));
    moved.sum::<Tensor>() / old.len() as f64
}

fn profile(maps: &Tensor) -> Tensor {
    // Maps may come in half precision; their sums need more.
    let kind = if maps.kind() == Kind::BFloat16 { Kind::Float } else { maps.kind() };
    // Where all channels of a pixel lie together, so do those of the slope: nothing has to be turned on the way back.
    let (maps, height, width) = match torch_shim::is_channels_last(maps) {
        true => (maps.permute([0, 2, 3, 1]), 1, 2),
        false => (maps.shallow_clone(), 2, 3),
    };
    let squares = maps.square();
    let over = |dim: i64| squares.sum_dim_intlist([dim].as_slice(), false, kind).flatten(1, -1);
    unit_rows(&Tensor::cat(&[over(width), over(height)], 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{assert_close, assert_gradient_matches, golden};

    fn map(values: [f64; 4]) -> Tensor {
        Tensor::from_slice(&values).reshape([1, 1, 2, 2])
    }

    /// One channel. Old map (1 0 / 0 0): squares summed over width (1, 0), over height (1, 0); unit: (1, 0, 1, 0)/√2.
    /// New map (0 0 / 0 2): (0, 4, 0, 4), unit: (0, 1, 0, 1)/√2. Distance: √(4 · ½) = √2.
    #[test]
    fn loss_by_hand() {
        let loss = spatial(&[map([1.0, 0.0, 0.0, 0.0])], &[map([0.0, 0.0, 0.0, 2.0])]);
        assert_close(&loss, 2f64.sqrt());
    }

    #[test]
    fn sign_and_strength_do_not_matter() {
        let loss = spatial(&[map([1.0, 2.0, 0.5, 0.0])], &[map([-3.0, 6.0, -1.5, 0.0])]);
        // The norm is clamped away from the root's corner, so nothing moved is 1e-6 rather than 0.
        assert!(f64::try_from(loss).expect("a number") <= 1e-6);
    }

    /// Three channels of 4 × 5 pixels, plane by plane and pixel by pixel: the same loss, the same slope.
    #[test]
    fn the_layout_of_maps_does_not_matter() {
        let numbers =
            |from: f64| Tensor::arange(60, (Kind::Float, tch::Device::Cpu)).reshape([1, 3, 4, 5]) * 0.1 + from;
        let of = |turn: fn(&Tensor) -> Tensor| {
            let new = turn(&(numbers(-2.0).sin())).set_requires_grad(true);
            let loss = spatial(&[turn(&numbers(0.5).cos())], &[new.shallow_clone()]);
            loss.backward();
            (loss, new.grad())
        };
        let (planes, pixels) = (of(Tensor::contiguous), of(torch_shim::channels_last));
        assert_close(&(planes.0 - pixels.0), 0.0);
        assert_close(&(planes.1 - &pixels.1).abs().max(), 0.0);
        assert!(torch_shim::is_channels_last(&pixels.1));
    }

    #[test]
    fn stages_weigh_the_same() {
        let (still, moved) = (map([1.0, 0.0, 0.0, 0.0]), map([0.0, 0.0, 0.0, 1.0]));
        let loss = spatial(&[still.shallow_clone(), still.shallow_clone()], &[still, moved]);
        assert_close(&loss, (2f64.sqrt() + 1e-6) / 2.0);
    }

    #[test]
    fn gradient_matches_finite_differences() {
        let old = [map([0.3, -0.4, 1.0, 0.2])];
        assert_gradient_matches(&map([0.8, 0.1, -0.3, 0.5]), |new| spatial(&old, &[new.shallow_clone()]));
    }

    #[test]
    fn where_nothing_has_moved() {
        let old = map([0.3, -0.4, 1.0, 0.2]);
        for still in [old.shallow_clone(), map([0.0; 4])] {
            let new = still.copy().set_requires_grad(true);
            let loss = spatial(&[still], &[new.shallow_clone()]);
            loss.backward();
            let slopes = Vec::<f64>::try_from(new.grad().flatten(0, -1)).expect("numbers");
            assert!(slopes.iter().all(|slope| slope.is_finite()), "{slopes:?}");
            assert!(f64::try_from(loss).expect("a number") <= 1e-6);
        }
    }

    #[test]
    fn golden_value_of_the_authors_function() {
        let golden = golden();
        let stages = |side: &str| -> Vec<Tensor> {
            (0..2).map(|layer| golden.tensor(&format!("/pod_spatial/{side}/{layer}"))).collect()
        };
        assert_close(&spatial(&stages("layers_old"), &stages("layers_new")), golden.number("/pod_spatial/loss"));
    }
}
