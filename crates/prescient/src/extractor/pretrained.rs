//! Weights that were trained elsewhere: which, what images go through before them, and how they get into a network.

use crate::data::{Normalization, resolve};
use crate::error::WeightsError;
use crate::extractor::{ExtractorKind, efficientnet_lite};
use crate::weights::{self, Stored};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tch::{Tensor, no_grad};

/// The word for a network's published weights.
pub const PUBLISHED: &str = "imagenet";

/// What images go through before a pretrained network: it belongs to the weights, not to the dataset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PretrainedInput {
    /// The side of the square that it takes: the shorter side of an image is scaled to it, bilinearly, and the middle cut out.
    pub size: u32,
    /// Mean and deviation of the pixels.
    pub normalization: Normalization,
}

/// For ImageNet: the whole photo. torchvision scales to 256 and cuts 224 out, which loses an eighth of each side: on photos that
/// show little more than the animal that costs half a point (`awa43`).
pub const IMAGENET: PretrainedInput = PretrainedInput {
    size: 224,
    normalization: Normalization { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
};

/// The same where a pixel of 0 to 255 becomes (pixel − 127) / 128.
pub(super) const TENSORFLOW: PretrainedInput =
    PretrainedInput { size: 224, normalization: Normalization { mean: [127.0 / 255.0; 3], std: [128.0 / 255.0; 3] } };

/// Which weights a run began with: its record names them, for they may have met the classes that are to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// `mobilenet-v2, imagenet`, or the name of a file.
    pub name: String,
    /// The SHA-256 of the file.
    pub digest: String,
}

impl ExtractorKind {
    /// The weights to begin with, as the recipe names them.
    fn weights(&self) -> Option<&str> {
        match self {
            ExtractorKind::ResNet18(settings) => settings.weights.as_deref(),
            ExtractorKind::ResNet50(settings) => settings.weights.as_deref(),
            ExtractorKind::MobileNetV2(settings) => settings.weights.as_deref(),
            ExtractorKind::EfficientNetLite0(settings) => settings.weights.as_deref(),
            _ => None,
        }
    }

    /// Whether it begins with weights that were trained elsewhere.
    pub fn is_pretrained(&self) -> bool {
        self.weights().is_some() || matches!(self, ExtractorKind::TorchScript(_))
    }

    /// Whether it never learns: pretrained, and not to be trained on.
    pub fn is_frozen(&self) -> bool {
        let freeze = match self {
            ExtractorKind::ResNet18(settings) => settings.freeze,
            ExtractorKind::ResNet50(settings) => settings.freeze,
            ExtractorKind::MobileNetV2(settings) => settings.freeze,
            ExtractorKind::EfficientNetLite0(settings) => settings.freeze,
            _ => None,
        };
        self.is_pretrained() && freeze.unwrap_or(true)
    }

    /// What images go through before it, where that belongs to its weights.
    pub fn input(&self) -> Option<PretrainedInput> {
        match self {
            ExtractorKind::TorchScript(settings) => Some(settings.input()),
            ExtractorKind::EfficientNetLite0(settings) => settings.weights.as_ref().map(|_| TENSORFLOW),
            kind => kind.weights().map(|_| IMAGENET),
        }
    }

    /// The file that it begins with, and its digest. Published weights are checked.
    fn source(&self) -> Result<Option<(PathBuf, Option<String>)>, WeightsError> {
        match (self, self.weights()) {
            (ExtractorKind::TorchScript(settings), _) => Ok(Some((settings.file(), None))),
            (_, Some(PUBLISHED)) => {
                let found = weights::find(self.name())?;
                Ok(Some((found.file(), Some(found.digest))))
            }
            (_, Some(path)) => Ok(Some((resolve(Path::new(path)), None))),
            (_, None) => Ok(None),
        }
    }

    /// Which weights it begins with, for a record.
    pub fn provenance(&self) -> Result<Option<Provenance>, WeightsError> {
        let Some((path, digest)) = self.source()? else { return Ok(None) };
        Ok(Some(match digest {
            Some(digest) => Provenance { name: format!("{}, {PUBLISHED}", self.name()), digest },
            None => {
                let file =
                    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
                Provenance { name: format!("{}, {file}", self.name()), digest: weights::sha256(&path)? }
            }
        }))
    }

    /// Puts the weights that it begins with into `variables`.
    pub(crate) fn load_into(&self, variables: BTreeMap<String, Tensor>) -> Result<(), WeightsError> {
        if self.weights().is_none() {
            return Ok(());
        }
        let Some((path, _)) = self.source()? else { return Ok(()) };
        let mut stored = weights::read(&path)?;
        if let ExtractorKind::EfficientNetLite0(_) = self {
            let shapes = variables.iter().map(|(name, variable)| (name.clone(), variable.size())).collect();
            stored = efficientnet_lite::adapted(stored, &shapes);
        }
        let differences = differences(&variables, &stored);
        if let [first, ..] = differences.as_slice() {
            let more = match differences.len() {
                1 => String::new(),
                count @ 2..=3 => format!("; {}", differences[1..count].join("; ")),
                count => format!("; {}; and {} more", differences[1..3].join("; "), count - 3),
            };
            return Err(WeightsError::OtherNetwork { path, network: self.name(), reason: format!("{first}{more}") });
        }
        for (name, mut variable) in variables {
            let Stored { shape, values } = &stored[&name];
            no_grad(|| variable.copy_(&Tensor::from_slice(values).reshape(shape)));
        }
        Ok(())
    }
}

/// Parts of networks that give answers for ImageNet's classes, and counters: a feature needs neither.
fn needless(name: &str) -> bool {
    ["classifier.", "fc.", "_fc."].iter().any(|part| name.starts_with(part)) || name.ends_with("num_batches_tracked")
}

/// What keeps tensors of a file from being a network's weights.
fn differences(variables: &BTreeMap<String, Tensor>, stored: &BTreeMap<String, Stored>) -> Vec<String> {
    let wanted = variables.iter().filter_map(|(name, variable)| match stored.get(name) {
        None => Some(format!("`{name}` is missing")),
        Some(found) if found.shape != variable.size() => {
            Some(format!("`{name}`: expected the shape {:?}, found {:?}", variable.size(), found.shape))
        }
        Some(_) => None,
    });
    let unknown = stored.keys().filter(|name| !variables.contains_key(*name) && !needless(name));
    wanted.chain(unknown.map(|name| format!("`{name}` is not known"))).collect()
}
