//! The functions of `cpp/shim.h`, `cpp/processes.h` and `cpp/nccl.h`, one to one.

use std::ffi::{c_char, c_int, c_void};

use torch_sys::C_tensor;

// SAFETY: the signatures are those of these headers, which are compiled into this crate. All catch their exceptions. Pointers to results are written before a 0 is returned and not kept; tensors are only borrowed.
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
        max_norm: f64,
    ) -> c_int;
    pub(crate) fn shim_adam_step(
        parameters: *const *mut C_tensor,
        means: *const *mut C_tensor,
        squares: *const *mut C_tensor,
        counts: *const *mut C_tensor,
        count: c_int,
        rate: *const C_tensor,
    ) -> c_int;
    pub(crate) fn shim_as_bf16(weights: *const *mut C_tensor, count: c_int, results: *mut *mut C_tensor) -> c_int;
    pub(crate) fn shim_upload(bytes: *const u8, count: i64, index: c_int, result: *mut *mut C_tensor) -> c_int;
    pub(crate) fn shim_aside_begin(index: c_int, aside: *mut *mut c_void) -> c_int;
    pub(crate) fn shim_aside_end(aside: *mut c_void) -> c_int;
    pub(crate) fn shim_aside_join(aside: *mut c_void) -> c_int;
    pub(crate) fn shim_pack_convolution(
        weight: *const C_tensor,
        size: *const i64,
        stride: i64,
        padding: i64,
        groups: i64,
        result: *mut *mut C_tensor,
    ) -> c_int;
    pub(crate) fn shim_packed_convolution(
        x: *const C_tensor,
        weight: *const C_tensor,
        bias: *const C_tensor,
        stride: i64,
        padding: i64,
        groups: i64,
        relu6: c_int,
        result: *mut *mut C_tensor,
    ) -> c_int;
    pub(crate) fn shim_use_one_thread(threads: *mut c_int) -> c_int;
    pub(crate) fn shim_tune(most: c_int) -> c_int;
    pub(crate) fn shim_set_deterministic(on: c_int) -> c_int;
    pub(crate) fn shim_random_state(index: c_int, result: *mut *mut C_tensor) -> c_int;
    pub(crate) fn shim_set_random_state(index: c_int, state: *const C_tensor) -> c_int;
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
    pub(crate) fn shim_linear(
        x: *const C_tensor,
        weight: *const C_tensor,
        bias: *const C_tensor,
        result: *mut *mut C_tensor,
    ) -> c_int;
    pub(crate) fn shim_adam(
        values: *const *mut C_tensor,
        slopes: *const *mut C_tensor,
        means: *const *mut C_tensor,
        squares: *const *mut C_tensor,
        counts: *const *mut C_tensor,
        count: c_int,
        rate: *const C_tensor,
    ) -> c_int;
    pub(crate) fn shim_backward_from(result: *const C_tensor, slope: *const C_tensor) -> c_int;
    pub(crate) fn shim_kernels_compile(index: c_int, source: *const c_char) -> c_int;
    pub(crate) fn shim_cuda_about(index: c_int, major: *mut c_int, free: *mut u64) -> c_int;
    pub(crate) fn shim_norm(
        x: *const C_tensor,
        gamma: *const C_tensor,
        beta: *const C_tensor,
        running_mean: *const C_tensor,
        running_var: *const C_tensor,
        around: *const C_tensor,
        relu: c_int,
        pool: c_int,
        momentum: f64,
        epsilon: f64,
        result: *mut *mut C_tensor,
    ) -> c_int;
    pub(crate) fn shim_add_bias(
        x: *const C_tensor,
        bias: *const C_tensor,
        around: *const C_tensor,
        relu: c_int,
        pool: c_int,
        most: f64,
        result: *mut *mut C_tensor,
    ) -> c_int;
    pub(crate) fn shim_stem(
        x: *const C_tensor,
        weight: *const C_tensor,
        gamma: *const C_tensor,
        beta: *const C_tensor,
        running_mean: *const C_tensor,
        running_var: *const C_tensor,
        momentum: f64,
        epsilon: f64,
        result: *mut *mut C_tensor,
    ) -> c_int;
    pub(crate) fn shim_stem_with_bias(
        x: *const C_tensor,
        weight: *const C_tensor,
        bias: *const C_tensor,
        result: *mut *mut C_tensor,
    ) -> c_int;
    pub(crate) fn shim_pod(
        maps: *const *mut C_tensor,
        old: *const *mut C_tensor,
        stages: c_int,
        result: *mut *mut C_tensor,
    ) -> c_int;
    pub(crate) fn shim_look(
        pixels: *const C_tensor,
        places: *const C_tensor,
        how: *const C_tensor,
        slope: *const C_tensor,
        shift: *const C_tensor,
        size: c_int,
        bf16: c_int,
        result: *mut *mut C_tensor,
    ) -> c_int;
    pub(crate) fn shim_mmd_weigh(
        products: *const C_tensor,
        of_rows: *const C_tensor,
        of_columns: *const C_tensor,
        rates: *const C_tensor,
        split: c_int,
        across: f64,
        within: f64,
        sums: *mut *mut C_tensor,
    ) -> c_int;
    pub(crate) fn shim_ram_peak(bytes: *mut u64) -> c_int;
    pub(crate) fn shim_store_open(
        host: *const c_char,
        port: *mut c_int,
        serve: c_int,
        timeout_ms: i64,
        store: *mut *mut c_void,
    ) -> c_int;
    pub(crate) fn shim_store_set(store: *mut c_void, key: *const c_char, value: *const u8, count: i64) -> c_int;
    pub(crate) fn shim_store_get(
        store: *mut c_void,
        key: *const c_char,
        timeout_ms: i64,
        result: *mut *mut C_tensor,
    ) -> c_int;
    pub(crate) fn shim_store_has(store: *mut c_void, key: *const c_char, answer: *mut c_int) -> c_int;
    pub(crate) fn shim_store_close(store: *mut c_void);
    pub(crate) fn shim_group_open(
        store: *mut c_void,
        prefix: *const c_char,
        rank: c_int,
        size: c_int,
        address: *const c_char,
        timeout_ms: i64,
        group: *mut *mut c_void,
    ) -> c_int;
    pub(crate) fn shim_group_sum(group: *mut c_void, tensor: *const C_tensor) -> c_int;
    pub(crate) fn shim_group_broadcast(group: *mut c_void, tensor: *const C_tensor, root: c_int) -> c_int;
    pub(crate) fn shim_group_gather(
        group: *mut c_void,
        tensor: *const C_tensor,
        results: *const *mut C_tensor,
        size: c_int,
    ) -> c_int;
    pub(crate) fn shim_group_barrier(group: *mut c_void) -> c_int;
    pub(crate) fn shim_group_close(group: *mut c_void);
    pub(crate) fn shim_leave(code: c_int);
    pub(crate) fn shim_nccl_version(version: *mut c_int) -> c_int;
    pub(crate) fn shim_nccl_id(id: *mut u8) -> c_int;
    pub(crate) fn shim_nccl_join(
        id: *const u8,
        rank: c_int,
        size: c_int,
        index: c_int,
        timeout_ms: i64,
        group: *mut *mut c_void,
    ) -> c_int;
    pub(crate) fn shim_nccl_sum(group: *mut c_void, from: *const C_tensor, to: *const C_tensor) -> c_int;
    pub(crate) fn shim_nccl_trouble(group: *mut c_void) -> c_int;
    pub(crate) fn shim_nccl_close(group: *mut c_void);
    pub(crate) fn shim_gpu_uuid(index: c_int, uuid: *mut u8) -> c_int;
    pub(crate) fn shim_script_new(name: *const c_char, module: *mut *mut c_void) -> c_int;
    pub(crate) fn shim_script_buffer(module: *mut c_void, name: *const c_char, tensor: *const C_tensor) -> c_int;
    pub(crate) fn shim_script_part(module: *mut c_void, name: *const c_char, path: *const c_char) -> c_int;
    pub(crate) fn shim_script_define(module: *mut c_void, source: *const c_char) -> c_int;
    pub(crate) fn shim_script_save(module: *mut c_void, path: *const c_char) -> c_int;
    pub(crate) fn shim_script_free(module: *mut c_void);
}
