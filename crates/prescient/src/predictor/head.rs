//! How features become scores of classes. Two ways: the Ghost model compares directions, the closed form compares distances.

use crate::classifier;
use crate::engine::TensorFile;
use crate::engine::norm::unit_rows;
use crate::error::RunError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tch::{Device, Kind, Tensor, no_grad};

/// Scores of classes for features.
#[derive(Debug)]
pub enum Head {
    /// The cosine of a feature and the proxy `θ_c` of each class, `[classes, width]`.
    Cosine(Tensor),
    /// How likely a feature is for each class, in the closed form.
    Gaussian(Gaussian),
}

/// Which head, as `predictor.json` names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadKind {
    /// [`Head::Cosine`].
    #[default]
    Cosine,
    /// [`Head::Gaussian`].
    Gaussian,
}

/// A normal distribution for each class, all of one shape but not of one size: a class with few photos, or none, is known
/// less well and spreads further.
///
/// With `z = (h − centre) whiten`, the log-likelihood of class `c` with mean `μ_c` and spread `1 + v_c`, less the same number
/// for every class, is `z·μ_c/(1+v_c) + ½‖z‖² v_c/(1+v_c) + bias_c`.
#[derive(Debug)]
pub struct Gaussian {
    /// What is taken off a feature of length 1, `[width]`.
    pub centre: Tensor,
    /// `Σ^{−½}`, `[width, width]`.
    pub whiten: Tensor,
    /// `μ_c/(1+v_c)`, `[classes, width]`.
    pub weights: Tensor,
    /// What does not depend on the feature, `[classes]`.
    pub bias: Tensor,
    /// `½ v_c/(1+v_c)`, `[classes]`.
    pub bend: Tensor,
}

impl Gaussian {
    /// For means `[classes, width]` in whitened space, what each is uncertain by (`v_c`), and `noise`, the mean squared distance
    /// of an image to its class's mean there.
    pub fn new(centre: Tensor, whiten: Tensor, means: &Tensor, spread: &Tensor, noise: f64) -> Self {
        let size = spread + 1.0;
        let weights = means / size.unsqueeze(1);
        let lengths = (means * &weights).sum_dim_intlist([1i64].as_slice(), false, Kind::Double);
        let bias = lengths * -0.5 - size.log() * (0.5 * noise);
        Self { centre, whiten, weights, bias, bend: spread / &size * 0.5 }
    }

    /// The whitened form of features of length 1.
    fn whitened(&self, features: &Tensor) -> Tensor {
        (features - &self.centre).matmul(&self.whiten)
    }

    fn scores(&self, features: &Tensor) -> Tensor {
        let z = self.whitened(features);
        let squared = z.square().sum_dim_intlist([1i64].as_slice(), true, self.weights.kind());
        z.matmul(&self.weights.tr()) + squared * self.bend.unsqueeze(0) + self.bias.unsqueeze(0)
    }

    fn to(&self, device: Device) -> Self {
        let there = |tensor: &Tensor| tensor.to_device(device).to_kind(Kind::Float);
        Self {
            centre: there(&self.centre),
            whiten: there(&self.whiten),
            weights: there(&self.weights),
            bias: there(&self.bias),
            bend: there(&self.bend),
        }
    }
}

impl Head {
    /// Which it is.
    pub fn kind(&self) -> HeadKind {
        match self {
            Head::Cosine(_) => HeadKind::Cosine,
            Head::Gaussian(_) => HeadKind::Gaussian,
        }
    }

    /// One row for each class that can be the answer, `[classes, width]`: proxies, or scaled means in whitened space.
    pub fn rows(&self) -> &Tensor {
        match self {
            Head::Cosine(proxies) => proxies,
            Head::Gaussian(gaussian) => &gaussian.weights,
        }
    }

    /// Scores of features `[batch, width]`, `[batch, classes]`.
    pub fn scores(&self, features: &Tensor) -> Tensor {
        no_grad(|| match self {
            Head::Cosine(proxies) => classifier::similarities(features, proxies),
            Head::Gaussian(gaussian) => gaussian.scores(&unit_rows(features)),
        })
    }

    /// The same on another device, in single precision.
    pub fn to(&self, device: Device) -> Self {
        match self {
            Head::Cosine(proxies) => Head::Cosine(proxies.to_device(device)),
            Head::Gaussian(gaussian) => Head::Gaussian(gaussian.to(device)),
        }
    }

    /// Its tensors by name.
    pub(super) fn tensors(&self) -> BTreeMap<String, Tensor> {
        let named: Vec<(&str, &Tensor)> = match self {
            Head::Cosine(proxies) => vec![("proxies", proxies)],
            Head::Gaussian(Gaussian { centre, whiten, weights, bias, bend }) => {
                vec![("centre", centre), ("whiten", whiten), ("weights", weights), ("bias", bias), ("bend", bend)]
            }
        };
        named.into_iter().map(|(name, tensor)| (name.to_owned(), tensor.shallow_clone())).collect()
    }

    /// Reads it back, for features of `width` numbers.
    pub(super) fn read(kind: HeadKind, file: &TensorFile, width: usize) -> Result<Self, RunError> {
        let width = width as i64;
        let rows = |name: &str| {
            let rows = file.read(name, None)?;
            match rows.size().as_slice() {
                [_, found] if *found == width => Ok(rows),
                found => Err(file.damaged(format!("`{name}`: expected rows of {width} numbers, found {found:?}"))),
            }
        };
        Ok(match kind {
            HeadKind::Cosine => Head::Cosine(rows("proxies")?),
            HeadKind::Gaussian => {
                let weights = rows("weights")?;
                let classes = weights.size()[0];
                Head::Gaussian(Gaussian {
                    centre: file.read("centre", Some(&[width]))?,
                    whiten: file.read("whiten", Some(&[width, width]))?,
                    bias: file.read("bias", Some(&[classes]))?,
                    bend: file.read("bend", Some(&[classes]))?,
                    weights,
                })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes in one dimension, whitened by 2: means at 0 and 1 (whitened), spreads 0 and 1, noise 1. The feature 1 has
    /// z = 2(1 − 0.25) = 1.5. The full log-likelihoods are −½·1.5² = −1.125 and −½·0.5²/2 − ½ ln 2 = −0.4091; less −½·1.5²:
    /// 0 and 0.7159.
    #[test]
    fn likelihoods_by_hand() {
        let double = |values: &[f64]| Tensor::from_slice(values);
        let head = Head::Gaussian(Gaussian::new(
            double(&[0.25]),
            double(&[2.0]).reshape([1, 1]),
            &double(&[0.0, 1.0]).reshape([2, 1]),
            &double(&[0.0, 1.0]),
            1.0,
        ));
        let scores = Vec::<f64>::try_from(head.scores(&double(&[3.0]).reshape([1, 1])).reshape([-1])).expect("scores");
        assert!(scores[0].abs() < 1e-12 && (scores[1] - 0.715_926_4).abs() < 1e-6, "{scores:?}");
    }
}
