//! SGD with momentum, and how the learning rate falls.
//!
//! ```text
//! v ← m·v + (∇ + d·θ),      θ ← θ − r·v
//! ```
//!
//! where `∇`, the slopes of all parameters as one vector, may be held to a length.
//!
//! tch's optimizer is tied to one store of variables; proxies come and go with the tasks, so this is our own (ADR 5);
//! the arithmetic is libtorch's fused step.

use std::f64::consts::PI;
use tch::{Kind, Tensor};

/// Stochastic gradient descent.
#[derive(Debug)]
pub struct Sgd {
    parameters: Vec<Tensor>,
    velocities: Vec<Tensor>,
    /// `r`, as a tensor: where the parameters are.
    rate: Tensor,
    momentum: f64,
    weight_decay: f64,
    max_norm: Option<f64>,
}

impl Sgd {
    /// For `parameters`, which start without momentum.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(parameters: impl IntoIterator<Item = Tensor>, momentum: f64, weight_decay: f64) -> Self {
        let parameters: Vec<Tensor> = parameters.into_iter().collect();
        let velocities = parameters.iter().map(Tensor::zeros_like).collect();
        let device = parameters.first().expect("something to learn").device();
        let rate = Tensor::zeros([1], (Kind::Float, device));
        Self { parameters, velocities, rate, momentum, weight_decay, max_norm: None }
    }

    /// The same, whose gradient is shortened to `max_norm` where it is longer.
    pub fn clipped(self, max_norm: Option<f64>) -> Self {
        Self { max_norm, ..self }
    }

    /// `v` by name, in the order of the parameters.
    pub(crate) fn state(&self) -> Vec<(String, Tensor)> {
        let velocities = self.velocities.iter().enumerate();
        velocities.map(|(place, velocity)| (format!("velocity.{place}"), velocity.shallow_clone())).collect()
    }

    /// The learning rate of the steps to come.
    pub fn set_rate(&self, rate: f64) {
        let _ = self.rate.shallow_clone().fill_(rate);
    }

    /// What it moves.
    pub(crate) fn parameters(&self) -> &[Tensor] {
        &self.parameters
    }

    /// Goes down the gradient of `loss`.
    pub fn step(&self, loss: &Tensor) {
        self.clear();
        loss.backward();
        self.apply();
    }

    /// Forgets the gradient.
    pub(crate) fn clear(&self) {
        torch_shim::clear_gradients(&self.parameters);
    }

    /// Goes down the gradient that the parameters have.
    pub(crate) fn apply(&self) {
        let (momentum, weight_decay) = (self.momentum, self.weight_decay);
        torch_shim::sgd_step(&self.parameters, &self.velocities, &self.rate, momentum, weight_decay, self.max_norm);
    }
}

/// How the learning rate falls over the epochs of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Along half a cosine to 0, a step an epoch.
    #[default]
    Cosine,
    /// The same one epoch late, as the authors' code has it: the first two epochs run at the full rate.
    CosineReference,
    /// Not at all.
    Constant,
}

impl Schedule {
    /// The learning rate of epoch `epoch` of `epochs`, counted from 0, that starts at `lr`.
    pub fn rate(self, lr: f64, epoch: usize, epochs: usize) -> f64 {
        let cosine = |epoch: usize| lr * (1.0 + (PI * epoch as f64 / epochs as f64).cos()) / 2.0;
        match self {
            Schedule::Cosine => cosine(epoch),
            Schedule::CosineReference => cosine(epoch.saturating_sub(1)),
            Schedule::Constant => lr,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::golden;

    /// θ = 1, loss θ²: ∇ = 2θ. r = 0.1, m = 0.5, d = 0.1.
    /// v = 2 + 0.1 = 2.1, θ = 0.79; then v = 1.05 + 1.58 + 0.079 = 2.709, θ = 0.5191.
    #[test]
    fn two_steps_by_hand() {
        let parameter = Tensor::from_slice(&[1.0]).set_requires_grad(true);
        let sgd = Sgd::new([parameter.shallow_clone()], 0.5, 0.1);
        sgd.set_rate(0.1);
        for expected in [0.79, 0.5191] {
            sgd.step(&parameter.square().sum(Kind::Double));
            // The rate is a single-precision number.
            assert!((parameter.double_value(&[0]) - expected).abs() < 1e-7);
        }
    }

    /// Slopes 3 and 4 in two tensors, 5 together: with a limit of 1 they are 0.6 and 0.8, with one of 10 as they were.
    /// Weight decay comes on top: θ = 10 and 0, d = 0.1, no momentum, r = 1: 10 − 0.6 − 1 and −0.8, 10 − 3 − 1 and −4.
    #[test]
    fn a_long_gradient_is_shortened_and_a_short_one_is_not() {
        for (max_norm, expected) in [(Some(1.0), [8.4, -0.8]), (Some(10.0), [6.0, -4.0]), (None, [6.0, -4.0])] {
            let parameters = [10.0f32, 0.0].map(|value| Tensor::from_slice(&[value]).set_requires_grad(true));
            let sgd = Sgd::new(parameters.each_ref().map(Tensor::shallow_clone), 0.0, 0.1).clipped(max_norm);
            sgd.set_rate(1.0);
            sgd.step(&(&parameters[0] * 3.0 + &parameters[1] * 4.0).sum(Kind::Float));
            for (parameter, expected) in parameters.iter().zip(expected) {
                let value = parameter.double_value(&[0]);
                assert!((value - expected).abs() < 1e-6, "{max_norm:?}: {value}, not {expected}");
            }
        }
    }

    #[test]
    fn the_cosine_starts_at_the_top_and_is_half_way_down_in_the_middle() {
        assert_eq!(Schedule::Cosine.rate(0.1, 0, 10), 0.1);
        assert!((Schedule::Cosine.rate(0.1, 5, 10) - 0.05).abs() < 1e-12);
        assert_eq!(Schedule::Constant.rate(0.1, 7, 10), 0.1);
    }

    #[test]
    fn golden_rates_of_the_authors_schedule() {
        let expected = Vec::<f64>::try_from(golden().tensor("/lr_reference_10_epochs")).expect("numbers");
        for (epoch, expected) in expected.into_iter().enumerate() {
            assert!((Schedule::CosineReference.rate(0.1, epoch, 10) - expected).abs() < 1e-12);
        }
    }
}
