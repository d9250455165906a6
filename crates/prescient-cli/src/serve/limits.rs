//! How much the service takes on. What lies in memory is budgeted over all requests together, so that no number of clients fills it.

use super::problem::Problem;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All bodies together, received and not yet decoded, take at most so many KiB.
const BODIES: usize = 512 << 10;
/// Requests that are past their body and wait for an answer.
const REQUESTS: usize = 256;
/// Open connections; who comes later waits to be let in.
const CONNECTIONS: usize = 1024;

/// What one request may bring, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes of a body.
    pub(super) body: usize,
    /// Pixels of a photo.
    pub(super) pixels: u64,
    /// Photos of a request.
    pub(super) photos: usize,
    /// For the body to arrive, and once more for the answer.
    pub(super) time: Duration,
}

/// What all requests share.
#[derive(Debug)]
pub(super) struct Budget {
    bodies: Arc<Semaphore>,
    requests: Arc<Semaphore>,
    decoders: Arc<Semaphore>,
    kilopixels: Arc<Semaphore>,
    pub(super) connections: Arc<Semaphore>,
    most_kilopixels: u32,
}

/// A part of the budget, given back when dropped.
pub(super) type Share = OwnedSemaphorePermit;

impl Budget {
    /// As many photos are decoded at a time as there are cores, and of the largest ones at most two.
    pub(super) fn new(limits: &Limits) -> Self {
        let semaphore = |count: usize| Arc::new(Semaphore::new(count));
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let most_kilopixels = u32::try_from(2 * limits.pixels.div_ceil(1000)).unwrap_or(u32::MAX);
        Self {
            bodies: semaphore(BODIES),
            requests: semaphore(REQUESTS),
            decoders: semaphore(cores),
            kilopixels: semaphore(most_kilopixels as usize),
            connections: semaphore(CONNECTIONS),
            most_kilopixels,
        }
    }

    /// Room for bytes that have arrived. Nobody waits for it: who waits holds what others need.
    pub(super) fn bytes(&self, count: usize) -> Result<Share, Problem> {
        let kib = u32::try_from(count.div_ceil(1024)).unwrap_or(u32::MAX);
        let full = |_| Problem::busy("the memory for photos that are being sent is used up");
        self.bodies.clone().try_acquire_many_owned(kib).map_err(full)
    }

    /// The right to be worked on.
    pub(super) fn request(&self) -> Result<Share, Problem> {
        let full = |_| Problem::busy(format!("{REQUESTS} requests are being answered already"));
        self.requests.clone().try_acquire_owned().map_err(full)
    }

    /// A core, and memory for so many pixels; waits for both.
    pub(super) async fn decode(&self, pixels: u64) -> Result<(Share, Share), Problem> {
        let kilopixels = u32::try_from(pixels.div_ceil(1000)).unwrap_or(u32::MAX).min(self.most_kilopixels);
        let closed = |_| Problem::busy("the service is stopping");
        let memory = self.kilopixels.clone().acquire_many_owned(kilopixels).await.map_err(closed)?;
        Ok((memory, self.decoders.clone().acquire_owned().await.map_err(closed)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { body: 1 << 20, pixels: 50_000_000, photos: 8, time: Duration::from_secs(1) };

    /// 512 MiB in all: sixteen bodies of 32 MiB fit, and one byte more does not.
    #[test]
    fn bodies_share_a_budget_and_give_it_back() {
        let budget = Budget::new(&LIMITS);
        let mut held: Vec<Share> = (0..16).map(|_| budget.bytes(32 << 20).expect("it fits")).collect();
        assert_eq!(budget.bytes(1).expect_err("full").status.as_u16(), 503);
        held.pop();
        assert!(budget.bytes(32 << 20).is_ok());
    }
}
