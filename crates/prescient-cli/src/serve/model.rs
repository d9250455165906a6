//! A model that answers, on a thread of its own.
//!
//! ```text
//!  request ─► decode, crop ─┐
//!  request ─► decode, crop ─┼─► queue ─► take all that wait, at most `batch` ─► f ─► an answer to each
//!  request ─► decode, crop ─┘
//! ```
//!
//! Nobody waits for others to come: who is alone is answered alone, and while a batch is computed the next one gathers.

use super::answers::{self, Class, Model};
use super::metrics::Metrics;
use super::problem::Problem;
use prescient::data::Image;
use prescient::error::{Result as Outcome, RunError};
use prescient::predictor::{Crop, Cropper};
use prescient::{Prediction, Predictor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use tokio::sync::oneshot;

/// As many photos may wait for a model: 150 KB each at 224 pixels.
const QUEUE: usize = 1024;

/// A model and its thread, which ends once nobody holds this any more and all that waits is answered.
pub(super) struct Live {
    pub(super) model: Model,
    pub(super) classes: Vec<Class>,
    pub(super) cropper: Cropper,
    queue: SyncSender<Job>,
    metrics: Arc<Metrics>,
}

/// A photo that waits.
struct Job {
    photo: Crop,
    answer: oneshot::Sender<Result<Prediction, Problem>>,
}

impl Live {
    /// Starts a thread for the predictor, which computes once before this returns: libtorch sets itself up then.
    pub(super) fn start(predictor: Predictor, model: Model, batch: usize, metrics: Arc<Metrics>) -> Outcome<Self> {
        let (queue, jobs) = sync_channel(QUEUE);
        let (classes, cropper) = (answers::classes(&predictor), predictor.cropper()?);
        let channels = cropper.channels();
        let black = Image { width: 1, height: 1, channels, pixels: vec![0u8; channels.bytes()].into() };
        let first = cropper.crop(&black)?;
        let (ready, is_ready) = sync_channel::<()>(1);
        let counted = metrics.clone();
        let work = move || {
            let _ = answered(&predictor, &[first]);
            drop(ready);
            work(&predictor, &jobs, batch, &counted);
        };
        let started = std::thread::Builder::new().name("model".to_owned()).spawn(work);
        started.map_err(RunError::io(Path::new("the thread of the model")))?;
        // An error is what tells that it is ready.
        let _ = is_ready.recv();
        Ok(Self { model, classes, cropper, queue, metrics })
    }

    /// Puts a photo into the queue; the answer comes later.
    pub(super) fn ask(&self, photo: Crop) -> Result<oneshot::Receiver<Result<Prediction, Problem>>, Problem> {
        let (answer, answered) = oneshot::channel();
        self.metrics.waiting.add(1);
        match self.queue.try_send(Job { photo, answer }) {
            Ok(()) => Ok(answered),
            Err(error) => {
                self.metrics.waiting.sub(1);
                Err(match error {
                    TrySendError::Full(_) => Problem::busy(format!("{QUEUE} photos are waiting already")),
                    TrySendError::Disconnected(_) => Problem::ours("the model has stopped"),
                })
            }
        }
    }
}

/// Answers until nobody can ask any more.
fn work(predictor: &Predictor, jobs: &Receiver<Job>, batch: usize, metrics: &Metrics) {
    while let Ok(first) = jobs.recv() {
        let mut waiting = vec![first];
        waiting.extend(jobs.try_iter().take(batch.saturating_sub(1)));
        metrics.waiting.sub(waiting.len());
        // Who has gone away needs no answer.
        waiting.retain(|job| !job.answer.is_closed());
        let (photos, askers): (Vec<Crop>, Vec<_>) = waiting.into_iter().map(|job| (job.photo, job.answer)).unzip();
        if photos.is_empty() {
            continue;
        }
        metrics.batch(photos.len());
        match answered(predictor, &photos) {
            Ok(answers) => askers.into_iter().zip(answers).for_each(|(asker, answer)| {
                let _ = asker.send(Ok(answer));
            }),
            Err(problem) => askers.into_iter().for_each(|asker| {
                let _ = asker.send(Err(problem.clone()));
            }),
        }
    }
}

/// libtorch may fail where only it knows why; that must not end the thread.
fn answered(predictor: &Predictor, photos: &[Crop]) -> Result<Vec<Prediction>, Problem> {
    match catch_unwind(AssertUnwindSafe(|| predictor.predict_crops(photos))) {
        Ok(Ok(answers)) => Ok(answers),
        Ok(Err(error)) => {
            tracing::error!("a batch of {} photos has no answer: {error}", photos.len());
            Err(Problem::ours(error.to_string()))
        }
        Err(_) => Err(Problem::ours("the model failed")),
    }
}
