//! How images reach the network: as normalized tensors with their slots, batch by batch.
//!
//! Two ways lead there. Threads make bytes of each crop and the device takes them over; or the images lie on
//! the device already, in a [`Stock`], and are looked at there. Both choose the same crops.

use super::GhostLearner;
use super::device_cache::{Crops, Stock};
use crate::class::Slot;
use crate::data::{Image, Sample};
use crate::engine::{Batch, Loader, Pass};
use crate::error::LearnError;
use crate::protocol::Usage;
use tch::{Kind, Tensor};

/// The images of one task.
pub(super) struct Album {
    /// Reads them, as far as the task may.
    pub(super) loader: Loader,
    /// Those to learn from, where they can lie on the device.
    pub(super) stock: Option<Stock>,
}

/// A batch, ready to be looked at.
pub(super) struct Shown<'a> {
    /// Their slots, `[batch]`.
    pub(super) targets: Tensor,
    /// Which ghosts go with them, `[ghosts]`, where some do.
    pub(super) ghosts: Option<Tensor>,
    /// The slots as plain numbers.
    pub(super) slots: Vec<Slot>,
    /// Which images they are.
    pub(super) samples: Vec<Sample>,
    source: Source<'a>,
}

enum Source<'a> {
    /// What was seen, `[batch, channels, size, size]` bytes or `[batch, size]` numbers.
    Bytes(Tensor),
    /// What is to be seen.
    Stock(&'a Stock, Crops),
}

impl<'a> Shown<'a> {
    /// All tensors that a step reads and that change from one batch to the next.
    pub(super) fn tensors(&self) -> Vec<&Tensor> {
        let source = match &self.source {
            Source::Bytes(bytes) => vec![bytes],
            Source::Stock(_, crops) => crops.tensors(),
        };
        source.into_iter().chain([&self.targets]).chain(&self.ghosts).collect()
    }

    /// The same batch in tensors of its own.
    pub(super) fn copy(&self) -> Self {
        Self {
            targets: self.targets.copy(),
            ghosts: self.ghosts.as_ref().map(Tensor::copy),
            slots: self.slots.clone(),
            samples: self.samples.clone(),
            source: match &self.source {
                Source::Bytes(bytes) => Source::Bytes(bytes.copy()),
                Source::Stock(stock, crops) => Source::Stock(stock, crops.copy()),
            },
        }
    }
}

/// A batch of test images. A type of its own: no training step takes it.
pub(super) struct ShownTest<'a>(Shown<'a>);

impl<'a> ShownTest<'a> {
    /// To look at, for an answer.
    pub(super) fn look(&self) -> &Shown<'a> {
        &self.0
    }
}

/// Batch after batch.
type Shows<'a, T> = Box<dyn Iterator<Item = Result<T, LearnError>> + 'a>;

impl GhostLearner {
    /// One pass over `samples`, all of which the task must be allowed to learn from.
    /// What is shown outlives the pass: a recorded step keeps a batch.
    pub(super) fn show<'s, 'a: 's>(
        &'s self,
        album: &'a Album,
        samples: &[Sample],
        pass: Pass,
        batch: usize,
    ) -> Shows<'s, Shown<'a>> {
        match &album.stock {
            Some(stock) => {
                album.loader.data().use_again(Usage::Learn, samples);
                self.show_stock(stock, album, pass.order(samples), pass, batch)
            }
            None => {
                let batches = album.loader.with_batch_size(batch).pass(samples, pass);
                Box::new(batches.map(|batch| Ok(self.shown(&batch?))))
            }
        }
    }

    /// One pass over the test images of all classes, in order.
    pub(super) fn show_test<'a>(&'a self, album: &'a Album, batch: usize) -> Shows<'a, ShownTest<'a>> {
        match self.test_stock.as_ref().and_then(Option::as_ref) {
            Some(stock) => {
                let test = album.loader.data().test().to_vec();
                album.loader.data().use_again(Usage::Test, &test);
                Box::new(self.show_stock(stock, album, test, Pass::Eval, batch).map(|shown| shown.map(ShownTest)))
            }
            None => {
                let batches = album.loader.with_batch_size(batch).test();
                Box::new(batches.map(|batch| Ok(ShownTest(self.shown(batch?.batch())))))
            }
        }
    }

    fn show_stock<'a>(
        &self,
        stock: &'a Stock,
        album: &Album,
        samples: Vec<Sample>,
        pass: Pass,
        batch: usize,
    ) -> Shows<'a, Shown<'a>> {
        let slots: Vec<Slot> = samples.iter().map(|sample| album.loader.data().slot(sample)).collect();
        let targets = self.targets(&slots);
        let crops = stock.crops(&samples, pass, self.settings.view);
        let starts = (0..samples.len()).step_by(batch);
        Box::new(starts.map(move |start| {
            let end = samples.len().min(start + batch);
            let (from, count) = (start as i64, (end - start) as i64);
            Ok(Shown {
                targets: targets.narrow(0, from, count),
                ghosts: None,
                slots: slots[start..end].to_vec(),
                samples: samples[start..end].to_vec(),
                source: Source::Stock(stock, crops.narrow(from, count)),
            })
        }))
    }

    /// A batch that threads have made ready.
    fn shown(&self, batch: &Batch) -> Shown<'static> {
        let (count, channels, size) = (batch.slots.len() as i64, batch.channels as i64, batch.size as i64);
        let bytes = Tensor::from_slice(&batch.pixels).to_device(self.device);
        let bytes = match batch.channels == usize::from(Image::NUMBERS) {
            true => numbers(&bytes, count),
            false => bytes.reshape([count, channels, size, size]),
        };
        Shown {
            targets: self.targets(&batch.slots),
            ghosts: None,
            slots: batch.slots.clone(),
            samples: batch.samples.clone(),
            source: Source::Bytes(bytes),
        }
    }

    /// What is seen, as the network takes it: `[batch, channels, size, size]`, normalized, or `[batch, size]` as it is.
    /// Bytes become numbers on the device.
    pub(super) fn images(&self, shown: &Shown<'_>) -> Tensor {
        let seen = match &shown.source {
            Source::Bytes(bytes) => bytes.to_kind(Kind::Float),
            Source::Stock(stock, crops) => {
                if let Some(seen) = stock.look(crops, (&self.slope, &self.shift), self.network.image_kind()) {
                    return seen;
                }
                stock.show(crops)
            }
        };
        match self.sealed.channels() {
            Image::NUMBERS => seen,
            _ => {
                // In place: a fresh tensor of this size costs more than the sum.
                let mut seen = seen;
                seen *= &self.slope;
                seen += &self.shift;
                seen
            }
        }
    }

    /// The slots as a tensor, `[batch]`.
    fn targets(&self, slots: &[Slot]) -> Tensor {
        let slots: Vec<i64> = slots.iter().map(|slot| slot.index() as i64).collect();
        Tensor::from_slice(&slots).to_device(self.device)
    }

    /// Lays the test images out on a GPU, once for all tasks.
    pub(super) fn stock_test(&mut self, album: &Album) -> Result<(), LearnError> {
        if self.test_stock.is_none() {
            let data = album.loader.data();
            self.test_stock = Some(match self.device.is_cuda() {
                true => Stock::gather(data.test(), |sample| data.test_image(sample), self.settings.view, self.device)?,
                false => None,
            });
        }
        Ok(())
    }
}

/// The bytes of `count` rows of numbers, as numbers: `[count, size]`.
pub(super) fn numbers(bytes: &Tensor, count: i64) -> Tensor {
    bytes.reshape([count, -1]).view_dtype(Kind::Float)
}
