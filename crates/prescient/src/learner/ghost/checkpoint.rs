//! A model between two tasks, as files: weights as safetensors, memory as JSON.

use super::GhostLearner;
use super::imagination::Imagination;
use super::plan::{Imprint, Plan};
use crate::class::Slot;
use crate::classifier::CosineClassifier;
use crate::data::{Sample, Subset};
use crate::engine::{TensorFile, write_tensors};
use crate::error::RunError;
use crate::memory::Memory;
use crate::predictor::{EXTRACTOR, WEIGHTS};
use crate::scenario::Task;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use tch::{Kind, Tensor};

/// The proxies that ghosts trained, in the weights' file.
const GHOST_PROXIES: &str = "ghosts.proxies";
/// The proxies of all classes that the task was answered with, there.
const COMPLETE: &str = "complete.proxies";
/// What the names of the weights of `g` begin with there.
const GENERATOR: &str = "generator.";
/// The memory's file.
const MEMORY: &str = "memory.json";

#[derive(Serialize, Deserialize)]
struct Exemplar {
    index: u32,
    name: String,
}

#[derive(Serialize, Deserialize)]
struct Remembered {
    slot: Slot,
    class: String,
    images: Vec<Exemplar>,
}

/// Writes what the next task needs into `folder`.
pub(super) fn save(model: &GhostLearner, folder: &Path) -> Result<(), RunError> {
    let mut tensors: BTreeMap<String, Tensor> = BTreeMap::new();
    for (name, tensor) in model.network.variables() {
        tensors.insert(format!("{EXTRACTOR}{name}"), tensor);
    }
    for (task, block) in model.classifier.blocks().iter().enumerate() {
        tensors.insert(format!("classifier.proxies.{}", task + 1), block.shallow_clone());
    }
    tensors.insert("classifier.raw_scale".to_owned(), model.classifier.raw_scale().shallow_clone());
    for (name, proxies) in [(GHOST_PROXIES, &model.ghost_proxies), (COMPLETE, &model.complete)] {
        if proxies.numel() > 0 {
            tensors.insert(name.to_owned(), proxies.shallow_clone());
        }
    }
    if let Imagination::Generator(generator) = &model.imagination {
        tensors.extend(generator.tensors().into_iter().map(|(name, tensor)| (format!("{GENERATOR}{name}"), tensor)));
    }
    write_tensors(&folder.join(WEIGHTS), &tensors)?;

    let path = folder.join(MEMORY);
    let memory: Vec<Remembered> =
        model.memory.by_class().map(|(slot, samples)| remembered(model, slot, samples)).collect();
    let text = serde_json::to_string_pretty(&memory).expect("plain data");
    std::fs::write(&path, text).map_err(RunError::io(&path))
}

/// Takes over what [`save`] wrote after task `finished`.
pub(super) fn load(model: &mut GhostLearner, folder: &Path, finished: usize) -> Result<(), RunError> {
    let file = TensorFile::open(&folder.join(WEIGHTS))?;
    model.network.read(&file, EXTRACTOR)?;
    let (device, width) = (model.device, model.network.width());
    let on_device = |tensor: Tensor| tensor.to_device(device);
    let sealed = model.sealed.clone();
    let block = |task: Task<'_>| {
        let name = format!("classifier.proxies.{}", task.number());
        file.rows(&name, Some(task.present().len()), width).map(on_device)
    };
    let blocks = sealed.scenario().iter().take(finished).map(block).collect::<Result<_, _>>()?;
    let raw_scale = on_device(file.read("classifier.raw_scale", Some(&[1]))?.to_kind(Kind::Float));
    model.classifier =
        CosineClassifier::from_parts(model.settings.loss.classification.form.learns_scale(), blocks, raw_scale);
    let names = file.names()?;
    for (name, proxies) in [(GHOST_PROXIES, &mut model.ghost_proxies), (COMPLETE, &mut model.complete)] {
        if names.iter().any(|there| there == name) {
            *proxies = on_device(file.rows(name, None, width)?);
        }
    }
    if let Some(next) = sealed.scenario().iter().nth(finished)
        && Plan::new(&next, &model.settings).imprint == Some(Imprint::FromGhosts)
        && model.ghost_proxies.size()[0] < next.present().len() as i64
    {
        let (number, found) = (next.number(), model.ghost_proxies.size()[0]);
        return Err(file.damaged(format!(
            "`{GHOST_PROXIES}`: expected a row for each of the {} classes of task {number}, found {found}",
            next.present().len()
        )));
    }
    if let Imagination::Generator(generator) = &mut model.imagination {
        let read = |(short, tensor): (String, Tensor)| {
            let stored = file.read(&format!("{GENERATOR}{short}"), Some(&tensor.size()))?;
            Ok((short, stored.to_kind(Kind::Float)))
        };
        let stored = generator.tensors().into_iter().map(read).collect::<Result<_, RunError>>()?;
        let missing = |name: String| file.damaged(format!("expected the tensor `{GENERATOR}{name}`, found none"));
        generator.restore(&stored).map_err(missing)?;
    }
    model.memory = load_memory(model, &folder.join(MEMORY))?;
    Ok(())
}

fn remembered(model: &GhostLearner, slot: Slot, samples: &[Sample]) -> Remembered {
    let scenario = model.sealed.scenario();
    let images = samples.iter().map(|sample| Exemplar { index: sample.index, name: model.sealed.name(sample) });
    let class = model.sealed.catalogue().name(scenario.class(slot)).to_owned();
    Remembered { slot, class, images: images.collect() }
}

fn load_memory(model: &GhostLearner, path: &Path) -> Result<Memory, RunError> {
    let damaged = |reason: String| RunError::Damaged { path: path.to_owned(), line: None, reason };
    let text = crate::disk::read_run_text(path).map_err(RunError::io(path))?;
    let remembered: Vec<Remembered> = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    let scenario = model.sealed.scenario();
    let mut memory = Memory::default();
    for class in remembered {
        if class.slot.index() >= scenario.classes() {
            return Err(damaged(format!("expected a slot below {}, found {}", scenario.classes(), class.slot.0)));
        }
        let id = scenario.class(class.slot);
        let samples = class.images.iter().map(|exemplar| {
            let sample = Sample { subset: Subset::Train, index: exemplar.index, class: id };
            match model.sealed.knows(&sample) && model.sealed.name(&sample) == exemplar.name {
                true => Ok(sample),
                false => Err(damaged(format!("`{}` is not an image of `{}` any more", exemplar.name, class.class))),
            }
        });
        let samples = samples.collect::<Result<Vec<_>, _>>()?;
        memory.keep(class.slot, samples);
    }
    Ok(memory)
}
