//! The sums between two tasks, as files: tensors as safetensors, counts and digests as JSON.

use super::sums::{ClassSums, FOLDS, Sums};
use crate::engine::{TensorFile, write_tensors};
use crate::error::RunError;
use crate::extractor::Network;
use crate::predictor::{EXTRACTOR, WEIGHTS};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use tch::{Kind, Tensor};

const SUMS: &str = "sums.safetensors";
const CLASSES: &str = "sums.json";
const MEMORY: &str = "memory.json";

/// A line for each class, in the order of the rows of the tensors.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    name: String,
    photos: u64,
    /// The digests of the photos whose features are kept.
    sample: Vec<String>,
}

/// The upper half of a symmetric matrix, `[width·(width + 1)/2]`, row by row.
pub(super) fn upper(matrix: &Tensor) -> Tensor {
    let width = matrix.size()[0];
    let places = Tensor::triu_indices(width, width, 0, (Kind::Int64, tch::Device::Cpu));
    matrix.index(&[Some(places.get(0)), Some(places.get(1))])
}

/// The symmetric matrix of an upper half.
pub(super) fn whole(upper: &Tensor, width: i64) -> Tensor {
    let places = Tensor::triu_indices(width, width, 0, (Kind::Int64, tch::Device::Cpu));
    let matrix = Tensor::zeros([width, width], (upper.kind(), tch::Device::Cpu));
    let matrix = matrix.index_put(&[Some(places.get(0)), Some(places.get(1))], upper, false);
    &matrix + matrix.triu(1).tr()
}

/// Writes all that the next task needs into `folder`.
pub(super) fn save(network: &Network, sums: &Sums, folder: &Path) -> Result<(), RunError> {
    let weights = network.variables().into_iter().map(|(name, tensor)| (format!("{EXTRACTOR}{name}"), tensor));
    write_tensors(&folder.join(WEIGHTS), &weights.collect())?;
    let width = sums.width() as i64;
    let (mut totals, mut sample, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    for (name, class) in sums.classes() {
        totals.push(class.sum());
        sample.extend(class.sample.values().flatten().copied());
        let hex = |photo: &[u8; 32]| blake3::Hash::from_bytes(*photo).to_hex().to_string();
        classes.push(Class { name: name.clone(), photos: class.count, sample: class.sample.keys().map(hex).collect() });
    }
    let mut tensors = BTreeMap::from([
        ("grams".to_owned(), Tensor::stack(&sums.grams().map(|gram| upper(&gram)).collect::<Vec<_>>(), 0)),
        ("sample".to_owned(), Tensor::from_slice(&sample).reshape([-1, width])),
    ]);
    if !totals.is_empty() {
        tensors.insert("sums".to_owned(), Tensor::stack(&totals, 0));
    }
    let own: Option<Vec<Tensor>> = sums.classes().values().map(|class| class.gram().map(upper)).collect();
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        tensors.insert("own grams".to_owned(), Tensor::stack(&own, 0));
    }
    write_tensors(&folder.join(SUMS), &tensors)?;
    // No image is kept, and the audit is to see that.
    let memory = folder.join(MEMORY);
    std::fs::write(&memory, "[]\n").map_err(RunError::io(&memory))?;
    let path = folder.join(CLASSES);
    let text = serde_json::to_string_pretty(&classes).expect("plain data") + "\n";
    std::fs::write(&path, text).map_err(RunError::io(&path))
}

/// Takes over what [`save`] wrote.
pub(super) fn load(network: &mut Network, folder: &Path) -> Result<Sums, RunError> {
    network.read(&TensorFile::open(&folder.join(WEIGHTS))?, EXTRACTOR)?;
    let path = folder.join(CLASSES);
    let damaged = |reason: String| RunError::Damaged { path: path.clone(), line: None, reason };
    let text = crate::disk::read_run_text(&path).map_err(RunError::io(&path))?;
    let classes: Vec<Class> = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    let file = TensorFile::open(&folder.join(SUMS))?;
    let (width, count) = (network.width() as i64, classes.len() as i64);
    let double = |name: &str, shape: &[i64]| -> Result<Tensor, RunError> {
        let tensor = file.read(name, Some(shape))?;
        match tensor.kind() {
            Kind::Double => Ok(tensor),
            other => Err(file.damaged(format!("`{name}`: expected double precision, found {other:?}"))),
        }
    };
    let upper = width * (width + 1) / 2;
    let grams = double("grams", &[FOLDS as i64, upper])?;
    let grams = (0..FOLDS as i64).map(|fold| whole(&grams.get(fold), width)).collect();
    let kept: usize = classes.iter().map(|class| class.sample.len()).sum();
    let sample = file.read("sample", Some(&[kept as i64, width]))?.to_kind(Kind::Float);
    let sample = Vec::<f32>::try_from(sample.view([-1])).map_err(|error| file.damaged(error.to_string()))?;
    let mut sample = sample.chunks(width as usize);
    let own = match file.names()?.iter().any(|name| name == "own grams") {
        true => Some(double("own grams", &[count, upper])?),
        false => None,
    };
    let totals = if classes.is_empty() { None } else { Some(double("sums", &[count, width])?) };
    let mut known = BTreeMap::new();
    for (row, class) in classes.into_iter().enumerate() {
        let photo = |hex: &String| blake3::Hash::from_hex(hex).map(|hash| *hash.as_bytes());
        let photos: Result<Vec<[u8; 32]>, _> = class.sample.iter().map(photo).collect();
        let photos = photos.map_err(|_| damaged(format!("`{}`: expected digests of photos", class.name)))?;
        let rows = photos.into_iter().zip(sample.by_ref().map(<[f32]>::to_vec)).collect();
        let total = totals.as_ref().expect("there are classes").get(row as i64);
        let total = Vec::<f64>::try_from(total).map_err(|error| file.damaged(error.to_string()))?;
        let gram = own.as_ref().map(|own| whole(&own.get(row as i64), width));
        if class.photos == 0
            || known.insert(class.name.clone(), ClassSums::from_parts(class.photos, total, rows, gram)).is_some()
        {
            return Err(damaged(format!("`{}`: expected each class once, with photos", class.name)));
        }
    }
    Ok(Sums::from_parts(width as usize, known, grams))
}
