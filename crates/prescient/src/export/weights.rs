//! safetensors: the weights under the names that they have in PyTorch, and a list of what is done with them.

use super::model::{Body, Model};
use crate::engine::tensor_bytes;
use crate::error::ExportError;
use crate::extractor::layers::{EPSILON, Step};
use crate::predictor::Novelty;
use serde::Serialize;
use std::collections::BTreeMap;

/// `model.json`.
#[derive(Serialize)]
struct Description<'a> {
    /// The kind of network, as a recipe names it.
    extractor: &'a str,
    /// The length of a feature.
    width: i64,
    /// What it computes: see `predict.py`.
    steps: &'a [Step],
    /// What BatchNorm adds to a variance.
    norm_epsilon: f64,
    /// Whether features are the mean over an image and its mirror image.
    mirrored: bool,
    /// What scores are multiplied by before the softmax.
    scale: f64,
    /// How classes without photos get their probabilities, where that is in a way of their own: see `predict.py`.
    #[serde(skip_serializing_if = "Option::is_none")]
    novelty: Option<Novelty>,
}

/// The bytes of `model.safetensors`, and the text of `model.json`.
pub(super) fn files(model: &Model) -> Result<(Vec<u8>, String), ExportError> {
    let Body::Steps(layers, variables) = &model.body else { return Err(ExportError::NoWeights) };
    let mut tensors: BTreeMap<String, tch::Tensor> =
        variables.iter().map(|(name, tensor)| (format!("extractor.{name}"), tensor.shallow_clone())).collect();
    let head = [
        ("weight", Some(&model.head.weight)),
        ("bias", Some(&model.head.bias)),
        ("centre", model.head.centre.as_ref()),
        ("offset", model.novelty.as_ref().map(|apart| &apart.offset)),
    ];
    let head = head.into_iter().filter_map(|(name, tensor)| Some((format!("head.{name}"), tensor?.shallow_clone())));
    tensors.extend(head);
    let description = Description {
        extractor: model.about.extractor.name(),
        width: model.width,
        steps: layers.steps(),
        norm_epsilon: EPSILON,
        mirrored: model.mirrored,
        scale: f64::from(model.about.scale),
        novelty: model.novelty.as_ref().map(|apart| apart.novelty),
    };
    Ok((tensor_bytes(&tensors), super::json(&description)))
}
