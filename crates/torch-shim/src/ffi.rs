//! The functions of `cpp/shim.h`, one to one.

use std::ffi::{c_char, c_int, c_void};

use torch_sys::C_tensor;

// SAFETY: the signatures are those of `cpp/shim.h`, which is compiled into this crate. All catch their
// exceptions. Pointers to results are written before a 0 is returned and not kept; tensors are only borrowed.
unsafe extern "C" {
    pub(crate) fn shim_error() -> *const c_char;
    pub(crate) fn shim_open_cuda(devices: *mut c_int) -> c_int;
    pub(crate) fn shim_autocast_enter(
        cuda: c_int,
        enabled: c_int,
        enabled_before: *mut c_int,
        dtype_before: *mut c_int,
    ) -> c_int;
    pub(crate) fn shim_autocast_leave(cuda: c_int, enabled_before: c_int, dtype_before: c_int) -> c_int;
    pub(crate) fn shim_channels_last(tensor: *const C_tensor, result: *mut *mut C_tensor) -> c_int;
    pub(crate) fn shim_is_channels_last(tensor: *const C_tensor, answer: *mut c_int) -> c_int;
    pub(crate) fn shim_clear_gradients(parameters: *const *mut C_tensor, count: c_int) -> c_int;
    pub(crate) fn shim_sgd_step(
        parameters: *const *mut C_tensor,
        velocities: *const *mut C_tensor,
        count: c_int,
        rate: *const C_tensor,
        momentum: f64,
        weight_decay: f64,
    ) -> c_int;
    pub(crate) fn shim_adam_step(
        parameters: *const *mut C_tensor,
        means: *const *mut C_tensor,
        squares: *const *mut C_tensor,
        counts: *const *mut C_tensor,
        count: c_int,
        rate: *const C_tensor,
    ) -> c_int;
    pub(crate) fn shim_set_deterministic(on: c_int) -> c_int;
    pub(crate) fn shim_is_deterministic(answer: *mut c_int) -> c_int;
    pub(crate) fn shim_allow_tf32(on: c_int) -> c_int;
    pub(crate) fn shim_is_tf32_allowed(answer: *mut c_int) -> c_int;
    pub(crate) fn shim_cuda_peak(index: c_int, known: *mut c_int, bytes: *mut u64) -> c_int;
    pub(crate) fn shim_cuda_reset_peak(index: c_int) -> c_int;
    pub(crate) fn shim_graph_begin(index: c_int, graph: *mut *mut c_void) -> c_int;
    pub(crate) fn shim_graph_end(graph: *mut c_void) -> c_int;
    pub(crate) fn shim_graph_abandon(graph: *mut c_void) -> c_int;
    pub(crate) fn shim_graph_replay(graph: *mut c_void) -> c_int;
    pub(crate) fn shim_graph_free(graph: *mut c_void);
    pub(crate) fn shim_ram_peak(bytes: *mut u64) -> c_int;
}
