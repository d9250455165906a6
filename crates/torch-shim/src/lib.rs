//! What [`tch`] lacks of libtorch, as safe functions.
//!
//! | | why it is here |
//! | --- | --- |
//! | [`open_cuda`] | one program for machines with and without a GPU: CUDA is loaded when it is there |
//! | [`autocast_bf16`], [`as_bf16`] | tch's autocast is fp16, on CUDA only, and converts weights one by one |
//! | [`side_by_side`] | two pieces of work at the same time, on one GPU |
//! | [`channels_last`] | the layout in which convolutions on large images are faster |
//! | [`sgd_step`], [`adam_step`], [`clear_gradients`] | a step on all parameters in a few calls instead of several for each |
//! | [`Graph`], [`keeping_grad_mode`] | work recorded once, started again with one call; gradients as before where that fails |
//! | [`norm`], [`add_bias`], [`stem`], [`pod`], [`look`], [`mmd_weigh`], [`linear`] | kernels of our own, which do in one pass what libtorch does in several |
//! | [`backward_from`] | the way back from where a slope is known already |
//! | [`set_deterministic`], [`tune`], [`allow_tf32`], [`without_tf32`] | the same numbers twice, or more of them per second |
//! | [`random_state`], [`set_random_state`] | random numbers that go on where they were, in another process |
//! | [`Script`] | a TorchScript module made from source and tensors: tch can only trace one, whose weights are stuck where they are |
//! | [`Packed`] | convolutions for looking on a CPU, with ReLU6 in the same pass, as PyTorch's compiler calls them |
//! | [`use_one_thread`] | several threads that compute side by side, each alone: tch sets the number of threads for all |
//! | [`upload`] | bytes to a device without a copy on the way |
//! | [`Store`], [`Group`], [`leave`] | several processes with one result: libtorch's own store and Gloo |
//! | [`GpuGroup`], [`nccl_id`], [`nccl_version`], [`gpu_uuid`] | sums from GPU to GPU: NCCL, which libtorch brings along |
//! | [`peak_memory`], [`peak_ram`], [`total_ram`] | what a run needs of a machine |
//!
//! The C++ half is `cpp/`, and `cuda/` has what runs on a GPU. It catches every exception, and [`ShimError`] carries the message.
//! This crate and `mapped` are the only ones with `unsafe` code; each block says what makes it sound.
#![allow(unsafe_code)]

mod aside;
mod autocast;
mod cuda;
mod determinism;
mod error;
mod ffi;
mod graph;
mod kernels;
mod layout;
mod memory;
mod nccl;
mod optimizer;
mod packed;
mod process;
mod processes;
mod random;
mod script;
mod small;
mod stem;
mod threads;
mod upload;

pub use aside::side_by_side;
pub use autocast::{as_bf16, autocast_bf16};
pub use cuda::{Cuda, Gpu, about_gpu, open_cuda};
pub use determinism::{allow_tf32, is_deterministic, set_deterministic, tune, without_tf32};
pub use error::ShimError;
pub use graph::{Graph, keeping_grad_mode};
pub use kernels::{
    After, Norm, add_bias, allow_kernels, bias_fits, kernels_fit, kernels_ready, look, mmd_weigh, norm, pod,
};
pub use layout::{channels_last, is_channels_last, try_channels_last};
pub use memory::{peak_memory, peak_ram, reset_peak_memory, total_ram};
pub use nccl::{GpuGroup, gpu_uuid, nccl_id, nccl_version};
pub use optimizer::{AdamState, adam_step, clear_gradients, sgd_step};
pub use packed::Packed;
pub use process::tune_process;
pub use processes::{Group, Store, leave};
pub use random::{random_state, set_random_state};
pub use script::Script;
pub use small::{backward_from, linear};
pub use stem::{stem, stem_fits, stem_with_bias};
pub use threads::use_one_thread;
pub use upload::upload;
