//! One `.safetensors` with all of it.
//!
//! ```text
//! train.features  test.features      [rows, width]
//! train.labels    test.labels        [rows], numbers from 0
//! classes                            in the file's metadata, a class a line; else `classes.txt` beside the file
//! ```

use crate::data::datasets::features::table::{Names, Table, Values};
use crate::data::datasets::features::{Found, fault, named};
use crate::error::DataError;
use mapped::Mapped;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::path::Path;

const HINT: &str = "a file of features has the tensors `train.features`, `train.labels`, `test.features` and `test.labels`; \
                    docs/guide/data.md shows how to write one";

pub(crate) fn read(path: &Path) -> Result<Found, DataError> {
    let bytes = Mapped::open(path).map_err(DataError::io(path))?;
    let damaged = |error: safetensors::SafeTensorError| {
        let hint = "the file may be cut short or of another kind: write it again";
        fault(path, "a .safetensors file".to_owned(), format!("one that cannot be read: {error}"), hint)
    };
    let tensors = SafeTensors::deserialize(&bytes).map_err(damaged)?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(damaged)?;
    let written = header.metadata().as_ref().and_then(|metadata| metadata.get("classes"));
    let classes = match written {
        Some(text) => text.lines().map(|line| line.trim().to_owned()).collect(),
        None => named::lines(&path.with_file_name("classes.txt"))?,
    };
    let classes = named::list(classes, path)?;
    let [train, test] = ["train", "test"].map(|name| side(&tensors, name, &classes, path));
    Ok(Found { train: train?, test: test?, classes: Some(classes), attributes: None, proposed: None })
}

fn side(tensors: &SafeTensors<'_>, side: &'static str, names: &[String], path: &Path) -> Result<Table, DataError> {
    let tensor = |what: &str| {
        let name = format!("{side}.{what}");
        tensors.tensor(&name).map_err(|_| {
            let mut names: Vec<String> = tensors.names().iter().map(|name| format!("`{name}`")).collect();
            names.sort();
            let there = names.join(", ");
            fault(path, format!("a tensor `{name}`"), if there.is_empty() { "none".to_owned() } else { there }, HINT)
        })
    };
    let (features, labels) = (tensor("features")?, tensor("labels")?);
    let &[_, width] = features.shape() else {
        let expected = format!("`{side}.features` of two dimensions, [rows, width]");
        return Err(fault(path, expected, format!("{:?}", features.shape()), HINT));
    };
    let values: Vec<f32> = numbers(&features, path)?.into_iter().map(|value| value as f32).collect();
    let classes = named::numbered(&numbers(&labels, path)?, 0, names, path)?;
    let shape = [values.len() / width.max(1), width];
    Table::new(path, Names::Side(side), shape, Values::InMemory(values), classes)
}

/// The numbers of a tensor, row by row.
fn numbers(tensor: &TensorView<'_>, path: &Path) -> Result<Vec<f64>, DataError> {
    fn each<const N: usize>(data: &[u8], value: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        data.as_chunks::<N>().0.iter().map(|bytes| value(*bytes)).collect()
    }
    let data = tensor.data();
    Ok(match tensor.dtype() {
        Dtype::F16 => each(data, |bytes| half::f16::from_le_bytes(bytes).to_f64()),
        Dtype::BF16 => each(data, |bytes| half::bf16::from_le_bytes(bytes).to_f64()),
        Dtype::F32 => each(data, |bytes| f64::from(f32::from_le_bytes(bytes))),
        Dtype::F64 => each(data, f64::from_le_bytes),
        Dtype::U8 => each(data, |[byte]| f64::from(byte)),
        Dtype::I8 => each(data, |bytes| f64::from(i8::from_le_bytes(bytes))),
        Dtype::I16 => each(data, |bytes| f64::from(i16::from_le_bytes(bytes))),
        Dtype::U16 => each(data, |bytes| f64::from(u16::from_le_bytes(bytes))),
        Dtype::I32 => each(data, |bytes| f64::from(i32::from_le_bytes(bytes))),
        Dtype::U32 => each(data, |bytes| f64::from(u32::from_le_bytes(bytes))),
        Dtype::I64 => each(data, |bytes| i64::from_le_bytes(bytes) as f64),
        Dtype::U64 => each(data, |bytes| u64::from_le_bytes(bytes) as f64),
        other => return Err(fault(path, "floats or integers".to_owned(), format!("{other:?}"), HINT)),
    })
}
