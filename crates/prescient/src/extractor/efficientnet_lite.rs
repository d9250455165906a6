//! EfficientNet-Lite0, with the names that its PyTorch package gives its weights: blocks as MobileNetV2 has them, some with
//! windows of 5×5, and better features for as many operations.
//!
//! It comes from TensorFlow, where a window that moves by two reaches further over the right and lower edges than over the others.
//! The same comes of a window that is larger by two, with zeros at its left and its top:
//!
//! ```text
//!  y_i = Σ_j w_j x_{2i+j}   is   y_i = Σ_j w'_j x_{2i+j−2},    w' = 0 0 w_0 w_1 w_2        (even sizes)
//! ```
//!
//! Its BatchNorm has a larger ε than ours, which the variances take over. So everything else is as in other networks.

use crate::extractor::convolution::{ConvNorm, Shape};
use crate::extractor::mobilenet::{Net, Place, Stage};
use crate::extractor::normed::EPSILON;
use crate::weights::Stored;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tch::nn::Path;

/// EfficientNet-Lite0's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EfficientNetLite0 {
    /// `imagenet`, or a file of weights with the names of its package; unless given, training starts from random ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// Whether pretrained weights stay as they are; unless given, they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<bool>,
}

const STAGES: [Stage; 7] = [
    (1, 3, 16, 1, 1),
    (6, 3, 24, 2, 2),
    (6, 5, 40, 2, 2),
    (6, 3, 80, 3, 2),
    (6, 5, 112, 3, 1),
    (6, 5, 192, 4, 2),
    (6, 3, 320, 1, 1),
];
/// The last block of each resolution.
const COMPARED: [usize; 4] = [3, 5, 11, 16];
/// Of its BatchNorm.
const THEIR_EPSILON: f64 = 1e-3;
/// By how much windows that move by two are larger here.
const BORDER: i64 = 2;

/// The network with random weights.
pub(crate) fn net(path: &Path<'_>, channels: i64) -> Net {
    Net::of(&STAGES, COMPARED, channels, |place, shape| {
        let at = |block: usize| &(path / "_blocks") / (block - 1).to_string();
        let (path, names) = match place {
            Place::First => (path.clone(), ["_conv_stem", "_bn0"]),
            Place::Expand(block) => (at(block), ["_expand_conv", "_bn0"]),
            Place::Each(block) => (at(block), ["_depthwise_conv", "_bn1"]),
            Place::Project(block) => (at(block), ["_project_conv", "_bn2"]),
            Place::Last => (path.clone(), ["_conv_head", "_bn1"]),
        };
        let border = if shape.stride == 2 { BORDER } else { 0 };
        ConvNorm::new(&path / names[0], &path / names[1], Shape { kernel: shape.kernel + border, ..shape })
    })
}

/// Weights of its package as ours: windows that move by two with their zeros, variances with the difference of both ε. What does not
/// look like them stays as it is, and is told later.
pub(crate) fn adapted(
    stored: BTreeMap<String, Stored>,
    wanted: &BTreeMap<String, Vec<i64>>,
) -> BTreeMap<String, Stored> {
    let adapt = |(name, mut tensor): (String, Stored)| {
        if name.ends_with(".running_var") {
            let more = (THEIR_EPSILON - EPSILON) as f32;
            tensor.values.iter_mut().for_each(|value| *value += more);
        }
        match (wanted.get(&name).map(Vec::as_slice), tensor.shape.as_slice()) {
            (Some(&[a, b, high, wide]), &[c, d, h, w])
                if (a, b, high, wide) == (c, d, h + BORDER, w + BORDER)
                    && tensor.values.len() as i64 == a * b * h * w =>
            {
                let mut values = vec![0.0; (a * b * high * wide) as usize];
                for (row, numbers) in tensor.values.chunks(w as usize).enumerate() {
                    let (window, y) = (row as i64 / h, row as i64 % h);
                    let start = ((window * high + y + BORDER) * wide + BORDER) as usize;
                    values[start..start + numbers.len()].copy_from_slice(numbers);
                }
                (name, Stored { shape: vec![a, b, high, wide], values })
            }
            _ => (name, tensor),
        }
    };
    stored.into_iter().map(adapt).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 1×1 with the weight 7 becomes one of 3×3, the 7 at its lower right; one that fits stays.
    #[test]
    fn windows_get_zeros_at_their_left_and_top() {
        let tensor = |shape: &[i64], values: &[f32]| Stored { shape: shape.to_vec(), values: values.to_vec() };
        let stored = BTreeMap::from([
            ("a.weight".to_owned(), tensor(&[2, 1, 1, 1], &[7.0, 8.0])),
            ("b.weight".to_owned(), tensor(&[1, 1, 1, 1], &[9.0])),
            ("c.running_var".to_owned(), tensor(&[1], &[2.0])),
        ]);
        let wanted =
            BTreeMap::from([("a.weight".to_owned(), vec![2, 1, 3, 3]), ("b.weight".to_owned(), vec![1, 1, 1, 1])]);
        let found = adapted(stored, &wanted);
        let mut expected = [0.0; 18];
        (expected[8], expected[17]) = (7.0, 8.0);
        assert_eq!(found["a.weight"].values, expected);
        assert_eq!(found["b.weight"].values, [9.0]);
        assert!((found["c.running_var"].values[0] - 2.00099).abs() < 1e-6);
    }
}
