//! The first convolution with all that follows it, against libtorch's operations in f64.

use tch::{Device, Kind, Tensor};
use torch_shim::{Norm, channels_last, is_channels_last, stem, stem_fits, stem_with_bias};

const GPU: (Kind, Device) = (Kind::Float, Device::Cuda(0));

/// The root of the mean square of the difference, as a share of that of the values.
fn apart(ours: &Tensor, exact: &Tensor) -> f64 {
    let size = |tensor: &Tensor| tensor.to_kind(Kind::Double).square().mean(Kind::Double).sqrt();
    f64::try_from(size(&(ours.to_kind(Kind::Double) - exact)) / size(exact)).expect("a number")
}

fn exact_of(tensor: &Tensor) -> Tensor {
    tensor.detach().to_kind(Kind::Double).set_requires_grad(true)
}

fn pool(maps: &Tensor) -> Tensor {
    maps.relu().max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false)
}

pub(crate) fn is_libtorchs(images: i64, height: i64, width: i64) {
    let case = format!("{images} images of {height} × {width}");
    tch::manual_seed(height * width);
    let bf16 = |tensor: Tensor| channels_last(&tensor).to_kind(Kind::BFloat16);
    // Neighbours of a photo are alike, and its mean is far from 0.
    let noise = Tensor::randn([images, 3, height, width], GPU);
    let x = bf16(noise.avg_pool2d([3, 3], [1, 1], [1, 1], false, true, None::<i64>) + noise * 0.2 + 0.7);
    let weight = bf16(Tensor::randn([64, 3, 3, 3], GPU) * 0.2).set_requires_grad(true);
    assert!(stem_fits(&x, &weight), "{case}");
    // Some factors are negative, so that the largest of a window is its smallest before.
    let vector = |from: f64| (Tensor::arange(64, GPU) * 0.03 + from).set_requires_grad(true);
    let (gamma, beta) = (vector(-0.5), vector(-0.9));
    let (mean, var) = (Tensor::zeros([64], GPU), Tensor::ones([64], GPU));
    let norm =
        Norm { gamma: &gamma, beta: &beta, running_mean: &mean, running_var: &var, momentum: 0.1, epsilon: 1e-5 };
    let ours = stem(&x, &weight, &norm);

    let (exact_weight, exact_gamma, exact_beta) = (exact_of(&weight), exact_of(&gamma), exact_of(&beta));
    let (exact_mean, exact_var) = (mean.zeros_like().to_kind(Kind::Double), var.ones_like().to_kind(Kind::Double));
    let map = x.to_kind(Kind::Double).conv2d(&exact_weight, None::<Tensor>, 1, 1, 1, 1);
    let (g, b) = (Some(&exact_gamma), Some(&exact_beta));
    let exact = pool(&map.batch_norm(g, b, Some(&exact_mean), Some(&exact_var), true, 0.1, 1e-5, false));
    assert_eq!(ours.size(), exact.size(), "{case}");
    assert!(is_channels_last(&ours), "{case}");
    assert!(apart(&ours, &exact) < 0.004, "{case}: {}", apart(&ours, &exact));
    assert!(apart(&mean, &exact_mean) < 1e-5 && apart(&var, &exact_var) < 1e-5, "{case}: running statistics");

    let slope = bf16(Tensor::randn(ours.size(), GPU));
    (&ours * &slope).sum(Kind::Float).backward();
    (&exact * slope.to_kind(Kind::Double)).sum(Kind::Double).backward();
    for (ours, exact, name) in
        [(&weight, &exact_weight, "weight"), (&gamma, &exact_gamma, "gamma"), (&beta, &exact_beta, "beta")]
    {
        let found = apart(&ours.grad(), &exact.grad());
        assert!(found < 0.01, "{case}: slope of {name}: {found}");
    }

    let bias = Tensor::arange(64, GPU) * 0.03 - 0.9;
    let bare = x.to_kind(Kind::Double).conv2d(&exact_weight.detach(), Some(bias.to_kind(Kind::Double)), 1, 1, 1, 1);
    let found = apart(&stem_with_bias(&x, &weight.detach(), &bias), &pool(&bare));
    assert!(found < 0.004, "{case}, with a bias: {found}");
}
