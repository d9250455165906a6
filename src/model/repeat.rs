//! The same work many times over: on a GPU from a recording, so that it starts with one call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tch::{Device, Tensor};
use torch_shim::Graph;

/// Does `work` `times` times. Before each time `before` is told its number, from 0; afterwards `after` gets the number
/// and what came of it. `work` must not read a value back from the device; what changes between two times is written
/// into tensors that stay. With `records` a GPU does all but the first from a recording.
pub fn repeat(
    device: Device,
    records: bool,
    times: usize,
    mut before: impl FnMut(usize),
    work: impl Fn() -> Tensor,
    mut after: impl FnMut(usize, Tensor),
) {
    let mut recorded: Option<(Graph, Tensor)> = None;
    let mut records = records && device.is_cuda();
    for number in 0..times {
        before(number);
        if number > 0 && records && recorded.is_none() {
            match catch_unwind(AssertUnwindSafe(|| Graph::record(device, &work))) {
                Ok(Ok(graph)) => recorded = Some(graph),
                failed => {
                    let reason = failed.map_or_else(|_| "see above".to_owned(), |tried| format!("{:?}", tried.err()));
                    tracing::warn!("work cannot be recorded on this GPU, and is done as it comes: {reason}");
                    records = false;
                }
            }
        }
        let result = match &recorded {
            Some((graph, result)) => {
                graph.replay().expect("what was recorded can be replayed");
                result.copy()
            }
            None => work(),
        };
        after(number, result);
    }
}
