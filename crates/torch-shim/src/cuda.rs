//! CUDA, where there is some.
//!
//! The program is linked against libtorch's CPU half alone, so it starts on a machine that has no CUDA
//! libraries at all. Where a full torch lies on the library path, its CUDA half is loaded at run time.

use std::ffi::c_int;
use std::fmt;
use std::sync::OnceLock;

use tch::{Device, Kind, Tensor};

use crate::error::check;
use crate::ffi;

/// Whether this process can use CUDA, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cuda {
    /// Loaded, with so many devices.
    Available {
        /// How many devices libtorch sees; at least one.
        devices: usize,
    },
    /// Not to be used.
    Unavailable {
        /// Why: the loader's message, or that there is no device.
        reason: String,
    },
}

impl Cuda {
    /// Whether there is a device to use.
    pub fn is_available(&self) -> bool {
        matches!(self, Self::Available { .. })
    }
}

impl fmt::Display for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Available { devices: 1 } => write!(f, "CUDA with 1 device"),
            Self::Available { devices } => write!(f, "CUDA with {devices} devices"),
            Self::Unavailable { reason } => write!(f, "no CUDA: {reason}"),
        }
    }
}

/// A small sum on the first device: a GPU that libtorch was not built for fails at its first kernel, wherever that is.
fn probe() -> Result<(), String> {
    let told = |error: tch::TchError| error.to_string().lines().next().unwrap_or_default().to_owned();
    let ones = Tensor::f_ones([4], (Kind::Float, Device::Cuda(0))).map_err(told)?;
    let sum = ones.f_sum(Kind::Float).and_then(|sum| f64::try_from(&sum)).map_err(told)?;
    if sum == 4.0 { Ok(()) } else { Err(format!("four ones make {sum}")) }
}

/// What a GPU is able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// The first number of its compute capability: 8 and above multiply in bf16.
    pub generation: u32,
    /// Memory that nobody has.
    pub free_bytes: u64,
}

/// What the GPU `device` is able to do now; none where it is none, or does not tell.
pub fn about_gpu(device: Device) -> Option<Gpu> {
    let Device::Cuda(index) = device else { return None };
    let (mut major, mut free) = (0, 0);
    // SAFETY: both outlive the call.
    check(unsafe { ffi::shim_cuda_about(index as c_int, &mut major, &mut free) }).ok()?;
    Some(Gpu { generation: u32::try_from(major).ok()?, free_bytes: free })
}

/// Loads libtorch's CUDA half, once; later calls repeat the first answer.
///
/// Call it before anything else of torch: libtorch asks for its CUDA hooks once and remembers the answer.
pub fn open_cuda() -> &'static Cuda {
    static CUDA: OnceLock<Cuda> = OnceLock::new();
    CUDA.get_or_init(|| {
        let mut devices = 0;
        // SAFETY: `devices` outlives the call.
        match check(unsafe { ffi::shim_open_cuda(&mut devices) }) {
            Err(error) => Cuda::Unavailable { reason: error.message().to_owned() },
            Ok(()) => match usize::try_from(devices) {
                Ok(devices) if devices > 0 => match probe() {
                    Ok(()) => Cuda::Available { devices },
                    Err(error) => Cuda::Unavailable { reason: format!("libtorch has no code for this GPU: {error}") },
                },
                _ => Cuda::Unavailable { reason: "libtorch finds no CUDA device".to_owned() },
            },
        }
    })
}
