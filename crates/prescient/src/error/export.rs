//! Models that cannot be exported.

use crate::error::WeightsError;
use std::io;
use std::path::{Path, PathBuf};

/// A model that cannot be exported, or a folder that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A file that cannot be written.
    #[error("`{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A digest that could not be made.
    #[error(transparent)]
    Digest(#[from] WeightsError),
    /// Something is there already.
    #[error("`{path}` exists already{}", if *is_export { "" } else { ", and is not an export" })]
    Exists {
        /// The folder.
        path: PathBuf,
        /// Whether it is an earlier export.
        is_export: bool,
    },
    /// A path that ends in `..` or `/`.
    #[error("`{path}` has no name for a new folder")]
    NoName {
        /// As written.
        path: PathBuf,
    },
    /// A TorchScript extractor, for which nobody but libtorch knows what it computes.
    #[error("the extractor of this model is a TorchScript file, and cannot be written as ONNX")]
    NoOnnx,
    /// The same.
    #[error(
        "the extractor of this model is a TorchScript file: it is a program, and not weights that safetensors could hold"
    )]
    NoWeights,
    /// libtorch refused.
    #[error("libtorch failed: {0}")]
    Torch(#[from] torch_shim::ShimError),
}

impl ExportError {
    /// A file that cannot be written.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { .. } | Self::Torch(_) => return None,
            Self::Digest(error) => return error.hint(),
            Self::Exists { is_export: true, .. } => {
                "choose another folder with `--out`, or replace it: `--force`".into()
            }
            Self::Exists { is_export: false, .. } => {
                "choose another folder with `--out`: only an earlier export is ever replaced".into()
            }
            Self::NoName { .. } => "name a folder that is not there yet: `--out exported`".into(),
            Self::NoOnnx => {
                "export it with `--to torchscript`; for ONNX, write the network from PyTorch with `torch.onnx.export`"
                    .into()
            }
            Self::NoWeights => "export it with `--to torchscript`".into(),
        })
    }
}
