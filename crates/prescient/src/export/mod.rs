//! A model for other programs: one file from pixels to probabilities, and a folder around it that explains itself.
//!
//! ```text
//! DIR/model.onnx | model.pt | model.safetensors + model.json
//!     labels.json          the classes in order: seen or not, and from how many photos
//!     preprocessing.json   what photos go through before
//!     predict.py           an example that does all of it
//!     README.md            the model card
//!     SHA256SUMS           for `sha256sum -c`
//! ```
//!
//! Why the formats are written as they are is in ADR 21.

mod background;
mod card;
mod example;
mod folder;
mod labels;
mod model;
#[cfg(feature = "onnx")]
mod onnx;
mod script;
#[cfg(test)]
mod testing;
mod weights;

pub use background::{Background, Measured};

use crate::error::ExportError;
use crate::predictor::Predictor;
use folder::Folder;
use model::Model;
use serde::Serialize;
use std::path::Path;

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One graph that onnxruntime and many others run.
    #[cfg(feature = "onnx")]
    Onnx,
    /// A module for `torch.jit.load`.
    TorchScript,
    /// The weights under PyTorch's names, and the steps as JSON.
    Safetensors,
}

impl Format {
    /// The file with the model.
    pub fn file(self) -> &'static str {
        match self {
            #[cfg(feature = "onnx")]
            Format::Onnx => "model.onnx",
            Format::TorchScript => "model.pt",
            Format::Safetensors => "model.safetensors",
        }
    }
}

/// Writes `predictor` to the folder `out`, which appears when it is whole. Answers its files with their lengths.
///
/// What is at `out` already stays, unless it is an earlier export and `force` says that it can go.
///
/// ```no_run
/// use prescient::Predictor;
/// use prescient::export::{Background, Format, export};
/// use std::path::Path;
///
/// let run = Path::new("runs/mine-seed1");
/// let predictor = Predictor::load(run)?;
/// let background = Background::of(run, predictor.about().task)?;
/// export(&predictor, &background, Format::TorchScript, Path::new("mine-pt"), false)?;
/// # Ok::<(), prescient::error::Error>(())
/// ```
pub fn export(
    predictor: &Predictor,
    background: &Background,
    format: Format,
    out: &Path,
    force: bool,
) -> Result<Vec<(String, u64)>, ExportError> {
    let model = Model::of(predictor);
    let folder = Folder::create(out, force)?;
    let labels = labels::labels(&model, background);
    match format {
        #[cfg(feature = "onnx")]
        Format::Onnx => folder.write(format.file(), onnx::bytes(&model, &json(&labels))?)?,
        Format::TorchScript => script::write(&model, &folder.file(format.file()))?,
        Format::Safetensors => {
            let (weights, description) = weights::files(&model)?;
            folder.write(format.file(), weights)?;
            folder.write("model.json", description)?;
        }
    }
    folder.write("labels.json", json(&labels))?;
    folder.write("preprocessing.json", json(&labels::preprocessing(&model)))?;
    folder.write("predict.py", example::script(&model, format))?;
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    folder.write("README.md", card::card(&name, &model, background, &labels, format))?;
    folder.finish()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("plain data") + "\n"
}
