//! Where libtorch's generator of random numbers stands.
//!
//! The process has one for each device. Whoever goes on with a training in another process puts it back to where it was.

use tch::{Device, Tensor};

use crate::error::{ShimError, assume, check};
use crate::ffi;
use crate::upload::index_of;

/// The state of the generator of `device`, as bytes on the CPU.
pub fn random_state(device: Device) -> Tensor {
    let mut result = std::ptr::null_mut();
    // SAFETY: `result` outlives the call.
    assume(unsafe { ffi::shim_random_state(index_of(device), &mut result) });
    // SAFETY: on success `result` is a fresh `at::Tensor` from `new`, and nobody else owns it.
    unsafe { Tensor::from_ptr(result) }
}

/// Puts the generator of `device` where [`random_state`] found it. Bytes that are no such state are refused.
pub fn set_random_state(device: Device, state: &Tensor) -> Result<(), ShimError> {
    // SAFETY: `state` is a live `at::Tensor` of tch's, only borrowed here; libtorch checks what it is.
    check(unsafe { ffi::shim_set_random_state(index_of(device), state.as_ptr()) })
}
