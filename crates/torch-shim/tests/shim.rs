//! Each function of the shim, called the way the library calls it.

mod look;

use std::panic::{AssertUnwindSafe, catch_unwind};

use tch::{Device, Kind, Tensor};
use torch_shim::{
    Cuda, allow_tf32, as_bf16, autocast_bf16, channels_last, is_channels_last, is_deterministic, open_cuda,
    peak_memory, peak_ram, reset_peak_memory, set_deterministic, side_by_side, try_channels_last, upload,
};

const CPU: (Kind, Device) = (Kind::Float, Device::Cpu);

fn product_kind() -> Kind {
    let matrix = Tensor::ones([3, 3], CPU);
    matrix.matmul(&matrix).kind()
}

#[test]
fn autocast_multiplies_in_bf16_and_only_inside() {
    assert_eq!(product_kind(), Kind::Float);
    assert_eq!(autocast_bf16(Device::Cpu, true, product_kind), Kind::BFloat16);
    assert_eq!(product_kind(), Kind::Float);
}

#[test]
fn autocast_can_be_switched_off_within() {
    let kinds = autocast_bf16(Device::Cpu, true, || {
        let inner = autocast_bf16(Device::Cpu, false, product_kind);
        (inner, product_kind())
    });
    assert_eq!(kinds, (Kind::Float, Kind::BFloat16));
}

#[test]
fn autocast_ends_with_a_panic() {
    let outcome = catch_unwind(|| autocast_bf16(Device::Cpu, true, || panic!("on purpose")));
    assert!(outcome.is_err());
    assert_eq!(product_kind(), Kind::Float);
}

#[test]
fn autocast_of_another_device_leaves_this_one_alone() {
    assert_eq!(autocast_bf16(Device::Cuda(0), true, product_kind), Kind::Float);
    assert_eq!(autocast_bf16(Device::Mps, true, product_kind), Kind::Float);
}

/// Leaving the outermost autocast drops the bf16 copies: a weight changed in between is seen.
#[test]
fn a_changed_weight_is_converted_anew() {
    let weight = Tensor::ones([2, 2], CPU).set_requires_grad(true);
    let input = Tensor::ones([1, 2], CPU);
    let forward = || f64::try_from(autocast_bf16(Device::Cpu, true, || input.matmul(&weight)).sum(Kind::Float));
    assert_eq!(forward().expect("one number"), 4.0);
    tch::no_grad(|| {
        let _ = weight.shallow_clone().fill_(2.0);
    });
    assert_eq!(forward().expect("one number"), 8.0);
}

/// f32 leaves get f32 gradients through bf16 products: sum(x·w) with x = (1, 1) has slope 1 everywhere.
#[test]
fn gradients_pass_through_autocast() {
    let weight = Tensor::ones([2, 2], CPU).set_requires_grad(true);
    let input = Tensor::ones([1, 2], CPU);
    autocast_bf16(Device::Cpu, true, || input.matmul(&weight)).sum(Kind::Float).backward();
    let gradient = weight.grad();
    assert_eq!(gradient.kind(), Kind::Float);
    assert_eq!(gradient, Tensor::ones([2, 2], CPU));
}

#[test]
fn channels_last_moves_values_but_not_their_places() {
    let images = Tensor::arange(2 * 3 * 4 * 5, CPU).view([2, 3, 4, 5]);
    let moved = channels_last(&images);
    assert!(!is_channels_last(&images));
    assert!(is_channels_last(&moved));
    assert_eq!(moved.stride(), [60, 1, 15, 3]);
    assert_eq!(moved, images);
}

#[test]
fn what_is_channels_last_already_is_not_copied() {
    let once = channels_last(&Tensor::ones([2, 3, 4, 5], CPU));
    assert_eq!(channels_last(&once).data_ptr(), once.data_ptr());
}

#[test]
fn a_weight_becomes_channels_last_in_place() {
    let mut weight = Tensor::ones([8, 3, 3, 3], CPU).set_requires_grad(true);
    let moved = channels_last(&weight);
    tch::no_grad(|| weight.set_data(&moved));
    assert!(is_channels_last(&weight));
    assert!(weight.requires_grad() && weight.is_leaf());
}

#[test]
fn an_exception_becomes_an_error() {
    let error = try_channels_last(&Tensor::ones([2, 3], CPU)).expect_err("a matrix has no channels");
    assert!(error.message().contains("rank 4"), "{error}");
    assert!(!is_channels_last(&Tensor::ones([2, 3], CPU)));
}

#[test]
fn the_panic_of_channels_last_names_the_size() {
    let matrix = AssertUnwindSafe(Tensor::ones([2, 3], CPU));
    let panic = catch_unwind(|| channels_last(&matrix)).expect_err("a matrix has no channels");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(message.contains("[2, 3]"), "{message}");
}

#[test]
fn deterministic_mode_goes_on_and_off() {
    assert!(!is_deterministic());
    set_deterministic(true);
    assert!(is_deterministic());
    assert!(std::env::var_os("CUBLAS_WORKSPACE_CONFIG").is_some());
    set_deterministic(false);
    assert!(!is_deterministic());
}

#[test]
fn tf32_can_be_set_without_a_gpu() {
    allow_tf32(true);
    allow_tf32(false);
}

#[test]
fn cuda_is_there_or_the_reason_is_told() {
    match open_cuda() {
        Cuda::Available { devices } => assert!(*devices > 0),
        Cuda::Unavailable { reason } => assert!(!reason.is_empty()),
    }
    assert_eq!(open_cuda().is_available(), tch::Cuda::is_available());
    assert!(std::ptr::eq(open_cuda(), open_cuda()));
}

#[test]
fn without_cuda_its_memory_is_unknown() {
    if !open_cuda().is_available() {
        assert_eq!(peak_memory(Device::Cuda(0)), None);
        reset_peak_memory(Device::Cuda(0));
    }
}

#[test]
fn touching_memory_raises_the_peak() {
    const SIZE: usize = 64 << 20;
    reset_peak_memory(Device::Cpu);
    let before = peak_ram().expect("this system counts");
    let touched = vec![1u8; SIZE];
    let after = peak_memory(Device::Cpu).expect("this system counts");
    assert!(before > 0);
    assert!(touched.iter().all(|byte| *byte == 1));
    assert!(after >= before + (SIZE as u64) / 2, "{before} then {after}");
}

#[test]
fn a_cpu_tells_nothing_of_a_gpu() {
    assert_eq!(torch_shim::about_gpu(Device::Cpu), None);
}

#[test]
fn a_graph_needs_a_gpu() {
    let refused = torch_shim::Graph::record(Device::Cpu, || ()).map(|_| ()).expect_err("a CPU");
    assert_eq!(refused.to_string(), "libtorch: only a CUDA device records graphs");
}

/// θ = (1, 2), loss θ₁² alone: ∇ = (2, 0) for the first, none for the second parameter, which stays.
#[test]
fn a_parameter_without_a_gradient_stays() {
    let parameters: Vec<Tensor> =
        [1.0f32, 2.0].iter().map(|value| Tensor::from_slice(&[*value]).set_requires_grad(true)).collect();
    let velocities: Vec<Tensor> = parameters.iter().map(Tensor::zeros_like).collect();
    let rate = Tensor::from_slice(&[0.25f32]);
    for expected in [0.5, 0.25] {
        torch_shim::clear_gradients(&parameters);
        parameters[0].square().sum(Kind::Float).backward();
        torch_shim::sgd_step(&parameters, &velocities, &rate, 0.0, 0.0, None);
        assert_eq!(parameters[0].double_value(&[0]), expected);
    }
    assert_eq!(parameters[1].double_value(&[0]), 2.0);
}

/// Converted together they are what each is alone, and so are the slopes: 2·w from Σ w².
#[test]
fn weights_converted_together_are_those_converted_one_by_one() {
    let weight = |size: &[i64]| Tensor::randn(size, (Kind::Float, Device::Cpu)).set_requires_grad(true);
    let weights = [weight(&[16, 8, 3, 3]), weight(&[16, 8, 1, 1]), weight(&[5])];
    let copies = as_bf16(&weights);
    copies.iter().map(|copy| copy.square().sum(Kind::Float)).sum::<Tensor>().backward();
    for (weight, copy) in weights.iter().zip(&copies) {
        let alone = weight.detach().to_kind(Kind::BFloat16);
        assert_eq!(copy.kind(), Kind::BFloat16);
        assert!(copy.equal(&alone));
        assert!(weight.grad().equal(&(alone * 2.0).to_kind(Kind::Float)));
    }
}

/// Without a GPU one comes after the other.
#[test]
fn work_side_by_side_is_all_done() {
    assert_eq!(side_by_side(Device::Cpu, || 1, || "two"), (1, "two"));
}

/// What was brought over is a copy: the bytes may change afterwards.
#[test]
fn uploaded_bytes_are_a_copy() {
    let mut bytes = vec![1u8, 2, 255];
    let tensor = upload(&bytes, Device::Cpu);
    bytes[0] = 9;
    assert_eq!(Vec::<u8>::try_from(&tensor).expect("bytes"), [1, 2, 255]);
    assert_eq!(upload(&[], Device::Cpu).size(), [0]);
}

/// As when a recording runs out of memory inside `no_grad`: what follows still learns.
#[test]
fn a_panic_without_gradients_leaves_gradients_on() {
    let failed =
        std::panic::catch_unwind(|| torch_shim::keeping_grad_mode(|| tch::no_grad(|| panic!("out of memory"))));
    assert!(failed.is_err());
    let parameter = Tensor::from_slice(&[3.0f32]).set_requires_grad(true);
    parameter.square().sum(Kind::Float).backward();
    assert_eq!(parameter.grad().double_value(&[0]), 6.0);
    // And where they were off they stay off.
    let _off = tch::no_grad_guard();
    let _ = std::panic::catch_unwind(|| torch_shim::keeping_grad_mode(|| tch::with_grad(|| panic!("again"))));
    assert!(!(&parameter * 2.0).requires_grad());
}

/// The kernel's own source, run on a CPU.
#[test]
fn our_look_is_the_triangle_filter() {
    look::is_the_triangle_filter(Device::Cpu);
}

/// Two pixels are there: an image of three reaches beyond them.
#[test]
fn an_image_beyond_the_pixels_is_refused() {
    let pixels = Tensor::zeros([2, 3], (Kind::Uint8, Device::Cpu));
    let how = Tensor::from_slice(&[0.0f32, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]).reshape([1, 7]);
    let ones = Tensor::ones([3], CPU);
    let seen = |width: i64| {
        let places = Tensor::from_slice(&[0, width, 1]).reshape([1, 3]);
        let look = || torch_shim::look(&pixels, &places, &how, (&ones, &ones), 4, Kind::Float);
        catch_unwind(AssertUnwindSafe(look)).is_ok()
    };
    assert_eq!([seen(2), seen(3), seen(0)], [true, false, false]);
}
