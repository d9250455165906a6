//! Mixed precision: matrix products and convolutions in bf16, sums and losses in f32.
//!
//! bf16 has the range of f32, so that gradients need no scaling; tch offers only fp16, which does.

use std::ffi::c_int;
use std::marker::PhantomData;

use tch::{Device, Tensor};

use crate::error::{assume, check};
use crate::ffi;
use crate::optimizer::{count, pointers};

/// Runs `f` with bf16 autocast on `device` switched on or off, and leaves everything as it was, also when `f` panics.
///
/// Calls nest. Only this thread is affected, and only tensors on this kind of device. Leaving the outermost
/// call drops the bf16 copies of the weights, so take one optimizer step per outermost call at most.
/// Do not mix `no_grad` and training inside one: a weight first converted without gradients has none later.
///
/// On a device that is neither the CPU nor CUDA, `f` just runs.
///
/// ```
/// use tch::{Device, Kind, Tensor};
///
/// let weights = Tensor::ones([4, 4], (Kind::Float, Device::Cpu));
/// let product = torch_shim::autocast_bf16(Device::Cpu, true, || weights.matmul(&weights));
/// assert_eq!(product.kind(), Kind::BFloat16);
/// ```
pub fn autocast_bf16<T>(device: Device, enabled: bool, f: impl FnOnce() -> T) -> T {
    let cuda = match device {
        Device::Cpu => 0,
        Device::Cuda(_) => 1,
        _ => return f(),
    };
    let _guard = Guard::enter(cuda, enabled);
    f()
}

/// bf16 copies of all `weights`, made in one pass, where autocast makes one for each; so are the slopes on the way
/// back. A network has dozens of weights, most of them small, and on a GPU a pass costs more than the numbers it moves.
///
/// # Panics
/// If the device has no room for them.
pub fn as_bf16(weights: &[Tensor]) -> Vec<Tensor> {
    let pointers = pointers(weights);
    let mut copies = vec![std::ptr::null_mut(); weights.len()];
    // SAFETY: the pointers are those of live tensors, only borrowed, and there is a place for each answer.
    let answer = check(unsafe { ffi::shim_as_bf16(pointers.as_ptr(), count(&pointers), copies.as_mut_ptr()) });
    if let Err(error) = answer {
        panic!("{} weights could not be converted: {error}", weights.len());
    }
    // SAFETY: on success each is a fresh `at::Tensor` from `new`, and nobody else owns it.
    copies.into_iter().map(|copy| unsafe { Tensor::from_ptr(copy) }).collect()
}

/// Undoes on drop what entering did.
struct Guard {
    cuda: c_int,
    enabled_before: c_int,
    dtype_before: c_int,
    /// Autocast is a setting of the thread, so the guard must not wander to another.
    _this_thread: PhantomData<*const ()>,
}

impl Guard {
    fn enter(cuda: c_int, enabled: bool) -> Self {
        let mut guard = Self { cuda, enabled_before: 0, dtype_before: 0, _this_thread: PhantomData };
        // SAFETY: both places outlive the call.
        assume(unsafe {
            ffi::shim_autocast_enter(cuda, c_int::from(enabled), &mut guard.enabled_before, &mut guard.dtype_before)
        });
        guard
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: takes numbers only, those that entering answered.
        // A failure is dropped on purpose: a panic while unwinding from another would end the process.
        let _ = unsafe { ffi::shim_autocast_leave(self.cuda, self.enabled_before, self.dtype_before) };
    }
}
