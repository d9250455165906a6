//! The shim on a GPU. Where there is none, these say so and pass: CI has none.
//!
//! A file of their own, for CUDA must be opened before anything else of torch is used in the process.

use tch::{Device, Kind, Tensor};
use torch_shim::{
    Cuda, Graph, allow_tf32, autocast_bf16, channels_last, clear_gradients, is_channels_last, open_cuda, peak_memory,
    reset_peak_memory, set_deterministic, sgd_step,
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

/// A weight that learns: 100 steps from a graph end where 100 steps without one do.
#[test]
fn a_graph_does_what_it_recorded() {
    if !gpu() {
        return;
    }
    let learn = |graphed: bool| -> f64 {
        let weight = Tensor::ones([1], GPU).set_requires_grad(true);
        let (parameters, velocities) = (vec![weight.shallow_clone()], vec![Tensor::zeros([1], GPU)]);
        let (input, rate) = (Tensor::zeros([1], GPU), Tensor::zeros([1], GPU));
        let step = || {
            clear_gradients(&parameters);
            let loss = (&weight * &input - 3.0).square().sum(Kind::Float);
            loss.backward();
            sgd_step(&parameters, &velocities, &rate, 0.9, 0.0);
            loss
        };
        let mut graph = None;
        for number in 0..100 {
            let _ = input.shallow_clone().fill_(1.0 + f64::from(number % 3) / 10.0);
            let _ = rate.shallow_clone().fill_(0.01 / f64::from(1 + number / 50));
            match (&graph, graphed && number >= 2) {
                (_, false) => drop(step()),
                (None, true) => graph = Some(Graph::record(Device::Cuda(0), step).expect("a recording").0),
                (Some(_), true) => {}
            }
            if let Some(graph) = &graph {
                graph.replay().expect("a replay");
            }
        }
        weight.double_value(&[0])
    };
    assert!((learn(true) - learn(false)).abs() < 1e-5);
}

#[test]
fn a_graph_draws_new_numbers_each_time() {
    if !gpu() {
        return;
    }
    let (graph, drawn) = Graph::record(Device::Cuda(0), || Tensor::randn([4], GPU)).expect("a recording");
    let draw = || {
        graph.replay().expect("a replay");
        Vec::<f64>::try_from(&drawn).expect("numbers")
    };
    let (first, second) = (draw(), draw());
    assert_ne!(first, second);
    tch::manual_seed(5);
    let third = draw();
    tch::manual_seed(5);
    assert_eq!(draw(), third);
}

/// Reading a value back is not allowed while recording; afterwards the GPU works as before.
#[test]
fn a_recording_that_fails_does_no_harm() {
    if !gpu() {
        return;
    }
    let ones = Tensor::ones([4], GPU);
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Graph::record(Device::Cuda(0), || ones.sum(Kind::Float).double_value(&[])).map(|_| ())
    }));
    assert!(!matches!(failed, Ok(Ok(()))), "a recording that reads back cannot succeed");
    assert_eq!(f64::try_from(ones.sum(Kind::Float)).expect("one number"), 4.0);
}
