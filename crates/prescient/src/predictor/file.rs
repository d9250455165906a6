//! A predictor on disk, in the folder of its task: `predictor.json`, and `predictor.safetensors` with what scores are made from. The
//! weights of `f` are those of the checkpoint beside it, `weights.safetensors`, and not written twice.

use super::place::{find, version_of};
use super::{About, Head, Predictor};
use crate::disk;
use crate::engine::{Compute, TensorFile, write_tensors};
use crate::error::RunError;
use crate::extractor::Network;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tch::Device;

pub(super) const ABOUT: &str = "predictor.json";
const HEAD: &str = "predictor.safetensors";
/// The checkpoint that has the weights of `f`.
pub(crate) const WEIGHTS: &str = "weights.safetensors";
/// What the names of the weights of `f` begin with there.
pub(crate) const EXTRACTOR: &str = "extractor.";

/// `predictor.json`: it goes with two other files, and may be shipped with them without the record.
#[derive(Serialize)]
struct Saved<'a> {
    #[serde(flatten)]
    about: &'a About,
    /// The digests of the other two.
    files: BTreeMap<String, String>,
}

/// What [`Saved`] was made of; a file of an early version has no digests.
fn parse(text: &str) -> Result<(About, BTreeMap<String, String>), String> {
    let told = |error: serde_json::Error| error.to_string();
    let mut fields: serde_json::Map<String, Value> = serde_json::from_str(&disk::opened(text)?).map_err(told)?;
    let files = fields.remove("files").map(serde_json::from_value).transpose().map_err(told)?;
    Ok((serde_json::from_value(Value::Object(fields)).map_err(told)?, files.unwrap_or_default()))
}

impl Predictor {
    /// Writes it into `folder`, beside the checkpoint with the weights of `f`.
    pub fn save(&self, folder: &Path) -> Result<(), RunError> {
        write_tensors(&folder.join(HEAD), &self.head.tensors())?;
        let mut files = BTreeMap::new();
        for name in [WEIGHTS, HEAD] {
            files.insert(name.to_owned(), TensorFile::open(&folder.join(name))?.digest());
        }
        let path = folder.join(ABOUT);
        let text = disk::signed(&Saved { about: &self.about, files });
        std::fs::write(&path, text).map_err(RunError::io(&path))
    }

    /// The model of a run after its last finished task, or of a project, on the CPU. `run` may also be the folder of a task, or a
    /// version of a project, as in `shop@3`.
    pub fn load(run: impl AsRef<Path>) -> Result<Self, RunError> {
        Self::load_on(run.as_ref(), None, Device::Cpu)
    }

    /// The same after task `task`, on `device`.
    pub fn load_on(run: &Path, task: Option<usize>, device: Device) -> Result<Self, RunError> {
        let folder = find(run, task)?;
        let path = folder.join(ABOUT);
        let text = disk::read_run_text(&path).map_err(RunError::io(&path))?;
        let damaged = |reason: String| RunError::Damaged { path: path.clone(), line: None, reason };
        let (about, files) = parse(&text).map_err(damaged)?;
        about.check().map_err(damaged)?;
        // After a rollback the file is that of an earlier version.
        let about = About { task: version_of(&folder).unwrap_or(about.task), ..about };
        let open = |name: &str| {
            let (path, file) = (folder.join(name), TensorFile::open(&folder.join(name))?);
            match files.get(name) {
                Some(expected) if *expected != file.digest() => Err(RunError::Changed { path }),
                _ => Ok(file),
            }
        };
        let compute = Compute { precision: about.precision, ..Compute::default() };
        let (channels, size) = (about.input.channels.count(), about.input.size as usize);
        about.extractor.check_size(channels, size).map_err(RunError::Weights)?;
        let mut network = Network::new(about.extractor.clone(), channels, size, compute, device, 0);
        network.read(&open(WEIGHTS)?, EXTRACTOR)?;
        let file = open(HEAD)?;
        let head = Head::read(about.head, &file, network.width())?;
        let (classes, known) = (about.classes.len(), head.rows().size()[0] as usize);
        if !(about.seen..=classes).contains(&known) {
            return Err(file.damaged(format!("expected {} to {classes} classes, found {known}", about.seen)));
        }
        Ok(Self::new(network, &head, about))
    }
}

impl About {
    /// What only a damaged or edited file gets wrong.
    fn check(&self) -> Result<(), String> {
        let input = &self.input;
        if self.seen > self.classes.len() || self.classes.len() > crate::class::MOST {
            return Err("expected at most as many seen classes as classes".to_owned());
        }
        if !(1..=4096).contains(&input.size) || !(input.size..=1 << 16).contains(&input.resize) {
            return Err(format!("expected a sensible image size, found {} and {}", input.size, input.resize));
        }
        let is_sound = self.scale.is_finite() && self.novelty.is_none_or(|novelty| novelty.is_sound());
        if !is_sound || input.normalization.std.iter().any(|std| *std <= 0.0 || !std.is_finite()) {
            return Err("expected finite numbers".to_owned());
        }
        Ok(())
    }
}
