//! A learner between two tasks, as files: weights as safetensors, memory as JSON.

use super::GhostLearner;
use crate::class::Slot;
use crate::classifier::CosineClassifier;
use crate::data::{Sample, Subset};
use crate::error::RunError;
use crate::memory::Memory;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use tch::{Device, Kind, Tensor, no_grad};

/// The weights' file.
const WEIGHTS: &str = "weights.safetensors";
/// The proxies of future classes in it, where they are to be promoted.
const PROMISED: &str = "ghosts.proxies";
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

impl GhostLearner {
    /// Writes what the next task needs into `folder`.
    pub fn save(&self, folder: &Path) -> Result<(), RunError> {
        let path = folder.join(WEIGHTS);
        let mut tensors = BTreeMap::new();
        for (name, tensor) in self.network.variables() {
            tensors.insert(format!("extractor.{name}"), bytes(&tensor));
        }
        for (task, block) in self.classifier.blocks().iter().enumerate() {
            tensors.insert(format!("classifier.proxies.{}", task + 1), bytes(block));
        }
        tensors.insert("classifier.raw_scale".to_owned(), bytes(self.classifier.raw_scale()));
        if let Some(promised) = &self.promised {
            tensors.insert(PROMISED.to_owned(), bytes(promised));
        }
        for (name, tensor) in self.generator.iter().flat_map(|generator| generator.tensors()) {
            tensors.insert(format!("generator.{name}"), bytes(&tensor));
        }
        let views: BTreeMap<&String, TensorView<'_>> = tensors
            .iter()
            .map(|(name, (shape, data))| {
                (name, TensorView::new(Dtype::F32, shape.clone(), data).expect("bytes of this very shape"))
            })
            .collect();
        let file = safetensors::serialize(views, None).expect("tensors that were just viewed");
        std::fs::write(&path, file).map_err(RunError::io(&path))?;

        let path = folder.join(MEMORY);
        let memory: Vec<Remembered> =
            self.memory.by_class().map(|(slot, samples)| self.remembered(slot, samples)).collect();
        let text = serde_json::to_string_pretty(&memory).expect("plain data");
        std::fs::write(&path, text).map_err(RunError::io(&path))
    }

    /// Takes over what [`Learner::save`] wrote after task `finished`.
    pub fn load(&mut self, folder: &Path, finished: usize) -> Result<(), RunError> {
        let path = folder.join(WEIGHTS);
        let file = std::fs::read(&path).map_err(RunError::io(&path))?;
        let damaged = |reason: String| RunError::Damaged { path: path.clone(), line: None, reason };
        let tensors = SafeTensors::deserialize(&file).map_err(|error| damaged(error.to_string()))?;
        let read = |name: &str, shape: Option<Vec<i64>>| -> Result<Tensor, RunError> {
            let view =
                tensors.tensor(name).map_err(|_| damaged(format!("expected the tensor `{name}`, found none")))?;
            let found: Vec<i64> = view.shape().iter().map(|&n| n as i64).collect();
            match shape {
                Some(shape) if shape != found => {
                    Err(damaged(format!("`{name}`: expected the shape {shape:?}, found {found:?}")))
                }
                _ if view.dtype() != Dtype::F32 => {
                    Err(damaged(format!("`{name}`: expected f32, found {:?}", view.dtype())))
                }
                _ => Ok(Tensor::from_data_size(view.data(), &found, Kind::Float)),
            }
        };
        self.network.stir();
        for (name, mut variable) in self.network.variables() {
            let stored = read(&format!("extractor.{name}"), Some(variable.size()))?;
            no_grad(|| variable.copy_(&stored));
        }
        // As after training: what comes next looks in the same way, resumed or not.
        self.network.settle();
        let on_device = |tensor: Tensor| tensor.to_device(self.device);
        let blocks = (1..=finished)
            .map(|task| read(&format!("classifier.proxies.{task}"), None).map(on_device))
            .collect::<Result<_, _>>()?;
        let raw_scale = on_device(read("classifier.raw_scale", Some(vec![1]))?);
        self.classifier = CosineClassifier::from_parts(self.settings.model.learned_scale, blocks, raw_scale);
        self.promised = match tensors.names().contains(&PROMISED) {
            true => Some(on_device(read(PROMISED, None)?)),
            false => None,
        };
        let stored: BTreeMap<String, Tensor> = tensors
            .names()
            .iter()
            .filter_map(|name| Some((name.strip_prefix("generator.")?, *name)))
            .map(|(short, name)| read(name, None).map(|tensor| (short.to_owned(), tensor)))
            .collect::<Result<_, _>>()?;
        self.generator = self.fresh_generator(self.seeds).map_err(|error| damaged(error.to_string()))?;
        // A run of one task never trains one.
        if stored.is_empty() {
            self.generator = None;
        }
        if let Some(generator) = &mut self.generator {
            let missing = |name: String| damaged(format!("expected the tensor `generator.{name}`, found none"));
            generator.restore(&stored).map_err(missing)?;
        }
        self.memory = self.load_memory(&folder.join(MEMORY))?;
        Ok(())
    }

    fn remembered(&self, slot: Slot, samples: &[Sample]) -> Remembered {
        let scenario = self.sealed.scenario();
        let images = samples.iter().map(|sample| Exemplar { index: sample.index, name: self.sealed.name(sample) });
        let class = self.sealed.catalogue().name(scenario.class(slot)).to_owned();
        Remembered { slot, class, images: images.collect() }
    }

    fn load_memory(&self, path: &Path) -> Result<Memory, RunError> {
        let damaged = |reason: String| RunError::Damaged { path: path.to_owned(), line: None, reason };
        let text = std::fs::read_to_string(path).map_err(RunError::io(path))?;
        let remembered: Vec<Remembered> = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        let scenario = self.sealed.scenario();
        let mut memory = Memory::default();
        for class in remembered {
            if class.slot.index() >= scenario.classes() {
                return Err(damaged(format!("expected a slot below {}, found {}", scenario.classes(), class.slot.0)));
            }
            let id = scenario.class(class.slot);
            let samples = class.images.iter().map(|exemplar| {
                let sample = Sample { subset: Subset::Train, index: exemplar.index, class: id };
                match self.sealed.knows(&sample) && self.sealed.name(&sample) == exemplar.name {
                    true => Ok(sample),
                    false => Err(damaged(format!("`{}` is not an image of `{}` any more", exemplar.name, class.class))),
                }
            });
            let samples = samples.collect::<Result<Vec<_>, _>>()?;
            memory.keep(class.slot, samples);
        }
        Ok(memory)
    }
}

/// Shape and bytes of a tensor, in single precision.
fn bytes(tensor: &Tensor) -> (Vec<usize>, Vec<u8>) {
    let tensor = tensor.detach().to_device(Device::Cpu).to_kind(Kind::Float).contiguous();
    let shape = tensor.size().iter().map(|&n| n as usize).collect();
    let mut data = vec![0; tensor.numel() * 4];
    tensor.copy_data_u8(&mut data, tensor.numel());
    (shape, data)
}
