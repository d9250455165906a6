//! The paper's generator: a generative moment matching network (section 4.2 and supplement).
//!
//! A shallow network takes `[E_c ; ξ]` to a feature in [0, 1]^width. One class a step: all its real features against as
//! many generated ones, under the squared MMD.

use crate::class::Slot;
use crate::engine::{Adam, Changing, Follow, has_kernels_on, repeat, with_seed};
use crate::ghost::generator::{FeatureBank, Generator, Scaler};
use crate::loss::{Mmd, Target};
use crate::seeds::{Seeds, Stream, picked};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tch::nn::{self, Module, VarStore};
use tch::{Kind, Tensor, no_grad};

/// The GMMN's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gmmn {
    /// Units of the hidden layer. The paper says "shallow" and no more.
    pub hidden: u32,
    /// The share of hidden units left out at random while learning. Not a key of a recipe.
    #[serde(skip)]
    pub dropout: f64,
    /// Steps for each seen class, after every task and wherever ghosts are drawn anew.
    pub epochs: usize,
    /// Adam's learning rate.
    pub lr: f64,
    /// At most so many features of a class in a step; of more, as many are drawn once.
    pub limit: u32,
}

impl Default for Gmmn {
    fn default() -> Self {
        Self { hidden: 1024, dropout: 0.2, epochs: 1200, lr: 1e-5, limit: 3000 }
    }
}

/// The length of the noise `ξ`.
const NOISE: i64 = 15;

pub(crate) struct Net {
    settings: Gmmn,
    /// `E`, `[classes, attributes]`.
    attributes: Tensor,
    store: VarStore,
    hidden: nn::Linear,
    out: nn::Linear,
    /// The slope of LeakyReLU below 0: the authors' 0.2. Not learned.
    leak: Tensor,
    scaler: Scaler,
    records: bool,
}

impl Net {
    pub(crate) fn new(settings: Gmmn, attributes: &Tensor, width: usize, seed: i64, records: bool) -> Self {
        let device = attributes.device();
        let mut store = VarStore::new(tch::Device::Cpu);
        let small = nn::Init::Randn { mean: 0.0, stdev: 0.01 };
        let config = nn::LinearConfig { ws_init: small, bs_init: Some(nn::Init::Const(0.0)), bias: true };
        let inputs = attributes.size()[1] + NOISE;
        let (hidden, out) = with_seed(seed, || {
            let root = store.root();
            let hidden = nn::linear(&root / "hidden", inputs, i64::from(settings.hidden), config);
            let out = nn::linear(&root / "out", i64::from(settings.hidden), width as i64, config);
            (hidden, out)
        });
        store.set_device(device);
        let leak = Tensor::full([1], 0.2, (Kind::Float, device));
        let scaler = Scaler::identity(width, device);
        Self { settings, attributes: attributes.shallow_clone(), store, hidden, out, leak, scaler, records }
    }

    /// `count` scaled features of a class, by libtorch's generator as it stands.
    fn imagine(&self, slot: Slot, count: i64, train: bool) -> Tensor {
        let attributes = self.attributes.get(slot.index() as i64).expand([count, -1], false);
        let noise = Tensor::randn([count, NOISE], (Kind::Float, self.attributes.device()));
        let hidden = layer(&self.hidden, &Tensor::cat(&[attributes, noise], 1));
        let hidden = hidden.prelu(&self.leak).dropout(self.settings.dropout, train);
        layer(&self.out, &hidden)
    }
}

/// What a layer makes of `x`.
fn layer(layer: &nn::Linear, x: &Tensor) -> Tensor {
    match &layer.bs {
        Some(bias) if has_kernels_on(x.device()) => torch_shim::linear(x, &layer.ws, bias),
        _ => layer.forward(x),
    }
}

/// At most `limit` rows of `features`, drawn where there are more: a file lists its images in an order of its own.
fn limited(features: &Tensor, limit: u32, stream: &mut Stream) -> Tensor {
    let (all, limit) = (features.size()[0] as usize, limit as usize);
    if all <= limit {
        return features.shallow_clone();
    }
    let rows: Vec<i64> = picked(all, limit, stream).into_iter().map(|row| row as i64).collect();
    features.index_select(0, &Tensor::from_slice(&rows).to_device(features.device()))
}

impl Generator for Net {
    fn fit(&mut self, seen: &FeatureBank, seed: i64, follow: &mut dyn Follow) {
        let pooled = Tensor::cat(&seen.values().collect::<Vec<_>>(), 0);
        self.scaler = Scaler::fit(&pooled);
        let (mmd, seeds) = (Mmd::default(), Seeds::new(seed as u64));
        let real: Vec<(Slot, i64, Target)> = seen
            .iter()
            .map(|(slot, features)| {
                let features = limited(features, self.settings.limit, &mut seeds.stream("limit", slot.index()));
                (*slot, features.size()[0], mmd.target(&self.scaler.scale(&features)))
            })
            .collect();
        let values = mmd.values(&real.iter().map(|(_, count, real)| (real, *count)).collect::<Vec<_>>());
        let adam = Adam::new(self.store.trainable_variables(), self.settings.lr);
        // An epoch: a step for each class.
        let steps = || {
            let kernels: Vec<Tensor> = real
                .iter()
                .map(|(slot, count, real)| {
                    let fake = self.imagine(*slot, *count, true);
                    let (kernels, slope) = mmd.kernels_and_grad(real, &fake);
                    adam.step_from(&fake, &slope);
                    kernels
                })
                .collect();
            // All losses at once: on a GPU a number takes as long as a thousand.
            values.of(&Tensor::stack(&kernels, 0)).mean(Kind::Double)
        };
        let device = self.attributes.device();
        with_seed(seed, || {
            // Noise and dropout go on from one epoch to the next: where they are is kept too.
            let drawn = torch_shim::random_state(device);
            let changing = || {
                drawn.shallow_clone().copy_(&torch_shim::random_state(device));
                let meanwhile = adam.state().into_iter().chain([("random".to_owned(), drawn.shallow_clone())]);
                Changing { left: self.tensors().into_iter().collect(), meanwhile: meanwhile.collect() }
            };
            let mut begins = true;
            let before = |epoch: usize| {
                if std::mem::take(&mut begins) && epoch > 0 {
                    torch_shim::set_random_state(device, &drawn).expect("a state that was kept");
                }
            };
            repeat((device, self.records), self.settings.epochs, follow, changing, before, steps);
        });
    }

    fn epochs(&self) -> usize {
        self.settings.epochs
    }

    fn rate(&self) -> f64 {
        self.settings.lr
    }

    fn draw(&self, slot: Slot, count: usize, seed: i64) -> Tensor {
        no_grad(|| with_seed(seed, || self.scaler.unscale(&self.imagine(slot, count as i64, false))))
    }

    fn tensors(&self) -> BTreeMap<String, Tensor> {
        let scaler = self.scaler.tensors().map(|(name, tensor)| (name.to_owned(), tensor));
        self.store.variables().into_iter().chain(scaler).collect()
    }

    fn restore(&mut self, tensors: &BTreeMap<String, Tensor>) -> Result<(), String> {
        let device = self.attributes.device();
        let get = |name: &str| tensors.get(name).map(|tensor| tensor.to_device(device)).ok_or_else(|| name.to_owned());
        for (name, mut variable) in self.store.variables() {
            let stored = get(&name)?;
            no_grad(|| variable.copy_(&stored));
        }
        self.scaler = Scaler::from_tensors(get("scaler.low")?, get("scaler.range")?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the rows 0 to 4 all, as they are; of 0 to 999 five, drawn by the seed and not the first.
    #[test]
    fn many_features_are_sampled_and_few_are_taken_as_they_are() {
        let numbers = |count: i64| Tensor::arange(count, (Kind::Float, tch::Device::Cpu)).unsqueeze(1);
        let rows = |count, seed| {
            let found = limited(&numbers(count), 5, &mut Seeds::new(seed).stream("limit", 0));
            Vec::<f32>::try_from(found.squeeze_dim(1)).expect("numbers")
        };
        assert_eq!(rows(5, 1), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(rows(3, 1), [0.0, 1.0, 2.0]);
        let drawn = rows(1000, 1);
        assert!(drawn.len() == 5 && drawn.is_sorted_by(|one, next| one < next), "{drawn:?}");
        assert_eq!(drawn, rows(1000, 1));
        assert!(drawn != rows(1000, 2) && drawn[4] > 100.0, "{drawn:?}");
    }
}
