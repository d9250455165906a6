//! Tensors by name in a file: safetensors, in single precision, or double where a tensor has it. Read without executing
//! anything.

use crate::disk;
use crate::error::RunError;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tch::{Device, Kind, Tensor};

/// Writes `tensors` to `path`, sorted by name.
pub fn write_tensors(path: &Path, tensors: &BTreeMap<String, Tensor>) -> Result<(), RunError> {
    std::fs::write(path, tensor_bytes(tensors)).map_err(RunError::io(path))
}

/// The bytes of such a file.
pub(crate) fn tensor_bytes(tensors: &BTreeMap<String, Tensor>) -> Vec<u8> {
    let plain: BTreeMap<&String, (Dtype, Vec<usize>, Vec<u8>)> =
        tensors.iter().map(|(name, tensor)| (name, bytes(tensor))).collect();
    let views: BTreeMap<&String, TensorView<'_>> = plain
        .iter()
        .map(|(name, (dtype, shape, data))| {
            (*name, TensorView::new(*dtype, shape.clone(), data).expect("bytes of this very shape"))
        })
        .collect();
    safetensors::serialize(views, None).expect("tensors that were just viewed")
}

/// The tensors of a file.
pub struct TensorFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl TensorFile {
    /// Reads the file.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        Self::from_bytes(path, disk::read(path, disk::RUN).map_err(RunError::io(path))?)
    }

    /// The same from bytes that were read already; `path` is named in errors.
    pub(crate) fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, RunError> {
        let file = Self { path: path.to_owned(), bytes };
        file.tensors()?;
        Ok(file)
    }

    /// A digest of all of it.
    pub fn digest(&self) -> String {
        disk::digest(&self.bytes)
    }

    /// The names of its tensors.
    pub fn names(&self) -> Result<Vec<String>, RunError> {
        Ok(self.tensors()?.names().into_iter().map(ToString::to_string).collect())
    }

    /// The tensor `name`, which must have the `shape` where one is given.
    pub fn read(&self, name: &str, shape: Option<&[i64]>) -> Result<Tensor, RunError> {
        let tensors = self.tensors()?;
        let view =
            tensors.tensor(name).map_err(|_| self.damaged(format!("expected the tensor `{name}`, found none")))?;
        let found: Vec<i64> = view.shape().iter().map(|&n| n as i64).collect();
        match shape {
            Some(shape) if shape != found => {
                Err(self.damaged(format!("`{name}`: expected the shape {shape:?}, found {found:?}")))
            }
            _ => match view.dtype() {
                Dtype::F32 => Ok(Tensor::from_data_size(view.data(), &found, Kind::Float)),
                Dtype::F64 => Ok(Tensor::from_data_size(view.data(), &found, Kind::Double)),
                other => Err(self.damaged(format!("`{name}`: expected f32 or f64, found {other:?}"))),
            },
        }
    }

    /// The tensor `name` in single precision: rows of `width` numbers, and as many rows as `count` says where it does.
    pub fn rows(&self, name: &str, count: Option<usize>, width: usize) -> Result<Tensor, RunError> {
        let tensor = self.read(name, None)?;
        match *tensor.size() {
            [rows, numbers] if numbers == width as i64 && count.is_none_or(|count| rows == count as i64) => {
                Ok(tensor.to_kind(Kind::Float))
            }
            ref found => {
                let count = count.map_or_else(String::new, |count| format!("{count} "));
                Err(self.damaged(format!("`{name}`: expected {count}rows of {width} numbers, found {found:?}")))
            }
        }
    }

    /// An error that names the file.
    pub fn damaged(&self, reason: String) -> RunError {
        RunError::Damaged { path: self.path.clone(), line: None, reason }
    }

    fn tensors(&self) -> Result<SafeTensors<'_>, RunError> {
        SafeTensors::deserialize(&self.bytes).map_err(|error| self.damaged(error.to_string()))
    }
}

/// Kind, shape and bytes of a tensor: in double precision as it is, anything else in single precision.
fn bytes(tensor: &Tensor) -> (Dtype, Vec<usize>, Vec<u8>) {
    let (kind, dtype, size) = match tensor.kind() {
        Kind::Double => (Kind::Double, Dtype::F64, 8),
        _ => (Kind::Float, Dtype::F32, 4),
    };
    let tensor = tensor.detach().to_device(Device::Cpu).to_kind(kind).contiguous();
    let shape = tensor.size().iter().map(|&n| n as usize).collect();
    let mut data = vec![0; tensor.numel() * size];
    tensor.copy_data_u8(&mut data, tensor.numel());
    (dtype, shape, data)
}
