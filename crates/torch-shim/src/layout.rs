//! Channels last: images stored pixel by pixel, all channels of one together.
//!
//! The shape stays `[batch, channels, height, width]`; only the strides change. For a ResNet18 on large images that is
//! about a third faster on a CPU; on small images or with a small network it makes no difference, so measure.

use tch::Tensor;

use crate::ShimError;
use crate::error::{assume, check};
use crate::ffi;

/// The same values stored channels last; the very same storage if it already is.
///
/// A weight is converted in place, as the variable that the optimizer knows, with
/// `tch::no_grad(|| weight.set_data(&channels_last(weight)))`.
///
/// # Panics
/// If `tensor` does not have four dimensions; see [`try_channels_last`].
pub fn channels_last(tensor: &Tensor) -> Tensor {
    try_channels_last(tensor)
        .unwrap_or_else(|error| panic!("a tensor of size {:?} was assumed to be images: {error}", tensor.size()))
}

/// [`channels_last`] for a tensor that may not have four dimensions.
pub fn try_channels_last(tensor: &Tensor) -> Result<Tensor, ShimError> {
    let mut result = std::ptr::null_mut();
    // SAFETY: `tensor` is a live `at::Tensor` of tch's, only borrowed here; `result` outlives the call.
    check(unsafe { ffi::shim_channels_last(tensor.as_ptr(), &mut result) })?;
    // SAFETY: on success `result` is a fresh `at::Tensor` from `new`, and nobody else owns it.
    Ok(unsafe { Tensor::from_ptr(result) })
}

/// Whether the values lie in memory channels last, without gaps.
///
/// A tensor with one channel or of one pixel can be both channels last and contiguous.
pub fn is_channels_last(tensor: &Tensor) -> bool {
    let mut answer = 0;
    // SAFETY: `tensor` is a live `at::Tensor` of tch's, only borrowed here; `answer` outlives the call.
    assume(unsafe { ffi::shim_is_channels_last(tensor.as_ptr(), &mut answer) });
    answer != 0
}
