//! How long a task took and how much memory: facts of the machine, kept apart from the record.

use crate::learner::{Event, Observer};
use serde::Serialize;
use std::time::Instant;
use tch::Device;

/// Watches the clock.
pub(super) struct Telemetry {
    device: Device,
    began: Instant,
    stages: Vec<(&'static str, Instant)>,
}

#[derive(Serialize)]
struct Report {
    seconds: f64,
    stages: Vec<StageSeconds>,
    peak_ram_bytes: Option<u64>,
    peak_vram_bytes: Option<u64>,
}

#[derive(Serialize)]
struct StageSeconds {
    stage: &'static str,
    seconds: f64,
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
        let report = Report {
            seconds: (end - self.began).as_secs_f64(),
            stages: stages
                .map(|(&(stage, began), end)| StageSeconds { stage, seconds: (end - began).as_secs_f64() })
                .collect(),
            peak_ram_bytes: torch_shim::peak_ram(),
            peak_vram_bytes: self.device.is_cuda().then(|| torch_shim::peak_memory(self.device)).flatten(),
        };
        serde_json::to_string_pretty(&report).expect("plain data") + "\n"
    }
}

impl Observer for Telemetry {
    fn notice(&mut self, event: &Event<'_>) {
        if let Event::StageStarted { stage, .. } = event {
            self.stages.push((stage, Instant::now()));
        }
    }
}
