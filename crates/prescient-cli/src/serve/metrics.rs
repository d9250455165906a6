//! `GET /metrics`: counters in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the buckets of seconds.
const SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// Upper ends of the buckets of photos in a batch.
const PHOTOS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

/// What is counted while the service runs.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// By method, path and status. Paths are those of the routes, so there are few.
    requests: Mutex<BTreeMap<(&'static str, &'static str, u16), u64>>,
    /// By path.
    seconds: Mutex<BTreeMap<&'static str, Histogram<12>>>,
    batches: Mutex<Histogram<8>>,
    /// Photos that wait for the model.
    pub(super) waiting: Gauge,
    /// Requests that are being answered.
    pub(super) in_flight: Gauge,
    /// Photos that were learned from.
    pub(super) learned: AtomicU64,
    /// Versions that were loaded after the first.
    pub(super) reloads: AtomicU64,
    /// Versions that could not be loaded.
    pub(super) failed_reloads: AtomicU64,
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub(super) struct Gauge(AtomicUsize);

impl Gauge {
    pub(super) fn add(&self, count: usize) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn sub(&self, count: usize) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }

    /// One more until what comes back is dropped, also by who stops waiting.
    pub(super) fn held(&self) -> impl Drop + '_ {
        self.add(1);
        Held(self)
    }

    pub(super) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

struct Held<'a>(&'a Gauge);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.sub(1);
    }
}

/// How many values fell up to each of some ends; those beyond the last are in `count` alone.
#[derive(Debug)]
struct Histogram<const N: usize> {
    within: [u64; N],
    count: u64,
    sum: f64,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self { within: [0; N], count: 0, sum: 0.0 }
    }
}

impl<const N: usize> Histogram<N> {
    fn add(&mut self, value: f64, ends: &[f64; N]) {
        for (count, end) in self.within.iter_mut().zip(ends) {
            *count += u64::from(value <= *end);
        }
        self.count += 1;
        self.sum += value;
    }

    fn write(&self, text: &mut String, name: &str, labels: &str, ends: &[f64; N]) {
        let comma = if labels.is_empty() { "" } else { "," };
        for (count, end) in self.within.iter().zip(ends) {
            line(text, &format!("{name}_bucket{{{labels}{comma}le=\"{end}\"}}"), count);
        }
        line(text, &format!("{name}_bucket{{{labels}{comma}le=\"+Inf\"}}"), &self.count);
        let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        line(text, &format!("{name}_sum{braces}"), &self.sum);
        line(text, &format!("{name}_count{braces}"), &self.count);
    }
}

fn line(text: &mut String, name: &str, value: &dyn std::fmt::Display) {
    let _ = writeln!(text, "{name} {value}");
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Metrics {
    /// A request was answered.
    pub(super) fn request(&self, method: &'static str, path: &'static str, status: u16, took: Duration) {
        *locked(&self.requests).entry((method, path, status)).or_default() += 1;
        locked(&self.seconds).entry(path).or_default().add(took.as_secs_f64(), &SECONDS);
    }

    /// A batch is computed.
    pub(super) fn batch(&self, photos: usize) {
        locked(&self.batches).add(photos as f64, &PHOTOS);
    }

    /// All of it as text; `version` is that of the model which answers.
    pub(super) fn text(&self, version: u64) -> String {
        let mut text = String::new();
        head(&mut text, "prescient_requests_total", "counter", "Requests answered.");
        for ((method, path, status), count) in locked(&self.requests).iter() {
            let labels = format!("{{method=\"{method}\",path=\"{path}\",status=\"{status}\"}}");
            line(&mut text, &format!("prescient_requests_total{labels}"), count);
        }
        let name = "prescient_request_seconds";
        head(&mut text, name, "histogram", "From the head of a request to its answer.");
        for (path, histogram) in locked(&self.seconds).iter() {
            histogram.write(&mut text, name, &format!("path=\"{path}\""), &SECONDS);
        }
        let name = "prescient_batch_photos";
        head(&mut text, name, "histogram", "Photos computed together.");
        locked(&self.batches).write(&mut text, name, "", &PHOTOS);
        let mut one = |name: &str, kind: &str, help: &str, value: u64| {
            head(&mut text, name, kind, help);
            line(&mut text, name, &value);
        };
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        one("prescient_photos_waiting", "gauge", "Photos that wait for the model.", self.waiting.get() as u64);
        one("prescient_requests_in_flight", "gauge", "Requests being answered.", self.in_flight.get() as u64);
        one("prescient_learned_photos_total", "counter", "Photos learned from.", count(&self.learned));
        one("prescient_reloads_total", "counter", "Newer versions loaded.", count(&self.reloads));
        one("prescient_failed_reloads_total", "counter", "Versions not loaded.", count(&self.failed_reloads));
        one("prescient_model_version", "gauge", "The version that answers.", version);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.02 s is above 0.01 and within 0.025; 60 s is above all ends.
    #[test]
    fn buckets_count_what_is_at_most_their_end() {
        let metrics = Metrics::default();
        metrics.request("POST", "/predict", 200, Duration::from_millis(20));
        metrics.request("POST", "/predict", 408, Duration::from_secs(60));
        let text = metrics.text(3);
        for expected in [
            "prescient_requests_total{method=\"POST\",path=\"/predict\",status=\"200\"} 1\n",
            "prescient_request_seconds_bucket{path=\"/predict\",le=\"0.01\"} 0\n",
            "prescient_request_seconds_bucket{path=\"/predict\",le=\"0.025\"} 1\n",
            "prescient_request_seconds_bucket{path=\"/predict\",le=\"30\"} 1\n",
            "prescient_request_seconds_bucket{path=\"/predict\",le=\"+Inf\"} 2\n",
            "prescient_request_seconds_sum{path=\"/predict\"} 60.02\n",
            "prescient_model_version 3\n",
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
    }
}
