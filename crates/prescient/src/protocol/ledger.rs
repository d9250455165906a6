//! The ledger: which images a task read, what for, and in which of its stages.
//!
//! It stands behind the seal. The seal says what a task may read; the ledger notes what it did read, by the pixels
//! themselves and not by names, so that an audit can prove it later from the run folder alone.

use crate::class::Slot;
use crate::data::perceptual_hash::content;
use crate::data::{Channels, Image, Sample, Thumbnail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// What an image was read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Usage {
    /// To learn from.
    Learn,
    /// To be kept in memory after the task.
    Keep,
    /// To be asked about.
    Test,
}

/// One image and what it was used for in a task: a line of `images.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// What for.
    #[serde(rename = "use")]
    pub usage: Usage,
    /// The class it shows, as the model numbers it.
    pub slot: Slot,
    /// The class's name.
    pub class: String,
    /// What people call the image.
    pub name: String,
    /// A hash of its pixels: two images have the same one if and only if they are the same.
    pub hash: String,
    /// Its thumbnail, unless it is grey or flat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thumbnail: Option<Box<Thumbnail>>,
    /// What early versions wrote in place of a thumbnail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perceptual_hash: Option<String>,
    /// How many bytes its pixels take.
    pub bytes: u64,
    /// The stages in which it was used, in order.
    pub stages: Vec<String>,
}

/// What an image is, whatever it is called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trace {
    pub(crate) hash: blake3::Hash,
    /// Larger than all the rest, and noted in each task.
    pub(crate) thumbnail: Option<Arc<Thumbnail>>,
    pub(crate) bytes: u64,
}

impl Trace {
    fn of(image: &Image) -> Self {
        // Handwritten digits are not looked at: they are tens of thousands, and all alike.
        let thumbnail = if image.channels == Channels::Rgb { Thumbnail::of(image) } else { None };
        Self { hash: content(image), thumbnail: thumbnail.map(Arc::new), bytes: image.pixels.len() as u64 }
    }
}

/// Every image that was read so far, in any task: those that lie on a GPU are used again without being read again.
pub(crate) type Known = Arc<Mutex<BTreeMap<Sample, Trace>>>;

/// The ledger of one task.
pub(crate) struct Ledger {
    known: Known,
    /// The number of the stage under way.
    stage: AtomicU32,
    /// In which stage each training image was last noted to be learned from, and each test image to be tested on. An image
    /// is read in every epoch: threads should not wait for each other to write down the same again.
    noted: [Vec<AtomicU32>; 2],
    pages: Mutex<Pages>,
}

struct Pages {
    /// Those that have begun; the last one is under way.
    stages: Vec<&'static str>,
    /// In the order in which they began.
    uses: Vec<(Usage, Sample, Trace, Vec<&'static str>)>,
    /// Where each one stands. Asked for every image of every epoch, and never gone through.
    places: HashMap<(Usage, Sample), usize>,
}

impl Ledger {
    /// An empty one for so many training and test images, in the stage `prepare`.
    pub(crate) fn new(known: Known, counts: [usize; 2]) -> Self {
        let pages = Pages { stages: vec!["prepare"], uses: Vec::new(), places: HashMap::new() };
        let noted = counts.map(|count| (0..count).map(|_| AtomicU32::new(0)).collect());
        Self { known, stage: AtomicU32::new(1), noted, pages: Mutex::new(pages) }
    }

    /// A stage begins.
    pub(crate) fn enter(&self, stage: &'static str) {
        self.pages().stages.push(stage);
        self.stage.fetch_add(1, Ordering::Relaxed);
    }

    /// The stages that have begun, in order.
    pub(crate) fn stages(&self) -> Vec<&'static str> {
        self.pages().stages.clone()
    }

    /// An image was read. What it is, is found out the first time.
    pub(crate) fn read(&self, usage: Usage, sample: &Sample, image: &Image) {
        let (stage, index) = (self.stage.load(Ordering::Relaxed), sample.index as usize);
        let noted = match usage {
            Usage::Learn => &self.noted[0][index],
            Usage::Test => &self.noted[1][index],
            Usage::Keep => unreachable!("what is kept was read to learn from"),
        };
        if noted.load(Ordering::Relaxed) == stage {
            return;
        }
        if !self.pages().note(usage, sample, None) {
            // Without the lock: other threads go on reading meanwhile.
            let trace = Trace::of(image);
            self.known().insert(*sample, trace.clone());
            self.pages().note(usage, sample, Some(trace));
        }
        // Only now: whoever finds it noted relies on it.
        noted.store(stage, Ordering::Relaxed);
    }

    /// The digest of an image that was read before, in any task.
    pub(crate) fn digest(&self, sample: &Sample) -> Option<blake3::Hash> {
        self.known().get(sample).map(|trace| trace.hash)
    }

    /// An image that was read before is used, without being read; whether it was.
    pub(crate) fn used(&self, usage: Usage, sample: &Sample) -> bool {
        let mut pages = self.pages();
        pages.note(usage, sample, None) || {
            let trace = self.known().get(sample).cloned();
            pages.note(usage, sample, trace)
        }
    }

    /// Adds what another process noted of an image.
    pub(crate) fn add(&self, usage: Usage, sample: &Sample, trace: Trace, stages: &[&'static str]) {
        self.known().insert(*sample, trace.clone());
        self.pages().add(usage, sample, trace, stages);
    }

    /// Every image and what it was used for: by use, then in the order of the samples.
    pub(crate) fn uses(&self) -> Vec<(Usage, Sample, Trace, Vec<&'static str>)> {
        let mut uses = self.pages().uses.clone();
        uses.sort_by_key(|(usage, sample, ..)| (*usage, *sample));
        uses
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().expect("nobody panics with the ledger in hand")
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Sample, Trace>> {
        self.known.lock().expect("nobody panics with the ledger in hand")
    }
}

impl Pages {
    /// Notes a use in some stages, beside those that are noted already.
    fn add(&mut self, usage: Usage, sample: &Sample, trace: Trace, stages: &[&'static str]) {
        let place = *self.places.entry((usage, *sample)).or_insert_with(|| {
            self.uses.push((usage, *sample, trace, Vec::new()));
            self.uses.len() - 1
        });
        let order = |stage: &&str| self.stages.iter().position(|other| other == stage);
        let noted = &mut self.uses[place].3;
        noted.extend(stages);
        noted.sort_by_key(order);
        noted.dedup();
    }

    /// Notes a use in the stage under way; false where the image is not on the page and no trace is given.
    fn note(&mut self, usage: Usage, sample: &Sample, trace: Option<Trace>) -> bool {
        let stage = *self.stages.last().expect("a ledger begins with a stage");
        let place = match (self.places.get(&(usage, *sample)), trace) {
            (Some(place), _) => *place,
            (None, Some(trace)) => {
                self.places.insert((usage, *sample), self.uses.len());
                self.uses.push((usage, *sample, trace, Vec::new()));
                self.uses.len() - 1
            }
            (None, None) => return false,
        };
        let stages = &mut self.uses[place].3;
        if stages.last() != Some(&stage) {
            stages.push(stage);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::ClassId;
    use crate::data::Subset;

    fn image(grey: u8) -> Image {
        Image { width: 2, height: 1, channels: Channels::Grey, pixels: vec![grey, 0].into() }
    }

    fn sample(index: u32) -> Sample {
        Sample { subset: Subset::Train, index, class: ClassId(0) }
    }

    /// Image 5 is read to prepare and twice to train, image 3 to train; image 5 is kept.
    #[test]
    fn uses_are_noted_with_their_stages() {
        let ledger = Ledger::new(Known::default(), [6, 2]);
        ledger.read(Usage::Learn, &sample(5), &image(7));
        ledger.enter("train");
        for index in [5, 3, 5] {
            ledger.read(Usage::Learn, &sample(index), &image(7));
        }
        ledger.enter("remember");
        assert!(ledger.used(Usage::Keep, &sample(5)));
        assert!(!ledger.used(Usage::Keep, &sample(9)), "nobody knows what image 9 is");
        let found: Vec<_> = ledger.uses().into_iter().map(|(usage, sample, _, at)| (usage, sample.index, at)).collect();
        let expected = [
            (Usage::Learn, 3, vec!["train"]),
            (Usage::Learn, 5, vec!["prepare", "train"]),
            (Usage::Keep, 5, vec!["remember"]),
        ];
        assert_eq!(found, expected);
        assert_eq!(ledger.stages(), ["prepare", "train", "remember"]);
    }

    #[test]
    fn what_one_task_read_another_may_use_again() {
        let known = Known::default();
        Ledger::new(known.clone(), [0, 2]).read(Usage::Test, &sample(1), &image(1));
        let next = Ledger::new(known, [0, 2]);
        assert!(next.used(Usage::Test, &sample(1)));
        assert_eq!(next.uses()[0].2, Trace::of(&image(1)));
    }
}
