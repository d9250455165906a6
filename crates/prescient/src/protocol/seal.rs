//! The rule of the setting, made executable: what a task may read.
//!
//! While task `t` learns it may read training images of its own classes `C^t`, and of the past only the few it has
//! kept in memory. A training image of a future class, a forgotten one, or any test image cannot be had for learning:
//! every path from the disk to a training step goes through [`TaskData::training_image`].

use crate::catalogue::Catalogue;
use crate::class::{Slot, Slots};
use crate::data::perceptual_hash::content;
use crate::data::{Channels, Dataset, Image, Normalization, Sample, Subset};
use crate::error::DataError;
use crate::protocol::ledger::{Known, Ledger, Reading, Trace, Usage};
use crate::scenario::{Scenario, Task};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A dataset under seal. Only a task opens it, and only as far as it may.
#[derive(Clone)]
pub struct Sealed {
    dataset: Arc<dyn Dataset>,
    scenario: Scenario,
    /// By class.
    slots: Vec<Slot>,
    known: Known,
}

impl Sealed {
    /// Seals `dataset`, whose classes arrive as `scenario` says.
    pub fn new(dataset: Arc<dyn Dataset>, scenario: Scenario) -> Self {
        let slots = scenario.slots();
        Self { dataset, scenario, slots, known: Known::default() }
    }

    /// Which classes arrive when.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What is known of every class in advance: that much of the future is open.
    pub fn catalogue(&self) -> &Catalogue {
        self.dataset.catalogue()
    }

    /// What the pixels of its images are made of.
    pub fn channels(&self) -> Channels {
        self.dataset.channels()
    }

    /// Mean and deviation of the pixels, as the dataset's literature uses them.
    pub fn normalization(&self) -> Normalization {
        self.dataset.normalization()
    }

    /// The side of the square that a model takes of its images; the length of its rows of features.
    pub fn size(&self) -> u32 {
        self.dataset.size()
    }

    /// The shorter side to which test images are scaled before a square of [`size`](Self::size) is cut out of the middle.
    pub fn resize(&self) -> u32 {
        self.dataset.resize()
    }

    /// What people call an image.
    pub fn name(&self, sample: &Sample) -> String {
        self.dataset.name(sample)
    }

    /// Whether the dataset has this very sample.
    pub fn knows(&self, sample: &Sample) -> bool {
        self.dataset.samples(sample.subset).get(sample.index as usize) == Some(sample)
    }

    /// Which training images there are, and of which classes: the images themselves stay sealed.
    pub fn training_samples(&self) -> &[Sample] {
        self.dataset.samples(Subset::Train)
    }

    /// Which samples belong together, by a number that they share.
    pub fn group(&self, sample: &Sample) -> u64 {
        self.dataset.group(sample)
    }

    /// How many images there are to learn from and to test on.
    pub fn counts(&self) -> [usize; 2] {
        [Subset::Train, Subset::Test].map(|subset| self.dataset.samples(subset).len())
    }

    /// The names of images that were kept or tested on, as `readings` say, and have other pixels now. Nothing is learned here.
    pub fn changed(&self, readings: &[Reading]) -> Result<Vec<String>, DataError> {
        let by_name = |subset: Subset| -> BTreeMap<(Slot, String), &Sample> {
            let samples = self.dataset.samples(subset).iter();
            samples.map(|sample| ((self.slots[sample.class.index()], self.name(sample)), sample)).collect()
        };
        let (train, test) = (by_name(Subset::Train), by_name(Subset::Test));
        let same = |reading: &Reading| -> Result<bool, DataError> {
            let samples = if reading.usage == Usage::Test { &test } else { &train };
            match samples.get(&(reading.slot, reading.name.clone())) {
                Some(sample) => Ok(content(&self.dataset.image(sample)?).to_hex().as_str() == reading.hash),
                None => Ok(false),
            }
        };
        let again: Vec<&Reading> = readings.iter().filter(|reading| reading.usage != Usage::Learn).collect();
        let same: Vec<bool> = again.par_iter().map(|reading| same(reading)).collect::<Result<_, _>>()?;
        Ok(again.iter().zip(same).filter(|(_, same)| !same).map(|(reading, _)| reading.name.clone()).collect())
    }

    /// What task `task` may read, with `memory` of the past.
    pub fn open(&self, task: &Task<'_>, memory: impl IntoIterator<Item = Sample>) -> TaskData {
        TaskData {
            sealed: self.clone(),
            number: task.number(),
            present: task.present(),
            seen: task.seen(),
            memory: memory.into_iter().collect(),
            oracle: false,
            ledger: Arc::new(Ledger::new(self.known.clone(), self.counts())),
        }
    }

    /// The same, with the training images of the future laid open. Only an oracle asks for that, and its record says so.
    pub fn open_for_oracle(&self, task: &Task<'_>, memory: impl IntoIterator<Item = Sample>) -> TaskData {
        TaskData { oracle: true, ..self.open(task, memory) }
    }
}

/// The data of one task.
#[derive(Clone)]
pub struct TaskData {
    sealed: Sealed,
    number: usize,
    present: Slots,
    seen: Slots,
    memory: BTreeSet<Sample>,
    oracle: bool,
    ledger: Arc<Ledger>,
}

impl TaskData {
    /// The number of the task, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The training samples of the classes that arrive with this task.
    pub fn present(&self) -> Vec<Sample> {
        let samples = self.sealed.dataset.samples(Subset::Train);
        samples.iter().filter(|sample| self.present.contains(self.slot(sample))).copied().collect()
    }

    /// The same, in an order in which several processes can split them: files of their own for each.
    pub fn present_by_shelf(&self) -> Vec<Sample> {
        let mut present = self.present();
        present.sort_by_key(|sample| self.sealed.dataset.shelf(sample));
        present
    }

    /// The training samples of classes still to come: none, unless an oracle asks.
    pub fn future_of_an_oracle(&self) -> Vec<Sample> {
        let samples = self.sealed.dataset.samples(Subset::Train).iter();
        samples.filter(|sample| self.oracle && !self.seen.contains(self.slot(sample))).copied().collect()
    }

    /// What is kept of the past.
    pub fn memory(&self) -> Vec<Sample> {
        self.memory.iter().copied().collect()
    }

    /// The test samples of all classes, to be evaluated on.
    pub fn test(&self) -> &[Sample] {
        self.sealed.dataset.samples(Subset::Test)
    }

    /// The slot of the class that a sample shows.
    pub fn slot(&self, sample: &Sample) -> Slot {
        self.sealed.slots[sample.class.index()]
    }

    /// An image to learn from.
    pub fn training_image(&self, sample: &Sample) -> Result<Image, DataError> {
        let forbidden =
            |reason| Err(DataError::Sealed { task: self.number, image: self.sealed.dataset.name(sample), reason });
        let slot = self.slot(sample);
        if sample.subset == Subset::Test {
            forbidden("it is a test image, and was asked for to learn from")
        } else if !self.seen.contains(slot) && !self.oracle {
            forbidden("its class has not arrived yet")
        } else if self.seen.contains(slot) && !self.present.contains(slot) && !self.memory.contains(sample) {
            forbidden("its class has passed, and it was not kept in memory")
        } else {
            let image = self.sealed.dataset.image(sample)?;
            self.ledger.read(Usage::Learn, sample, &image);
            Ok(image)
        }
    }

    /// An image to be asked about.
    pub fn test_image(&self, sample: &Sample) -> Result<Image, DataError> {
        match sample.subset {
            Subset::Test => {
                let image = self.sealed.dataset.image(sample)?;
                self.ledger.read(Usage::Test, sample, &image);
                Ok(image)
            }
            Subset::Train => Err(DataError::Sealed {
                task: self.number,
                image: self.sealed.dataset.name(sample),
                reason: "it is a training image, and was asked for to test on",
            }),
        }
    }

    /// The digest of an image that was read, as the ledger has it.
    pub(crate) fn digest(&self, sample: &Sample) -> Option<blake3::Hash> {
        self.ledger.digest(sample)
    }

    /// What was read so far.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// A stage of the task's plan begins: what is read from now on is read in it.
    pub fn enter(&self, stage: &'static str) {
        self.ledger.enter(stage);
    }

    /// Notes that images which were read before are used once more: they lie on the device, or are kept in memory.
    ///
    /// # Panics
    /// If one was never read: only a bug can use it then.
    pub fn use_again<'a>(&self, usage: Usage, samples: impl IntoIterator<Item = &'a Sample>) {
        for sample in samples {
            assert!(self.ledger.used(usage, sample), "`{}` is used and was never read", self.name(sample));
        }
    }

    /// The stages that have begun so far.
    pub fn stages(&self) -> Vec<&'static str> {
        self.ledger.stages()
    }

    /// Every image that was read so far, what for and when: by use, by slot, by name.
    pub fn readings(&self) -> Vec<Reading> {
        let reading = |(usage, sample, trace, stages): (Usage, Sample, _, Vec<&str>)| {
            let Trace { hash, thumbnail, bytes } = trace;
            Reading {
                usage,
                slot: self.slot(&sample),
                class: self.sealed.catalogue().name(sample.class).to_owned(),
                name: self.name(&sample),
                hash: hash.to_hex().to_string(),
                thumbnail: thumbnail.map(|thumbnail| Box::new(*thumbnail)),
                perceptual_hash: None,
                bytes,
                stages: stages.into_iter().map(String::from).collect(),
            }
        };
        let mut readings: Vec<Reading> = self.ledger.uses().into_iter().map(reading).collect();
        readings.sort_by(|a, b| (a.usage, a.slot, &a.name).cmp(&(b.usage, b.slot, &b.name)));
        readings
    }

    /// What people call an image.
    pub fn name(&self, sample: &Sample) -> String {
        self.sealed.dataset.name(sample)
    }

    /// What the pixels of its images are made of.
    pub fn channels(&self) -> Channels {
        self.sealed.channels()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Synthetic, SyntheticSettings};
    use crate::scenario::{Order, Split};

    fn sealed() -> Sealed {
        let dataset = Arc::new(Synthetic::new(&SyntheticSettings { train: 3, test: 2 }));
        let classes = dataset.catalogue().len();
        let split: Split = format!("{}+4+4", classes - 8).parse().expect("a split");
        let order = Order::Shuffled { seed: 3 };
        let scenario = Scenario::new(dataset.catalogue().names(), &order, &split).expect("a scenario");
        Sealed::new(dataset, scenario)
    }

    fn sample_of(sealed: &Sealed, slot: usize, subset: Subset) -> Sample {
        let class = sealed.scenario().order()[slot];
        *sealed.dataset.samples(subset).iter().find(|s| s.class == class).expect("each class has samples")
    }

    #[test]
    fn a_task_reads_its_own_classes_and_its_memory() {
        let sealed = sealed();
        let kept = sample_of(&sealed, 0, Subset::Train);
        let task = sealed.scenario().task(2);
        let data = sealed.open(&task, [kept]);
        assert!(data.training_image(&kept).is_ok());
        assert_eq!(data.present().len(), 4 * 3);
        for sample in data.present() {
            assert!(data.training_image(&sample).is_ok());
        }
    }

    /// As on a GPU, where test images lie from the first task on: the next task reads none, and uses all.
    #[test]
    fn what_is_used_again_is_noted_without_being_read() {
        let sealed = sealed();
        let first = sealed.open(&sealed.scenario().task(1), []);
        first.enter("evaluate");
        first.test().iter().for_each(|sample| drop(first.test_image(sample).expect("a test image")));
        let second = sealed.open(&sealed.scenario().task(2), []);
        assert!(second.readings().is_empty());
        second.enter("evaluate");
        second.use_again(Usage::Test, second.test());
        assert_eq!(second.readings(), first.readings());
        assert_eq!(second.readings().len(), 2 * sealed.scenario().classes());
    }

    #[test]
    fn the_seal_bites() {
        let sealed = sealed();
        let last = sealed.scenario().classes() - 1;
        let data = sealed.open(&sealed.scenario().task(2), []);
        let says = |sample: Sample| match data.training_image(&sample) {
            Err(DataError::Sealed { task: 2, reason, .. }) => reason,
            other => panic!("expected a seal, found {other:?}"),
        };
        assert_eq!(says(sample_of(&sealed, last, Subset::Train)), "its class has not arrived yet");
        assert_eq!(says(sample_of(&sealed, 0, Subset::Train)), "its class has passed, and it was not kept in memory");
        for slot in [0, last - 4, last] {
            let test = sample_of(&sealed, slot, Subset::Test);
            assert_eq!(says(test), "it is a test image, and was asked for to learn from");
            assert!(data.test_image(&test).is_ok(), "every class is evaluated on");
        }
        assert!(data.test_image(&sample_of(&sealed, 0, Subset::Train)).is_err());
    }
}
