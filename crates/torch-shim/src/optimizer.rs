//! A step of SGD or Adam on all parameters at once.
//!
//! A ResNet18 has 62 parameters; five small operations for each of them are 310 calls a step, and on a GPU a call costs
//! more than the work it starts.

use tch::{Kind, Tensor};
use torch_sys::C_tensor;

use crate::error::assume;
use crate::{ffi, small};

/// Forgets the gradients: the next backward pass writes fresh ones instead of adding to zeros.
pub fn clear_gradients(parameters: &[Tensor]) {
    let pointers = pointers(parameters);
    // SAFETY: the pointers are those of live tensors of tch's, and as many as `count` says.
    assume(unsafe { ffi::shim_clear_gradients(pointers.as_ptr(), count(&pointers)) });
}

/// `v ← m·v + (∇ + d·θ)`, `θ ← θ − r·v` for every parameter that has a gradient. `rate` is a tensor of one value on the
/// parameters' device; velocities start at 0. Where the gradients of all parameters together are longer than `max_norm`,
/// they are shortened to that first, in place; `max_norm` is above 0.
///
/// # Panics
/// If there is not one velocity a parameter, of its kind and size.
pub fn sgd_step(
    parameters: &[Tensor],
    velocities: &[Tensor],
    rate: &Tensor,
    momentum: f64,
    weight_decay: f64,
    max_norm: Option<f64>,
) {
    assert_eq!(parameters.len(), velocities.len(), "one velocity a parameter");
    let (values, speeds) = (pointers(parameters), pointers(velocities));
    // SAFETY: all pointers are those of live tensors of tch's, as many of each as `count` says, only borrowed.
    assume(unsafe {
        ffi::shim_sgd_step(
            values.as_ptr(),
            speeds.as_ptr(),
            count(&values),
            rate.as_ptr(),
            momentum,
            weight_decay,
            max_norm.unwrap_or(0.0),
        )
    });
}

/// What Adam keeps of the past, one of each for each parameter; all start at 0.
#[derive(Debug)]
pub struct AdamState {
    /// Running means of the gradients.
    pub means: Vec<Tensor>,
    /// Running means of their squares.
    pub squares: Vec<Tensor>,
    /// How many steps were taken, a single-precision tensor of one value each.
    pub counts: Vec<Tensor>,
}

impl AdamState {
    /// For `parameters`, nothing behind them.
    pub fn new(parameters: &[Tensor]) -> Self {
        let zeros = || parameters.iter().map(Tensor::zeros_like).collect();
        let counts = parameters.iter().map(|parameter| Tensor::zeros([1], (Kind::Float, parameter.device())));
        Self { means: zeros(), squares: zeros(), counts: counts.collect() }
    }
}

/// One step of Adam (β 0.9 and 0.999, ε 1e-8) for every parameter that has a gradient. `rate` is a tensor of one value. With
/// `kernels`, which must be [ready](crate::kernels_ready), a kernel of our own does it where it can, and whether it did comes back.
///
/// # Panics
/// If `state` is not that of these parameters.
pub fn adam_step(parameters: &[Tensor], state: &AdamState, rate: &Tensor, kernels: bool) -> bool {
    for kept in [&state.means, &state.squares, &state.counts] {
        assert_eq!(parameters.len(), kept.len(), "one state a parameter");
    }
    if kernels && small::adam(parameters, state, rate) {
        return true;
    }
    let values = pointers(parameters);
    let (means, squares, counts) = (pointers(&state.means), pointers(&state.squares), pointers(&state.counts));
    // SAFETY: all pointers are those of live tensors of tch's, as many of each as `count` says, only borrowed.
    assume(unsafe {
        ffi::shim_adam_step(
            values.as_ptr(),
            means.as_ptr(),
            squares.as_ptr(),
            counts.as_ptr(),
            count(&values),
            rate.as_ptr(),
        )
    });
    false
}

pub(crate) fn pointers(tensors: &[Tensor]) -> Vec<*mut C_tensor> {
    tensors.iter().map(|tensor| tensor.as_ptr().cast_mut()).collect()
}

pub(crate) fn count(pointers: &[*mut C_tensor]) -> std::ffi::c_int {
    pointers.len().try_into().expect("fewer tensors than an int can count")
}
