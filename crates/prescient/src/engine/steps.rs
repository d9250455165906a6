//! Training steps: as they come, or, on a GPU, from a recording of the first ones.
//!
//! A recording reads the memory it was made with. So what changes from batch to batch is copied into one batch that
//! stays, and what changes from epoch to epoch, the learning rate and ghosts that are drawn anew, is written into the
//! tensors that were there.
//!
//! Processes that take their steps together replay them together: where one could not record a step, none replays it.

use crate::engine::batches::DeviceBatch;
use crate::engine::capture::capture;
use std::collections::BTreeMap;
use std::fmt::Display;
use tch::{Device, Tensor, no_grad};
use torch_shim::Graph;

/// Steps taken as they come before one is recorded: libraries set themselves up in the first.
const BEFORE: usize = 3;

/// The steps of a stage.
pub struct Steps<'a> {
    device: Device,
    /// Whether steps are recorded.
    records: bool,
    /// By the images of a batch, of all processes: there are whole ones, and a shorter one at the end of each epoch.
    sizes: BTreeMap<usize, Size<'a>>,
}

/// The steps on batches of one size.
#[derive(Default)]
struct Size<'a> {
    taken: usize,
    /// Whether a recording was tried: once is enough, also where it did not work.
    tried: bool,
    recorded: Option<Recorded<'a>>,
}

struct Recorded<'a> {
    graph: Graph,
    batch: DeviceBatch<'a>,
    values: Values,
}

/// The terms of one step, on the device until there is time to read them.
pub struct Values {
    /// Their names.
    pub names: Vec<&'static str>,
    /// `[terms]`.
    pub values: Tensor,
}

impl<'a> Steps<'a> {
    /// Recorded, where `records` and the device allow it.
    pub fn new(device: Device, records: bool) -> Self {
        Self { device, records: records && device.is_cuda(), sizes: BTreeMap::new() }
    }

    /// Takes one on a batch of so many `images`; where they are dealt out, `batch` has those of this process. `step` learns from it
    /// and answers with the terms of its loss; it is told whether it is being recorded. `all` says whether a recording worked in all
    /// processes.
    pub fn take<E: Display>(
        &mut self,
        (images, batch): (usize, &DeviceBatch<'a>),
        step: impl Fn(&DeviceBatch<'a>, bool) -> Result<Values, E>,
        all: impl Fn(bool) -> Result<bool, E>,
    ) -> Result<Values, E> {
        let size = self.sizes.entry(images).or_default();
        if self.records && !size.tried && size.taken >= BEFORE {
            size.tried = true;
            let recorded = record(self.device, batch, &step);
            size.recorded = if all(recorded.is_some())? { recorded } else { None };
        }
        match &mut size.recorded {
            Some(recorded) => Ok(recorded.again(batch)),
            None => {
                size.taken += 1;
                step(batch, false)
            }
        }
    }
}

/// A step on batches like this one, where it can be recorded.
fn record<'a, E: Display>(
    device: Device,
    batch: &DeviceBatch<'a>,
    step: &impl Fn(&DeviceBatch<'a>, bool) -> Result<Values, E>,
) -> Option<Recorded<'a>> {
    let batch = batch.copy();
    match capture(device, || step(&batch, true))? {
        (graph, Ok(values)) => Some(Recorded { graph, batch, values }),
        (_, Err(error)) => {
            tracing::warn!("a step cannot be recorded on this GPU, and is taken as it comes: {error}");
            None
        }
    }
}

impl<'a> Recorded<'a> {
    fn again(&mut self, batch: &DeviceBatch<'a>) -> Values {
        no_grad(|| {
            for (place, value) in self.batch.tensors().into_iter().zip(batch.tensors()) {
                place.shallow_clone().copy_(value);
            }
        });
        self.graph.replay().expect("what was recorded can be replayed");
        Values { names: self.values.names.clone(), values: self.values.values.copy() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Augmentation, Channels, Crop, Dataset, Normalization, Synthetic, SyntheticSettings, View};
    use crate::engine::{Pass, Preprocessing, TaskBatches};
    use crate::protocol::Sealed;
    use crate::scenario::{Order, Scenario, Split};
    use std::cell::RefCell;
    use std::convert::Infallible;
    use std::sync::Arc;
    use tch::Kind;

    /// The images of three classes with five each.
    fn fifteen_images() -> TaskBatches {
        let dataset = Arc::new(Synthetic::new(&SyntheticSettings { train: 5, test: 2 }));
        let split: Split = format!("{}+3", dataset.catalogue().len() - 3).parse().expect("a split");
        let scenario = Scenario::new(dataset.catalogue().names(), &Order::Listed, &split).expect("a scenario");
        let data = Sealed::new(dataset, scenario.clone()).open(&scenario.task(2), []);
        let augmentation = Augmentation { crop: Crop::Shift { pixels: 3 }, flip: true };
        let view = View { size: 32, resize: 32, augmentation };
        let input =
            Preprocessing::new(view, Normalization { mean: [0.0; 3], std: [1.0; 3] }, Channels::Rgb, Device::Cpu);
        TaskBatches::new(Arc::new(data), input, 4, 1).expect("batches")
    }

    /// Batches of 4, 4, 4 and 3 images. A CPU records nothing: the fourth step of each size is tried, the others hear that it did not
    /// work, and all steps are taken as they come.
    #[test]
    fn what_cannot_be_recorded_is_told_once_and_taken_as_it_comes() {
        let (images, told, taken) = (fifteen_images(), RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let mut steps = Steps { device: Device::Cpu, records: true, sizes: BTreeMap::new() };
        for _ in 0..4 {
            for batch in images.pass(&images.data().present(), Pass::Eval, 4) {
                let batch = batch.expect("readable");
                let step = |batch: &DeviceBatch<'_>, recording: bool| {
                    assert!(!recording, "a CPU");
                    taken.borrow_mut().push(batch.slots.len());
                    Ok::<_, Infallible>(Values {
                        names: Vec::new(),
                        values: Tensor::zeros([1], (Kind::Float, Device::Cpu)),
                    })
                };
                let all = |worked| {
                    told.borrow_mut().push((taken.borrow().len(), worked));
                    Ok(worked)
                };
                let Ok(values) = steps.take((batch.slots.len(), &batch), step, all);
                assert_eq!(values.values.size(), [1]);
            }
        }
        assert_eq!(taken.into_inner(), [4, 4, 4, 3].repeat(4));
        assert_eq!(told.into_inner(), [(4, false), (15, false)], "before the fifth and the sixteenth step");
    }
}
