//! Images that were read once stay at hand: decoding a JPEG takes longer than a GPU takes to learn from it.
//!
//! The cache stands behind the seal. What a task may read is asked each time, whether the image is at hand or not.

use crate::data::{Dataset, Image, Sample, Subset, as_the_dataset};
use crate::error::DataError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Where another limit than [`MEMORY`] may be given, in MiB. A recipe does not say how much memory a machine has.
const LIMIT: &str = "PRESCIENT_IMAGES_MIB";
const MEMORY: u64 = 2 << 30;

/// How many bytes decoded images may take: `PRESCIENT_IMAGES_MIB`, else 2 GiB.
pub fn memory_for_images() -> u64 {
    let given = std::env::var(LIMIT).ok().and_then(|text| text.trim().parse::<u64>().ok());
    given.and_then(|mib| mib.checked_mul(1 << 20)).unwrap_or(MEMORY)
}

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
    as_the_dataset!();

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

    fn shelf(&self, sample: &Sample) -> u32 {
        self.dataset.shelf(sample)
    }

    fn name(&self, sample: &Sample) -> String {
        self.dataset.name(sample)
    }

    fn group(&self, sample: &Sample) -> u64 {
        self.dataset.group(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Synthetic, SyntheticSettings};

    /// Counts how often it is asked for an image.
    struct Counting {
        dataset: Synthetic,
        asked: AtomicU64,
    }

    impl Dataset for Counting {
        as_the_dataset!();

        fn samples(&self, subset: Subset) -> &[Sample] {
            self.dataset.samples(subset)
        }

        fn image(&self, sample: &Sample) -> Result<Image, DataError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.dataset.image(sample)
        }

        fn name(&self, sample: &Sample) -> String {
            self.dataset.name(sample)
        }
    }

    /// 24 classes, one image each of 32 × 32 × 3 = 3,072 bytes; room for ten.
    #[test]
    fn an_image_is_read_once_while_there_is_room() {
        let dataset = Synthetic::new(&SyntheticSettings { train: 1, test: 1 });
        let counting = Arc::new(Counting { dataset, asked: AtomicU64::new(0) });
        let cached = CachedDataset::new(counting.clone(), 10 * 3072);
        let samples = cached.samples(Subset::Train).to_vec();
        let first: Vec<Image> = samples.iter().map(|sample| cached.image(sample).expect("drawn")).collect();
        let second: Vec<Image> = samples.iter().map(|sample| cached.image(sample).expect("drawn")).collect();
        assert_eq!(first, second);
        assert_eq!(counting.asked.load(Ordering::Relaxed), 24 + 14);
    }
}
