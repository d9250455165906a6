//! Our ResNet18 with torchvision's stem is torchvision's: same weights, same features.
//!
//! `golden/resnet18.py` made the numbers. The weights are not kept but computed, here as there.

use prescient::engine::{Compute, Layout};
use prescient::extractor::{ExtractorKind, Network, ResNet18, Stem};
use serde::Deserialize;
use tch::{Device, Kind, Tensor, no_grad};

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    stream: u32,
    shape: [i64; 4],
    train: bool,
    features: Vec<Vec<f64>>,
    stages: Vec<Moments>,
    running_mean: Moments,
    running_var: Moments,
}

/// What is kept of a tensor that is too large to keep.
#[derive(Deserialize)]
struct Moments {
    mean: f64,
    mean_square: f64,
}

/// `count` numbers in [−0.5, 0.5): a hash of `stream` and of each number's place (murmur3's finalizer).
fn noise(stream: u32, count: i64) -> impl Iterator<Item = f64> {
    (0..count as u32).map(move |place| {
        let mut x = place.wrapping_mul(2_654_435_761).wrapping_add(stream.wrapping_mul(40_503));
        x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
        x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
        f64::from(x ^ (x >> 16)) / 2f64.powi(32) - 0.5
    })
}

fn tensor(values: impl Iterator<Item = f64>, shape: &[i64]) -> Tensor {
    let values: Vec<f32> = values.map(|value| value as f32).collect();
    Tensor::from_slice(&values).reshape(shape)
}

/// The variable `name`: convolutions in Kaiming's range, norms and their statistics away from 0 and 1.
fn filled(name: &str, stream: u32, shape: &[i64]) -> Tensor {
    let values = noise(stream, shape.iter().product());
    if let [_, fan @ ..] = shape
        && !fan.is_empty()
    {
        let bound = (6.0 / fan.iter().product::<i64>() as f64).sqrt();
        tensor(values.map(|value| value * 2.0 * bound), shape)
    } else if name.ends_with("running_var") || name.ends_with("weight") {
        tensor(values.map(|value| value + 1.0), shape)
    } else {
        tensor(values.map(|value| value * 0.2), shape)
    }
}

fn image(stream: u32, shape: [i64; 4]) -> Tensor {
    tensor(noise(stream, shape.iter().product()).map(|value| value * 4.0), &shape)
}

fn network(size: i64) -> Network {
    let kind =
        ExtractorKind::ResNet18(ResNet18 { stem: Stem::Imagenet, width: 64, last_relu: true, ..Default::default() });
    let network = Network::new(kind, 3, size as usize, Compute::default(), Device::Cpu, 0);
    for (stream, (name, mut variable)) in (0..).zip(network.variables()) {
        no_grad(|| variable.copy_(&filled(&name, stream, &variable.size())));
    }
    network
}

#[track_caller]
fn assert_close(what: &str, found: f64, expected: f64) {
    let tolerance = 1e-4 * (1.0 + expected.abs());
    assert!((found - expected).abs() <= tolerance, "{what}: expected {expected}, found {found}");
}

#[track_caller]
fn assert_moments(what: &str, tensor: &Tensor, expected: &Moments) {
    let mean = |tensor: Tensor| f64::try_from(tensor.mean(Kind::Double)).expect("a number");
    assert_close(&format!("mean of {what}"), mean(tensor.shallow_clone()), expected.mean);
    assert_close(&format!("mean square of {what}"), mean(tensor.to_kind(Kind::Double).square()), expected.mean_square);
}

#[test]
fn features_and_maps_are_torchvisions() {
    let golden: Golden = serde_json::from_str(include_str!("golden/resnet18.json")).expect("golden values");
    for case in &golden.cases {
        let network = network(case.shape[2]);
        let ours = no_grad(|| network.extract(&image(case.stream, case.shape), case.train));
        let what = |part: &str| format!("{part} of {:?}, train: {}", case.shape, case.train);

        assert_eq!(ours.stages.len(), case.stages.len());
        for ((stage, map), expected) in (1..).zip(&ours.stages).zip(&case.stages) {
            assert_moments(&what(&format!("layer{stage}")), map, expected);
        }
        let features = Vec::<Vec<f32>>::try_from(ours.features).expect("rows");
        assert_eq!(features.len(), case.features.len());
        for (row, expected) in features.iter().zip(&case.features) {
            assert_eq!((row.len(), expected.len()), (512, 512));
            for (place, (&found, &expected)) in row.iter().zip(expected).enumerate() {
                assert_close(&what(&format!("feature {place}")), f64::from(found), expected);
            }
        }
        let variables = network.variables();
        assert_moments(&what("running_mean"), &variables["layer4.1.bn2.running_mean"], &case.running_mean);
        assert_moments(&what("running_var"), &variables["layer4.1.bn2.running_var"], &case.running_var);
    }
}

/// A teacher has its BatchNorm inside its convolutions: what it sees is what the network saw, for every stem.
#[test]
fn a_teacher_sees_what_the_network_saw() {
    for stem in [Stem::Imagenet, Stem::Small] {
        for layout in [Layout::Planes, Layout::ChannelsLast] {
            let kind = ExtractorKind::ResNet18(ResNet18 { stem, width: 8, last_relu: false, ..Default::default() });
            let compute = Compute { layout, ..Default::default() };
            let network = Network::new(kind, 3, 32, compute, Device::Cpu, 0);
            for (stream, (name, mut variable)) in (0..).zip(network.variables()) {
                no_grad(|| variable.copy_(&filled(&name, stream, &variable.size())));
            }
            let images = image(7, [2, 3, 32, 32]);
            let (seen, taught) = (network.forward_eval(&images), network.frozen().forward_eval(&images));
            let gap = |a: &Tensor, b: &Tensor| f64::try_from((a - b).abs().max() / a.abs().max()).expect("a number");
            assert!(gap(&seen.features, &taught.features) < 1e-4, "{stem:?} {layout:?}");
            for (map, teachers) in seen.stages.iter().zip(&taught.stages) {
                assert!(gap(map, teachers) < 1e-4, "{stem:?} {layout:?}");
            }
        }
    }
}
