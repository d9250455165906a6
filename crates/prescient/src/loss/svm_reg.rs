//! The latent regularization: Eq. 5. Features of seen classes stay out of the places kept for future ones.
//!
//! ```text
//!                1
//! L = ────────────────── Σ_i Σ_{c ∈ C^{t+1:T}} [ w_c·ĥ_i + b_c + τ ]₊ ,      ĥ = h / ‖h‖
//!      N · |C^{t+1:T}|
//! ```
//!
//! Each plane has the ghosts of its class on the positive side, so seen features want to be at −τ and below.

use crate::engine::norm::unit_rows;
use crate::ghost::svm::Plane;
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor, no_grad};

/// The latent regularization's settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SvmReg {
    /// `λ₂`. 0 leaves it out.
    pub weight: f64,
    /// `τ`: how far behind the plane features have to stay. The paper's 1 in recipes.
    #[serde(skip)]
    pub margin: f64,
}

impl Default for SvmReg {
    fn default() -> Self {
        Self { weight: 1e-3, margin: 1.0 }
    }
}

/// The planes of all future classes, as tensors.
#[derive(Debug)]
pub struct Planes {
    /// `[classes, width]`.
    normals: Tensor,
    /// `[classes]`.
    biases: Tensor,
}

impl Planes {
    /// From one plane a class.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(planes: &[Plane], device: Device) -> Self {
        let normals: Vec<Tensor> = planes.iter().map(|plane| Tensor::from_slice(&plane.normal)).collect();
        let biases: Vec<f32> = planes.iter().map(|plane| plane.bias).collect();
        Self {
            normals: Tensor::stack(&normals, 0).to_device(device),
            biases: Tensor::from_slice(&biases).to_device(device),
        }
    }

    /// By name.
    pub(crate) fn tensors(&self) -> [(&'static str, Tensor); 2] {
        [("normals", self.normals.shallow_clone()), ("biases", self.biases.shallow_clone())]
    }

    /// Moves each plane to where `other` has it: in place, so that whoever holds them sees the new ones.
    pub fn move_to(&self, other: &Planes) {
        no_grad(|| {
            self.normals.shallow_clone().copy_(&other.normals);
            self.biases.shallow_clone().copy_(&other.biases);
        });
    }
}

impl SvmReg {
    /// The mean over features `[batch, width]` and planes.
    pub fn loss(&self, features: &Tensor, planes: &Planes) -> Tensor {
        self.hinges(features, planes).mean(Kind::Float)
    }

    /// The same over the rows that `wanted`, `[batch]`, marks; 0 where it marks none.
    pub fn loss_of(&self, features: &Tensor, planes: &Planes, wanted: &Tensor) -> Tensor {
        let rows = self.hinges(features, planes).mean_dim([1i64].as_slice(), false, Kind::Float);
        let wanted = wanted.to_kind(Kind::Float);
        (rows * &wanted).sum(Kind::Float) / wanted.sum(Kind::Float).clamp_min(1.0)
    }

    /// `[ w_c·ĥ_i + b_c + τ ]₊`, `[batch, classes]`.
    fn hinges(&self, features: &Tensor, planes: &Planes) -> Tensor {
        let kind = features.kind();
        let decisions = unit_rows(features).matmul(&planes.normals.to_kind(kind).tr()) + planes.biases.to_kind(kind);
        (decisions + self.margin).relu()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{assert_close, assert_gradient_matches, golden, matrix};

    /// Planes that were moved cost what those cost to which they were moved.
    #[test]
    fn planes_move_in_place() {
        let there = planes();
        let here = Planes { normals: there.normals.zeros_like(), biases: there.biases.zeros_like() };
        let held = Planes { normals: here.normals.shallow_clone(), biases: here.biases.shallow_clone() };
        let features = matrix([[0.3, -0.4], [1.0, 2.0]]);
        let cost = |planes: &Planes| f64::try_from(SvmReg::default().loss(&features, planes)).expect("a number");
        assert!((cost(&held) - 1.0).abs() < 1e-6, "without a plane all cost the margin");
        here.move_to(&there);
        assert_eq!(cost(&held), cost(&there));
        assert!((cost(&there) - 1.0).abs() > 1e-3);
    }

    fn planes() -> Planes {
        let plane = |normal: [f32; 2], bias| Plane { normal: normal.to_vec(), bias };
        Planes::new(&[plane([1.0, 0.0], -0.5), plane([0.0, -2.0], 0.0)], Device::Cpu)
    }

    /// ĥ = (0.6, 0.8), τ = 1: 0.6 − 0.5 + 1 = 1.1 and −1.6 + 1 < 0: (1.1 + 0) / 2.
    #[test]
    fn loss_by_hand() {
        assert_close(&SvmReg::default().loss(&matrix([[3.0, 4.0]]), &planes()), 0.55);
    }

    /// Of two rows the first counts, 0.55 as above; the other, ĥ = (0, −1), would cost (0.5 + 3) / 2. No row: nothing.
    #[test]
    fn rows_that_are_not_wanted_cost_nothing() {
        let features = matrix([[3.0, 4.0], [0.0, -1.0]]);
        let of = |wanted: [bool; 2]| SvmReg::default().loss_of(&features, &planes(), &Tensor::from_slice(&wanted));
        assert_close(&of([true, false]), 0.55);
        assert_close(&of([true, true]), (0.55 + 1.75) / 2.0);
        assert_close(&of([false, false]), 0.0);
    }

    #[test]
    fn gradient_matches_finite_differences() {
        assert_gradient_matches(&matrix([[0.8, 0.1], [0.2, -0.4]]), |h| SvmReg::default().loss(h, &planes()));
    }

    #[test]
    fn a_zero_feature_has_a_finite_slope() {
        let features = matrix([[0.0, 0.0]]).set_requires_grad(true);
        SvmReg::default().loss(&features, &planes()).backward();
        let slopes = Vec::<f64>::try_from(features.grad().flatten(0, -1)).expect("numbers");
        assert!(slopes.iter().all(|slope| slope.is_finite()));
    }

    /// The authors' SVC and hinge, from their features to the loss.
    #[test]
    fn golden_plane_and_hinge_of_the_authors_functions() {
        use crate::ghost::svm::{Rows, SvmSettings, fit};
        let golden = golden();
        let features = Vec::<Vec<f64>>::try_from(golden.tensor("/svm/X_l2")).expect("numbers");
        let ghost = Vec::<f64>::try_from(golden.tensor("/svm/target_ghost_is_1")).expect("numbers");
        let side = |wanted: f64| -> Vec<f32> {
            let rows = features.iter().zip(&ghost).filter(|(_, target)| **target == wanted);
            rows.flat_map(|(row, _)| row.iter().map(|x| *x as f32)).collect()
        };
        let (negatives, positives) = (side(0.0), side(1.0));
        let settings = SvmSettings { cost: 1.0, tolerance: 1e-5 };
        let plane = fit(Rows::new(&negatives, 3), Rows::new(&positives, 3), settings);
        let expected = Vec::<f64>::try_from(golden.tensor("/svm/w")).expect("numbers");
        for (found, expected) in plane.normal.iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-3, "{plane:?}");
        }
        assert!((f64::from(plane.bias) - golden.number("/svm/b")).abs() < 1e-3, "{plane:?}");
        let first_four = golden.tensor("/svm/X_l2").narrow(0, 0, 4);
        let loss = SvmReg::default().loss(&first_four, &Planes::new(&[plane], Device::Cpu));
        let found = f64::try_from(loss).expect("a number");
        assert!((found - golden.number("/svm/hinge_tau1_on_first4_mean")).abs() < 1e-3, "{found}");
    }
}
