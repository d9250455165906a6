//! How images reach the network: as normalized tensors with their slots, batch by batch.
//!
//! Two ways lead there. Threads make bytes of what a glance sees and the device takes them over; or the images lie on
//! the device already, in a [`Stock`], and are looked at there. Both choose the same glances.

use super::stock::Stock;
use super::Learner;
use crate::class::Slot;
use crate::data::{Batch, Loader, Pass, Sample};
use crate::error::LearnError;
use tch::{Kind, Tensor};

/// The images of one task.
pub(super) struct Album {
    /// Reads them, as far as the task may.
    pub(super) loader: Loader,
    /// Those to learn from, where they can lie on the device.
    pub(super) stock: Option<Stock>,
}

/// A batch as the network takes it.
pub(super) struct Shown {
    /// Normalized, `[batch, channels, size, size]`.
    pub(super) images: Tensor,
    /// Their slots, `[batch]`.
    pub(super) targets: Tensor,
    /// The same as plain numbers.
    pub(super) slots: Vec<Slot>,
    /// Which images they are.
    pub(super) samples: Vec<Sample>,
}

/// A batch of test images. A type of its own: no training step takes it.
pub(super) struct ShownTest(Shown);

impl ShownTest {
    /// To look at, for an answer.
    pub(super) fn look(&self) -> &Shown {
        &self.0
    }
}

/// Batch after batch.
type Shows<'a, T> = Box<dyn Iterator<Item = Result<T, LearnError>> + 'a>;

impl Learner {
    /// One pass over `samples`, all of which the task must be allowed to learn from.
    pub(super) fn show<'a>(
        &'a self,
        album: &'a Album,
        samples: &[Sample],
        pass: Pass,
        batch: usize,
    ) -> Shows<'a, Shown> {
        match &album.stock {
            Some(stock) => self.show_stock(stock, album, pass.order(samples), pass, batch),
            None => {
                let batches = album.loader.with_batch_size(batch).pass(samples, pass);
                Box::new(batches.map(|batch| Ok(self.shown(&batch?))))
            }
        }
    }

    /// One pass over the test images of all classes, in order.
    pub(super) fn show_test<'a>(&'a self, album: &'a Album, batch: usize) -> Shows<'a, ShownTest> {
        match self.test_stock.as_ref().and_then(Option::as_ref) {
            Some(stock) => {
                let test = album.loader.data().test().to_vec();
                Box::new(self.show_stock(stock, album, test, Pass::Look, batch).map(|shown| shown.map(ShownTest)))
            }
            None => {
                let batches = album.loader.with_batch_size(batch).test();
                Box::new(batches.map(|batch| Ok(ShownTest(self.shown(batch?.look())))))
            }
        }
    }

    fn show_stock<'a>(
        &'a self,
        stock: &'a Stock,
        album: &Album,
        samples: Vec<Sample>,
        pass: Pass,
        batch: usize,
    ) -> Shows<'a, Shown> {
        let slots: Vec<Slot> = samples.iter().map(|sample| album.loader.data().slot(sample)).collect();
        let targets = self.targets(&slots);
        let glances = stock.glances(&samples, pass, self.settings.view);
        let starts = (0..samples.len()).step_by(batch);
        Box::new(starts.map(move |start| {
            let end = samples.len().min(start + batch);
            let (from, count) = (start as i64, (end - start) as i64);
            Ok(Shown {
                images: self.normalized(&stock.show(&glances, from, count)),
                targets: targets.narrow(0, from, count),
                slots: slots[start..end].to_vec(),
                samples: samples[start..end].to_vec(),
            })
        }))
    }

    /// A batch that threads have made ready: bytes go to the device, and become numbers there.
    fn shown(&self, batch: &Batch) -> Shown {
        let shape = [batch.slots.len() as i64, batch.channels as i64, batch.size as i64, batch.size as i64];
        let pixels = Tensor::from_slice(&batch.pixels).reshape(shape).to_device(self.device).to_kind(Kind::Float);
        Shown {
            images: self.normalized(&pixels),
            targets: self.targets(&batch.slots),
            slots: batch.slots.clone(),
            samples: batch.samples.clone(),
        }
    }

    /// Pixels from 0 to 255, `[batch, channels, size, size]`, as the network takes them.
    fn normalized(&self, pixels: &Tensor) -> Tensor {
        pixels * &self.slope + &self.shift
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
