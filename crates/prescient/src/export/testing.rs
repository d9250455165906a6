//! Small predictors of every kind, with weights and statistics that are nothing special, and what they answer.

use crate::class::Slot;
use crate::data::{Channels, Image, Normalization};
use crate::engine::{Compute, Precision, with_seed};
use crate::extractor::{
    EfficientNetLite0, ExtractorKind, Identity, Mlp, MobileNetV2, Network, ResNet18, ResNet50, SmallCnn, Stem,
};
use crate::predictor::{About, Calibration, Gaussian, Head, HeadKind, Input, Novelty, Predictor};
use tch::{Device, Kind, Tensor, no_grad};

const FLOAT: (Kind, Device) = (Kind::Float, Device::Cpu);

/// Every kind of extractor that says what it computes, with a name and the channels that it takes here.
pub(crate) fn kinds() -> Vec<(&'static str, ExtractorKind, Channels)> {
    let resnet =
        |stem, last_relu| ExtractorKind::ResNet18(ResNet18 { stem, last_relu, width: 4, ..Default::default() });
    let cnn = ExtractorKind::SmallCnn(SmallCnn { features: 6, width: 4 });
    vec![
        ("mobilenet-v2", ExtractorKind::MobileNetV2(MobileNetV2::default()), Channels::Rgb),
        ("efficientnet-lite0", ExtractorKind::EfficientNetLite0(EfficientNetLite0::default()), Channels::Rgb),
        ("resnet18 imagenet", resnet(Stem::Imagenet, true), Channels::Rgb),
        ("resnet18 small", resnet(Stem::Small, false), Channels::Rgb),
        ("resnet18 small, grey", resnet(Stem::Small, false), Channels::Grey),
        ("resnet50", ExtractorKind::ResNet50(ResNet50::default()), Channels::Rgb),
        ("small-cnn", cnn.clone(), Channels::Rgb),
        ("small-cnn, grey", cnn, Channels::Grey),
        ("mlp", ExtractorKind::Mlp(Mlp { width: 7, features: 5 }), Channels::Features),
        ("identity", ExtractorKind::Identity(Identity {}), Channels::Features),
    ]
}

/// A predictor of five classes, three of them seen, for images of 20 pixels or rows of 20 numbers.
pub(crate) fn predictor(kind: ExtractorKind, channels: Channels, head: HeadKind) -> Predictor {
    let size = 20;
    let network = Network::pretrained(kind.clone(), channels.count(), size, Compute::default(), Device::Cpu, 1);
    let network = network.expect("the files that it needs");
    with_seed(2, || stir(&network));
    let width = network.width() as i64;
    let parts = with_seed(3, || match head {
        HeadKind::Cosine => Head::Cosine(Tensor::randn([5, width], FLOAT)),
        HeadKind::Gaussian => Head::Gaussian(Gaussian::new(
            Tensor::randn([width], FLOAT) * 0.1,
            Tensor::eye(width, FLOAT) * 2.0 + Tensor::randn([width, width], FLOAT) * 0.1,
            Tensor::randn([5, width], FLOAT),
            &Tensor::randn([5], FLOAT),
        )),
    });
    let classes = ["ant", "bee", "cat", "a | b", "emu"].map(str::to_owned).to_vec();
    let normalization = Normalization { mean: [0.4, 0.5, 0.6], std: [0.2, 0.25, 0.3] };
    let about = About {
        task: 1,
        classes,
        seen: 3,
        head,
        scale: 1.7,
        // The closed form has a way of its own for classes without photos.
        novelty: (head == HeadKind::Gaussian).then_some(Novelty { scale: 0.6, bias: 0.3, lead: 0.8 }),
        calibration: Calibration { own: Some(0.25), harmonic: None },
        input: Input { channels, size: size as u32, resize: 24, normalization },
        extractor: kind,
        precision: Precision::Fp32,
        abstain: Vec::new(),
    };
    Predictor::new(network, &parts, about)
}

/// Norms as training leaves them: none of their numbers is 0 or 1.
fn stir(network: &Network) {
    for (name, mut variable) in network.variables().into_iter().filter(|(_, variable)| variable.dim() == 1) {
        let noise = Tensor::rand(variable.size(), FLOAT);
        let values = if name.ends_with("running_var") || name.ends_with("weight") { noise + 0.5 } else { noise - 0.5 };
        no_grad(|| variable.copy_(&values));
    }
}

/// Three images `[3, size, size, channels]` as bytes, or three rows.
pub(crate) fn batch(predictor: &Predictor) -> Tensor {
    let input = &predictor.about().input;
    let (size, count) = (i64::from(input.size), input.channels.count() as i64);
    with_seed(4, || match input.channels {
        Channels::Features => Tensor::randn([3, size], FLOAT),
        _ => Tensor::randint(256, [3, size, size, count], FLOAT).to_kind(Kind::Uint8),
    })
}

/// What the predictor itself answers: probabilities and scores, class by class.
pub(crate) fn answers(predictor: &Predictor, batch: &Tensor) -> [Vec<f32>; 2] {
    let input = &predictor.about().input;
    if input.channels == Channels::Features {
        let scores = predictor.scores(&predictor.network().mirrored_mean(batch));
        let rows = Vec::<Vec<f32>>::try_from(&scores).expect("a row of scores for each row");
        let less = Tensor::from_slice(&[0.25f32, 0.25, 0.25, 0.0, 0.0]);
        let probabilities = rows.iter().flat_map(|row| predictor.probabilities(row)).collect();
        return [probabilities, plain(&(scores - less))];
    }
    let mut bytes = vec![0; batch.numel()];
    batch.contiguous().copy_data_u8(&mut bytes, batch.numel());
    let image = |pixels: &[u8]| Image {
        width: input.size,
        height: input.size,
        channels: input.channels,
        pixels: pixels.to_vec().into(),
    };
    let images: Vec<Image> = bytes.chunks(bytes.len() / 3).map(image).collect();
    let mut found = [Vec::new(), Vec::new()];
    for mut prediction in whole(predictor).predict(&images).expect("images of its own kind") {
        prediction.guesses.sort_by_key(|guess| guess.slot);
        assert_eq!(prediction.guesses[4].slot, Slot(4));
        found[0].extend(prediction.guesses.iter().map(|guess| guess.probability));
        found[1].extend(prediction.guesses.iter().map(|guess| guess.score));
    }
    found
}

/// The same predictor for images that need no cutting: what is exported takes them so.
fn whole(predictor: &Predictor) -> Predictor {
    let mut about = predictor.about().clone();
    about.input.resize = about.input.size;
    Predictor::new(predictor.network().snapshot(), predictor.head(), about)
}

/// All numbers of a tensor.
pub(crate) fn plain(tensor: &Tensor) -> Vec<f32> {
    Vec::try_from(tensor.to_kind(Kind::Float).contiguous().view([-1])).expect("numbers")
}

/// Asserts that two answers are the same up to rounding.
#[track_caller]
pub(crate) fn assert_same(name: &str, found: &[Vec<f32>; 2], expected: &[Vec<f32>; 2]) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.len(), expected.len(), "{name}");
        let spread = expected.iter().copied().fold(0f32, |most, value| most.max(value.abs()));
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 2e-5 * (1.0 + spread), "{name}: {found} and {expected}");
        }
    }
}
