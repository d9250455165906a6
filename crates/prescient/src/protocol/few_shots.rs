//! The first photos of a new class are few. So a recipe can play that: of every class that arrives after the first task only
//! so many training images are there, drawn by the seed of the run. Test images stay.

use crate::data::{Dataset, Sample, Subset, as_the_dataset};
use crate::scenario::Scenario;
use crate::seeds::{Seeds, picked};
use std::sync::Arc;

/// A dataset with few training images of late classes.
pub struct FewShots {
    dataset: Arc<dyn Dataset>,
    /// The training images that are left, as this dataset counts them, and as the other does.
    train: Vec<Sample>,
    origins: Vec<Sample>,
}

impl FewShots {
    /// Leaves `shots` training images of each class that arrives after the first task of `scenario`.
    pub fn new(dataset: Arc<dyn Dataset>, scenario: &Scenario, shots: usize, seeds: Seeds) -> Self {
        let first = scenario.task(1).present();
        let slots = scenario.slots();
        let mut by_class: Vec<Vec<Sample>> = vec![Vec::new(); slots.len()];
        for sample in dataset.samples(Subset::Train) {
            by_class[sample.class.index()].push(*sample);
        }
        let mut origins = Vec::new();
        for (class, samples) in by_class.into_iter().enumerate() {
            match first.contains(slots[class]) {
                true => origins.extend(samples),
                false => {
                    let places = picked(samples.len(), shots, &mut seeds.stream("shots", class));
                    origins.extend(places.into_iter().map(|place| samples[place]));
                }
            }
        }
        // In the dataset's order, whatever the classes'.
        origins.sort_by_key(|sample| sample.index);
        let train = origins.iter().zip(0..).map(|(origin, index)| Sample { index, ..*origin }).collect();
        Self { dataset, train, origins }
    }

    fn origin<'a>(&'a self, sample: &'a Sample) -> &'a Sample {
        match sample.subset {
            Subset::Train => &self.origins[sample.index as usize],
            Subset::Test => sample,
        }
    }
}

impl Dataset for FewShots {
    as_the_dataset!(origin);

    fn samples(&self, subset: Subset) -> &[Sample] {
        match subset {
            Subset::Train => &self.train,
            Subset::Test => self.dataset.samples(subset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Synthetic, SyntheticSettings};
    use crate::scenario::Order;
    use std::collections::BTreeSet;

    fn drawn() -> Arc<Synthetic> {
        Arc::new(Synthetic::new(&SyntheticSettings { train: 10, test: 3 }))
    }

    fn few(shots: usize, seed: u64) -> (FewShots, Scenario) {
        let dataset = drawn();
        let split = "20+2+2".parse().expect("a split");
        let order = Order::Shuffled { seed: 1 };
        let scenario = Scenario::new(dataset.catalogue().names(), &order, &split).expect("a scenario");
        (FewShots::new(dataset, &scenario, shots, Seeds::new(seed)), scenario)
    }

    fn names(dataset: &dyn Dataset, subset: Subset) -> BTreeSet<String> {
        dataset.samples(subset).iter().map(|sample| dataset.name(sample)).collect()
    }

    /// 20 classes with all ten images, 4 with three of them; all test images.
    #[test]
    fn late_classes_have_few_images() {
        let (few, scenario) = few(3, 1);
        assert_eq!(few.samples(Subset::Train).len(), 20 * 10 + 4 * 3);
        assert_eq!(few.samples(Subset::Test), drawn().samples(Subset::Test));
        for (slot, class) in scenario.order().iter().enumerate() {
            let count = few.samples(Subset::Train).iter().filter(|sample| sample.class == *class).count();
            assert_eq!(count, if slot < 20 { 10 } else { 3 });
        }
        let all = drawn();
        for (index, sample) in few.samples(Subset::Train).iter().enumerate() {
            assert_eq!((sample.index as usize, sample.subset), (index, Subset::Train));
            let origin = few.origin(sample);
            assert_eq!(all.samples(Subset::Train)[origin.index as usize], *origin);
        }
        let last = few.samples(Subset::Train).last().expect("images");
        assert_eq!(few.image(last).expect("drawn"), all.image(few.origin(last)).expect("drawn"));
        assert!(names(&few, Subset::Train).is_subset(&names(&*drawn(), Subset::Train)));
    }

    #[test]
    fn the_seed_draws_them() {
        let train = |shots, seed| names(&few(shots, seed).0, Subset::Train);
        assert_eq!(train(3, 1), train(3, 1));
        assert_ne!(train(3, 1), train(3, 2));
        assert_eq!(train(10, 1), names(&*drawn(), Subset::Train), "there are no more");
        assert_eq!(train(99, 1), train(10, 2));
    }
}
