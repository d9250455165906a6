//! Texts as numbers: the same as those of sentence-transformers (6.2.0, transformers 5.22.2) with the same weights.
#![allow(clippy::unwrap_used)]

mod common;

use common::skip;
use prescient::text::{TextEncoder, WIDTH};
use prescient::weights;

/// A text, the first eight numbers of its embedding, and Σ (i mod 7 − 3)·eᵢ over all 384.
struct Golden {
    text: &'static str,
    first: [f32; 8],
    sum: f32,
}

const GOLDEN: [Golden; 5] = [
    Golden {
        text: "zebra",
        first: [-0.128593, 0.084738, -0.024773, -0.010943, -0.108775, -0.005404, 0.062708, -0.042223],
        sum: -2.909462,
    },
    Golden {
        text: "an animal with black and white stripes, hooves and a mane, living in herds",
        first: [-0.036142, 0.034624, -0.036069, 0.054947, 0.037255, -0.0074, -0.033644, -0.023364],
        sum: -3.559777,
    },
    Golden {
        text: "x",
        first: [-0.09791, -0.064001, -0.023181, -0.046197, 0.0217, -0.028492, 0.154854, 0.054404],
        sum: -3.03357,
    },
    Golden {
        text: "Ein Löwe — größer als eine Katze; 狮子 🦁 naïve café",
        first: [-0.029548, 0.047113, 0.012069, -0.008398, 0.038062, 0.07218, 0.098165, -0.044525],
        sum: 2.34677,
    },
    Golden {
        text: "German Shepherd's dog: it's 60-65 cm tall, weighs ~35 kg & barks!",
        first: [0.052194, 0.047343, 0.040888, 0.087092, -0.09106, 0.012811, -0.015528, 0.036252],
        sum: -4.457777,
    },
];

/// Eight words sixty times are 482 tokens: cut at 256.
const LONG: ([f32; 8], f32) =
    ([-0.073571, -0.100487, -0.017819, -0.084855, -0.091845, -0.009968, -0.047331, -0.036822], 0.620013);

fn encoder() -> Option<TextEncoder> {
    match weights::find("minilm") {
        Ok(found) => Some(TextEncoder::load(&found.folder).unwrap()),
        Err(error) => {
            skip("weights", &error.to_string());
            None
        }
    }
}

#[track_caller]
fn assert_golden(found: &[f32], first: [f32; 8], sum: f32) {
    assert_eq!(found.len(), WIDTH);
    for (found, expected) in found.iter().zip(first) {
        assert!((found - expected).abs() < 1e-4, "{found}, expected {expected}");
    }
    let weighed: f32 = found.iter().enumerate().map(|(i, value)| (i % 7) as f32 * value - 3.0 * value).sum();
    // The weights of the sum have the root mean square 2, and there are 384 of them.
    assert!((weighed - sum).abs() < 1e-3, "{weighed}, expected {sum}");
    let squares: f32 = found.iter().map(|value| value * value).sum();
    assert!((squares - 1.0).abs() < 1e-5, "{squares}");
}

#[test]
fn embeddings_are_those_of_the_original() {
    let Some(encoder) = encoder() else { return };
    let mut texts: Vec<String> = GOLDEN.iter().map(|golden| golden.text.to_owned()).collect();
    texts.push(vec!["a striped animal that lives on the savanna"; 60].join(" "));
    let found = encoder.encode(&texts).unwrap();
    for (found, golden) in found.iter().zip(&GOLDEN) {
        assert_golden(found, golden.first, golden.sum);
    }
    assert_golden(&found[5], LONG.0, LONG.1);
    assert_eq!(encoder.encode(&texts).unwrap(), found, "the same every time");
}

/// Which texts stand beside a text does not change what it means.
#[test]
fn a_text_has_one_embedding() {
    let Some(encoder) = encoder() else { return };
    let texts: Vec<String> = (0..70).map(|index| format!("animal number {}", index % 9)).collect();
    let together = encoder.encode(&texts).unwrap();
    for (text, found) in texts.iter().zip(&together).take(9) {
        let alone = &encoder.encode(std::slice::from_ref(text)).unwrap()[0];
        assert!(alone.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}

#[test]
fn a_folder_without_the_network_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let says = || TextEncoder::load(folder.path()).map(|_| ()).unwrap_err().to_string();
    assert!(says().contains("model.safetensors"), "{}", says());
    std::fs::write(folder.path().join("model.safetensors"), b"not tensors").unwrap();
    assert!(says().contains("model.safetensors`: expected all-MiniLM-L6-v2, found"), "{}", says());
}
