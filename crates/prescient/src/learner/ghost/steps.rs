//! Training steps: as they come, or, on a GPU, from a recording of the first ones.
//!
//! A recording reads the memory it was made with. So what changes from batch to batch is copied into one batch that
//! stays, and what changes from epoch to epoch, the learning rate and ghosts that are drawn anew, is written into the
//! tensors that were there.

use super::batches::Shown;
use crate::engine::recorded;
use crate::loss::Terms;
use std::collections::BTreeMap;
use tch::{Device, Tensor, no_grad};
use torch_shim::Graph;

/// Steps taken as they come before one is recorded: libraries set themselves up in the first.
const BEFORE: usize = 3;

/// The steps of a stage.
pub(super) struct Steps<'a> {
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
    /// Recorded, where `records` and the device allow it.
    pub(super) fn new(device: Device, records: bool) -> Self {
        Self { device, records: records && device.is_cuda(), sizes: BTreeMap::new() }
    }

    /// Takes one: `step` learns from a batch and answers with the terms of its loss.
    pub(super) fn take(&mut self, shown: &Shown<'a>, step: impl Fn(&Shown<'a>) -> Terms) -> Values {
        let size = self.sizes.entry(shown.slots.len()).or_default();
        if self.records && !size.tried && size.taken >= BEFORE {
            size.tried = true;
            let shown = shown.copy();
            let recording = recorded(self.device, || Values::from(step(&shown)));
            size.recorded = recording.map(|(graph, values)| Recorded { graph, shown, values });
        }
        match &mut size.recorded {
            Some(recorded) => recorded.again(shown),
            None => {
                size.taken += 1;
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
