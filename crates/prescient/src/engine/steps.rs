//! Training steps: as they come, or, on a GPU, from a recording of the first ones.
//!
//! A recording reads the memory it was made with. So what changes from batch to batch is copied into one batch that
//! stays, and what changes from epoch to epoch, the learning rate and ghosts that are drawn anew, is written into the
//! tensors that were there.

use crate::engine::batches::DeviceBatch;
use crate::engine::capture::capture;
use std::collections::BTreeMap;
use tch::{Device, Tensor, no_grad};
use torch_shim::Graph;

/// Steps taken as they come before one is recorded: libraries set themselves up in the first.
const BEFORE: usize = 3;

/// The steps of a stage.
pub struct Steps<'a> {
    device: Device,
    /// Whether steps are recorded.
    records: bool,
    /// By the images of a batch: there are whole ones, and a shorter one at the end of each epoch.
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

    /// Takes one: `step` learns from a batch and answers with the terms of its loss.
    pub fn take(&mut self, batch: &DeviceBatch<'a>, step: impl Fn(&DeviceBatch<'a>) -> Values) -> Values {
        let size = self.sizes.entry(batch.slots.len()).or_default();
        if self.records && !size.tried && size.taken >= BEFORE {
            size.tried = true;
            let batch = batch.copy();
            let recording = capture(self.device, || step(&batch));
            size.recorded = recording.map(|(graph, values)| Recorded { graph, batch, values });
        }
        match &mut size.recorded {
            Some(recorded) => recorded.again(batch),
            None => {
                size.taken += 1;
                step(batch)
            }
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
