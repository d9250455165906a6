//! How long a task took and how much memory: facts of the machine, kept apart from the record.

use crate::disk;
use crate::error::RunError;
use crate::learner::{Event, Observer};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Instant;
use tch::Device;

/// Watches the clock.
pub(super) struct Telemetry {
    device: Device,
    began: Instant,
    stages: Vec<(&'static str, Instant)>,
}

/// What a task took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// From its first to its last moment.
    pub seconds: f64,
    /// Stage by stage, in order.
    pub stages: Vec<StageSeconds>,
    /// The most memory that the process held so far.
    pub peak_ram_bytes: Option<u64>,
    /// The most memory of the GPU.
    pub peak_vram_bytes: Option<u64>,
}

/// What a stage took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSeconds {
    /// Its name.
    pub stage: String,
    /// How long it was.
    pub seconds: f64,
}

impl Spent {
    /// Reads what [`Telemetry::finish`] wrote; `path` is named in errors.
    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, RunError> {
        let damaged = |line, reason| RunError::Damaged { path: path.to_owned(), line, reason };
        let text = disk::opened(text).map_err(|reason| damaged(None, reason))?;
        serde_json::from_str(&text).map_err(|error| damaged(Some(error.line()), error.to_string()))
    }
}

impl Telemetry {
    pub(super) fn start(device: Device) -> Self {
        let began = Instant::now();
        Self { device, began, stages: vec![("prepare", began)] }
    }

    /// What was seen, as JSON.
    pub(super) fn finish(&self) -> String {
        let end = Instant::now();
        let ends = self.stages.iter().skip(1).map(|(_, began)| *began).chain([end]);
        let stages = self.stages.iter().zip(ends);
        let spent = Spent {
            seconds: (end - self.began).as_secs_f64(),
            stages: stages
                .map(|(&(stage, began), end)| StageSeconds {
                    stage: stage.to_owned(),
                    seconds: (end - began).as_secs_f64(),
                })
                .collect(),
            peak_ram_bytes: torch_shim::peak_ram(),
            peak_vram_bytes: self.device.is_cuda().then(|| torch_shim::peak_memory(self.device)).flatten(),
        };
        disk::signed(&spent)
    }
}

impl Observer for Telemetry {
    fn on_event(&mut self, event: &Event<'_>) {
        if let Event::StageStarted { stage, .. } = event {
            self.stages.push((stage, Instant::now()));
        }
    }
}
