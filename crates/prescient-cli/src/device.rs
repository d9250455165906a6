//! `--device`: where tensors live.

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
    pub(super) fn open(self) -> Result<tch::Device> {
        if self == DeviceName::Cpu {
            return Ok(tch::Device::Cpu);
        }
        match (torch_shim::open_cuda(), self) {
            (Cuda::Available { .. }, _) => Ok(tch::Device::Cuda(0)),
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
