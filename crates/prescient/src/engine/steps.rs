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
