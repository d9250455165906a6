//! The sums of several processes as one: each has looked at its own photos.
//!
//! ```text
//! counts [classes] | sums [classes, width] | products, fold by fold, their upper halves [folds, width·(width + 1)/2]
//! ```
//!
//! are added up in one go, in double precision. The few features that each keeps of a class are gathered; those with the
//! smallest digests stay, whoever had them.

use super::checkpoint::{upper, whole};
use super::sums::{ClassSums, FOLDS, Sums};
use crate::engine::Processes;
use crate::error::{LearnError, ProcessError};
use std::collections::BTreeMap;
use tch::{Device, Kind, Tensor};

const DIGEST: usize = 32;

/// What all processes have of `classes`, which are the same in all.
pub(super) fn merged(processes: &Processes, part: Sums, classes: &[String]) -> Result<Sums, LearnError> {
    if processes.count() == 1 {
        return Ok(part);
    }
    let (width, rows) = (part.width(), classes.len());
    let buffer = packed(&part, classes);
    processes.sum(&buffer)?;
    let counts = Vec::<f64>::try_from(buffer.narrow(0, 0, rows as i64))?;
    let sums = buffer.narrow(0, rows as i64, (rows * width) as i64).reshape([-1, width as i64]);
    let after = (rows + rows * width) as i64;
    let grams = buffer.narrow(0, after, buffer.size()[0] - after).reshape([FOLDS as i64, -1]);
    let mut samples: Vec<BTreeMap<[u8; DIGEST], Vec<f32>>> = vec![BTreeMap::new(); rows];
    for bytes in processes.gather_bytes(sampled(&part, classes))? {
        for record in bytes.chunks_exact(4 + DIGEST + 4 * width) {
            let (class, rest) = record.split_at(4);
            let (photo, feature) = rest.split_at(DIGEST);
            let class = u32::from_le_bytes(class.try_into().expect("four bytes")) as usize;
            let photo: [u8; DIGEST] = photo.try_into().expect("a digest");
            let feature = feature.chunks_exact(4).map(|n| f32::from_le_bytes(n.try_into().expect("four bytes")));
            let of_class = samples.get_mut(class).ok_or_else(|| ProcessError::Broken {
                doing: "gathering features",
                reason: format!("expected a class below {rows}, found {class}"),
            })?;
            of_class.insert(photo, feature.collect());
        }
    }
    let known = classes.iter().zip(counts).zip(samples).enumerate().filter(|(_, ((_, count), _))| *count > 0.0);
    let known = known.map(|(row, ((name, count), sample))| {
        let sum = Vec::<f64>::try_from(sums.get(row as i64))?;
        Ok((name.clone(), ClassSums::from_parts(count as u64, sum, sample, None)))
    });
    let known: Result<BTreeMap<_, _>, tch::TchError> = known.collect();
    let grams = (0..FOLDS as i64).map(|fold| whole(&grams.get(fold), width as i64)).collect();
    Ok(Sums::from_parts(width, known?, grams))
}

/// All that is added up, as one row of numbers.
fn packed(part: &Sums, classes: &[String]) -> Tensor {
    let width = part.width() as i64;
    let none = || Tensor::zeros([width], (Kind::Double, Device::Cpu));
    let counts: Vec<f64> = classes.iter().map(|name| part.classes().get(name).map_or(0, |c| c.count) as f64).collect();
    let sum = |name: &String| part.classes().get(name).map_or_else(none, ClassSums::sum);
    let mut pieces = vec![Tensor::from_slice(&counts)];
    pieces.extend(classes.iter().map(sum));
    pieces.extend(part.grams().map(|gram| upper(&gram)));
    Tensor::cat(&pieces, 0)
}

/// Class, digest and numbers of each feature that is kept, one after the other.
fn sampled(part: &Sums, classes: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (row, name) in classes.iter().enumerate() {
        for (photo, feature) in part.classes().get(name).into_iter().flat_map(|class| &class.sample) {
            bytes.extend((row as u32).to_le_bytes());
            bytes.extend(photo);
            bytes.extend(feature.iter().flat_map(|number| number.to_le_bytes()));
        }
    }
    bytes
}
