//! How processes find each other: each writes who it is into a store, and reads of all others.

use super::place::Place;
use super::watch::{FAILED, LastWords, OnLost, Watch, alive};
use super::{Joined, Processes};
use crate::disk;
use crate::error::ProcessError;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use torch_shim::{ShimError, Store};

/// Who a process is.
#[derive(Serialize, Deserialize)]
struct Card {
    version: String,
    count: usize,
    host: String,
    pid: u32,
}

impl Processes {
    /// Meets the others. `on_lost` is called where one of them is lost later, from a thread of its own.
    pub fn join(place: Place, on_lost: Option<OnLost>) -> Result<Self, ProcessError> {
        let began = Instant::now();
        let prefix = format!("prescient/{}/", place.attempt);
        let store = meet(&place)?;
        let here = Card {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            count: place.count,
            host: host_name(),
            pid: std::process::id(),
        };
        let lost = |error: ShimError| not_reached(&place, &error);
        let key = |rank: usize| format!("{prefix}here/{rank}");
        store.set(&format!("{prefix}{}", alive(place.rank)), b"1").map_err(lost)?;
        store.set(&key(place.rank), &serde_json::to_vec(&here).expect("plain data")).map_err(lost)?;
        let mut cards = Vec::new();
        for rank in 0..place.count {
            while !store.has(&key(rank)).map_err(lost)? {
                if began.elapsed() > place.times.join {
                    return Err(missing(&store, &place, key));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let card = store.get(&key(rank), place.times.join).map_err(lost)?;
            let card: Card = serde_json::from_slice(&card).map_err(|_| ProcessError::Differs {
                what: "the version".into(),
                first: "this process".into(),
                expected: here.version.as_str().into(),
                second: format!("process {rank}").into(),
                found: "another".into(),
            })?;
            cards.push(card);
        }
        let names: Vec<String> = cards.iter().enumerate().map(|(rank, card)| card.name(rank)).collect();
        for (rank, card) in cards.iter().enumerate() {
            differs("the version", (&names[0], &cards[0].version), (&names[rank], &card.version))?;
            let counts = [cards[0].count, card.count].map(|count| format!("{count} processes"));
            differs("to be one of", (&names[0], &counts[0]), (&names[rank], &counts[1]))?;
        }
        let address = is_loopback(&place.host).then_some("127.0.0.1");
        let group = store
            .group(&format!("{prefix}gloo"), (place.rank, place.count), address, place.times.wait)
            .map_err(|error| ProcessError::Broken { doing: "connecting", reason: error.message().to_owned() })?;
        let second = Store::connect(&place.host, store.port(), place.times.join).map_err(lost)?;
        let (is_told, exchange) = (on_lost.is_some(), Arc::default());
        let watch = Watch::begin((second, Arc::clone(&exchange)), &place, &prefix, &names, on_lost);
        let (watch, store) = (Some(watch).into(), store.into());
        Ok(Self(Some(Arc::new(Joined { group, watch, store, place, prefix, names, is_told, exchange }))))
    }

    /// Tells the others that this process has failed, and why, before it ends.
    pub fn fail(&self, message: &str) {
        let Some(joined) = &self.0 else { return };
        let words = LastWords { who: joined.names[joined.place.rank].clone(), message: message.trim().to_owned() };
        let key = format!("{}{FAILED}", joined.prefix);
        if let Ok(store) = joined.store.lock() {
            let _ = store.set(&key, &serde_json::to_vec(&words).expect("plain data"));
        }
        if joined.place.rank == 0 && !joined.place.kept_elsewhere {
            // The store goes with this process: the others are to read it first.
            std::thread::sleep(Duration::from_secs(2));
        }
    }
}

impl Card {
    fn name(&self, rank: usize) -> String {
        format!("process {rank} (`{}`, pid {})", self.host, self.pid)
    }
}

/// Both are to be the same.
pub(super) fn differs(
    what: &str,
    (first, expected): (&str, &str),
    (second, found): (&str, &str),
) -> Result<(), ProcessError> {
    if expected == found {
        return Ok(());
    }
    let [what, first, expected, second, found] = [what, first, expected, second, found].map(Box::from);
    Err(ProcessError::Differs { what, first, expected, second, found })
}

fn is_loopback(host: &str) -> bool {
    ["localhost", "127.0.0.1", "::1"].contains(&host)
}

fn meet(place: &Place) -> Result<Store, ProcessError> {
    let Place { host, port, times, .. } = place;
    if place.rank == 0 && !place.kept_elsewhere {
        return Store::serve(host, *port, times.join).map_err(|error| match error.message() {
            said if said.contains("EADDRINUSE") || said.contains("address already in use") => {
                ProcessError::PortInUse { host: host_name(), port: *port }
            }
            _ => not_reached(place, &error),
        });
    }
    Store::connect(host, *port, times.join).map_err(|error| not_reached(place, &error))
}

fn not_reached(place: &Place, error: &ShimError) -> ProcessError {
    ProcessError::NotReached {
        rank: place.rank,
        count: place.count,
        host: place.host.clone(),
        port: place.port,
        seconds: place.times.join.as_secs(),
        reason: error.message().lines().next().unwrap_or_default().to_owned(),
    }
}

fn missing(store: &Store, place: &Place, key: impl Fn(usize) -> String) -> ProcessError {
    let missing = (0..place.count).filter(|rank| !store.has(&key(*rank)).unwrap_or(false)).collect();
    ProcessError::Missing { missing, count: place.count, seconds: place.times.join.as_secs() }
}

fn host_name() -> String {
    let name = disk::read_text(Path::new("/proc/sys/kernel/hostname")).unwrap_or_default();
    if name.trim().is_empty() { "this machine".to_owned() } else { name.trim().to_owned() }
}
