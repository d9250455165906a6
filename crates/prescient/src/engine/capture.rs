//! Work that a GPU records, and starts again with one call.

use super::follow::{Changing, Follow};
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

/// Does `work`, an epoch of a training, `epochs` times, and has it followed. Before each epoch `before` is told its number, from
/// 0. `work` comes back with the loss; what changes between two epochs is written into tensors that stay, those of `changing`
/// among them. With `records` a GPU does all but the first from a recording.
pub fn repeat(
    (device, records): (Device, bool),
    epochs: usize,
    follow: &mut dyn Follow,
    changing: impl Fn() -> Changing,
    mut before: impl FnMut(usize),
    work: impl Fn() -> Tensor,
) {
    let mut recording: Option<(Graph, Tensor)> = None;
    let first = follow.begin(&changing());
    for epoch in first..epochs {
        before(epoch);
        if epoch == first + 1 && records && device.is_cuda() {
            recording = capture(device, &work);
        }
        let loss = match &recording {
            Some((graph, loss)) => {
                graph.replay().expect("what was recorded can be replayed");
                loss.copy()
            }
            None => work(),
        };
        if !follow.epoch(epoch + 1, f64::try_from(loss).unwrap_or(f64::NAN), &changing()) {
            break;
        }
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
        let mut losses = Vec::new();
        let before = |epoch: usize| drop(input.shallow_clone().fill_(epoch as f64 + 1.0));
        let mut told = |_: usize, loss: f64| losses.push(loss);
        repeat((Device::Cpu, true), 3, &mut told, Changing::default, before, || &input * 2.0);
        assert_eq!(losses, [2.0, 4.0, 6.0]);
    }

    /// Begins with the third of five epochs, and stops after the fourth.
    struct Between(Vec<usize>);

    impl Follow for Between {
        fn begin(&mut self, changing: &Changing) -> usize {
            let _ = changing.left[0].1.shallow_clone().fill_(20.0);
            2
        }

        fn epoch(&mut self, done: usize, loss: f64, _: &Changing) -> bool {
            self.0.push(done);
            assert_eq!(loss, 18.0 + done as f64);
            done < 4
        }
    }

    #[test]
    fn who_follows_says_where_it_begins_and_when_it_stops() {
        let weight = Tensor::zeros([1], (Kind::Float, Device::Cpu));
        let mut between = Between(Vec::new());
        let changing = || Changing { left: vec![("weight".to_owned(), weight.shallow_clone())], ..Default::default() };
        repeat((Device::Cpu, true), 5, &mut between, changing, |_| (), || weight.shallow_clone().g_add_scalar_(1.0));
        assert_eq!(between.0, [3, 4]);
    }
}
