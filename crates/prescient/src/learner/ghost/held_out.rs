//! Images that train nothing: what guesses cost is measured on them.
//!
//! `f` is surer of the images that it has learned than of any others. So the last tenth of each class's training images, ten
//! at most, is kept from every stage but the calibration, and a tenth of the exemplars of a past class are such images; bias
//! correction is done so in BiC (Wu et al., 2019). Where there is nothing to calibrate, nothing is held out, and nothing of a
//! class with few images: it needs them all.

use super::settings::LearnSettings;
use crate::data::Sample;
use crate::learner::Target;
use crate::protocol::Sealed;
use std::collections::{BTreeMap, BTreeSet};

/// One in so many images of a class, and one in so many of its exemplars.
const ONE_IN: usize = 10;
/// Images of a class, at most.
const MOST: usize = 10;
/// Of a class with fewer images none is held out: with 20 photos of each of six animals, two of them held out cost five points.
const FEWEST: usize = 50;

/// The training images that train nothing.
#[derive(Debug, Default)]
pub(super) struct HeldOut(BTreeSet<Sample>);

impl HeldOut {
    /// Those of the dataset; none where the settings choose no offset. What belongs together with one of them, the objects of
    /// a photo, is held out with it.
    pub(super) fn new(sealed: &Sealed, settings: &LearnSettings) -> Self {
        if !settings.ghosts.enabled() || settings.calibrate.target_of_ghosts() == Target::None {
            return Self::default();
        }
        let mut by_class: BTreeMap<_, Vec<&Sample>> = BTreeMap::new();
        for sample in sealed.training_samples() {
            by_class.entry(sample.class).or_default().push(sample);
        }
        // The last ones by name, not one here and there: neighbours are often photos of one scene.
        let last = |samples: &Vec<&Sample>| match samples.len() {
            few @ 0..FEWEST => few,
            many => many - (many / ONE_IN).min(MOST),
        };
        let groups: BTreeSet<u64> = by_class
            .values()
            .flat_map(|samples| samples[last(samples)..].iter().map(|sample| sealed.group(sample)))
            .collect();
        let samples = sealed.training_samples().iter();
        Self(samples.filter(|sample| groups.contains(&sealed.group(sample))).copied().collect())
    }

    /// Whether an image is held out.
    pub(super) fn contains(&self, sample: &Sample) -> bool {
        self.0.contains(sample)
    }

    /// How many of `count` exemplars of a class are to be held-out images, where there are `available`.
    pub(super) fn share_of(count: usize, available: usize) -> usize {
        (count / ONE_IN).min(available)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Subset, Synthetic, SyntheticSettings};
    use crate::ghost::GeneratorKind;
    use crate::learner::ghost::plan::testing::base;
    use crate::learner::{CalibrateSettings, GhostSettings, TargetName};
    use crate::scenario::{Order, Scenario};
    use std::sync::Arc;

    fn held_out(train: usize, target: TargetName) -> (Vec<Sample>, HeldOut) {
        let dataset = Arc::new(Synthetic::new(&SyntheticSettings { train, test: 1 }));
        let split = "24".parse().expect("a split");
        let scenario = Scenario::new(dataset.catalogue().names(), &Order::Listed, &split).expect("a scenario");
        let settings = LearnSettings {
            ghosts: GhostSettings { generator: GeneratorKind::Gaussian(Default::default()), ..Default::default() },
            calibrate: CalibrateSettings { target: Some(target), ..Default::default() },
            ..base()
        };
        let held_out = HeldOut::new(&Sealed::new(dataset.clone(), scenario), &settings);
        (dataset.samples(Subset::Train).to_vec(), held_out)
    }

    /// 24 classes of 55 images: the last five of each. Of 200: the last ten. Of 49: none.
    #[test]
    fn the_last_tenth_of_each_class_trains_nothing() {
        for (train, of_class) in [(55, 5), (200, 10), (49, 0)] {
            let (samples, held_out) = held_out(train, TargetName::Accuracy);
            for (place, sample) in samples.iter().enumerate() {
                let behind = samples[place + 1..].iter().filter(|other| other.class == sample.class).count();
                assert_eq!(held_out.contains(sample), behind < of_class, "{train} images, {behind} behind");
            }
        }
    }

    #[test]
    fn without_an_offset_every_image_trains() {
        let (samples, held_out) = held_out(200, TargetName::None);
        assert!(!samples.iter().any(|sample| held_out.contains(sample)));
    }

    #[test]
    fn a_tenth_of_the_exemplars_are_held_out_images() {
        assert_eq!(HeldOut::share_of(20, 10), 2);
        assert_eq!(HeldOut::share_of(20, 1), 1);
        assert_eq!(HeldOut::share_of(9, 10), 0);
    }
}
