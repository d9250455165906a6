//! Images that were read once stay at hand: decoding a JPEG takes longer than a GPU takes to learn from it.
//!
//! The cache stands behind the seal. What a task may read is asked each time, whether the image is at hand or not.

use crate::catalogue::Catalogue;
use crate::class::ClassId;
use crate::data::{Dataset, Image, Normalization, Sample, Subset};
use crate::error::DataError;
use crate::scenario::Order;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A dataset whose images are decoded once, as far as there is room for them.
pub struct CachedDataset {
    dataset: Arc<dyn Dataset>,
    train: Vec<OnceLock<Image>>,
    test: Vec<OnceLock<Image>>,
    /// Bytes left.
    room: AtomicU64,
}

impl CachedDataset {
    /// Room for `bytes` bytes of pixels.
    pub fn new(dataset: Arc<dyn Dataset>, bytes: u64) -> Self {
        let places = |subset| dataset.samples(subset).iter().map(|_| OnceLock::new()).collect();
        let (train, test) = (places(Subset::Train), places(Subset::Test));
        Self { dataset, train, test, room: AtomicU64::new(bytes) }
    }

    fn place(&self, sample: &Sample) -> &OnceLock<Image> {
        match sample.subset {
            Subset::Train => &self.train[sample.index as usize],
            Subset::Test => &self.test[sample.index as usize],
        }
    }

    fn take_room(&self, bytes: u64) -> bool {
        let less = |room: u64| room.checked_sub(bytes);
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

impl Dataset for CachedDataset {
    fn catalogue(&self) -> &Catalogue {
        self.dataset.catalogue()
    }

    fn samples(&self, subset: Subset) -> &[Sample] {
        self.dataset.samples(subset)
    }

    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        let place = self.place(sample);
        if let Some(image) = place.get() {
            return Ok(image.clone());
        }
        let image = self.dataset.image(sample)?;
        if self.take_room(image.pixels.len() as u64) {
            // Another thread may have been quicker, with the same image.
            let _ = place.set(image.clone());
        }
        Ok(image)
    }

    fn name(&self, sample: &Sample) -> String {
        self.dataset.name(sample)
    }

    fn channels(&self) -> u8 {
        self.dataset.channels()
    }

    fn normalization(&self) -> Normalization {
        self.dataset.normalization()
    }

    fn size(&self) -> u32 {
        self.dataset.size()
    }

    fn resize(&self) -> u32 {
        self.dataset.resize()
    }

    fn order(&self, order: &Order) -> Option<Vec<ClassId>> {
        self.dataset.order(order)
    }

    fn digest(&self) -> Option<blake3::Hash> {
        self.dataset.digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Synthetic, SyntheticSettings};

    /// Counts how often it is asked for an image.
    struct Counting(Synthetic, AtomicU64);

    impl Dataset for Counting {
        fn catalogue(&self) -> &Catalogue {
            self.0.catalogue()
        }
        fn samples(&self, subset: Subset) -> &[Sample] {
            self.0.samples(subset)
        }
        fn image(&self, sample: &Sample) -> Result<Image, DataError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.image(sample)
        }
        fn name(&self, sample: &Sample) -> String {
            self.0.name(sample)
        }
        fn channels(&self) -> u8 {
            self.0.channels()
        }
        fn normalization(&self) -> Normalization {
            self.0.normalization()
        }
        fn size(&self) -> u32 {
            self.0.size()
        }
    }

    /// 24 classes, one image each of 32 × 32 × 3 = 3,072 bytes; room for ten.
    #[test]
    fn an_image_is_read_once_while_there_is_room() {
        let drawn = Synthetic::new(&SyntheticSettings { train: 1, test: 1 });
        let counting = Arc::new(Counting(drawn, AtomicU64::new(0)));
        let cached = CachedDataset::new(counting.clone(), 10 * 3072);
        let samples = cached.samples(Subset::Train).to_vec();
        let first: Vec<Image> = samples.iter().map(|sample| cached.image(sample).expect("drawn")).collect();
        let second: Vec<Image> = samples.iter().map(|sample| cached.image(sample).expect("drawn")).collect();
        assert_eq!(first, second);
        assert_eq!(counting.1.load(Ordering::Relaxed), 24 + 14);
    }
}
