//! One process fits, the others take it over: what was chosen on the way must be the same in all.

use super::fit::Fitted;
use crate::engine::{Processes, TensorFile, tensor_bytes};
use crate::error::{LearnError, ProcessError};
use crate::evaluation::Worth;
use crate::predictor::Novelty;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use tch::Tensor;

/// What is not a tensor.
#[derive(Serialize, Deserialize)]
struct About {
    scale: f64,
    novelty: Option<Novelty>,
    offset: f64,
    worth: Worth,
    noise: f64,
    rows: HashMap<String, i64>,
}

/// What process 0 fits, in all of them.
pub(super) fn fitted(
    processes: &Processes,
    fit: impl FnOnce() -> Result<Fitted, LearnError>,
) -> Result<Fitted, LearnError> {
    if processes.count() == 1 {
        return fit();
    }
    let own = if processes.leads() { Some(fit()?) } else { None };
    let bytes = processes.broadcast_bytes(own.as_ref().map(to_bytes).unwrap_or_default())?;
    match own {
        Some(own) => Ok(own),
        None => from_bytes(&bytes).map_err(|reason| ProcessError::Broken { doing: "sharing a fit", reason }.into()),
    }
}

fn to_bytes(fitted: &Fitted) -> Vec<u8> {
    let tensors =
        [("centre", &fitted.centre), ("whiten", &fitted.whiten), ("means", &fitted.means), ("lift", &fitted.lift)];
    let tensors = tensors.map(|(name, tensor)| (name.to_owned(), tensor.shallow_clone()));
    let tensors = tensor_bytes(&BTreeMap::from(tensors));
    let about = About {
        scale: fitted.scale,
        novelty: fitted.novelty,
        offset: fitted.offset,
        worth: fitted.worth.clone(),
        noise: fitted.noise,
        rows: fitted.rows.clone(),
    };
    let length = (tensors.len() as u64).to_le_bytes();
    [tensors, serde_json::to_vec(&about).expect("plain data"), length.to_vec()].concat()
}

fn from_bytes(bytes: &[u8]) -> Result<Fitted, String> {
    let (rest, length) = bytes.split_last_chunk::<8>().ok_or("nothing came")?;
    let (tensors, about) =
        rest.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or("less came than was sent")?;
    let about: About = serde_json::from_slice(about).map_err(|error| error.to_string())?;
    let file = TensorFile::from_bytes(Path::new("process 0"), tensors.to_vec()).map_err(|error| error.to_string())?;
    let read = |name: &str| -> Result<Tensor, String> { file.read(name, None).map_err(|error| error.to_string()) };
    let About { scale, novelty, offset, worth, noise, rows } = about;
    let (centre, whiten, means, lift) = (read("centre")?, read("whiten")?, read("means")?, read("lift")?);
    Ok(Fitted { scale, novelty, offset, worth, noise, rows, centre, whiten, means, lift })
}
