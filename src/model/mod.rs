//! What learns: an extractor `f` and a classifier `clf`.

mod adam;
pub mod classifier;
mod compute;
mod draw;
pub mod extractor;
pub mod generator;
mod network;
pub mod norm;
mod recording;

pub use adam::Adam;
pub use classifier::{CosineClassifier, Similarity};
pub use compute::{Compute, Layout, Precision, has_kernels, has_kernels_on};
pub use draw::drawn;
pub use extractor::{Backbone, Extractor, Representation};
pub use generator::{FeatureBank, Generator, GeneratorKind, Scaler};
pub use network::Network;
pub use recording::{recorded, repeat};

use serde::{Deserialize, Serialize};

/// What the model is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// `f`.
    pub backbone: Backbone,
    /// How features and proxies are compared.
    pub similarity: Similarity,
    /// Whether the scale `η` learns; `false` is the paper's Eq. 1 to the letter.
    pub learned_scale: bool,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self { backbone: Backbone::default(), similarity: Similarity::default(), learned_scale: true }
    }
}
