//! The shim on a GPU. Where there is none, these say so and pass: CI has none.
//!
//! A file of their own, for CUDA must be opened before anything else of torch is used in the process.

use tch::{Device, Kind, Tensor};
use torch_shim::{
    Cuda, allow_tf32, autocast_bf16, channels_last, is_channels_last, open_cuda, peak_memory, reset_peak_memory,
    set_deterministic,
};

const GPU: (Kind, Device) = (Kind::Float, Device::Cuda(0));

/// Whether to go on, with a word on stderr if not.
fn gpu() -> bool {
    let cuda = open_cuda();
    if let Cuda::Unavailable { .. } = cuda {
        eprintln!("not tested on a GPU: {cuda}");
    }
    cuda.is_available()
}

#[test]
fn a_program_linked_for_the_cpu_computes_on_the_gpu() {
    if !gpu() {
        return;
    }
    assert!(tch::Cuda::is_available());
    let sum = Tensor::ones([1000], GPU).sum(Kind::Float);
    assert_eq!(f64::try_from(sum).expect("one number"), 1000.0);
}

#[test]
fn autocast_multiplies_in_bf16_on_the_gpu() {
    if !gpu() {
        return;
    }
    let matrix = Tensor::ones([8, 8], GPU).set_requires_grad(true);
    let kind = || matrix.matmul(&matrix).kind();
    assert_eq!(autocast_bf16(Device::Cuda(0), true, kind), Kind::BFloat16);
    assert_eq!(autocast_bf16(Device::Cpu, true, kind), Kind::Float);
    assert_eq!(kind(), Kind::Float);
}

#[test]
fn a_convolution_keeps_channels_last() {
    if !gpu() {
        return;
    }
    let images = channels_last(&Tensor::ones([2, 16, 8, 8], GPU));
    let weights = channels_last(&Tensor::ones([16, 16, 3, 3], GPU));
    let output = autocast_bf16(Device::Cuda(0), true, || images.conv2d(&weights, None::<Tensor>, 1, 1, 1, 1));
    assert!(is_channels_last(&output));
}

/// 64 MiB of floats raise the peak by as much; a reset brings it down to what is still held.
///
/// Other tests of this file hold far less than the slack of 16 MiB.
#[test]
fn the_peak_counts_what_tensors_held() {
    const SIZE: u64 = 64 << 20;
    const SLACK: u64 = 16 << 20;
    if !gpu() {
        return;
    }
    drop(Tensor::zeros([1], GPU));
    reset_peak_memory(Device::Cuda(0));
    let before = peak_memory(Device::Cuda(0)).expect("CUDA counts once it is used");
    drop(Tensor::zeros([(SIZE / 4) as i64], GPU));
    let peak = peak_memory(Device::Cuda(0)).expect("CUDA counts once it is used");
    assert!(peak + SLACK >= before + SIZE, "{before} then {peak}");
    reset_peak_memory(Device::Cuda(0));
    let after = peak_memory(Device::Cuda(0)).expect("CUDA counts once it is used");
    assert!(after < SIZE, "{peak} then {after}");
}

/// cuBLAS refuses deterministic mode without its workspace setting, so this also tests that it was made.
#[test]
fn deterministic_mode_multiplies_and_convolves() {
    if !gpu() {
        return;
    }
    set_deterministic(true);
    allow_tf32(true);
    let matrix = Tensor::ones([64, 64], GPU);
    let sum = matrix.f_matmul(&matrix).expect("a deterministic product").sum(Kind::Double);
    assert_eq!(f64::try_from(sum).expect("one number"), 64.0 * 64.0 * 64.0);
    let images = Tensor::ones([2, 3, 8, 8], GPU).set_requires_grad(true);
    let weights = Tensor::ones([4, 3, 3, 3], GPU).set_requires_grad(true);
    images.conv2d(&weights, None::<Tensor>, 1, 1, 1, 1).sum(Kind::Float).backward();
    assert!(weights.grad().defined());
    set_deterministic(false);
}
