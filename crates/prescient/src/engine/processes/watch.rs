//! Signs of life: a process that is killed, stopped or cut off is noticed by the others while they compute.
//!
//! Every process writes a number that grows into the store, and looks at those of the process after it and of process 0. Who
//! misses one says so in the store, where all look. So the load of the store grows with the number of processes, not with its
//! square. A second thread sees to it that the first is not itself waiting for a store that has stopped. NCCL tells of peers that
//! it cannot reach, but not which: so it is believed only where nobody has been named meanwhile.

use super::exchange::Exchange;
use super::place::Place;
use crate::error::ProcessError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use torch_shim::Store;

/// Between two signs of life.
const BEAT: Duration = Duration::from_millis(500);

/// Called once, from a thread of its own, when a process is lost: whoever computes may not come to a place where it could be told.
pub type OnLost = Box<dyn Fn(&ProcessError) + Send + Sync>;

/// What was found out about the others.
#[derive(Default)]
struct Verdict {
    found: Mutex<Option<ProcessError>>,
    told: Condvar,
}

/// Looks after the others until it is dropped.
pub(super) struct Watch {
    verdict: Arc<Verdict>,
    stop: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

/// What a process that failed left in the store.
#[derive(Serialize, Deserialize)]
pub(super) struct LastWords {
    pub(super) who: String,
    pub(super) message: String,
}

pub(super) const FAILED: &str = "failed";

/// The name of the number that process `rank` lets grow.
pub(super) fn alive(rank: usize) -> String {
    format!("alive/{rank}")
}

/// One look at the others.
struct Look {
    store: Store,
    place: Place,
    prefix: String,
    names: Vec<String>,
    count: u64,
    /// What was last seen of each that is looked at, and when it changed.
    peers: BTreeMap<usize, (Vec<u8>, Instant)>,
    /// How GPUs add up, where they have met.
    exchange: Arc<OnceLock<Exchange>>,
    /// Since when that does not work.
    troubled: Option<Instant>,
}

impl Watch {
    /// Begins; every process has given a first sign of life. `names` are what processes are called in errors.
    pub(super) fn begin(
        (store, exchange): (Store, Arc<OnceLock<Exchange>>),
        place: &Place,
        prefix: &str,
        names: &[String],
        on_lost: Option<OnLost>,
    ) -> Self {
        let verdict = Arc::new(Verdict::default());
        let lost = Arc::new(move |verdict: &Verdict, error: ProcessError| {
            let mut found = verdict.found.lock().expect("nobody panics with it in hand");
            if found.is_none() {
                *found = Some(error.clone());
                verdict.told.notify_all();
                drop(found);
                on_lost.iter().for_each(|tell| tell(&error));
            }
        });
        let now = Instant::now();
        let watched = [(place.rank + 1) % place.count, 0].into_iter().filter(|rank| *rank != place.rank);
        let mut look = Look {
            store,
            place: place.clone(),
            prefix: prefix.to_owned(),
            names: names.to_vec(),
            count: 1,
            peers: watched.map(|rank| (rank, (Vec::new(), now))).collect(),
            exchange,
            troubled: None,
        };
        let looked = Arc::new(Mutex::new(now));
        let (stop_looking, stopped) = channel();
        let (heart, told, say) = (looked.clone(), verdict.clone(), lost.clone());
        let looking = std::thread::spawn(move || {
            while goes_on(&stopped) {
                if let Err(error) = look.once() {
                    return say(&told, error);
                }
                *heart.lock().expect("nobody panics with it in hand") = Instant::now();
            }
        });
        let (stop_guarding, stopped) = channel();
        let (place, told) = (place.clone(), verdict.clone());
        let guarding = std::thread::spawn(move || {
            while goes_on(&stopped) {
                let silent = looked.lock().expect("nobody panics with it in hand").elapsed();
                if silent > place.times.silence + BEAT {
                    let reason = format!("no answer for {} s", silent.as_secs());
                    let (host, port) = (place.host.clone(), place.port);
                    return lost(&told, ProcessError::StoreGone { host, port, reason });
                }
            }
        });
        Self { verdict, stop: vec![stop_looking, stop_guarding], threads: vec![looking, guarding] }
    }

    /// What was found out about the others, at the latest after `patience`.
    pub(super) fn verdict(&self, patience: Duration) -> Option<ProcessError> {
        let found = self.verdict.found.lock().expect("nobody panics with it in hand");
        let waited = self.verdict.told.wait_timeout_while(found, patience, |found| found.is_none());
        waited.expect("nobody panics with it in hand").0.clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.clear();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Waits for the next beat; whether there is one.
fn goes_on(stopped: &Receiver<()>) -> bool {
    matches!(stopped.recv_timeout(BEAT), Err(RecvTimeoutError::Timeout))
}

impl Look {
    fn once(&mut self) -> Result<(), ProcessError> {
        let Self { store, place, prefix, names, .. } = self;
        let (host, port, silence) = (place.host.clone(), place.port, place.times.silence);
        let gone = |error: torch_shim::ShimError| ProcessError::StoreGone {
            host: host.clone(),
            port,
            reason: error.message().lines().next().unwrap_or_default().to_owned(),
        };
        self.count += 1;
        store.set(&format!("{prefix}{}", alive(place.rank)), self.count.to_string().as_bytes()).map_err(gone)?;
        let failed = format!("{prefix}{FAILED}");
        if store.has(&failed).map_err(gone)? {
            let words = store.get(&failed, silence).map_err(gone)?;
            let words: LastWords = serde_json::from_slice(&words)
                .unwrap_or_else(|_| LastWords { who: "a process".to_owned(), message: "nobody knows why".to_owned() });
            return Err(ProcessError::Failed { who: words.who, message: words.message });
        }
        for (rank, (last, since)) in &mut self.peers {
            let sign = store.get(&format!("{prefix}{}", alive(*rank)), silence).map_err(gone)?;
            if sign != *last {
                (*last, *since) = (sign, Instant::now());
            } else if since.elapsed() > silence {
                let error = ProcessError::Gone { who: names[*rank].clone(), seconds: silence.as_secs() };
                tell(store, &failed, &names[*rank], "it is gone or stopped");
                return Err(error);
            }
        }
        match self.exchange.get().and_then(Exchange::trouble) {
            None => self.troubled = None,
            Some(error) => {
                let since = *self.troubled.get_or_insert_with(Instant::now);
                // Whoever is gone is found by its silence; that takes so long.
                if since.elapsed() >= silence + 2 * BEAT {
                    let reason = error.message().to_owned();
                    // The others' own group may have nothing to say.
                    tell(store, &failed, &names[place.rank], &reason);
                    return Err(ProcessError::Broken { doing: "adding up", reason });
                }
            }
        }
        Ok(())
    }
}

/// Leaves for all to read who failed, and how.
fn tell(store: &Store, key: &str, who: &str, message: &str) {
    let words = LastWords { who: who.to_owned(), message: message.to_owned() };
    let _ = store.set(key, &serde_json::to_vec(&words).expect("plain data"));
}
