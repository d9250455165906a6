//! Small networks of plain numbers on a GPU, with kernels of our own (`cuda/small.cu`).

use tch::{Kind, Tensor};

use crate::error::assume;
use crate::ffi;
use crate::kernels::made;
use crate::optimizer::{AdamState, count, pointers};

/// As many parameters as one launch takes.
const MOST_PARAMETERS: usize = 8;

/// `x · weightᵀ + bias`, of `x` `[rows, inputs]`, `weight` `[outputs, inputs]` and `bias` `[outputs]`; autograd knows the way back.
///
/// # Panics
/// If a tensor is not contiguous f32 on the GPU, sizes do not fit, or the kernels are not [ready](crate::kernels_ready).
pub fn linear(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Tensor {
    let ((rows, inputs), outputs) = (x.size2().expect("a row an item"), weight.size()[0]);
    assert!(
        weight.size() == [outputs, inputs] && bias.size() == [outputs] && rows > 0 && outputs > 0,
        "sizes that fit"
    );
    for tensor in [x, weight, bias] {
        assert!(is_plain(tensor) && tensor.device() == x.device(), "plain numbers on the GPU: {tensor:?}");
    }
    // SAFETY: live tensors, only borrowed, whose sizes, kinds and places were checked.
    made(|result| unsafe { ffi::shim_linear(x.as_ptr(), weight.as_ptr(), bias.as_ptr(), result) })
}

/// Finds the gradients of everything that `result` was computed from, where the slope in `result` is known.
///
/// # Panics
/// If the slope is not of its size, or nothing was recorded of how it was computed.
pub fn backward_from(result: &Tensor, slope: &Tensor) {
    assert_eq!(result.size(), slope.size(), "a slope for each number");
    // SAFETY: live tensors, only borrowed.
    assume(unsafe { ffi::shim_backward_from(result.as_ptr(), slope.as_ptr()) });
}

/// A step of Adam; false where these parameters are not such as the kernel takes.
pub(crate) fn adam(parameters: &[Tensor], state: &AdamState, rate: &Tensor) -> bool {
    let slopes: Vec<Tensor> = parameters.iter().map(Tensor::grad).collect();
    let fits = |tensor: &Tensor, like: &Tensor| {
        is_plain(tensor) && tensor.device() == rate.device() && tensor.size() == like.size() && tensor.numel() > 0
    };
    let all = [parameters, &slopes, &state.means, &state.squares];
    let fit = (1..=MOST_PARAMETERS).contains(&parameters.len())
        && is_plain(rate)
        && rate.numel() == 1
        && slopes.iter().all(Tensor::defined)
        && all.iter().all(|tensors| tensors.iter().zip(parameters).all(|(tensor, like)| fits(tensor, like)))
        && state
            .counts
            .iter()
            .all(|number| is_plain(number) && number.numel() == 1 && number.device() == rate.device());
    if !fit {
        return false;
    }
    let [values, slopes, means, squares] = all.map(pointers);
    let counts = pointers(&state.counts);
    // SAFETY: live tensors, only borrowed, as many of each as is said, whose sizes, kinds and places were checked.
    assume(unsafe {
        ffi::shim_adam(
            values.as_ptr(),
            slopes.as_ptr(),
            means.as_ptr(),
            squares.as_ptr(),
            counts.as_ptr(),
            count(&values),
            rate.as_ptr(),
        )
    });
    true
}

/// Whether a kernel can take its numbers as they lie.
fn is_plain(tensor: &Tensor) -> bool {
    tensor.device().is_cuda() && tensor.kind() == Kind::Float && tensor.is_contiguous()
}
