//! BatchNorm and what follows it, in one pass over memory where a GPU has our kernels, else in several.

use crate::engine::has_kernels;
use tch::Tensor;
use tch::nn::{BatchNorm, ModuleT};
use torch_shim::{After, Norm};

/// What BatchNorm adds to a variance before its root, and how far a batch moves its statistics; PyTorch's.
pub(crate) const EPSILON: f64 = 1e-5;
pub(crate) const MOMENTUM: f64 = 0.1;

/// `x` through `norm`, and on through what follows.
pub(crate) fn normed(norm: &BatchNorm, x: &Tensor, after: After<'_>, train: bool) -> Tensor {
    match (&norm.ws, &norm.bs) {
        (Some(gamma), Some(beta)) if train && has_kernels(x) => {
            let (running_mean, running_var) = (&norm.running_mean, &norm.running_var);
            let norm = Norm { gamma, beta, running_mean, running_var, momentum: MOMENTUM, epsilon: EPSILON };
            torch_shim::norm(x, &norm, after)
        }
        _ => followed(norm.forward_t(x, train), after),
    }
}

/// `x`, plus the f32 `bias` of each channel where there is one, and on through what follows. On a GPU it leaves no trace
/// for gradients.
pub(crate) fn with_bias(x: Tensor, bias: Option<&Tensor>, after: After<'_>) -> Tensor {
    match bias {
        Some(bias) if has_kernels(&x) => torch_shim::add_bias(&x, bias, after),
        Some(bias) => {
            let bias = bias.to_kind(x.kind()).reshape([1, -1, 1, 1]);
            followed(x + bias, after)
        }
        None => followed(x, after),
    }
}

fn followed(mut x: Tensor, after: After<'_>) -> Tensor {
    if let Some(around) = after.around {
        x += around;
    }
    if after.relu {
        x = x.relu_();
    }
    if after.pool {
        x = x.max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false);
    }
    x
}
