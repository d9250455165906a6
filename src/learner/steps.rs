//! Training steps: as they come, or, on a GPU, from a recording of the first ones.
//!
//! A recording reads the memory it was made with. So what changes from batch to batch is copied into one batch that
//! stays, and what changes from epoch to epoch, the learning rate, is a tensor.

use super::shown::Shown;
use crate::loss::Terms;
use crate::model::recorded;
use tch::{Device, Tensor, no_grad};
use torch_shim::Graph;

/// Steps taken as they come before one is recorded: libraries set themselves up in the first.
const BEFORE: usize = 3;

/// The steps of a stage.
pub(super) struct Steps<'a> {
    device: Device,
    /// Images of a whole batch; a shorter one, at the end of an epoch, is taken as it comes.
    batch: usize,
    taken: usize,
    /// Whether a step is still to be recorded.
    records: bool,
    recorded: Option<Recorded<'a>>,
}

struct Recorded<'a> {
    graph: Graph,
    shown: Shown<'a>,
    values: Values,
}

/// The terms of one step, on the device until there is time to read them.
pub(super) struct Values {
    pub(super) names: Vec<&'static str>,
    /// `[terms]`.
    pub(super) values: Tensor,
}

impl From<Terms> for Values {
    fn from(terms: Terms) -> Self {
        Self { names: terms.names(), values: terms.values() }
    }
}

impl<'a> Steps<'a> {
    /// Of batches of `batch` images; recorded, where `records` and the device allow it.
    pub(super) fn new(device: Device, batch: usize, records: bool) -> Self {
        Self { device, batch, taken: 0, records: records && device.is_cuda(), recorded: None }
    }

    /// Takes one: `step` learns from a batch and answers with the terms of its loss.
    pub(super) fn take(&mut self, shown: &Shown<'a>, step: impl Fn(&Shown<'a>) -> Terms) -> Values {
        let whole = shown.slots.len() == self.batch;
        if self.records && whole && self.taken >= BEFORE {
            let shown = shown.copy();
            let recording = recorded(self.device, || Values::from(step(&shown)));
            self.recorded = recording.map(|(graph, values)| Recorded { graph, shown, values });
            // Once tried is enough, also where it did not work.
            self.records = false;
        }
        match &mut self.recorded {
            Some(recorded) if whole => recorded.again(shown),
            _ => {
                self.taken += usize::from(whole);
                step(shown).into()
            }
        }
    }
}

impl<'a> Recorded<'a> {
    fn again(&mut self, shown: &Shown<'a>) -> Values {
        no_grad(|| {
            for (place, value) in self.shown.tensors().into_iter().zip(shown.tensors()) {
                place.shallow_clone().copy_(value);
            }
        });
        self.graph.replay().expect("what was recorded can be replayed");
        Values { names: self.values.names.clone(), values: self.values.values.copy() }
    }
}
