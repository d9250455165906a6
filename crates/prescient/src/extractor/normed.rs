//! BatchNorm and what follows it, in one pass over memory where a GPU has our kernels, else in several.

use crate::engine::{has_bias, has_kernels, has_stem};
use tch::Tensor;
use tch::nn::{BatchNorm, ModuleT};
use torch_shim::{After, Norm, stem, stem_with_bias};

/// What BatchNorm adds to a variance before its root, and how far a batch moves its statistics; PyTorch's.
pub(crate) const EPSILON: f64 = 1e-5;
pub(crate) const MOMENTUM: f64 = 0.1;

/// `x` through `norm`, and on through what follows.
pub(crate) fn normed(norm: &BatchNorm, x: &Tensor, after: After<'_>, train: bool) -> Tensor {
    match in_training(norm) {
        Some(norm) if train && has_kernels(x) => torch_shim::norm(x, &norm, after),
        _ => followed(norm.forward_t(x, train), after),
    }
}

fn in_training(norm: &BatchNorm) -> Option<Norm<'_>> {
    let (running_mean, running_var) = (&norm.running_mean, &norm.running_var);
    let (gamma, beta) = (norm.ws.as_ref()?, norm.bs.as_ref()?);
    Some(Norm { gamma, beta, running_mean, running_var, momentum: MOMENTUM, epsilon: EPSILON })
}

/// A first convolution of `images` through `norm` and ReLU, pooled, where our kernels do it without the map between.
pub(crate) fn pooled_stem(images: &Tensor, (weight, shape): Stem<'_>, norm: &BatchNorm, train: bool) -> Option<Tensor> {
    let ours = train && shape == OURS && has_stem(images, weight);
    in_training(norm).filter(|_| ours).map(|norm| stem(images, weight, &norm))
}

/// The same with an f32 `bias` in place of `norm`, without a trace for gradients.
pub(crate) fn pooled_stem_with_bias(images: &Tensor, (weight, shape): Stem<'_>, bias: &Tensor) -> Option<Tensor> {
    (shape == OURS && has_stem(images, weight)).then(|| stem_with_bias(images, weight, bias))
}

/// A convolution's weight, and its stride and border.
type Stem<'a> = (&'a Tensor, (i64, i64));

/// The stride and the border that our kernels know.
const OURS: (i64, i64) = (1, 1);

/// What follows the norm of a first convolution.
pub(crate) const POOLED: After<'static> = After { relu: true, relu6: false, pool: true, around: None };

/// `x`, plus the f32 `bias` of each channel where there is one, and on through what follows. On a GPU it leaves no trace
/// for gradients.
pub(crate) fn with_bias(x: Tensor, bias: Option<&Tensor>, after: After<'_>) -> Tensor {
    match bias {
        Some(bias) if has_bias(&x, after) => torch_shim::add_bias(&x, bias, after),
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
    if after.relu6 {
        x = x.clamp_(0, 6);
    }
    if after.pool {
        x = x.max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false);
    }
    x
}
