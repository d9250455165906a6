//! Pretrained extractors: torchvision's networks with their weights, exported ones, and files that are none of these.
//!
//! `golden/pretrained.py` made the numbers, `golden/torchscript.py` the exported networks.
#![allow(clippy::unwrap_used)]

mod common;

use common::{run, skip, small_recipe};
use prescient::Predictor;
use prescient::audit::audit;
use prescient::engine::{Compute, write_tensors};
use prescient::extractor::{EfficientNetLite0, ExtractorKind, MobileNetV2, Network, ResNet18, ResNet50};
use prescient::weights;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tch::{Device, Kind, Tensor, no_grad};

/// Waves of a period of their own in each channel, normalized as ImageNet: `[1, 3, size, size]`.
fn image(size: i64) -> Tensor {
    let (mean, std) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
    let mut values = Vec::new();
    for c in 0..3 {
        for y in 0..size {
            for x in 0..size {
                let (x, y, k) = (x as f64, y as f64, c as f64);
                let value = 0.5 + 0.25 * (x / (5.0 + k)).sin() + 0.25 * (y / (7.0 + 2.0 * k)).cos();
                values.push(((value - mean[c]) / std[c]) as f32);
            }
        }
    }
    Tensor::from_slice(&values).reshape([1, 3, size, size])
}

/// Numbers in [−0.5, 0.5): a hash of `stream` and of each number's place.
fn noise(stream: u32, count: usize) -> impl Iterator<Item = f64> {
    (0..count as u32).map(move |place| {
        let mut x = place.wrapping_mul(2_654_435_761).wrapping_add(stream.wrapping_mul(40_503));
        x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
        x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
        f64::from(x ^ (x >> 16)) / 2f64.powi(32) - 0.5
    })
}

/// Computed weights, as `golden/pretrained.py` has them.
fn fill(network: &Network) {
    for (stream, (name, mut variable)) in (0..).zip(network.variables()) {
        let fan: i64 = variable.size()[1..].iter().product();
        let (scale, shift) = match variable.dim() {
            1 if name.ends_with("running_var") || name.ends_with("weight") => (1.0, 1.0),
            1 => (0.2, 0.0),
            _ => (2.0 * (6.0 / fan as f64).sqrt(), 0.0),
        };
        let values: Vec<f32> = noise(stream, variable.numel()).map(|value| (value * scale + shift) as f32).collect();
        no_grad(|| variable.copy_(&Tensor::from_slice(&values).reshape(variable.size())));
    }
}

fn golden() -> BTreeMap<String, BTreeMap<String, Vec<f64>>> {
    serde_json::from_str(include_str!("golden/pretrained.json")).unwrap()
}

/// Each feature to 1e-4, of itself or of `scale`.
#[track_caller]
fn assert_features(found: &Tensor, expected: &[f64], scale: f64) {
    let found = Vec::<f32>::try_from(found.flatten(0, -1)).unwrap();
    assert_eq!(found.len(), expected.len());
    for (place, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let gap = (f64::from(found) - expected).abs();
        assert!(gap <= 1e-4 * (scale + expected.abs()), "feature {place}: expected {expected}, found {found}");
    }
}

fn mobilenet(weights: Option<&str>, freeze: Option<bool>) -> ExtractorKind {
    ExtractorKind::MobileNetV2(MobileNetV2 { weights: weights.map(str::to_owned), freeze })
}

fn network(kind: ExtractorKind, size: usize) -> Network {
    Network::pretrained(kind, 3, size, Compute::default(), Device::Cpu, 0).unwrap()
}

/// What a kind that cannot be built says.
fn says(kind: ExtractorKind) -> String {
    match Network::pretrained(kind, 3, 32, Compute::default(), Device::Cpu, 0) {
        Ok(_) => panic!("it was built"),
        Err(error) => error.to_string(),
    }
}

/// A MobileNetV2 of random weights, as safetensors.
fn random_weights(folder: &Path) -> PathBuf {
    let path = folder.join("random.safetensors");
    let network = network(mobilenet(None, None), 32);
    fill(&network);
    write_tensors(&path, &network.variables()).unwrap();
    path
}

/// 52 convolutions, each with four tensors of its norm.
#[test]
fn mobilenets_weights_have_torchvisions_names_and_shapes() {
    let variables = Network::new(mobilenet(None, None), 3, 32, Compute::default(), Device::Cpu, 0).variables();
    assert_eq!(variables.len(), 52 * 5);
    for (name, shape) in [
        ("features.0.0.weight", vec![32, 3, 3, 3]),
        ("features.0.1.running_mean", vec![32]),
        ("features.1.conv.0.0.weight", vec![32, 1, 3, 3]),
        ("features.1.conv.1.weight", vec![16, 32, 1, 1]),
        ("features.1.conv.2.bias", vec![16]),
        ("features.2.conv.0.0.weight", vec![96, 16, 1, 1]),
        ("features.2.conv.1.0.weight", vec![96, 1, 3, 3]),
        ("features.17.conv.2.weight", vec![320, 960, 1, 1]),
        ("features.17.conv.3.running_var", vec![320]),
        ("features.18.0.weight", vec![1280, 320, 1, 1]),
    ] {
        assert_eq!(variables[name].size(), shape, "{name}");
    }
}

#[test]
fn mobilenets_features_are_torchvisions() {
    if let Err(error) = weights::find("mobilenet-v2") {
        return skip("weights", &error.to_string());
    }
    for (size, expected) in &golden()["mobilenet-v2"] {
        let size: i64 = size.parse().unwrap();
        let network = network(mobilenet(Some("imagenet"), None), size as usize);
        assert_features(&network.forward_eval(&image(size)).features, expected, 1.0);
        assert_features(&network.extract(&image(size), true).features, expected, 1.0);
    }
}

/// TensorFlow's windows, which reach over two edges only, and its ε, in the program and in PyTorch.
#[test]
fn efficientnets_features_are_those_of_its_package() {
    if let Err(error) = weights::find("efficientnet-lite0") {
        return skip("weights", &error.to_string());
    }
    let kind = |freeze| {
        let weights = Some("imagenet".to_owned());
        ExtractorKind::EfficientNetLite0(EfficientNetLite0 { weights, freeze })
    };
    for (size, expected) in &golden()["efficientnet-lite0"] {
        let size: i64 = size.parse().unwrap();
        for freeze in [None, Some(false)] {
            let network = network(kind(freeze), size as usize);
            assert_features(&network.forward_eval(&image(size)).features, expected, 1.0);
            let (both, mirrored) =
                (network.mirrored_mean(&image(size)), network.forward_eval(&image(size).flip([3i64])));
            let mirrored = Vec::<f32>::try_from(mirrored.features.flatten(0, -1)).unwrap();
            let mean: Vec<f64> =
                expected.iter().zip(mirrored).map(|(here, there)| 0.5 * (here + f64::from(there))).collect();
            assert_features(&both, &mean, 1.0);
        }
    }
    let input = kind(None).input().unwrap();
    assert_eq!((input.size, input.normalization.mean), (224, [127.0 / 255.0; 3]));
}

#[test]
fn resnet50s_features_are_torchvisions() {
    let expected = &golden()["resnet50"]["64"];
    // Computed weights make features of thousands, in which small ones are differences of large numbers.
    let largest = expected.iter().copied().fold(0.0, f64::max);
    let kind = ExtractorKind::ResNet50(ResNet50::default());
    let network = Network::new(kind, 3, 64, Compute::default(), Device::Cpu, 0);
    fill(&network);
    assert_features(&network.forward_eval(&image(64)).features, expected, largest);
    assert_features(&network.frozen().forward_eval(&image(64)).features, expected, largest);
}

/// Three photos with their mirror images, all at once by libtorch's threads together, and each by itself.
#[test]
fn a_feature_is_the_same_whatever_photos_are_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = random_weights(folder.path()).display().to_string();
    let frozen = network(mobilenet(Some(&file), None), 32);
    let images = Tensor::cat(&[image(32), image(32) * 0.5, image(32).flip([2i64])], 0);
    let features = frozen.mirrored_mean(&images);
    assert_eq!(features.size(), [3, 1280]);
    for number in 0..3 {
        let alone = frozen.mirrored_mean(&images.narrow(0, number, 1));
        assert!(alone.equal(&features.narrow(0, number, 1)), "photo {number} differs by itself");
    }
    let mirrored = images.flip([3i64]);
    let together = (frozen.forward_eval(&images).features + frozen.forward_eval(&mirrored).features) * 0.5;
    let apart = f64::try_from((&features - &together).abs().max() / together.abs().max()).expect("a number");
    assert!(apart < 1e-5, "{apart}");
}

/// The same for weights that nobody published and for rows: runs find features in the cache that others have computed.
#[test]
fn a_feature_of_random_weights_is_the_same_in_any_batch() {
    let options = (Kind::Float, Device::Cpu);
    let kind = |text: &str| toml::from_str::<ExtractorKind>(text).expect("an extractor");
    let images = tch::no_grad(|| Tensor::linspace(-1.0, 1.0, 24 * 3 * 32 * 32, options).sin().reshape([24, 3, 32, 32]));
    let small = network(kind("kind = \"small-cnn\"\nfeatures = 32\nwidth = 8"), 32);
    let large = network(kind("kind = \"resnet18\"\nwidth = 8"), 32);
    let rows = network(kind("kind = \"mlp\"\nfeatures = 24"), 32);
    for (network, images) in [(&small, &images), (&large, &images), (&rows, &images.reshape([-1, 32]).narrow(0, 0, 24))]
    {
        let together = network.mirrored_mean(images);
        for number in 0..24 {
            let alone = network.mirrored_mean(&images.narrow(0, number, 1));
            assert!(alone.equal(&together.narrow(0, number, 1)), "{:?}: image {number} by itself", network.kind());
        }
    }
}

#[test]
fn frozen_weights_and_statistics_never_change() {
    let folder = tempfile::tempdir().unwrap();
    let file = random_weights(folder.path()).display().to_string();
    let images = Tensor::cat(&[image(32), image(32) * 0.5], 0);
    let copies = |network: &Network| -> Vec<Tensor> { network.variables().values().map(Tensor::copy).collect() };
    let unchanged = |before: &[Tensor], after: &[Tensor]| before.iter().zip(after).all(|(a, b)| a.equal(b));

    let frozen = network(mobilenet(Some(&file), None), 32);
    assert!(frozen.is_frozen() && frozen.parameters().is_empty());
    let before = copies(&frozen);
    let seen = frozen.extract(&images, true);
    assert!(unchanged(&before, &copies(&frozen)) && !seen.features.requires_grad());
    assert_eq!(seen.stages.len(), 4);

    let trained = network(mobilenet(Some(&file), Some(false)), 32);
    assert_eq!(trained.parameters().len(), 52 * 3);
    assert!(unchanged(&before, &copies(&trained)));
    let gap = (trained.forward_eval(&images).features - seen.features).abs().max();
    assert!(f64::try_from(gap).unwrap() < 1e-4, "folded or not");
    trained.extract(&images, true);
    assert!(!unchanged(&before, &copies(&trained)), "BatchNorm learns");
}

#[test]
fn an_exported_network_gives_its_features() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let kind = |file: &str| {
        let text = format!("kind = \"torchscript\"\npath = \"{}\"", golden.join(file).display());
        toml::from_str::<ExtractorKind>(&text).unwrap()
    };
    let found = network(kind("rows.pt"), 32);
    assert_eq!((found.width(), found.parameters().len()), (3, 0));
    let images = Tensor::ones([2, 3, 32, 32], (Kind::Float, Device::Cpu));
    for network in [&found, &found.snapshot(), &found.frozen()] {
        let features = network.forward_eval(&images).features;
        assert_eq!(Vec::<f32>::try_from(features.flatten(0, -1)).unwrap(), [2.0; 6]);
    }
    let wrong = says(kind("maps.pt"));
    assert!(wrong.contains("gives [1, 3, 32, 32] Float for a batch of 1; expected a row of numbers"), "{wrong}");
    assert!(says(kind("none.pt")).contains("none.pt"));
    assert!(says(kind("rows.json")).contains("rows.json"));
}

#[test]
fn files_that_are_not_the_networks_weights_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let file = random_weights(folder.path());
    let other = says(ExtractorKind::ResNet50(ResNet50 { weights: Some(file.display().to_string()), freeze: None }));
    assert!(other.contains("does not have the weights of a `resnet50`: `bn1.bias` is missing"), "{other}");
    assert!(other.contains("more"), "{other}");

    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let cut = says(mobilenet(Some(&file.display().to_string()), None));
    assert!(cut.contains("cannot be read as weights"), "{cut}");

    let hostile = folder.path().join("hostile.pth");
    std::fs::write(&hostile, b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00echo\x85R.").unwrap();
    let code = says(mobilenet(Some(&hostile.display().to_string()), None));
    assert!(code.ends_with("asks to call `os.system`; nothing was run"), "{code}");
    let gone = says(ExtractorKind::ResNet18(ResNet18 { weights: Some("gone.pth".to_owned()), ..Default::default() }));
    assert!(gone.contains("gone.pth"), "{gone}");
}

/// Two tasks from weights of a file, frozen and trained on: both learn, answer and say where they began.
#[test]
fn the_ghost_model_learns_from_pretrained_weights() {
    let folder = tempfile::tempdir().unwrap();
    let file = random_weights(folder.path()).display().to_string();
    for freeze in [true, false] {
        let mut recipe = small_recipe();
        recipe.scenario.split = Some("12+12".parse().unwrap());
        recipe.train.epochs = 1;
        recipe.finetune.epochs = 1;
        recipe.images.size = Some(32);
        recipe.model.extractor = mobilenet(Some(&file), Some(freeze));
        let out = folder.path().join(format!("run-{freeze}"));
        let record = run(recipe, &out);
        assert_eq!(record.start.weights.as_ref().unwrap().name, "mobilenet-v2, random.safetensors");
        let says = "a pretrained extractor may have met future classes: mobilenet-v2, random.safetensors";
        assert!(prescient::report::text(&record).starts_with(says));
        assert!(audit(&out, false).unwrap().text().contains(says));
        let predictor = Predictor::load(&out).unwrap();
        assert_eq!((predictor.seen().len(), predictor.about().input.normalization.mean[0]), (24, 0.485));
        assert_eq!(predictor.about().input.resize, 32);
    }
}

/// An exported network's settings are ImageNet's unless given.
#[test]
fn an_exported_network_takes_imagenets_images_unless_told_otherwise() {
    let input = |more: &str| {
        toml::from_str::<ExtractorKind>(&format!("kind = \"torchscript\"\npath = \"f.pt\"\n{more}"))
            .map(|kind| kind.input().unwrap())
    };
    let plain = input("").unwrap();
    assert_eq!((plain.size, plain.normalization.mean, plain.normalization.std[0]), (224, [0.485, 0.456, 0.406], 0.229));
    for (name, mean, std) in [("clip", 0.408_210_73, 0.275_777_11), ("half", 0.5, 0.5), ("none", 0.0, 1.0)] {
        let found = input(&format!("normalization = \"{name}\"")).unwrap().normalization;
        assert_eq!((found.mean[2], found.std[2]), (mean, std), "{name}");
    }
    assert!(input("mean = [0.5, 0.5, 0.5]").is_err());
}
