//! Features of photos from a network that will not change: each photo is looked at once, in this run or an earlier one.

use crate::data::perceptual_hash::content;
use crate::data::{Image, Sample, View};
use crate::engine::Preprocessing;
use crate::engine::norm::unit_rows;
use crate::error::LearnError;
use crate::extractor::feature_cache::{FeatureCache, features_root};
use crate::extractor::{ExtractorKind, Network};
use crate::learner::{Event, Observer};
use crate::protocol::{TaskData, Usage};
use rayon::prelude::*;
use std::time::{Duration, Instant};
use tch::{Device, Kind, Tensor};

/// Photos read and looked at together.
pub(crate) const CHUNK: usize = 64;

/// Rows of numbers are hardly looked at, and read many more at a time.
const ROWS: usize = 16 * CHUNK;

/// What was looked at is kept after so long: killed then, nobody need look at those photos again.
const KEPT_EVERY: Duration = Duration::from_secs(5);
/// Or after so many photos: what is not written yet lies in memory.
const KEPT_AFTER: usize = 8192;

/// A photo by the digest of its pixels, and the bytes that the network sees where its feature is not known yet.
pub(crate) type Glimpse = (blake3::Hash, Option<Vec<u8>>);

/// The features of one network in one view, as far as they are known.
pub(crate) struct FrozenFeatures {
    cache: FeatureCache,
    /// Whether a feature is its row, as it was read: nothing is gained by keeping it.
    is_row: bool,
    /// When what is known was last kept.
    kept: Instant,
}

impl FrozenFeatures {
    /// Finds what is known of photos that `network` sees through `input`.
    pub(crate) fn open(network: &Network, input: &Preprocessing) -> Result<Self, LearnError> {
        let mut known = Self::in_memory(network);
        if let Some(root) = features_root().filter(|_| !known.is_row) {
            let about = about(network, input)?;
            known.cache = FeatureCache::open(&root, &about, network.width()).map_err(LearnError::Cache)?;
        }
        Ok(known)
    }

    /// Nothing is known, and nobody keeps what will be.
    pub(crate) fn in_memory(network: &Network) -> Self {
        let is_row = matches!(network.kind(), ExtractorKind::Identity(_));
        Self { cache: FeatureCache::in_memory(network.width()), is_row, kept: Instant::now() }
    }

    /// The features of `samples`, of length 1: `[samples, width]` on the host, and the digests of the photos. The task must be
    /// allowed to read them for `usage`. One [`Event::Step`] a chunk.
    pub(crate) fn of(
        &mut self,
        (network, input): (&Network, &Preprocessing),
        (data, usage): (&TaskData, Usage),
        samples: &[Sample],
        observer: &mut dyn Observer,
    ) -> Result<(Tensor, Vec<blake3::Hash>), LearnError> {
        let read = |sample: &Sample| match usage {
            Usage::Test => data.test_image(sample),
            _ => data.training_image(sample),
        };
        let (mut values, mut photos) = (Vec::with_capacity(samples.len() * self.cache.width()), Vec::new());
        let chunk = if self.is_row { ROWS } else { CHUNK };
        for samples in samples.chunks(chunk) {
            let (known, view) = (&*self, input.view());
            let see = |sample: &Sample| {
                let image = read(sample)?;
                // The ledger computed it when it was first read.
                let photo = data.digest(sample).unwrap_or_else(|| content(&image));
                Ok(known.glimpse(photo, &image, view))
            };
            let seen: Vec<Glimpse> = samples.par_iter().map(see).collect::<Result<_, LearnError>>()?;
            self.look(network, input, &seen)?;
            for (photo, _) in seen {
                assert!(self.cache.append(&photo, &mut values), "it was just looked at");
                photos.push(photo);
            }
            match self.is_row {
                true => self.cache.forget(),
                false => self.keep_now_and_then()?,
            }
            (0..samples.len().div_ceil(CHUNK)).for_each(|_| observer.on_event(&Event::Step));
        }
        self.keep()?;
        let features = Tensor::from_slice(&values).reshape([samples.len() as i64, self.cache.width() as i64]);
        Ok((features, photos))
    }

    /// What is needed to know the feature of a photo with this digest.
    pub(crate) fn glimpse(&self, photo: blake3::Hash, image: &Image, view: View) -> Glimpse {
        let pixels = (!self.cache.has(&photo)).then(|| rendered(image, view));
        (photo, pixels)
    }

    /// The feature of a photo, of length 1, once it was looked at.
    pub(crate) fn feature(&self, photo: &blake3::Hash) -> Option<Vec<f32>> {
        let mut values = Vec::with_capacity(self.cache.width());
        self.cache.append(photo, &mut values).then_some(values)
    }

    /// Keeps what was looked at for another time.
    pub(crate) fn keep(&mut self) -> Result<(), LearnError> {
        self.kept = Instant::now();
        self.cache.flush().map_err(LearnError::Cache)
    }

    /// The same, if that was not done for a while.
    pub(crate) fn keep_now_and_then(&mut self) -> Result<(), LearnError> {
        match self.kept.elapsed() >= KEPT_EVERY || self.cache.unwritten() >= KEPT_AFTER {
            true => self.keep(),
            false => Ok(()),
        }
    }

    /// Looks at the photos that are not known yet.
    pub(crate) fn look(
        &mut self,
        network: &Network,
        input: &Preprocessing,
        seen: &[Glimpse],
    ) -> Result<(), LearnError> {
        let new: Vec<(&blake3::Hash, &Vec<u8>)> =
            seen.iter().filter_map(|(photo, pixels)| Some((photo, pixels.as_ref()?))).collect();
        if new.is_empty() {
            return Ok(());
        }
        let pixels: Vec<u8> = new.iter().map(|(_, pixels)| pixels.as_slice()).collect::<Vec<_>>().concat();
        let images = input.normalize(input.upload(&pixels, new.len()));
        let features = unit_rows(&network.mirrored_mean(&images)).to_device(Device::Cpu).to_kind(Kind::Float);
        let values = Vec::<f32>::try_from(features.contiguous().view([-1]))?;
        if values.iter().any(|value| !value.is_finite()) {
            return Err(LearnError::FeaturesNotFinite);
        }
        for ((photo, _), feature) in new.iter().zip(values.chunks(self.cache.width())) {
            self.cache.insert(**photo, feature.to_vec());
        }
        Ok(())
    }
}

/// The bytes that the network sees of a photo.
fn rendered(image: &Image, view: View) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(view.bytes(image.channels));
    view.render(image, view.eval_crop(image.width, image.height), &mut pixels);
    pixels
}

/// What features depend on, apart from the photo: weights, view, and what computes.
fn about(network: &Network, input: &Preprocessing) -> Result<String, LearnError> {
    let (view, device) = (input.view(), if network.device().is_cuda() { "cuda" } else { "cpu" });
    let (digest, kind) = (network.digest()?, network.image_kind());
    // Weights are in the digest; where they were fetched to may be gone.
    let provenance = network.kind().provenance();
    let exported = provenance.ok().flatten().map(|provenance| provenance.digest).unwrap_or_default();
    let normalization = input.digest()?;
    Ok(format!(
        "1 {} {exported} {digest} {}/{} {normalization} mirrored unit {kind:?} {device}",
        network.kind().name(),
        view.size,
        view.resize
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten features of a moment ago are not worth a file; 8,192 are, and so are ten after a while.
    #[test]
    fn what_was_looked_at_is_kept_now_and_then() {
        let root = tempfile::tempdir().expect("a folder");
        let cache = FeatureCache::open(root.path(), "net", 1).expect("a cache");
        let mut known = FrozenFeatures { cache, is_row: false, kept: Instant::now() };
        let look = |known: &mut FrozenFeatures, photos: std::ops::Range<usize>| {
            photos.for_each(|photo| known.cache.insert(blake3::hash(&photo.to_le_bytes()), vec![photo as f32]));
            known.keep_now_and_then().expect("kept");
            known.cache.unwritten()
        };
        assert_eq!(look(&mut known, 0..10), 10);
        assert_eq!(look(&mut known, 10..KEPT_AFTER), 0);
        assert_eq!(look(&mut known, KEPT_AFTER..KEPT_AFTER + 10), 10);
        known.kept = Instant::now().checked_sub(KEPT_EVERY).expect("a machine that runs for longer");
        assert_eq!(look(&mut known, 0..0), 0);
        let again = FeatureCache::open(root.path(), "net", 1).expect("the same cache");
        assert!(again.has(&blake3::hash(&(KEPT_AFTER + 9).to_le_bytes())));
    }
}
