//! Work that a GPU records, and starts again with one call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tch::{Device, Tensor};
use torch_shim::Graph;

/// Records `work`, which must not read a value back from the device. Where that does not work, a warning says so and
/// there is none: whoever asked goes on without.
pub fn capture<T>(device: Device, work: impl FnOnce() -> T) -> Option<(Graph, T)> {
    let reason = match catch_unwind(AssertUnwindSafe(|| Graph::record(device, work))) {
        Ok(Ok(recording)) => return Some(recording),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "see above".to_owned(),
    };
    tracing::warn!("this work cannot be recorded on this GPU, and is done as it comes: {reason}");
    None
}

/// Does `work` `times` times. Before each time `before` is told its number, from 0; afterwards `after` gets the number
/// and what came of it. What changes between two times is written into tensors that stay. With `records` a GPU does all
/// but the first from a recording.
pub fn repeat(
    device: Device,
    records: bool,
    times: usize,
    mut before: impl FnMut(usize),
    work: impl Fn() -> Tensor,
    mut after: impl FnMut(usize, Tensor),
) {
    let mut recording: Option<(Graph, Tensor)> = None;
    for number in 0..times {
        before(number);
        if number == 1 && records && device.is_cuda() {
            recording = capture(device, &work);
        }
        let result = match &recording {
            Some((graph, result)) => {
                graph.replay().expect("what was recorded can be replayed");
                result.copy()
            }
            None => work(),
        };
        after(number, result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Kind;

    /// A CPU records nothing, and does the work as it comes: 1, 2, 3, each doubled.
    #[test]
    fn without_a_gpu_work_is_done_as_it_comes() {
        assert!(capture(Device::Cpu, || ()).is_none());
        let input = Tensor::zeros([1], (Kind::Float, Device::Cpu));
        let mut results = Vec::new();
        let before = |number: usize| drop(input.shallow_clone().fill_(number as f64 + 1.0));
        repeat(Device::Cpu, true, 3, before, || &input * 2.0, |_, result| results.push(result.double_value(&[0])));
        assert_eq!(results, [2.0, 4.0, 6.0]);
    }
}
