//! `--device`: where tensors live.

use crate::processes;
use clap::ValueEnum;
use prescient::error::{LearnError, Result};
use torch_shim::Cuda;

/// Where to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DeviceName {
    /// The GPU if there is one, else the CPU
    Auto,
    /// The processor
    Cpu,
    /// The first NVIDIA GPU; needs a CUDA build of libtorch on the library path
    Cuda,
}

impl DeviceName {
    /// The GPUs of this machine that may be used, as `CUDA_VISIBLE_DEVICES` names them; none for the CPU.
    pub(super) fn gpus(self) -> Vec<String> {
        match (self, torch_shim::open_cuda()) {
            (DeviceName::Cpu, _) | (_, Cuda::Unavailable { .. }) => Vec::new(),
            (_, Cuda::Available { devices }) => named_gpus(*devices, std::env::var("CUDA_VISIBLE_DEVICES").ok()),
        }
    }

    pub(super) fn open(self) -> Result<tch::Device> {
        if self == DeviceName::Cpu {
            return Ok(tch::Device::Cpu);
        }
        match (torch_shim::open_cuda(), self) {
            // Each of several processes of a machine has a GPU of its own, while there are enough.
            (Cuda::Available { devices, .. }, _) => Ok(tch::Device::Cuda(processes::local_rank() % devices)),
            (Cuda::Unavailable { reason }, DeviceName::Cuda) => {
                Err(LearnError::NoCuda { reason: reason.clone() }.into())
            }
            (Cuda::Unavailable { reason }, _) => {
                tracing::info!("computing on the CPU, for there is no GPU to use: {reason}");
                Ok(tch::Device::Cpu)
            }
        }
    }
}

/// What is visible already has names of its own.
fn named_gpus(count: usize, visible: Option<String>) -> Vec<String> {
    let visible: Vec<String> =
        visible.iter().flat_map(|list| list.split(',')).map(|gpu| gpu.trim().to_owned()).collect();
    (0..count).map(|gpu| visible.get(gpu).cloned().unwrap_or_else(|| gpu.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_spread_over_the_gpus_that_are_visible() {
        assert_eq!(named_gpus(3, None), ["0", "1", "2"]);
        assert_eq!(named_gpus(2, Some("4, GPU-8a".to_owned())), ["4", "GPU-8a"]);
    }
}
