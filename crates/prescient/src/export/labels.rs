//! `labels.json` and `preprocessing.json`: what places of an answer mean, and what photos go through before.

use super::Background;
use super::model::Model;
use crate::data::Channels;
use serde::Serialize;
use serde_json::{Value, json};

/// A class that can be the answer. Its place in the list is its place among probabilities and scores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Label {
    pub(super) class: String,
    /// Whether photos of it were learned from; else it is guessed from its description.
    pub(super) seen: bool,
    /// How many, where that is known.
    pub(super) photos: Option<usize>,
}

/// The classes of a model, in order.
pub(super) fn labels(model: &Model, background: &Background) -> Vec<Label> {
    let label = |(slot, class): (usize, &String)| Label {
        class: class.clone(),
        seen: slot < model.about.seen,
        photos: background.photos.as_ref().map(|photos| photos.get(class).copied().unwrap_or(0)),
    };
    model.about.classes.iter().take(model.classes()).enumerate().map(label).collect()
}

/// What images go through, for programs; the model itself does the normalization.
pub(super) fn preprocessing(model: &Model) -> Value {
    let input = &model.about.input;
    let (size, count) = (input.size, input.channels.count());
    if input.channels == Channels::Features {
        return json!({
            "input": "rows", "dtype": "float32", "shape": ["batch", size], "size": size, "normalization": {},
        });
    }
    json!({
        "input": "pixels",
        "dtype": "uint8",
        "shape": ["batch", size, size, count],
        "channels": if count == 3 { "rgb" } else { "grey" },
        "size": size,
        "resize": input.resize,
        "steps": [
            "turn the photo as its EXIF orientation says",
            "blend what is transparent onto white",
            "cut out the middle square: side = min(width, height) * size / resize, not rounded",
            "scale it to size x size: triangle filter with antialiasing, as Pillow's resize(BILINEAR, box=...)",
        ],
        "normalization": {
            "where": "inside the model",
            "mean": input.normalization.mean[..count],
            "std": input.normalization.std[..count],
        },
    })
}
