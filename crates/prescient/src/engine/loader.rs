//! Batches, made ready on threads ahead of the step that uses them.
//!
//! Batch `i` is made by worker `i mod n` and handed over through that worker's own small queue, read in turn. So the
//! order never depends on which thread is faster, and at most `threads × AHEAD` batches are in memory. What is random
//! about an image comes from a stream of its own, named by epoch and place.

use crate::class::Slot;
use crate::data::{Channels, CropParams, Sample, View};
use crate::error::DataError;
use crate::protocol::TaskData;
use crate::seeds::Seeds;
use rand::seq::SliceRandom;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

/// Batches that each worker may have ready.
const AHEAD: usize = 2;

/// Images as the model sees them, and the slots of their classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// `[images, channels, size, size]` bytes; of rows of features, `[images, size]` times four bytes.
    pub pixels: Vec<u8>,
    /// What the pixels are made of.
    pub channels: Channels,
    /// The side of the square, or the length of a row.
    pub size: usize,
    /// What each image shows.
    pub slots: Vec<Slot>,
    /// Which images they are.
    pub samples: Vec<Sample>,
}

/// A batch of test images. A type of its own: no training step takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestBatch(Batch);

impl TestBatch {
    /// The images, to be answered.
    pub fn batch(&self) -> &Batch {
        &self.0
    }
}

/// How training images are gone through.
#[derive(Clone, Copy, Debug)]
pub enum Pass {
    /// Shuffled and augmented, for a training epoch. The seeds are those of the epoch.
    Train(Seeds),
    /// In order, cropped as test images are: for features.
    Eval,
    /// The same, mirrored.
    EvalMirrored,
}

impl Pass {
    /// The samples in the order in which they come.
    pub fn order(&self, samples: &[Sample]) -> Vec<Sample> {
        let mut samples = samples.to_vec();
        if let Pass::Train(seeds) = self {
            samples.shuffle(&mut seeds.stream("shuffle", 0));
        }
        samples
    }

    /// The crop of the image at a place of that order, given its size.
    pub fn crop_params(&self, view: &View, width: u32, height: u32, place: usize) -> CropParams {
        match self {
            Pass::Train(seeds) => view.train_crop(width, height, &mut seeds.stream("augmentation", place)),
            Pass::Eval => view.eval_crop(width, height),
            Pass::EvalMirrored => view.mirrored_crop(width, height),
        }
    }
}

/// How the sample at a place of the pass is seen: bytes appended to the vector.
type See = dyn Fn(&Sample, usize, &mut Vec<u8>) -> Result<(), DataError>;

/// Makes batches of the images of one task.
#[derive(Clone)]
pub struct Loader {
    data: Arc<TaskData>,
    view: View,
    batch_size: usize,
    threads: usize,
}

impl Loader {
    /// Batches of `batch_size` images as `view` sees them, made by `threads` threads.
    pub fn new(data: Arc<TaskData>, view: View, batch_size: usize, threads: usize) -> Self {
        assert!(batch_size > 0 && threads > 0, "a loader needs a batch size and a thread");
        Self { data, view, batch_size, threads }
    }

    /// What the loader reads from.
    pub fn data(&self) -> &TaskData {
        &self.data
    }

    /// How images are cropped and resized.
    pub fn view(&self) -> View {
        self.view
    }

    /// How many images a batch has.
    pub fn batch_size(&self) -> usize {
        self.batch_size
    }

    /// The same images in batches of another size.
    pub fn with_batch_size(&self, batch_size: usize) -> Self {
        Self::new(self.data.clone(), self.view, batch_size, self.threads)
    }

    /// How many batches `samples` samples make.
    pub fn batches(&self, samples: usize) -> usize {
        samples.div_ceil(self.batch_size)
    }

    /// One pass over `samples`, all of which the task must be allowed to learn from.
    pub fn pass(&self, samples: &[Sample], pass: Pass) -> Batches<Batch> {
        self.pieces(samples, pass, pieces(0..samples.len(), self.batch_size))
    }

    /// A part of it: a batch of each of the `pieces`, places in the order in which the whole pass would go.
    pub fn pieces(&self, samples: &[Sample], pass: Pass, pieces: Vec<Range<usize>>) -> Batches<Batch> {
        let samples = pass.order(samples);
        let (data, view) = (self.data.clone(), self.view);
        self.start(samples, pieces, move |sample, place, out| {
            let image = data.training_image(sample)?;
            view.render(&image, pass.crop_params(&view, image.width, image.height, place), out);
            Ok(())
        })
    }

    /// One pass over the test images of all classes, in order.
    pub fn test(&self) -> impl Iterator<Item = Result<TestBatch, DataError>> + use<> {
        self.test_part(0..self.data.test().len())
    }

    /// A part of it.
    pub fn test_part(&self, part: Range<usize>) -> impl Iterator<Item = Result<TestBatch, DataError>> + use<> {
        let (data, view) = (self.data.clone(), self.view);
        let pieces = pieces(part, self.batch_size);
        let batches = self.start(self.data.test().to_vec(), pieces, move |sample, _, out| {
            let image = data.test_image(sample)?;
            view.render(&image, view.eval_crop(image.width, image.height), out);
            Ok(())
        });
        batches.map(|batch| batch.map(TestBatch))
    }

    fn start(
        &self,
        samples: Vec<Sample>,
        pieces: Vec<Range<usize>>,
        see: impl Fn(&Sample, usize, &mut Vec<u8>) -> Result<(), DataError> + Send + Sync + 'static,
    ) -> Batches<Batch> {
        let count = pieces.len();
        let workers = self.threads.min(count).max(1);
        let (samples, pieces, see) = (Arc::new(samples), Arc::new(pieces), Arc::new(see));
        let queues = (0..workers).map(|worker| {
            let (sender, receiver) = sync_channel(AHEAD);
            let (loader, samples, pieces, see) = (self.clone(), samples.clone(), pieces.clone(), see.clone());
            let thread = std::thread::spawn(move || {
                for piece in pieces.iter().skip(worker).step_by(workers) {
                    let batch = loader.batch(&samples, piece.clone(), &*see);
                    let failed = batch.is_err();
                    // Nobody listens any more: the pass was given up.
                    if sender.send(batch).is_err() || failed {
                        return;
                    }
                }
            });
            Worker { receiver: Some(receiver), thread: Some(thread) }
        });
        Batches { workers: queues.collect(), next: 0, count, failed: false }
    }

    fn batch(&self, samples: &[Sample], piece: Range<usize>, see: &See) -> Result<Batch, DataError> {
        let (start, samples) = (piece.start, &samples[piece]);
        let (channels, size) = (self.data.channels(), self.view.size as usize);
        let mut pixels = Vec::with_capacity(samples.len() * self.view.bytes(channels));
        for (offset, sample) in samples.iter().enumerate() {
            see(sample, start + offset, &mut pixels)?;
        }
        let slots = samples.iter().map(|sample| self.data.slot(sample)).collect();
        Ok(Batch { pixels, channels, size, slots, samples: samples.to_vec() })
    }
}

/// The places of `part`, so many at a time.
pub(crate) fn pieces(part: Range<usize>, batch_size: usize) -> Vec<Range<usize>> {
    part.clone().step_by(batch_size).map(|start| start..part.end.min(start + batch_size)).collect()
}

struct Worker<T> {
    receiver: Option<Receiver<Result<T, DataError>>>,
    thread: Option<JoinHandle<()>>,
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        // Close the queue first, so that a worker waiting to send wakes up and ends.
        self.receiver = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The batches of one pass, in order.
pub struct Batches<T> {
    workers: Vec<Worker<T>>,
    next: usize,
    count: usize,
    failed: bool,
}

impl<T> Iterator for Batches<T> {
    type Item = Result<T, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.next == self.count {
            return None;
        }
        let place = self.next % self.workers.len();
        let worker = &mut self.workers[place];
        self.next += 1;
        match worker.receiver.as_ref()?.recv() {
            Ok(batch) => {
                self.failed = batch.is_err();
                Some(batch)
            }
            // The worker is gone before its time. Its panic is ours: a pass must not end early in silence.
            Err(_) => match worker.thread.take().map(JoinHandle::join) {
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                _ => unreachable!("a worker ends early only by a panic or after an error"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Augmentation, Crop, Dataset, Subset, Synthetic, SyntheticSettings};
    use crate::protocol::Sealed;
    use crate::scenario::{Order, Scenario, Split};

    fn task_data(number: usize) -> Arc<TaskData> {
        let dataset = Arc::new(Synthetic::new(&SyntheticSettings { train: 5, test: 2 }));
        let classes = dataset.catalogue().len();
        let split: Split = format!("{}+3", classes - 3).parse().expect("a split");
        let scenario = Scenario::new(dataset.catalogue().names(), &Order::Listed, &split).expect("a scenario");
        let sealed = Sealed::new(dataset, scenario.clone());
        Arc::new(sealed.open(&scenario.task(number), []))
    }

    fn loader(threads: usize) -> Loader {
        let augmentation = Augmentation { crop: Crop::Shift { pixels: 3 }, flip: true };
        Loader::new(task_data(2), View { size: 32, resize: 32, augmentation }, 4, threads)
    }

    fn batches(threads: usize, pass: Pass) -> Vec<Batch> {
        let loader = loader(threads);
        loader.pass(&loader.data().present(), pass).collect::<Result<_, _>>().expect("readable")
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        for pass in [Pass::Train(Seeds::new(5)), Pass::Eval] {
            let one = batches(1, pass);
            assert_eq!(one, batches(3, pass));
            assert_eq!(one.iter().map(|b| b.slots.len()).collect::<Vec<_>>(), [4, 4, 4, 3]);
        }
    }

    #[test]
    fn an_epoch_shows_every_sample_once_in_an_order_of_its_own() {
        let order = |seed| -> Vec<Sample> {
            batches(2, Pass::Train(Seeds::new(seed))).into_iter().flat_map(|b| b.samples).collect()
        };
        let (one, two) = (order(1), order(2));
        assert_ne!(one, two);
        let mut sorted = one.clone();
        sorted.sort();
        let mut present = task_data(2).present();
        present.sort();
        assert_eq!(sorted, present);
    }

    #[test]
    fn test_images_come_from_all_classes() {
        let seen: Vec<Sample> = loader(2).test().flat_map(|b| b.expect("readable").batch().samples.clone()).collect();
        assert_eq!(seen, task_data(2).test());
        assert!(seen.iter().all(|sample| sample.subset == Subset::Test));
    }

    #[test]
    fn a_forbidden_sample_ends_the_pass_with_an_error() {
        let loader = loader(2);
        let mut samples = loader.data().present();
        samples.insert(5, loader.data().test()[0]);
        let results: Vec<_> = loader.pass(&samples, Pass::Eval).collect();
        assert!(matches!(results.last(), Some(Err(DataError::Sealed { .. }))));
        assert_eq!(results.len(), 2, "the first batch, then the error, then nothing");
    }

    #[test]
    fn a_pass_can_be_given_up() {
        let loader = loader(2);
        let mut pass = loader.pass(&loader.data().present(), Pass::Eval);
        assert!(pass.next().is_some());
        drop(pass);
    }
}
