//! Adam, in few calls.
//!
//! ```text
//! m ← β₁·m + (1 − β₁)·∇,      v ← β₂·v + (1 − β₂)·∇²,      θ ← θ − r · m̂ / (√v̂ + ε)
//! ```
//!
//! with `m̂ = m / (1 − β₁ᵏ)` and `v̂ = v / (1 − β₂ᵏ)` at step `k`. libtorch's fused step: tch's own Adam makes a dozen
//! calls for each parameter, and a step of the generator is hardly more than that.

use super::has_kernels_on;
use tch::{Kind, Tensor};
use torch_shim::AdamState;

/// Adam over a list of parameters.
#[derive(Debug)]
pub struct Adam {
    parameters: Vec<Tensor>,
    state: AdamState,
    rate: Tensor,
}

impl Adam {
    /// For `parameters`, nothing behind them.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(parameters: Vec<Tensor>, rate: f64) -> Self {
        let device = parameters.first().expect("something to learn").device();
        let state = AdamState::new(&parameters);
        Self { rate: Tensor::full([1], rate, (Kind::Float, device)), parameters, state }
    }

    /// What it keeps of the past, by name.
    pub(crate) fn state(&self) -> Vec<(String, Tensor)> {
        let AdamState { means, squares, counts } = &self.state;
        let named = [("mean", means), ("square", squares), ("count", counts)].into_iter();
        let one = |kind, (place, tensor): (usize, &Tensor)| (format!("{kind}.{place}"), tensor.shallow_clone());
        named.flat_map(|(kind, tensors)| tensors.iter().enumerate().map(move |each| one(kind, each))).collect()
    }

    /// Goes down the gradient of `loss`.
    pub fn step(&self, loss: &Tensor) {
        torch_shim::clear_gradients(&self.parameters);
        loss.backward();
        self.descend();
    }

    /// Goes down the gradient of a loss of which no more is known than its slope in `result`.
    pub fn step_from(&self, result: &Tensor, slope: &Tensor) {
        torch_shim::clear_gradients(&self.parameters);
        torch_shim::backward_from(result, slope);
        self.descend();
    }

    /// Moves the parameters by the gradients that they have.
    fn descend(&self) {
        let _ = torch_shim::adam_step(&self.parameters, &self.state, &self.rate, has_kernels_on(self.rate.device()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// θ = 1, loss θ², r = 0.1. First step: m̂ = ∇ and v̂ = ∇², so θ falls by 0.1. Then ∇ = 1.8:
    /// m = 0.9·0.2 + 0.18 = 0.36, m̂ = 0.36 / 0.19; v = 0.999·0.004 + 0.00324 = 0.007236, v̂ = v / 0.001999;
    /// θ = 0.9 − 0.1 · 1.894737 / 1.902586 = 0.800413.
    #[test]
    fn two_steps_by_hand() {
        let parameter = Tensor::from_slice(&[1.0f32]).set_requires_grad(true);
        let adam = Adam::new(vec![parameter.shallow_clone()], 0.1);
        for expected in [0.9, 0.800_413] {
            adam.step(&parameter.square().sum(Kind::Float));
            assert!((parameter.double_value(&[0]) - expected).abs() < 1e-5, "{}", parameter.double_value(&[0]));
        }
    }

    /// The slope of θ² is 2θ: given at θ, or at 3θ as a third of it, the steps are those of the loss.
    #[test]
    fn a_slope_is_as_good_as_a_loss() {
        for factor in [1.0, 3.0] {
            let parameter = Tensor::from_slice(&[1.0f32]).set_requires_grad(true);
            let adam = Adam::new(vec![parameter.shallow_clone()], 0.1);
            for expected in [0.9, 0.800_413] {
                let result = &parameter * factor;
                adam.step_from(&result, &(parameter.detach() * 2.0 / factor));
                assert!((parameter.double_value(&[0]) - expected).abs() < 1e-5, "{}", parameter.double_value(&[0]));
            }
        }
    }
}
