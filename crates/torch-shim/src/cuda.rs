//! CUDA, where there is some.
//!
//! The program is linked against libtorch's CPU half alone, so it starts on a machine that has no CUDA
//! libraries at all. Where a full torch lies on the library path, its CUDA half is loaded at run time.

use std::fmt;
use std::sync::OnceLock;

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
                Ok(devices) if devices > 0 => Cuda::Available { devices },
                _ => Cuda::Unavailable { reason: "libtorch finds no CUDA device".to_owned() },
            },
        }
    })
}
