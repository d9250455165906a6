//! Settings must not be chosen on test images. So a recipe can play the test: some training images of each class are held
//! out and answered in place of the test images, which nobody then reads.

use crate::catalogue::Catalogue;
use crate::class::ClassId;
use crate::data::{Dataset, Image, Normalization, Sample, Subset};
use crate::error::DataError;
use crate::scenario::Order;
use crate::seeds::Seeds;
use rand::seq::SliceRandom;
use std::sync::Arc;

/// A dataset whose test side is a part of the training side of another.
pub struct HeldOut {
    dataset: Arc<dyn Dataset>,
    train: Side,
    test: Side,
}

/// Samples as this dataset counts them, and as the other does.
#[derive(Default)]
struct Side {
    samples: Vec<Sample>,
    origins: Vec<Sample>,
}

impl Side {
    fn push(&mut self, subset: Subset, origin: Sample) {
        self.samples.push(Sample { subset, index: self.samples.len() as u32, class: origin.class });
        self.origins.push(origin);
    }
}

impl HeldOut {
    /// Holds out the share `share` of each class's training images, one at least. Always the same ones, so that settings
    /// are compared on the same images.
    pub fn new(dataset: Arc<dyn Dataset>, share: f64) -> Self {
        let mut by_class = vec![Vec::new(); dataset.catalogue().len()];
        for sample in dataset.samples(Subset::Train) {
            by_class[sample.class.index()].push(*sample);
        }
        let (mut train, mut test) = (Side::default(), Side::default());
        for (class, mut samples) in by_class.into_iter().enumerate() {
            samples.shuffle(&mut Seeds::new(0).stream("held out", class));
            let held_out = ((samples.len() as f64 * share) as usize).max(1).min(samples.len());
            samples[..held_out].sort_unstable();
            samples[held_out..].sort_unstable();
            samples[..held_out].iter().for_each(|sample| test.push(Subset::Test, *sample));
            samples[held_out..].iter().for_each(|sample| train.push(Subset::Train, *sample));
        }
        Self { dataset, train, test }
    }

    fn side(&self, subset: Subset) -> &Side {
        match subset {
            Subset::Train => &self.train,
            Subset::Test => &self.test,
        }
    }

    fn origin(&self, sample: &Sample) -> &Sample {
        &self.side(sample.subset).origins[sample.index as usize]
    }
}

impl Dataset for HeldOut {
    fn catalogue(&self) -> &Catalogue {
        self.dataset.catalogue()
    }

    fn samples(&self, subset: Subset) -> &[Sample] {
        &self.side(subset).samples
    }

    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        self.dataset.image(self.origin(sample))
    }

    fn name(&self, sample: &Sample) -> String {
        self.dataset.name(self.origin(sample))
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
    use std::collections::BTreeSet;

    /// 24 classes of 10 training images: 2 of each are answered, 8 are learned from, no test image is read.
    #[test]
    fn a_fifth_of_each_class_plays_the_test() {
        let drawn = Arc::new(Synthetic::new(&SyntheticSettings { train: 10, test: 3 }));
        let held_out = HeldOut::new(drawn.clone(), 0.2);
        assert_eq!((held_out.samples(Subset::Train).len(), held_out.samples(Subset::Test).len()), (24 * 8, 24 * 2));
        let names = |subset| -> BTreeSet<String> {
            held_out.samples(subset).iter().map(|sample| held_out.name(sample)).collect()
        };
        assert!(names(Subset::Train).is_disjoint(&names(Subset::Test)));
        let all: BTreeSet<String> = drawn.samples(Subset::Train).iter().map(|sample| drawn.name(sample)).collect();
        assert_eq!(&names(Subset::Train) | &names(Subset::Test), all);
        for subset in [Subset::Train, Subset::Test] {
            for (index, sample) in held_out.samples(subset).iter().enumerate() {
                assert_eq!((sample.index as usize, sample.subset), (index, subset));
                assert_eq!(
                    held_out.image(sample).expect("drawn"),
                    drawn.image(held_out.origin(sample)).expect("drawn")
                );
            }
        }
        assert_eq!(names(Subset::Test), {
            let again = HeldOut::new(drawn, 0.2);
            again.samples(Subset::Test).iter().map(|sample| again.name(sample)).collect()
        });
    }
}
