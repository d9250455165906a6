//! A multilayer perceptron, for features that were computed elsewhere: `f` learns on top of a network that stays as it is.
//!
//! ```text
//! x ─► linear ─► ReLU ─► linear ─► h
//! ```
//!
//! There are no maps, so of PODNet's distillation only the part that compares features is left.

use crate::extractor::layers::{Layer, Layers};
use crate::extractor::{Extractor, Representation};
use serde::{Deserialize, Serialize};
use tch::Tensor;
use tch::nn::{self, Module, Path};

/// The perceptron's settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mlp {
    /// The length of the hidden layer.
    pub width: u32,
    /// The length of a feature.
    pub features: u32,
}

impl Default for Mlp {
    fn default() -> Self {
        Self { width: 1024, features: 512 }
    }
}

#[derive(Debug)]
pub(crate) struct Net {
    hidden: nn::Linear,
    last: nn::Linear,
    features: usize,
}

impl Net {
    /// For rows of `size` numbers.
    pub(crate) fn new(path: &Path<'_>, settings: Mlp, size: i64) -> Self {
        let width = i64::from(settings.width);
        let linear = |name: &str, from: i64, to: i64| nn::linear(path / name, from, to, Default::default());
        Self {
            hidden: linear("hidden1", size, width),
            last: linear("last", width, i64::from(settings.features)),
            features: settings.features as usize,
        }
    }
}

impl Extractor for Net {
    fn width(&self) -> usize {
        self.features
    }

    fn extract(&self, rows: &Tensor, _train: bool) -> Representation {
        let hidden = self.hidden.forward(rows).relu();
        Representation { features: self.last.forward(&hidden), stages: Vec::new() }
    }

    fn layers(&self) -> Option<Layers> {
        let mut layers = Layers::default();
        let hidden = layers.add(0, Layer::Linear { name: "hidden1".to_owned() });
        let hidden = layers.add(hidden, Layer::Relu);
        layers.add(hidden, Layer::Linear { name: "last".to_owned() });
        Some(layers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::nn::VarStore;
    use tch::{Device, no_grad};

    /// One hidden layer of two. x = (1, 2); hidden: (1·1 + 2·1, 1·−1 + 2·0) = (3, −1), after ReLU (3, 0); the feature is
    /// 3·2 + 0·5 − 1 = 5.
    #[test]
    fn a_feature_by_hand() {
        let store = VarStore::new(Device::Cpu);
        let net = Net::new(&store.root(), Mlp { width: 2, features: 1 }, 2);
        let set = |name: &str, values: &[f32]| {
            let mut variable = store.variables().remove(name).unwrap_or_else(|| panic!("a variable `{name}`"));
            no_grad(|| variable.copy_(&Tensor::from_slice(values).reshape(variable.size())));
        };
        set("hidden1.weight", &[1.0, 1.0, -1.0, 0.0]);
        set("hidden1.bias", &[0.0, 0.0]);
        set("last.weight", &[2.0, 5.0]);
        set("last.bias", &[-1.0]);
        let seen = net.extract(&Tensor::from_slice(&[1f32, 2.0]).reshape([1, 2]), true);
        assert_eq!(Vec::<f32>::try_from(seen.features.flatten(0, -1)).expect("one number"), [5.0]);
        assert!(seen.stages.is_empty());
    }
}
