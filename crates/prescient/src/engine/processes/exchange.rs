//! How processes add up what lies on GPUs: from GPU to GPU through NCCL, or through main memory.
//!
//! NCCL serves where every process has a GPU of its own. All must go the same way, so each says what it has, all decide by the
//! same rule, and after NCCL has begun in all of them they compare once more.

use super::{Joined, Processes};
use crate::error::ProcessError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use tch::Device;
use torch_shim::{GpuGroup, ShimError, gpu_uuid, nccl_id, nccl_version};

/// The way that sums take.
pub(super) enum Exchange {
    /// From GPU to GPU, with this version of NCCL.
    Gpus(GpuGroup, String),
    /// Through main memory, and why.
    Host(String),
}

/// What a process has.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Means {
    /// Its GPU, or why it cannot be used so.
    gpu: Result<String, String>,
    /// The version of NCCL, or why there is none.
    nccl: Result<String, String>,
    /// Whether it ends when another is lost. NCCL itself would wait for that one for ever.
    is_told: bool,
}

/// Under which name the id of NCCL's group is shared.
const ID: &str = "nccl";

impl Means {
    fn of(device: Device, is_told: bool) -> Self {
        let said = |error: ShimError| error.message().to_owned();
        Self { gpu: gpu_uuid(device).map_err(said), nccl: nccl_version().map_err(said), is_told }
    }
}

/// The version of NCCL that all go through, or why they do not.
fn decided(all: &[Means]) -> Result<String, String> {
    let (mut owners, mut versions) = (BTreeMap::new(), BTreeMap::new());
    for (rank, means) in all.iter().enumerate() {
        let reason = |why: &String| format!("process {rank}: {why}");
        let gpu = means.gpu.as_ref().map_err(reason)?;
        let version = means.nccl.as_ref().map_err(reason)?;
        if let Some(other) = owners.insert(gpu.clone(), rank) {
            return Err(format!("processes {other} and {rank} share a GPU"));
        }
        versions.entry(version.clone()).or_insert(rank);
        if !means.is_told {
            return Err(format!("process {rank} would not end when another is lost"));
        }
    }
    let mut versions = versions.into_iter();
    match (versions.next(), versions.next()) {
        (Some((one, first)), Some((other, second))) => {
            Err(format!("process {first} has NCCL {one}, process {second} has {other}"))
        }
        (Some((version, _)), None) => Ok(version),
        (None, _) => Err("there is no process".to_owned()),
    }
}

impl Exchange {
    /// What is said of it at the start.
    fn told(&self, count: usize) -> String {
        let processes = if count == 1 { "1 process adds" } else { &format!("{count} processes add") };
        match self {
            Exchange::Gpus(_, version) => format!("{processes} up through NCCL {version}"),
            Exchange::Host(why) => format!("{processes} up through main memory ({why})"),
        }
    }

    /// What went wrong with it since it began.
    pub(super) fn trouble(&self) -> Option<ShimError> {
        match self {
            Exchange::Gpus(group, _) => group.trouble(),
            Exchange::Host(_) => None,
        }
    }
}

impl Processes {
    /// Chooses how tensors on GPUs are added up. All call it, with a `device` of the same kind.
    pub fn meet_on(&self, device: Device) -> Result<(), ProcessError> {
        let Some(joined) = self.0.as_ref().filter(|joined| device.is_cuda() && joined.exchange.get().is_none()) else {
            return Ok(());
        };
        let own = Means::of(device, joined.is_told);
        let all: Vec<Means> = self.each_says(&own)?;
        let exchange = match decided(&all) {
            Err(why) => Exchange::Host(why),
            Ok(version) => {
                let began = joined.begin(device);
                let failure = began.as_ref().err().cloned();
                let failures: Vec<Option<String>> = self.each_says(&failure)?;
                match (began, first_failure(&failures)) {
                    (Ok(group), None) => Exchange::Gpus(group, version),
                    (_, failure) => Exchange::Host(failure.unwrap_or_default()),
                }
            }
        };
        let _ = joined.exchange.set(exchange);
        Ok(())
    }

    /// How tensors on GPUs are added up, to be told; none where there is nothing to say.
    pub fn exchange(&self) -> Option<String> {
        self.0.as_ref().and_then(|joined| Some(joined.exchange.get()?.told(joined.place.count)))
    }

    /// Whether a GPU can record a sum: it is part of its own work, or there is nothing to do.
    pub fn sums_can_be_recorded(&self) -> bool {
        self.count() == 1
            || self.0.as_ref().is_some_and(|joined| matches!(joined.exchange.get(), Some(Exchange::Gpus(..))))
    }

    /// What each has to say.
    fn each_says<T: Serialize + for<'a> Deserialize<'a>>(&self, own: &T) -> Result<Vec<T>, ProcessError> {
        let all = self.gather_bytes(serde_json::to_vec(own).expect("plain data"))?;
        let broken = |error: serde_json::Error| ProcessError::Broken { doing: "comparing", reason: error.to_string() };
        all.iter().map(|bytes| serde_json::from_slice(bytes).map_err(broken)).collect()
    }
}

impl Joined {
    /// Begins with NCCL, or says why it cannot.
    fn begin(&self, device: Device) -> Result<GpuGroup, String> {
        let said = |error: ShimError| error.message().to_owned();
        let id = self.id(self.place.times.join).map_err(said)?;
        GpuGroup::join(&id, (self.place.rank, self.place.count), device, self.place.times.join).map_err(said)
    }

    /// Process 0 makes the id, and gives it to all through the store; what is no id, where it has none.
    fn id(&self, timeout: Duration) -> Result<Vec<u8>, ShimError> {
        let (store, key) = (self.store.lock().expect("nobody panics with it in hand"), format!("{}{ID}", self.prefix));
        if self.place.rank == 0 {
            let id = nccl_id();
            store.set(&key, id.as_deref().unwrap_or_default())?;
            return id;
        }
        store.get(&key, timeout)
    }
}

/// The first failure, with the process that had it.
fn first_failure(failures: &[Option<String>]) -> Option<String> {
    let mut failed = failures.iter().enumerate();
    failed.find_map(|(rank, why)| why.as_ref().map(|why| format!("process {rank}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(gpu: &str, nccl: &str) -> Means {
        Means { gpu: Ok(gpu.to_owned()), nccl: Ok(nccl.to_owned()), is_told: true }
    }

    #[test]
    fn processes_with_a_gpu_each_go_through_nccl() {
        assert_eq!(decided(&[means("a", "2.28.9"), means("b", "2.28.9")]), Ok("2.28.9".to_owned()));
        assert_eq!(decided(&[means("a", "2.28.9")]), Ok("2.28.9".to_owned()));
    }

    #[test]
    fn one_that_cannot_sends_all_through_main_memory_and_is_named() {
        let says = |second: Means| decided(&[means("a", "2.28.9"), second]).expect_err("main memory");
        assert_eq!(says(means("a", "2.28.9")), "processes 0 and 1 share a GPU");
        assert_eq!(says(means("b", "2.27.5")), "process 1 has NCCL 2.27.5, process 0 has 2.28.9");
        let lacks = Means { nccl: Err("libnccl.so.2: no such file".to_owned()), ..means("b", "") };
        assert_eq!(says(lacks), "process 1: libnccl.so.2: no such file");
        assert_eq!(says(Means { gpu: Err("no GPU".to_owned()), ..means("", "2.28.9") }), "process 1: no GPU");
        let deaf = Means { is_told: false, ..means("b", "2.28.9") };
        assert_eq!(says(deaf), "process 1 would not end when another is lost");
    }

    #[test]
    fn the_first_failure_is_told() {
        assert_eq!(first_failure(&[None, None]), None);
        assert_eq!(first_failure(&[None, Some("no room".to_owned())]), Some("process 1: no room".to_owned()));
    }

    #[test]
    fn how_sums_go_is_told_in_a_few_words() {
        let host = Exchange::Host("processes 0 and 1 share a GPU".to_owned());
        assert_eq!(host.told(2), "2 processes add up through main memory (processes 0 and 1 share a GPU)");
        assert_eq!(host.trouble(), None);
        // Whoever is alone has nothing to say, and nothing in the way of a recording.
        let alone = Processes::alone();
        alone.meet_on(Device::Cuda(0)).expect("nobody to meet");
        assert_eq!((alone.exchange(), alone.sums_can_be_recorded()), (None, true));
    }
}
