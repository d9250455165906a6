//! An extractor together with its weights.

use crate::engine::{Compute, Layout, Precision, TensorFile, with_seed};
use crate::error::{RunError, WeightsError};
use crate::extractor::layers::Layers;
use crate::extractor::side_by_side::SideBySide;
use crate::extractor::{Extractor, ExtractorKind, Representation, torchscript};
use std::collections::BTreeMap;
use tch::nn::VarStore;
use tch::{Device, Kind, Tensor, no_grad};

/// `f` and its weights.
pub struct Network {
    kind: ExtractorKind,
    channels: usize,
    size: usize,
    compute: Compute,
    store: VarStore,
    extractor: Box<dyn Extractor>,
    /// The same made for looking, its precision in its weights, while they stay as they are.
    settled: Option<Box<dyn Extractor>>,
    /// The same for images one by one, on a CPU, where the weights never change.
    side_by_side: Option<SideBySide>,
}

impl Network {
    /// With the fresh weights of `seed`, for images of `channels × size × size` or rows of `size` numbers.
    ///
    /// The weights are drawn on the host, so that every device starts from the same ones. Those of a pretrained kind are
    /// read by [`pretrained`](Self::pretrained) or [`read`](Self::read).
    pub fn new(kind: ExtractorKind, channels: usize, size: usize, compute: Compute, device: Device, seed: i64) -> Self {
        let compute = match kind.takes_rows() {
            // Rows have one layout.
            true => Compute { layout: Layout::Planes, ..compute.on(device, size) },
            false => compute.on(device, size),
        };
        let mut store = VarStore::new(Device::Cpu);
        let extractor = with_seed(seed, || kind.build(&store.root(), channels as i64, size as i64));
        store.set_device(device);
        if kind.is_frozen() {
            store.freeze();
        }
        if compute.layout == Layout::ChannelsLast {
            for mut variable in store.variables().into_values().filter(|variable| variable.dim() == 4) {
                no_grad(|| variable.set_data(&torch_shim::channels_last(&variable)));
            }
        }
        Self { kind, channels, size, compute, store, extractor, settled: None, side_by_side: None }
    }

    /// The same with the weights that the kind names, where it names some: nothing else can fail.
    pub fn pretrained(
        kind: ExtractorKind,
        channels: usize,
        size: usize,
        compute: Compute,
        device: Device,
        seed: i64,
    ) -> Result<Self, WeightsError> {
        kind.check_size(channels, size)?;
        let mut network = Self::new(kind, channels, size, compute, device, seed);
        network.kind.load_into(network.variables())?;
        network.open()?;
        network.freeze();
        Ok(network)
    }

    /// Reads an exported network, which has no weights that a checkpoint could hold.
    fn open(&mut self) -> Result<(), WeightsError> {
        if let ExtractorKind::TorchScript(settings) = &self.kind {
            let (channels, size) = (self.channels as i64, self.size as i64);
            self.extractor = Box::new(torchscript::Net::open(settings, channels, size, self.device())?);
        }
        Ok(())
    }

    /// Which extractor.
    pub fn kind(&self) -> &ExtractorKind {
        &self.kind
    }

    /// Whether the weights were trained elsewhere and stay as they are.
    pub fn is_frozen(&self) -> bool {
        self.kind.is_frozen()
    }

    /// A copy that will not change: `f^{t−1}`, the teacher.
    pub fn frozen(&self) -> Self {
        let mut copy = self.snapshot();
        copy.fold();
        copy
    }

    /// A copy as it is now, which will not change: what a predictor answers with.
    pub fn snapshot(&self) -> Self {
        let mut copy = Self::new(self.kind.clone(), self.channels, self.size, self.compute, self.device(), 0);
        copy.store.copy(&self.store).expect("the copy has the same variables");
        copy.store.freeze();
        if let Some(shared) = self.extractor.shared() {
            copy.extractor = shared;
        }
        copy.freeze();
        copy
    }

    /// Takes its weights from a file, where their names begin with `prefix`.
    pub fn read(&mut self, file: &TensorFile, prefix: &str) -> Result<(), RunError> {
        (self.settled, self.side_by_side) = (None, None);
        self.open()?;
        for (name, mut variable) in self.variables() {
            let stored = file.read(&format!("{prefix}{name}"), Some(&variable.size()))?;
            no_grad(|| variable.copy_(&stored));
        }
        // As after training: what comes next computes in the same way, resumed or not.
        self.freeze();
        Ok(())
    }

    /// The weights stay as they are from here on, until [`unfreeze`](Self::unfreeze): looking may be quicker.
    ///
    /// On a GPU, where a look is one kernel less for each convolution, and where the weights never change. Else a CPU's
    /// answers stay those of its weights, to the last bit.
    pub fn freeze(&mut self) {
        if self.is_frozen() || self.device().is_cuda() && self.compute.precision == Precision::Bf16 {
            self.fold();
        }
    }

    fn fold(&mut self) {
        self.settled = self.extractor.folded(self.image_kind());
        let alone = self.is_frozen() && self.device() == Device::Cpu;
        let looks = self.settled.as_deref().unwrap_or(&*self.extractor);
        self.side_by_side = alone.then(|| SideBySide::new(looks)).flatten();
    }

    /// The weights are about to change, unless they never do.
    pub fn unfreeze(&mut self) {
        if !self.is_frozen() {
            self.settled = None;
        }
    }

    /// `f(x)` for normalized images `[batch, channels, size, size]` or rows `[batch, size]`.
    pub fn extract(&self, images: &Tensor, train: bool) -> Representation {
        if let (true, Some(settled)) = (self.is_frozen(), &self.settled) {
            return no_grad(|| settled.extract(&self.laid_out(images), false));
        }
        // BatchNorm's statistics belong to weights that stay as they are.
        let train = train && !self.is_frozen();
        let images = self.laid_out(images);
        match self.compute.precision {
            Precision::Bf16 => {
                // Rows are taken as they are: a kind may hand them on.
                let images = if self.kind.takes_rows() { images } else { images.to_kind(Kind::BFloat16) };
                let seen = torch_shim::autocast_bf16(self.device(), true, || self.extractor.extract(&images, train));
                Representation { features: seen.features.to_kind(Kind::Float), ..seen }
            }
            _ => self.extractor.extract(&images, train),
        }
    }

    fn laid_out(&self, images: &Tensor) -> Tensor {
        match self.compute.layout {
            Layout::ChannelsLast => torch_shim::channels_last(images),
            _ => images.shallow_clone(),
        }
    }

    /// The same, without a trace for gradients and with BatchNorm's statistics as they are.
    pub fn forward_eval(&self, images: &Tensor) -> Representation {
        no_grad(|| match &self.settled {
            Some(settled) => settled.extract(&self.laid_out(images), false),
            None => self.extract(images, false),
        })
    }

    /// The mean feature of images and their mirror images; of rows, the feature.
    ///
    /// On a CPU each image is computed by itself: a feature may be kept for other runs, and must not depend on the images
    /// that it was computed with.
    pub fn mirrored_mean(&self, images: &Tensor) -> Tensor {
        no_grad(|| {
            let count = images.size()[0];
            if images.dim() != 4 || count == 0 {
                return Tensor::cat(&self.one_by_one(&[images]), 0);
            }
            let features = Tensor::cat(&self.one_by_one(&[images, &images.flip([3i64])]), 0);
            (features.narrow(0, 0, count) + features.narrow(0, count, count)) * 0.5
        })
    }

    /// The features of batches one after the other, in pieces; on a CPU each image or row is computed by itself.
    fn one_by_one(&self, batches: &[&Tensor]) -> Vec<Tensor> {
        let hands_on = matches!(self.kind, ExtractorKind::Identity(_));
        let look = |images: &Tensor| self.forward_eval(images).features;
        if self.device() != Device::Cpu || hands_on {
            return batches.iter().map(|images| look(images)).collect();
        }
        let single = batches.iter().flat_map(|images| images.split(1, 0));
        match &self.side_by_side {
            Some(side_by_side) => side_by_side.features(single.map(|image| self.laid_out(&image)).collect()),
            None => single.map(|image| look(&image)).collect(),
        }
    }

    /// What it computes, step by step, with the names of [`variables`](Self::variables); none for an exported network.
    pub(crate) fn layers(&self) -> Option<Layers> {
        self.extractor.layers()
    }

    /// A digest of its weights: two networks of one kind with the same digest see the same.
    pub fn digest(&self) -> Result<blake3::Hash, tch::TchError> {
        let mut hasher = blake3::Hasher::new();
        for (name, variable) in self.variables() {
            let variable = variable.detach().to_device(Device::Cpu).to_kind(Kind::Float).contiguous();
            let mut bytes = vec![0; variable.numel() * 4];
            variable.f_copy_data_u8(&mut bytes, variable.numel())?;
            hasher.update(name.as_bytes()).update(&[0]).update(&bytes);
        }
        Ok(hasher.finalize())
    }

    /// The numbers that the first convolution takes, so that nobody need convert them.
    pub fn image_kind(&self) -> Kind {
        if self.compute.precision == Precision::Bf16 { Kind::BFloat16 } else { Kind::Float }
    }

    /// The length of a feature.
    pub fn width(&self) -> usize {
        self.extractor.width()
    }

    /// Where the weights are.
    pub fn device(&self) -> Device {
        self.store.device()
    }

    /// What learns, in a fixed order.
    pub fn parameters(&self) -> Vec<Tensor> {
        self.variables().into_values().filter(Tensor::requires_grad).collect()
    }

    /// What BatchNorm keeps of all batches, in a fixed order.
    pub(crate) fn statistics(&self) -> Vec<Tensor> {
        self.variables().into_iter().filter(|(name, _)| name.contains("running_")).map(|(_, tensor)| tensor).collect()
    }

    /// Everything that makes the network, by name: weights and BatchNorm's statistics.
    pub fn variables(&self) -> BTreeMap<String, Tensor> {
        self.store.variables().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extractor::{Identity, ResNet18};

    #[test]
    fn identity_hands_rows_on_bit_by_bit_in_any_precision() {
        let compute = Compute { precision: Precision::Bf16, ..Default::default() };
        let network = Network::new(ExtractorKind::Identity(Identity {}), 1, 3, compute, Device::Cpu, 0);
        let rows = Tensor::from_slice(&[0.123_456_7f32, -3.3, 1e-9]).reshape([1, 3]);
        assert!(network.extract(&rows, true).features.equal(&rows));
    }

    /// A folded look agrees with the weights it was folded from, stays with them when they change, and sees the new ones
    /// once they are stirred.
    #[test]
    fn a_look_sees_new_weights_once_they_are_stirred() {
        let kind = ExtractorKind::ResNet18(ResNet18 { width: 4, ..Default::default() });
        let mut network = Network::new(kind, 3, 16, Compute::default(), Device::Cpu, 0);
        let images = Tensor::ones([2, 3, 16, 16], (Kind::Float, Device::Cpu));
        let apart = |a: &Tensor, b: &Tensor| f64::try_from((a - b).abs().max() / b.abs().max()).expect("a number");
        network.fold();
        let before = network.forward_eval(&images).features;
        assert!(apart(&before, &network.extract(&images, false).features) < 1e-4);
        no_grad(|| network.parameters().iter().for_each(|weight| drop(weight.shallow_clone().g_mul_scalar_(2.0))));
        assert!(network.forward_eval(&images).features.equal(&before));
        network.unfreeze();
        let after = network.forward_eval(&images).features;
        assert!(apart(&after, &before) > 0.5);
        assert!(after.equal(&network.extract(&images, false).features));
    }
}
