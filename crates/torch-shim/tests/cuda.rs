//! The shim on a GPU. Where there is none, these say so and are skipped, unless `PRESCIENT_REQUIRE` names `gpu`.
//!
//! A file of their own, for CUDA must be opened before anything else of torch is used in the process.

mod look;
#[path = "../../prescient/tests/common/required.rs"]
mod required;
mod stem;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tch::{Device, Kind, Tensor};
use torch_shim::{
    After, Cuda, GpuGroup, Graph, Norm, Store, add_bias, allow_tf32, as_bf16, autocast_bf16, channels_last,
    clear_gradients, gpu_uuid, is_channels_last, kernels_ready, mmd_weigh, nccl_id, nccl_version, norm, open_cuda,
    peak_memory, pod, reset_peak_memory, set_deterministic, sgd_step, side_by_side,
};

const GPU: (Kind, Device) = (Kind::Float, Device::Cuda(0));

/// A turn on the GPU, or a word on stderr. One test at a time: while one records, nobody else may draw numbers or wait
/// for the device, and the peak of memory counts what all threads hold.
fn gpu() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    let cuda = open_cuda();
    if let Cuda::Unavailable { .. } = cuda {
        required::skip("gpu", &cuda.to_string());
    }
    cuda.is_available().then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

#[test]
fn a_program_linked_for_the_cpu_computes_on_the_gpu() {
    let Some(_turn) = gpu() else { return };
    assert!(tch::Cuda::is_available());
    let sum = Tensor::ones([1000], GPU).sum(Kind::Float);
    assert_eq!(f64::try_from(sum).expect("one number"), 1000.0);
}

#[test]
fn autocast_multiplies_in_bf16_on_the_gpu() {
    let Some(_turn) = gpu() else { return };
    let matrix = Tensor::ones([8, 8], GPU).set_requires_grad(true);
    let kind = || matrix.matmul(&matrix).kind();
    assert_eq!(autocast_bf16(Device::Cuda(0), true, kind), Kind::BFloat16);
    assert_eq!(autocast_bf16(Device::Cpu, true, kind), Kind::Float);
    assert_eq!(kind(), Kind::Float);
}

#[test]
fn a_convolution_keeps_channels_last() {
    let Some(_turn) = gpu() else { return };
    let images = channels_last(&Tensor::ones([2, 16, 8, 8], GPU));
    let weights = channels_last(&Tensor::ones([16, 16, 3, 3], GPU));
    let output = autocast_bf16(Device::Cuda(0), true, || images.conv2d(&weights, None::<Tensor>, 1, 1, 1, 1));
    assert!(is_channels_last(&output));
}

/// 64 MiB of floats raise the peak by as much; a reset brings it down to what is still held.
#[test]
fn the_peak_counts_what_tensors_held() {
    const SIZE: u64 = 64 << 20;
    // The allocator rounds sizes up.
    const SLACK: u64 = 16 << 20;
    let Some(_turn) = gpu() else { return };
    drop(Tensor::zeros([1], GPU));
    reset_peak_memory(Device::Cuda(0));
    let before = peak_memory(Device::Cuda(0)).expect("CUDA counts once it is used");
    drop(Tensor::zeros([(SIZE / 4) as i64], GPU));
    let peak = peak_memory(Device::Cuda(0)).expect("CUDA counts once it is used");
    assert!(peak + SLACK >= before + SIZE, "{before} then {peak}");
    reset_peak_memory(Device::Cuda(0));
    let after = peak_memory(Device::Cuda(0)).expect("CUDA counts once it is used");
    assert!(after <= before + SLACK, "{before} then {after}");
}

/// cuBLAS refuses deterministic mode without its workspace setting, so this also tests that it was made.
#[test]
fn deterministic_mode_multiplies_and_convolves() {
    let Some(_turn) = gpu() else { return };
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

/// A GPU tells its generation and how much memory is left; what tensors take is gone from it.
#[test]
fn a_gpu_tells_what_it_is_able_to_do() {
    let Some(_turn) = gpu() else { return };
    let before = torch_shim::about_gpu(Device::Cuda(0)).expect("a GPU");
    assert!((5..20).contains(&before.generation) && before.free_bytes > 0, "{before:?}");
    let _held = Tensor::zeros([1 << 30], (Kind::Uint8, Device::Cuda(0)));
    let after = torch_shim::about_gpu(Device::Cuda(0)).expect("a GPU");
    assert!(after.free_bytes <= before.free_bytes, "{after:?}, before {before:?}");
}

/// A weight that learns: 100 steps from a graph end where 100 steps without one do.
#[test]
fn a_graph_does_what_it_recorded() {
    let Some(_turn) = gpu() else { return };
    let learn = |graphed: bool, max_norm: Option<f64>| -> f64 {
        let weight = Tensor::ones([1], GPU).set_requires_grad(true);
        let (parameters, velocities) = (vec![weight.shallow_clone()], vec![Tensor::zeros([1], GPU)]);
        let (input, rate) = (Tensor::zeros([1], GPU), Tensor::zeros([1], GPU));
        let step = || {
            clear_gradients(&parameters);
            let loss = (&weight * &input - 3.0).square().sum(Kind::Float);
            loss.backward();
            sgd_step(&parameters, &velocities, &rate, 0.9, 0.0, max_norm);
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
    for max_norm in [None, Some(0.5)] {
        assert!((learn(true, max_norm) - learn(false, max_norm)).abs() < 1e-5, "{max_norm:?}");
    }
}

#[test]
fn a_graph_draws_new_numbers_each_time() {
    let Some(_turn) = gpu() else { return };
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

/// Reading a value back is not allowed while recording. In a process of its own, for none is made afterwards: the allocator still asks the graph that failed what is its memory, so
/// that graph stays, and the next recording is refused. Work goes on as it comes.
#[test]
fn after_a_recording_that_failed_none_is_made() {
    let Some(_turn) = gpu() else { return };
    if std::env::var_os("PRESCIENT_TEST_FAILED_RECORDING").is_none() {
        let mut again = std::process::Command::new(std::env::current_exe().expect("this test"));
        again
            .args(["--exact", "after_a_recording_that_failed_none_is_made"])
            .env("PRESCIENT_TEST_FAILED_RECORDING", "1");
        let output = again.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let ones = Tensor::ones([1 << 20], GPU);
    for _ in 0..3 {
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            Graph::record(Device::Cuda(0), || (&ones * 2.0).sum(Kind::Float).double_value(&[])).map(|_| ())
        }));
        assert!(!matches!(failed, Ok(Ok(()))), "a recording that reads back cannot succeed");
        for _ in 0..20 {
            assert_eq!((&ones * 3.0).sum(Kind::Float).double_value(&[]), f64::from(3 << 20));
        }
        // Nor do random numbers still count for it.
        assert_eq!(Tensor::rand([3], GPU).size(), [3]);
    }
}

const TIMEOUT: Duration = Duration::from_secs(60);

/// A group of one process, whose id went through a store as between two.
fn alone_in_a_group() -> GpuGroup {
    let kept = Store::serve("127.0.0.1", 0, TIMEOUT).expect("a store");
    let other = Store::connect("127.0.0.1", kept.port(), TIMEOUT).expect("the store");
    kept.set("id", &nccl_id().expect("an id")).expect("set");
    let id = other.get("id", TIMEOUT).expect("the id");
    GpuGroup::join(&id, (0, 1), Device::Cuda(0), TIMEOUT).expect("a group of one")
}

#[test]
fn a_gpu_has_a_number_of_its_own_and_nccl_a_version() {
    let Some(_turn) = gpu() else { return };
    let uuid = gpu_uuid(Device::Cuda(0)).expect("a GPU");
    assert!(uuid.len() == 32 && uuid.chars().any(|digit| digit != '0'), "{uuid}");
    let version = nccl_version().expect("a CUDA build of libtorch brings NCCL along");
    assert!(version.starts_with("2."), "{version}");
}

/// The sum over one process is what that one has, in each kind, also into itself.
#[test]
fn one_process_adds_up_what_it_has() {
    let Some(_turn) = gpu() else { return };
    let group = alone_in_a_group();
    for kind in [Kind::Float, Kind::Double, Kind::Int64, Kind::Int, Kind::Half, Kind::BFloat16, Kind::Uint8] {
        let from = Tensor::arange(100, (kind, Device::Cuda(0)));
        let to = from.zeros_like();
        group.sum(&from, &to).expect("a sum");
        group.sum(&from, &from).expect("a sum");
        assert!(to.equal(&from) && to.equal(&Tensor::arange(100, (kind, Device::Cuda(0)))), "{kind:?}");
    }
    assert!(!group.takes(&Tensor::zeros([2], (Kind::Bool, Device::Cuda(0)))), "no numbers");
    assert!(!group.takes(&Tensor::zeros([2], (Kind::Float, Device::Cpu))), "in main memory");
    assert_eq!(group.trouble(), None);
}

/// y = Σ 2x, recorded: with x = 1, 2, 3 that is 2, 4, 6, times 1000 numbers. The recording goes before the group.
#[test]
fn a_sum_over_processes_can_be_recorded() {
    let Some(_turn) = gpu() else { return };
    let group = alone_in_a_group();
    let x = Tensor::zeros([1000], (Kind::Double, Device::Cuda(0)));
    let step = || {
        let (twice, sum) = (&x * 2.0, x.zeros_like());
        group.sum(&twice, &sum).expect("a sum");
        group.sum(&sum, &sum).expect("a sum");
        sum.sum(Kind::Double)
    };
    drop(step());
    let (graph, total) = Graph::record(Device::Cuda(0), step).expect("a recording");
    for value in [1.0, 2.0, 3.0] {
        let _ = x.shallow_clone().fill_(value);
        graph.replay().expect("a replay");
        assert_eq!(total.double_value(&[]), 2000.0 * value);
    }
    assert_eq!(group.trouble(), None);
    drop(graph);
    let began = Instant::now();
    drop(group);
    assert!(began.elapsed() < Duration::from_secs(4), "nothing counts on the group any more: {:?}", began.elapsed());
}

/// The second of two processes never comes. In a process of its own, in which a thread of NCCL goes on waiting.
#[test]
fn who_waits_in_vain_for_a_group_of_gpus_is_told_in_time() {
    let Some(_turn) = gpu() else { return };
    if std::env::var_os("PRESCIENT_TEST_NOBODY_COMES").is_none() {
        let mut again = std::process::Command::new(std::env::current_exe().expect("this test"));
        again
            .args(["--exact", "who_waits_in_vain_for_a_group_of_gpus_is_told_in_time"])
            .env("PRESCIENT_TEST_NOBODY_COMES", "1");
        let output = again.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        // It leaves before the test's own word.
        assert!(output.status.success() && said.contains("running 1 test"), "{said}");
        return;
    }
    let (id, began) = (nccl_id().expect("an id"), Instant::now());
    let error = GpuGroup::join(&id, (0, 2), Device::Cuda(0), Duration::from_secs(2)).expect_err("nobody else comes");
    assert_eq!(error.message(), "NCCL: not all processes came within 2 s");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    torch_shim::leave(0);
}

/// A map that is no number has a distance and a loss that are none.
#[test]
fn what_is_no_number_stays_none() {
    let Some(_turn) = kernels() else { return };
    let (old, new) = (maps(1).0, maps(2).0);
    let _ = new.detach().narrow(0, 0, 1).fill_(f64::NAN);
    let distances = torch_shim::pod(&[old], &[new.shallow_clone()]);
    assert!(distances.double_value(&[0, 0]).is_nan());
    let products = Tensor::ones([2, 300], GPU);
    let _ = products.narrow(0, 0, 1).fill_(f64::NAN);
    let (rows, columns) = (Tensor::ones([2], GPU), Tensor::ones([300], GPU));
    let rates = Tensor::from_slice(&[0.5f32]).to_device(Device::Cuda(0));
    let sums = torch_shim::mmd_weigh(&products, &rows, &columns, &rates, 100, (1.0, 1.0));
    assert!(sums.double_value(&[1, 0]).is_nan() && sums.double_value(&[1, 1]).is_finite());
}

/// What does not fit is refused, not read out of bounds.
#[test]
fn arguments_that_do_not_fit_are_refused() {
    let Some(_turn) = kernels() else { return };
    let refused = |work: &dyn Fn()| {
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
    };
    let (_, x) = maps(1);
    let channels = x.size()[1];
    let [right, short] = [channels, channels - 1].map(|count| Tensor::ones([count], GPU));
    let on_cpu = Tensor::ones([channels], (Kind::Float, Device::Cpu));
    for wrong in [&short, &on_cpu] {
        let norm = |gamma, var| torch_shim::Norm {
            gamma,
            beta: &right,
            running_mean: &right,
            running_var: var,
            momentum: 0.1,
            epsilon: 1e-5,
        };
        refused(&|| drop(torch_shim::norm(&x, &norm(wrong, &right), torch_shim::After::default())));
        refused(&|| drop(torch_shim::norm(&x, &norm(&right, wrong), torch_shim::After::default())));
        refused(&|| drop(torch_shim::add_bias(&x, wrong, torch_shim::After::default())));
    }
    assert!(!torch_shim::kernels_fit(&x.narrow(0, 0, 0)), "an empty batch goes the other way");
}

/// Odd sizes, so that no block is full: value, and slopes in x, weight and bias, of `Σ s·(x·wᵀ + b)` are those in f64.
#[test]
fn a_layer_of_our_own_is_libtorchs() {
    let Some(_turn) = kernels() else { return };
    tch::manual_seed(5);
    for [rows, inputs, outputs] in [[1, 3, 1], [130, 90, 77], [501, 17, 1030]] {
        let drawn = [[rows, inputs].as_slice(), &[outputs, inputs], &[outputs]].map(|size| Tensor::randn(size, GPU));
        let slope = Tensor::randn([rows, outputs], GPU);
        let exact = drawn.each_ref().map(|tensor| tensor.to_kind(Kind::Double).set_requires_grad(true));
        let ours = drawn.map(|tensor| tensor.set_requires_grad(true));
        let (found, expected) = torch_shim::without_tf32(|| {
            let found = torch_shim::linear(&ours[0], &ours[1], &ours[2]);
            torch_shim::backward_from(&found, &slope);
            let expected = exact[0].linear(&exact[1], Some(&exact[2]));
            (&expected * slope.to_kind(Kind::Double)).sum(Kind::Double).backward();
            (found, expected)
        });
        assert!(apart(&found, &expected) < 1e-5);
        for (ours, exact) in ours.iter().zip(&exact) {
            assert!(apart(&ours.grad(), &exact.grad()) < 1e-5, "{:?}", ours.size());
        }
    }
}

/// Five steps with other slopes each, on parameters of one number to many: our kernel is where libtorch's Adam is.
#[test]
fn a_step_of_adam_of_our_own_is_libtorchs() {
    let Some(_turn) = kernels() else { return };
    tch::manual_seed(6);
    let drawn: Vec<Tensor> = [1, 7, 100_003].iter().map(|count| Tensor::randn([*count], GPU)).collect();
    let slopes: Vec<Vec<Tensor>> = (0..5).map(|_| drawn.iter().map(Tensor::randn_like).collect()).collect();
    let rate = Tensor::full([1], 0.1, GPU);
    let learned = |kernels: bool| {
        let parameters: Vec<Tensor> = drawn.iter().map(|tensor| tensor.copy().set_requires_grad(true)).collect();
        let state = torch_shim::AdamState::new(&parameters);
        for slopes in &slopes {
            clear_gradients(&parameters);
            parameters
                .iter()
                .zip(slopes)
                .for_each(|(parameter, slope)| (parameter * slope).sum(Kind::Float).backward());
            assert_eq!(torch_shim::adam_step(&parameters, &state, &rate, kernels), kernels, "who did it");
        }
        assert_eq!(state.counts[2].double_value(&[0]), 5.0);
        parameters
    };
    for ((ours, theirs), before) in learned(true).iter().zip(&learned(false)).zip(&drawn) {
        // Each step is about 0.1 long, and numbers up to 5 are rounded by 2e-7 in each.
        let largest = |tensor: Tensor| tensor.abs().max().double_value(&[]);
        assert!(largest(ours - theirs) < 3e-6 && largest(ours - before) > 0.1, "{:?}", ours.size());
    }
}

/// A turn on a GPU with our kernels: none without a GPU, which a word on stderr tells. On a GPU they must compile, also
/// from a test's thread that has asked CUDA for nothing yet, as is mostly so for the first that asks.
fn kernels() -> Option<MutexGuard<'static, ()>> {
    gpu().filter(|_| kernels_ready(Device::Cuda(0), |error| panic!("{error}")))
}

/// Maps with a mean far from 0, `[4, 16, 9, 10]`, as our kernels want them, and the same in f64.
fn maps(seed: i64) -> (Tensor, Tensor) {
    tch::manual_seed(seed);
    let maps = channels_last(&(Tensor::randn([4, 16, 9, 10], GPU) * 2.0 + 3.0)).to_kind(Kind::BFloat16);
    (maps.copy().set_requires_grad(true), maps.to_kind(Kind::Double).set_requires_grad(true))
}

/// The largest difference, as a share of the largest value.
fn apart(ours: &Tensor, exact: &Tensor) -> f64 {
    let difference = (ours.to_kind(Kind::Double) - exact).abs().max();
    f64::try_from(difference / exact.abs().max()).expect("a number")
}

/// BatchNorm, the way around, ReLU and pooling in one pass are those of libtorch in f64, forwards and backwards, but for
/// the rounding of bf16 (8 bits).
#[test]
fn our_norm_is_libtorchs() {
    let Some(_turn) = kernels() else { return };
    for (with_around, relu, pool) in
        [(false, false, false), (false, true, false), (true, false, false), (true, true, false), (false, true, true)]
    {
        let (x, exact_x) = maps(1);
        let (around, exact_around) = maps(2);
        let vector = |from: f64| (Tensor::arange(16, GPU) * 0.1 + from).set_requires_grad(true);
        let (gamma, beta) = (vector(0.5), vector(-1.0));
        let (mean, var) = (Tensor::zeros([16], GPU), Tensor::ones([16], GPU));
        let batch_norm =
            Norm { gamma: &gamma, beta: &beta, running_mean: &mean, running_var: &var, momentum: 0.1, epsilon: 1e-5 };
        let after = After { around: with_around.then_some(&around), relu, pool, ..Default::default() };
        let ours = norm(&x, &batch_norm, after);

        let exact_vector = |of: &Tensor| of.detach().to_kind(Kind::Double).set_requires_grad(true);
        let (exact_gamma, exact_beta) = (exact_vector(&gamma), exact_vector(&beta));
        let (exact_mean, exact_var) = (mean.zeros_like().to_kind(Kind::Double), mean.ones_like().to_kind(Kind::Double));
        let (g, b) = (Some(&exact_gamma), Some(&exact_beta));
        let mut exact = exact_x.batch_norm(g, b, Some(&exact_mean), Some(&exact_var), true, 0.1, 1e-5, false);
        if with_around {
            exact += &exact_around;
        }
        if relu {
            exact = exact.relu();
        }
        if pool {
            exact = exact.max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false);
        }
        let case = format!("around {with_around}, relu {relu}, pool {pool}");
        assert_eq!(ours.size(), exact.size(), "{case}");
        assert!(is_channels_last(&ours), "{case}");
        assert!(apart(&ours, &exact) < 0.005, "{case}: {}", apart(&ours, &exact));
        assert!(apart(&mean, &exact_mean) < 1e-5 && apart(&var, &exact_var) < 1e-4, "{case}: running statistics");

        let slope = channels_last(&Tensor::randn(ours.size(), GPU)).to_kind(Kind::BFloat16);
        (&ours * &slope).sum(Kind::Float).backward();
        (&exact * slope.to_kind(Kind::Double)).sum(Kind::Double).backward();
        let mut slopes = vec![(&x, &exact_x, "x"), (&gamma, &exact_gamma, "gamma"), (&beta, &exact_beta, "beta")];
        if with_around {
            slopes.push((&around, &exact_around, "around"));
        }
        for (ours, exact, name) in slopes {
            let (ours, exact) = (ours.grad(), exact.grad());
            // Where two values round to the same, another may be the window's largest.
            let close = if pool { 0.05 } else { 0.01 };
            let mean_apart = f64::try_from(
                (ours.to_kind(Kind::Double) - &exact).square().mean(Kind::Double).sqrt()
                    / exact.square().mean(Kind::Double).sqrt(),
            )
            .expect("a number");
            assert!(mean_apart < close, "{case}: slope of {name}: {mean_apart}");
        }
    }
}

#[test]
fn our_bias_is_libtorchs() {
    let Some(_turn) = kernels() else { return };
    let ((x, exact_x), (around, exact_around)) = (maps(1), maps(2));
    let bias = Tensor::arange(16, GPU) * 0.5 - 6.0;
    let exact_bias = bias.to_kind(Kind::Double).reshape([1, -1, 1, 1]);
    let exact = (&exact_x + &exact_bias + &exact_around).relu();
    let ours = add_bias(&x, &bias, After { around: Some(&around), relu: true, ..Default::default() });
    assert!(apart(&ours, &exact) < 0.005);
    let exact = (exact_x + exact_bias).relu().max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false);
    let ours = add_bias(&x, &bias, After { relu: true, pool: true, ..Default::default() });
    assert!(apart(&ours, &exact) < 0.005);

    // 120 channels, as only a bias may have: 15 times 8 divides no block's threads.
    let x = channels_last(&(Tensor::randn([64, 120, 14, 14], GPU) * 3.0 + 3.0)).to_kind(Kind::BFloat16);
    assert!(!torch_shim::kernels_fit(&x) && torch_shim::bias_fits(&x));
    let bias = Tensor::arange(120, GPU) * 0.02 - 1.0;
    let sum = x.to_kind(Kind::Double) + bias.to_kind(Kind::Double).reshape([1, -1, 1, 1]);
    assert!(apart(&add_bias(&x, &bias, After::default()), &sum) < 0.005);
    let ours = add_bias(&x, &bias, After { relu6: true, ..Default::default() });
    assert!(apart(&ours, &sum.clamp(0, 6)) < 0.005);
}

/// The distances of two stages, from profiles written out in f64; only the new maps learn. Where nothing has moved the
/// distance is the least there is and has no slope.
#[test]
fn our_pod_is_the_formula() {
    let Some(_turn) = kernels() else { return };
    let ((x, exact_x), (y, exact_y)) = (maps(1), maps(2));
    let old = [maps(3).0, maps(4).0];
    let unit = |maps: &Tensor| {
        let squares = maps.permute([0, 2, 3, 1]).square();
        let over = |dim: i64| squares.sum_dim_intlist([dim].as_slice(), false, Kind::Double).flatten(1, -1);
        let profile = Tensor::cat(&[over(2), over(1)], 1);
        let length = profile.square().sum_dim_intlist([1i64].as_slice(), true, Kind::Double).sqrt();
        profile / length
    };
    let distance = |old: &Tensor, new: &Tensor| {
        let apart = unit(&old.to_kind(Kind::Double)) - unit(new);
        apart.square().sum_dim_intlist([1i64].as_slice(), false, Kind::Double).sqrt()
    };
    let exact = Tensor::stack(&[distance(&old[0].detach(), &exact_x), distance(&old[1].detach(), &exact_y)], 0);
    let ours = pod(&old, &[x.shallow_clone(), y.shallow_clone()]);
    assert!(apart(&ours, &exact) < 1e-5);
    let slope = Tensor::randn(ours.size(), GPU);
    (ours * &slope).sum(Kind::Float).backward();
    (exact * slope.to_kind(Kind::Double)).sum(Kind::Double).backward();
    assert!(apart(&x.grad(), &exact_x.grad()) < 0.005);
    assert!(apart(&y.grad(), &exact_y.grad()) < 0.005);

    let still = maps(5).0;
    let distances = pod(&[still.detach()], &[still.shallow_clone()]);
    assert!(f64::try_from(distances.max()).expect("a number") <= 1.1e-6);
    distances.sum(Kind::Float).backward();
    assert_eq!(f64::try_from(still.grad().abs().max()).expect("a number"), 0.0);
}

/// Converted together they are what each is alone, and so are the slopes: 2·w from Σ w².
#[test]
fn weights_converted_together_are_those_converted_one_by_one() {
    let Some(_turn) = gpu() else { return };
    let sizes: [&[i64]; 3] = [&[16, 8, 3, 3], &[16, 8, 1, 1], &[5]];
    let weights: Vec<Tensor> = sizes.iter().map(|size| Tensor::randn(*size, GPU)).collect();
    let weights = [channels_last(&weights[0]), channels_last(&weights[1]), weights[2].shallow_clone()];
    let weights = weights.map(|weight| weight.detach().set_requires_grad(true));
    let copies = as_bf16(&weights);
    copies.iter().map(|copy| copy.square().sum(Kind::Float)).sum::<Tensor>().backward();
    for (weight, copy) in weights.iter().zip(&copies) {
        assert_eq!(copy.kind(), Kind::BFloat16);
        assert_eq!(copy.stride(), weight.stride());
        let alone = weight.detach().to_kind(Kind::BFloat16);
        assert!(copy.equal(&alone));
        assert_eq!(weight.grad().kind(), Kind::Float);
        assert!(weight.grad().equal(&(alone * 2.0).to_kind(Kind::Float)));
    }
}

/// Two products side by side, as they come and from a recording; what follows sees both.
#[test]
fn work_side_by_side_is_done_when_it_is_needed() {
    let Some(_turn) = gpu() else { return };
    let input = Tensor::ones([512, 512], GPU);
    let squared = || input.matmul(&input);
    let both = || {
        let (a, b) = side_by_side(Device::Cuda(0), || squared().matmul(&input), squared);
        a + b
    };
    let value = |tensor: &Tensor| tensor.double_value(&[3, 4]);
    assert_eq!(value(&both()), 512.0 * 512.0 + 512.0);
    let (graph, result) = Graph::record(Device::Cuda(0), both).expect("a recording");
    for times in [2.0, 3.0] {
        let _ = input.shallow_clone().fill_(times);
        graph.replay().expect("a replay");
        assert_eq!(value(&result), times * times * 512.0 * (times * 512.0) + times * times * 512.0);
    }
}

#[test]
fn our_weights_of_mmd_are_the_formulas() {
    let Some(_turn) = kernels() else { return };
    let (a, b) = (Tensor::rand([7, 5], GPU), Tensor::rand([600, 5], GPU));
    let squares = |rows: &Tensor| rows.square().sum_dim_intlist([1i64].as_slice(), true, Kind::Float);
    let rates = Tensor::from_slice(&[0.25f32, 1.5]).to_device(Device::Cuda(0));
    allow_tf32(false);
    let weights = a.matmul(&b.tr());
    let sums = mmd_weigh(&weights, &squares(&a), &squares(&b), &rates, 200, (2.0, -3.0));
    let distances = (a.unsqueeze(1) - b.unsqueeze(0)).square().sum_dim_intlist([2i64].as_slice(), false, Kind::Float);
    let kernel = |rate: f64| (&distances * -rate).exp();
    let sides = Tensor::cat(&[Tensor::full([200], 2.0, GPU), Tensor::full([400], -3.0, GPU)], 0);
    let exact = (kernel(0.25) * 0.25 + kernel(1.5) * 1.5) * sides;
    let kernels = kernel(0.25) + kernel(1.5);
    let sum = |of: &Tensor| of.sum_dim_intlist([1i64].as_slice(), false, Kind::Float);
    for (ours, exact) in [
        (weights, exact.shallow_clone()),
        (sums.get(0), sum(&exact)),
        (sums.get(1), sum(&kernels.narrow(1, 0, 200))),
        (sums.get(2), sum(&kernels.narrow(1, 200, 400))),
    ] {
        assert!(apart(&ours, &exact.to_kind(Kind::Double)) < 1e-4);
    }
}

#[test]
fn our_stem_is_libtorchs() {
    let Some(_turn) = kernels() else { return };
    // Widths that are and are not a multiple of what a warp takes, odd ones, and images of several strips.
    // The last has more of them than there are blocks.
    let cases = [(3, 32, 32), (2, 21, 37), (2, 64, 64), (1, 9, 256), (2, 1, 5), (2, 40, 17), (300, 64, 64)];
    for (images, height, width) in cases {
        stem::is_libtorchs(images, height, width);
    }
}

#[test]
fn our_look_is_the_triangle_filter() {
    let Some(_turn) = kernels() else { return };
    look::is_the_triangle_filter(Device::Cuda(0));
}
