//! What the service answers with. `openapi.rs` describes these types, and a test holds real answers to it.

use super::problem::Told;
use prescient::predictor::Guess;
use prescient::{Prediction, Predictor};
use serde::Serialize;

/// Which model answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Model {
    /// The name of its folder.
    pub(super) name: String,
    /// The version of a project, or the task of a run after which it was saved.
    pub(super) version: u64,
}

/// A class that the model can answer with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Class {
    pub(super) class: String,
    /// Whether the model has learned from photos of it; else it guesses from a description.
    pub(super) seen: bool,
}

/// `GET /classes`.
#[derive(Debug, Serialize)]
pub(super) struct Classes {
    pub(super) model: Model,
    pub(super) classes: Vec<Class>,
}

/// `GET /health`.
#[derive(Debug, Serialize)]
pub(super) struct Health {
    pub(super) status: &'static str,
    pub(super) model: Model,
    pub(super) classes: usize,
    pub(super) seen: usize,
    /// Whether `POST /learn` is open to who has the token.
    pub(super) learns: bool,
    /// Photos that wait for the model.
    pub(super) waiting: usize,
    pub(super) uptime_seconds: u64,
    /// Why a newer version could not be loaded; the version before answers then.
    pub(super) reload_error: Option<String>,
}

/// `POST /predict`.
#[derive(Debug, Serialize)]
pub(super) struct Answers {
    pub(super) model: Model,
    /// In the order in which they were sent.
    pub(super) photos: Vec<Photo>,
}

/// One photo of a request: answered, or told why not.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Photo {
    Answered(Answered),
    Refused {
        photo: String,
        #[serde(flatten)]
        told: Told,
    },
}

/// The answer for one photo.
#[derive(Debug, Serialize)]
pub(super) struct Answered {
    /// The name of its file.
    photo: String,
    /// The most probable classes, the best first.
    predictions: Vec<Probable>,
    /// The classes that come nearest, of each kind by itself.
    nearest: Nearest,
}

#[derive(Debug, Serialize)]
struct Nearest {
    /// With photos.
    seen: Vec<Probable>,
    /// Known from a description alone.
    described: Vec<Probable>,
}

#[derive(Clone, Debug, Serialize)]
struct Probable {
    class: String,
    probability: f32,
    seen: bool,
}

/// `POST /learn`.
#[derive(Debug, Serialize)]
pub(super) struct Learned {
    /// The version that has learned from the photos, and answers.
    pub(super) model: Model,
    pub(super) class: String,
    /// How many were sent.
    pub(super) photos: usize,
}

/// As many classes of each kind are named as nearest.
const NEAREST: usize = 3;

impl Answered {
    pub(super) fn new(photo: String, prediction: &Prediction, classes: &[Class], top: usize) -> Self {
        let probable = |guess: &Guess| {
            let Class { class, seen } = &classes[guess.slot.index()];
            Probable { class: class.clone(), probability: guess.probability, seen: *seen }
        };
        let nearest = |seen: bool| {
            let of_kind = prediction.guesses.iter().filter(|guess| classes[guess.slot.index()].seen == seen);
            of_kind.take(NEAREST).map(probable).collect()
        };
        Self {
            photo,
            predictions: prediction.guesses.iter().take(top).map(probable).collect(),
            nearest: Nearest { seen: nearest(true), described: nearest(false) },
        }
    }
}

/// The classes that compete, in order of arrival.
pub(super) fn classes(predictor: &Predictor) -> Vec<Class> {
    let compete = predictor.seen().iter().chain(predictor.future().iter());
    compete.map(|slot| Class { class: predictor.class(slot).into(), seen: predictor.is_seen(slot) }).collect()
}
