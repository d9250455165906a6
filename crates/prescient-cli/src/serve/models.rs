//! The model that answers now, and the next one. A newer version is loaded beside the old one, computes once, and takes its place;
//! who asked before is still answered by the old one, whose thread ends after that.

use super::answers::Model;
use super::metrics::Metrics;
use super::model::Live;
use prescient::Predictor;
use prescient::error::{Error, Result, RunError};
use prescient::predictor::Stamp;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// How often a newer version is looked for.
const EVERY: Duration = Duration::from_secs(1);

/// Where models come from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) task: Option<usize>,
    pub(super) device: tch::Device,
    /// Photos computed together, at most.
    pub(super) batch: usize,
}

/// The model that answers, and what it was loaded from.
pub(super) struct Models {
    source: Source,
    metrics: Arc<Metrics>,
    current: RwLock<Arc<Live>>,
    loaded: Mutex<Loaded>,
    /// Held by who loads.
    loading: Mutex<()>,
}

struct Loaded {
    stamp: Stamp,
    /// What could not be loaded, and why.
    failed: Option<(Stamp, String)>,
}

impl Source {
    fn stamp(&self) -> Result<Stamp, RunError> {
        Predictor::stamp(&self.path, self.task)
    }

    fn load(&self, metrics: &Arc<Metrics>) -> Result<Live> {
        let predictor = Predictor::load_on(&self.path, self.task, self.device)?;
        let name = self.path.file_name().map_or_else(|| ".".into(), |name| name.to_string_lossy().into_owned());
        let model = Model { name, version: predictor.about().task as u64 };
        Live::start(predictor, model, self.batch, metrics.clone())
    }
}

impl Models {
    pub(super) fn open(source: Source, metrics: Arc<Metrics>) -> Result<Self> {
        let stamp = source.stamp()?;
        let live = source.load(&metrics)?;
        let (current, loaded) = (RwLock::new(Arc::new(live)), Mutex::new(Loaded { stamp, failed: None }));
        Ok(Self { source, metrics, current, loaded, loading: Mutex::new(()) })
    }

    /// The model that answers now. Whoever holds it is answered by it.
    pub(super) fn current(&self) -> Arc<Live> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why a newer version does not answer.
    pub(super) fn failed(&self) -> Option<String> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.failed.as_ref().map(|(_, reason)| reason.clone())
    }

    /// Takes a newer version where there is one. A version that cannot be loaded is tried again once its files change.
    pub(super) fn refresh(&self) {
        let _alone = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        // Where the folder cannot be looked into, the model in memory still answers.
        let Ok(stamp) = self.source.stamp() else { return };
        {
            let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            if loaded.stamp == stamp || loaded.failed.as_ref().is_some_and(|(failed, _)| *failed == stamp) {
                return;
            }
        }
        // Requests go on while it loads.
        match self.source.load(&self.metrics) {
            Ok(live) => self.replace(stamp, live),
            Err(error) => self.note(stamp, &error),
        }
    }

    fn replace(&self, stamp: Stamp, live: Live) {
        let version = live.model.version;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(live);
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = Loaded { stamp, failed: None };
        self.metrics.reloads.fetch_add(1, Ordering::Relaxed);
        eprintln!("version {version} answers now");
    }

    fn note(&self, stamp: Stamp, error: &Error) {
        self.metrics.failed_reloads.fetch_add(1, Ordering::Relaxed);
        eprintln!("warning: a newer version cannot be loaded, the one before still answers\n{}", error.message());
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.failed = Some((stamp, error.to_string()));
    }

    /// Looks for newer versions, on a thread of its own, as long as the process lives.
    pub(super) fn watch(self: &Arc<Self>) -> std::io::Result<()> {
        let models = Arc::downgrade(self);
        let look = move || {
            while let Some(models) = models.upgrade() {
                models.refresh();
                drop(models);
                std::thread::sleep(EVERY);
            }
        };
        std::thread::Builder::new().name("reload".to_owned()).spawn(look).map(drop)
    }
}
