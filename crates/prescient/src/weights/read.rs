//! Tensors by name from a file of weights, whatever its format.

use crate::disk;
use crate::error::WeightsError;
use crate::weights::pickle::{Fault, Numbers};
use crate::weights::pth;
use safetensors::tensor::{Dtype, SafeTensors};
use std::collections::BTreeMap;
use std::path::Path;

/// A tensor in single precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its shape.
    pub shape: Vec<i64>,
    /// Its numbers, row by row.
    pub values: Vec<f32>,
}

/// The tensors of a `.safetensors` file or of a `.pth` file, told apart by their first bytes; whole numbers are left out.
/// Nothing in the file is executed.
pub fn read(path: &Path) -> Result<BTreeMap<String, Stored>, WeightsError> {
    // The largest that we know of, ResNet50's, has 98 MiB.
    let bytes = disk::read(path, disk::IMAGE).map_err(WeightsError::io(path))?;
    parsed(&bytes).map_err(|fault| match fault {
        Fault::Malformed(reason) => WeightsError::Malformed { path: path.to_owned(), reason },
        Fault::Code(global) => WeightsError::Code { path: path.to_owned(), global },
    })
}

pub(super) fn parsed(bytes: &[u8]) -> Result<BTreeMap<String, Stored>, Fault> {
    match bytes {
        [b'P', b'K', 3, 4, ..] => pth::zipped(bytes),
        [0x80, 1..=5, ..] => pth::old(bytes),
        _ => safetensors(bytes),
    }
}

fn safetensors(bytes: &[u8]) -> Result<BTreeMap<String, Stored>, Fault> {
    let file = SafeTensors::deserialize(bytes)
        .map_err(|error| Fault::Malformed(format!("it is neither a file of `torch.save` nor safetensors: {error}")))?;
    let tensors = file.tensors().into_iter().filter_map(|(name, view)| {
        let numbers = match view.dtype() {
            Dtype::F16 => Numbers::F16,
            Dtype::BF16 => Numbers::Bf16,
            Dtype::F32 => Numbers::F32,
            Dtype::F64 => Numbers::F64,
            _ => return None,
        };
        let shape = view.shape().iter().map(|&n| n as i64).collect();
        let values = view.data().chunks_exact(numbers.bytes()).map(|bytes| pth::number(numbers, bytes)).collect();
        Some((name.to_string(), Stored { shape, values }))
    });
    Ok(tensors.collect())
}
