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

/// A normal distribution for each class, all of one shape.
///
/// With `z = (h − centre) whiten`, the log-likelihood of class `c` with mean `μ_c`, less the same number for every class, is
/// `z·μ_c − ½‖μ_c‖²`. What else speaks for or against a class is in its bias.
#[derive(Debug)]
pub struct Gaussian {
    /// What is taken off a feature of length 1, `[width]`.
    pub centre: Tensor,
    /// `Σ^{−½}`, `[width, width]`.
    pub whiten: Tensor,
    /// `μ_c`, `[classes, width]`.
    pub means: Tensor,
    /// What does not depend on the feature, `[classes]`.
    pub bias: Tensor,
}

impl Gaussian {
    /// For means `[classes, width]` in whitened space; `lift` is what is added to the score of each class, `[classes]`.
    pub fn new(centre: Tensor, whiten: Tensor, means: Tensor, lift: &Tensor) -> Self {
        let lengths = means.square().sum_dim_intlist([1i64].as_slice(), false, means.kind());
        Self { centre, whiten, bias: lengths * -0.5 + lift, means }
    }

    fn scores(&self, features: &Tensor) -> Tensor {
        (features - &self.centre).matmul(&self.whiten).matmul(&self.means.tr()) + self.bias.unsqueeze(0)
    }

    fn to(&self, device: Device) -> Self {
        let there = |tensor: &Tensor| tensor.to_device(device).to_kind(Kind::Float);
        Self {
            centre: there(&self.centre),
            whiten: there(&self.whiten),
            means: there(&self.means),
            bias: there(&self.bias),
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

    /// One row for each class that can be the answer, `[classes, width]`: proxies, or means in whitened space.
    pub fn rows(&self) -> &Tensor {
        match self {
            Head::Cosine(proxies) => proxies,
            Head::Gaussian(gaussian) => &gaussian.means,
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
            Head::Gaussian(Gaussian { centre, whiten, means, bias }) => {
                vec![("centre", centre), ("whiten", whiten), ("means", means), ("bias", bias)]
            }
        };
        named.into_iter().map(|(name, tensor)| (name.to_owned(), tensor.shallow_clone())).collect()
    }

    /// Reads it back, for features of `width` numbers.
    pub(super) fn read(kind: HeadKind, file: &TensorFile, width: usize) -> Result<Self, RunError> {
        Ok(match kind {
            HeadKind::Cosine => Head::Cosine(file.rows("proxies", None, width)?),
            HeadKind::Gaussian => {
                let means = file.rows("means", None, width)?;
                let (classes, width) = (means.size()[0], width as i64);
                Head::Gaussian(Gaussian {
                    centre: file.read("centre", Some(&[width]))?,
                    whiten: file.read("whiten", Some(&[width, width]))?,
                    bias: file.read("bias", Some(&[classes]))?,
                    means,
                })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes in one dimension, whitened by 2, with means at 0 and 1 there; the second is lifted by ¼. The feature 3, of length 1
    /// once scaled, has z = 2(1 − 0.25) = 1.5: 0, and 1.5 − ½ + ¼.
    #[test]
    fn likelihoods_by_hand() {
        let double = |values: &[f64]| Tensor::from_slice(values);
        let means = double(&[0.0, 1.0]).reshape([2, 1]);
        let gaussian = Gaussian::new(double(&[0.25]), double(&[2.0]).reshape([1, 1]), means, &double(&[0.0, 0.25]));
        let scores = Head::Gaussian(gaussian).scores(&double(&[3.0]).reshape([1, 1]));
        let scores = Vec::<f64>::try_from(scores.reshape([-1])).expect("scores");
        assert!(scores[0].abs() < 1e-12 && (scores[1] - 1.25).abs() < 1e-12, "{scores:?}");
    }
}
