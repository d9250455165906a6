//! Several processes with one result.
//!
//! All run the same program on the same data and take part in the same operations in the same order; what is costly is split
//! by place and put together again. A process that is alone does the same with nobody to wait for. Who waits for a process
//! that is gone gets an error that names it; see [`Place`] for how long that takes.

mod exchange;
mod join;
mod place;
mod watch;

pub use place::{Place, Times};
pub use watch::OnLost;

use crate::error::ProcessError;
use exchange::Exchange;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};
use tch::{Device, Kind, Tensor};
use torch_shim::{Group, ShimError, Store};
use watch::Watch;

/// The processes that work together, as one of them sees them. Cheap to clone.
#[derive(Clone)]
pub struct Processes(Option<Arc<Joined>>);

struct Joined {
    group: Group,
    /// Until the processes part.
    watch: Mutex<Option<Watch>>,
    store: Mutex<Store>,
    place: Place,
    prefix: String,
    /// What each is called in errors.
    names: Vec<String>,
    /// Whether this process ends when another is lost.
    is_told: bool,
    /// How tensors on GPUs are added up, once all have met there.
    exchange: Arc<OnceLock<Exchange>>,
}

impl Default for Processes {
    fn default() -> Self {
        Self::alone()
    }
}

impl Processes {
    /// A process without others.
    pub fn alone() -> Self {
        Self(None)
    }

    /// Which of them this is, from 0.
    pub fn rank(&self) -> usize {
        self.0.as_ref().map_or(0, |joined| joined.place.rank)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.as_ref().map_or(1, |joined| joined.place.count)
    }

    /// Whether this is the one that writes.
    pub fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// How many of them share this machine.
    pub fn on_this_machine(&self) -> usize {
        self.0.as_ref().map_or(1, |joined| joined.place.local_count.max(1))
    }

    /// Which of `items` are this one's: whole chunks, so that every chunk is what it would be in one process.
    pub fn part(&self, items: usize, chunk: usize) -> Range<usize> {
        part(items, chunk, self.rank(), self.count())
    }

    /// Makes each element of `tensor` the sum over all processes, in place: the same bits in all. On GPUs that have met
    /// ([`Processes::meet_on`]) it is asked for and not waited for.
    pub fn sum(&self, tensor: &Tensor) -> Result<(), ProcessError> {
        if let Some(joined) = &self.0
            && let Some(Exchange::Gpus(group, _)) = joined.exchange.get()
            && group.takes(tensor)
        {
            // Whether NCCL is used must not depend on how a tensor lies in memory, which may differ from process to process.
            let whole = tensor.detach().contiguous();
            self.checked(joined, "adding up", group.sum(&whole, &whole))?;
            if !tensor.is_contiguous() {
                tch::no_grad(|| tensor.shallow_clone().copy_(&whole));
            }
            return Ok(());
        }
        match self.count() {
            1 => Ok(()),
            _ => self.with_host_copy(tensor, "adding up", |joined, tensor| joined.group.sum(tensor)),
        }
    }

    /// Makes `tensor`, which has the same shape in all, what it is in process 0; in place.
    pub fn broadcast(&self, tensor: &Tensor) -> Result<(), ProcessError> {
        self.with_host_copy(tensor, "sharing", |joined, tensor| joined.group.broadcast(tensor, 0))
    }

    /// The bytes of process 0.
    pub fn broadcast_bytes(&self, bytes: Vec<u8>) -> Result<Vec<u8>, ProcessError> {
        if self.0.is_none() {
            return Ok(bytes);
        }
        let length = Tensor::from_slice(&[bytes.len() as i64]);
        self.broadcast(&length)?;
        let length = length.int64_value(&[0]);
        let tensor = if self.leads() { Tensor::from_slice(&bytes) } else { Tensor::zeros([length], BYTES) };
        self.broadcast(&tensor)?;
        plain(&tensor)
    }

    /// The bytes of process 0, of process 1, …, which may differ in number.
    pub fn gather_bytes(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, ProcessError> {
        let Some(joined) = &self.0 else { return Ok(vec![bytes]) };
        let lengths = self.gather(joined, &Tensor::from_slice(&[bytes.len() as i64]))?;
        let lengths: Vec<usize> = lengths.iter().map(|length| length.int64_value(&[0]) as usize).collect();
        let longest = lengths.iter().copied().max().unwrap_or_default();
        let mut padded = bytes;
        padded.resize(longest, 0);
        let gathered = self.gather(joined, &Tensor::from_slice(&padded))?;
        gathered.iter().zip(lengths).map(|(bytes, length)| plain(&bytes.narrow(0, 0, length as i64))).collect()
    }

    /// The rows of process 0, then those of process 1, …: `[rows, …]`, single precision. Each may have another number of rows.
    pub fn gather_rows(&self, rows: &Tensor) -> Result<Tensor, ProcessError> {
        let Some(joined) = &self.0 else { return Ok(rows.shallow_clone()) };
        let counts = self.gather(joined, &Tensor::from_slice(&[rows.size()[0]]))?;
        let counts: Vec<i64> = counts.iter().map(|count| count.int64_value(&[0])).collect();
        let most = counts.iter().copied().max().unwrap_or_default();
        let mut shape = rows.size();
        shape[0] = most;
        let padded = Tensor::zeros(&shape, (rows.kind(), Device::Cpu));
        padded.narrow(0, 0, rows.size()[0]).copy_(&rows.detach());
        let parts = self.gather(joined, &padded)?;
        let parts: Vec<Tensor> = parts.iter().zip(counts).map(|(part, count)| part.narrow(0, 0, count)).collect();
        Ok(Tensor::cat(&parts, 0).to_device(rows.device()))
    }

    /// Whether it is so for any of them.
    pub fn any(&self, flag: bool) -> Result<bool, ProcessError> {
        let sum = Tensor::from_slice(&[i64::from(flag)]);
        self.sum(&sum)?;
        Ok(sum.int64_value(&[0]) > 0)
    }

    /// Whether it is so for all of them.
    pub fn all(&self, flag: bool) -> Result<bool, ProcessError> {
        Ok(!self.any(!flag)?)
    }

    /// Sees to it that all are about to do the same: what each has under a name must be the same in all.
    pub fn agree(&self, about: &BTreeMap<String, String>) -> Result<(), ProcessError> {
        let Some(joined) = &self.0 else { return Ok(()) };
        let all = self.gather_bytes(serde_json::to_vec(about).expect("plain data"))?;
        let read = |bytes: &Vec<u8>| -> BTreeMap<String, String> { serde_json::from_slice(bytes).unwrap_or_default() };
        // Nobody leaves, and takes the store along, before all have read it.
        self.checked(joined, "comparing", joined.group.barrier())?;
        let (first, nothing) = (read(&all[0]), "nothing".to_owned());
        for (rank, other) in all.iter().map(read).enumerate() {
            for what in first.keys().chain(other.keys()) {
                let [expected, found] = [&first, &other].map(|about| about.get(what).unwrap_or(&nothing));
                join::differs(what, (&joined.names[0], expected), (&joined.names[rank], found))?;
            }
        }
        Ok(())
    }

    /// Waits until all have come here, and parts from them.
    pub fn part_ways(&self) -> Result<(), ProcessError> {
        let Some(joined) = &self.0 else { return Ok(()) };
        self.checked(joined, "parting", joined.group.barrier())?;
        // From here on nobody is missed any more. Only when all know that may the store close.
        drop(joined.watch.lock().expect("nobody panics with it in hand").take());
        self.checked(joined, "parting", joined.group.barrier())
    }

    fn gather(&self, joined: &Joined, tensor: &Tensor) -> Result<Vec<Tensor>, ProcessError> {
        self.checked(joined, "gathering", joined.group.gather(tensor))
    }

    /// Gloo works on contiguous tensors on the CPU: others go there and back.
    fn with_host_copy(
        &self,
        tensor: &Tensor,
        doing: &'static str,
        work: impl Fn(&Joined, &Tensor) -> Result<(), ShimError>,
    ) -> Result<(), ProcessError> {
        let Some(joined) = &self.0 else { return Ok(()) };
        if tensor.device() == Device::Cpu && tensor.is_contiguous() {
            return self.checked(joined, doing, work(joined, tensor));
        }
        let copy = tensor.detach().to_device(Device::Cpu).contiguous();
        self.checked(joined, doing, work(joined, &copy))?;
        tch::no_grad(|| tensor.shallow_clone().copy_(&copy));
        Ok(())
    }

    /// Where something failed, whoever watches knows soon who is gone.
    fn checked<T>(&self, joined: &Joined, doing: &'static str, done: Result<T, ShimError>) -> Result<T, ProcessError> {
        done.map_err(|error| {
            let patience = joined.place.times.silence * 3 / 2;
            let watch = joined.watch.lock().expect("nobody panics with it in hand");
            let found = watch.as_ref().and_then(|watch| watch.verdict(patience));
            let reason = || error.message().lines().next().unwrap_or_default().to_owned();
            found.unwrap_or_else(|| ProcessError::Broken { doing, reason: reason() })
        })
    }
}

const BYTES: (Kind, Device) = (Kind::Uint8, Device::Cpu);

fn plain(bytes: &Tensor) -> Result<Vec<u8>, ProcessError> {
    let broken = |error: tch::TchError| ProcessError::Broken { doing: "reading", reason: error.to_string() };
    Vec::<u8>::try_from(bytes.contiguous()).map_err(broken)
}

/// Part `rank` of `count` of `items`, in whole chunks; the first parts are larger where chunks do not come out even.
fn part(items: usize, chunk: usize, rank: usize, count: usize) -> Range<usize> {
    let chunks = items.div_ceil(chunk);
    let at = |rank: usize| ((chunks * rank).div_ceil(count) * chunk).min(items);
    at(rank)..at(rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Ten items in chunks of two are five chunks: two processes have three and two of them.
    #[test]
    fn parts_are_whole_chunks() {
        assert_eq!([0, 1].map(|rank| part(10, 2, rank, 2)), [0..6, 6..10]);
        assert_eq!([0, 1, 2].map(|rank| part(3, 64, rank, 3)), [0..3, 3..3, 3..3]);
        assert_eq!(part(0, 4, 0, 2), 0..0);
    }

    proptest! {
        #[test]
        fn every_item_is_in_one_part(items in 0usize..500, chunk in 1usize..70, count in 1usize..9) {
            let parts: Vec<Range<usize>> = (0..count).map(|rank| part(items, chunk, rank, count)).collect();
            prop_assert_eq!(parts.iter().cloned().flatten().collect::<Vec<_>>(), (0..items).collect::<Vec<_>>());
            prop_assert!(parts.iter().all(|part| part.start % chunk == 0 || part.start == items));
        }
    }

    #[test]
    fn who_is_alone_has_all_and_waits_for_nobody() {
        let alone = Processes::alone();
        assert_eq!((alone.rank(), alone.count(), alone.part(7, 2)), (0, 1, 0..7));
        let tensor = Tensor::from_slice(&[1.0f32, 2.0]);
        alone.sum(&tensor).expect("nothing to do");
        assert_eq!(Vec::<f32>::try_from(tensor).expect("numbers"), [1.0, 2.0]);
        assert_eq!(alone.gather_bytes(vec![7]), Ok(vec![vec![7]]));
        assert!(alone.any(true).expect("itself") && !alone.any(false).expect("itself"));
        assert!(alone.all(true).expect("itself") && !alone.all(false).expect("itself"));
        alone.agree(&BTreeMap::new()).expect("with itself");
    }
}
