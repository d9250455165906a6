//! The same numbers every time, or more of them per second.

use std::ffi::c_int;

use crate::error::assume;
use crate::ffi;

/// Has libtorch use only algorithms that give the same result twice on the same machine (process-wide).
///
/// An operation without such an algorithm then fails with a message instead of drifting silently. cuDNN stops
/// choosing its kernels by timing them. Switching off again does not switch that choice back on:
/// `tch::Cuda::cudnn_set_benchmark` does.
///
/// Call it before the first work on a GPU and before other threads start: cuBLAS reads its part of the setting from
/// the environment variable `CUBLAS_WORKSPACE_CONFIG`, which is set here unless the user already did.
pub fn set_deterministic(on: bool) {
    const CUBLAS: &str = "CUBLAS_WORKSPACE_CONFIG";
    if on && std::env::var_os(CUBLAS).is_none() {
        // SAFETY: Rust code reads the environment under the same lock; that no C code reads it at
        // this moment is what the documentation asks of the caller.
        unsafe { std::env::set_var(CUBLAS, ":4096:8") };
    }
    // SAFETY: takes a number only.
    assume(unsafe { ffi::shim_set_deterministic(c_int::from(on)) });
}

/// Whether [`set_deterministic`] is on.
pub fn is_deterministic() -> bool {
    let mut answer = 0;
    // SAFETY: `answer` outlives the call.
    assume(unsafe { ffi::shim_is_deterministic(&mut answer) });
    answer != 0
}

/// Has cuDNN time at most `most` of its kernels for each convolution and keep the fastest, or with 0 take the one that it
/// believes to be (process-wide). Timing takes seconds when a network is first used; the fastest may differ from day to day.
pub fn tune(most: u8) {
    // SAFETY: takes a number only.
    assume(unsafe { ffi::shim_tune(c_int::from(most)) });
}

/// Lets GPUs since Ampere multiply f32 with 10 bits of mantissa: several times faster, enough for training (process-wide).
pub fn allow_tf32(on: bool) {
    // SAFETY: takes a number only.
    assume(unsafe { ffi::shim_allow_tf32(c_int::from(on)) });
}

/// Runs `f` in full single precision, and leaves the setting as it was.
pub fn without_tf32<T>(f: impl FnOnce() -> T) -> T {
    let mut before = 0;
    // SAFETY: `before` outlives the call.
    assume(unsafe { ffi::shim_is_tf32_allowed(&mut before) });
    let _restore = Restore(before != 0);
    allow_tf32(false);
    f()
}

/// Sets TF32 back on drop, also when `f` panics.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        allow_tf32(self.0);
    }
}
