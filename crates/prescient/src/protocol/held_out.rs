//! Settings must not be chosen on test images. So a recipe can play the test: some training images of each class are held
//! out and answered in place of the test images, which nobody then reads.

use crate::data::{Dataset, Sample, Subset, as_the_dataset};
use crate::seeds::Seeds;
use rand::seq::SliceRandom;
use std::collections::{BTreeMap, BTreeSet};
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
    /// Holds out the share `share` of each class's training images, one at least, and with an image all that belong
    /// together with it: the objects of a photo, whatever their classes. Always the same ones, so that settings are
    /// compared on the same images.
    pub fn new(dataset: Arc<dyn Dataset>, share: f64) -> Self {
        let mut by_class = vec![Vec::new(); dataset.catalogue().len()];
        let mut groups: BTreeMap<u64, Vec<Sample>> = BTreeMap::new();
        for sample in dataset.samples(Subset::Train) {
            by_class[sample.class.index()].push(*sample);
            groups.entry(dataset.group(sample)).or_default().push(*sample);
        }
        let held_out = chosen(&by_class, &groups, |sample| dataset.group(sample), share);
        let (mut train, mut test) = (Side::default(), Side::default());
        for sample in by_class.into_iter().flatten() {
            match held_out.contains(&sample) {
                true => test.push(Subset::Test, sample),
                false => train.push(Subset::Train, sample),
            }
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

/// The samples that are held out: for each class whole groups, until it has enough. A group stays where another class
/// would lose its last image.
fn chosen(
    by_class: &[Vec<Sample>],
    groups: &BTreeMap<u64, Vec<Sample>>,
    group: impl Fn(&Sample) -> u64,
    share: f64,
) -> BTreeSet<Sample> {
    let mut held_out = BTreeSet::new();
    let mut left: Vec<usize> = by_class.iter().map(Vec::len).collect();
    for (class, samples) in by_class.iter().enumerate() {
        let mut samples = samples.clone();
        samples.shuffle(&mut Seeds::new(0).stream("held out", class));
        let wanted = ((samples.len() as f64 * share) as usize).max(1).min(samples.len());
        for sample in &samples {
            if samples.len() - left[class] >= wanted {
                break;
            }
            let together = &groups[&group(sample)];
            let robbed = |other: usize| left[other] == together.iter().filter(|s| s.class.index() == other).count();
            if held_out.contains(sample) || together.iter().any(|s| s.class.index() != class && robbed(s.class.index()))
            {
                continue;
            }
            for sample in together {
                left[sample.class.index()] -= 1;
                held_out.insert(*sample);
            }
        }
    }
    held_out
}

impl Dataset for HeldOut {
    as_the_dataset!(origin);

    fn samples(&self, subset: Subset) -> &[Sample] {
        &self.side(subset).samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Image, Synthetic, SyntheticSettings};
    use crate::error::DataError;
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

    /// Drawn images of which the i-th of every class belong together, as objects of one photo do.
    struct Grouped {
        dataset: Synthetic,
    }

    impl Dataset for Grouped {
        as_the_dataset!();

        fn samples(&self, subset: Subset) -> &[Sample] {
            self.dataset.samples(subset)
        }

        fn image(&self, sample: &Sample) -> Result<Image, DataError> {
            self.dataset.image(sample)
        }

        fn name(&self, sample: &Sample) -> String {
            self.dataset.name(sample)
        }

        fn group(&self, sample: &Sample) -> u64 {
            u64::from(sample.index % 10)
        }
    }

    /// Two groups are enough for the first class, and then for all.
    #[test]
    fn what_belongs_together_is_held_out_together() {
        let dataset = Synthetic::new(&SyntheticSettings { train: 10, test: 1 });
        let held_out = HeldOut::new(Arc::new(Grouped { dataset }), 0.2);
        let groups = |subset| -> BTreeSet<u64> {
            held_out.samples(subset).iter().map(|sample| held_out.group(sample)).collect()
        };
        assert_eq!((groups(Subset::Train).len(), groups(Subset::Test).len()), (8, 2));
        assert!(groups(Subset::Train).is_disjoint(&groups(Subset::Test)));
        assert_eq!(held_out.samples(Subset::Test).len(), 24 * 2);
    }
}
