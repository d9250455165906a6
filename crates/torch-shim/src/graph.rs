//! CUDA graphs: what a GPU is asked to do, recorded once and started again with one call.
//!
//! A training step on small images is hundreds of short kernels, and asking for them takes longer than running them.
//! Started from a graph, the GPU no longer waits for the processor.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tch::Device;

use crate::ShimError;
use crate::error::check;
use crate::ffi;

/// Does `work`. Where it panics, gradients are computed afterwards as they were before: `tch::no_grad` does not come back from a
/// panic inside it, and everything that follows would learn nothing.
pub fn keeping_grad_mode<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: takes a number and gives the one before; it is per thread.
    let before = unsafe { torch_sys::at_grad_set_enabled(1) };
    // SAFETY: as above.
    unsafe { torch_sys::at_grad_set_enabled(before) };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        // SAFETY: as above.
        unsafe { torch_sys::at_grad_set_enabled(before) };
        resume_unwind(panic)
    })
}

/// Recorded work.
///
/// It reads and writes the very memory that it was recorded with: tensors made before are its inputs and must live as
/// long as it does; what changes from time to time is written into them before [`Graph::replay`]. Tensors made while
/// recording are its results, which the next replay overwrites.
#[derive(Debug)]
pub struct Graph(*mut c_void);

impl Graph {
    /// Records what `work` asks of `device`, a GPU; nothing is carried out yet. Run `work` once before, so that
    /// libraries have chosen their kernels. `work` must not wait for the device: no value may be read back.
    ///
    /// A panic within `work` ends the recording and goes on.
    pub fn record<T>(device: Device, work: impl FnOnce() -> T) -> Result<(Self, T), ShimError> {
        let Device::Cuda(index) = device else {
            return Err(ShimError::new("only a CUDA device records graphs"));
        };
        let mut graph = std::ptr::null_mut();
        // SAFETY: `graph` outlives the call.
        check(unsafe { ffi::shim_graph_begin(index as c_int, &mut graph) })?;
        match catch_unwind(AssertUnwindSafe(|| keeping_grad_mode(work))) {
            Ok(result) => {
                // SAFETY: `graph` is that of the successful begin; on failure it is freed there and not used again.
                check(unsafe { ffi::shim_graph_end(graph) })?;
                Ok((Self(graph), result))
            }
            Err(panic) => {
                // SAFETY: `graph` is that of the successful begin, and is not used again. Its own failure adds nothing.
                let _ = unsafe { ffi::shim_graph_abandon(graph) };
                resume_unwind(panic)
            }
        }
    }

    /// Carries the recorded work out once more, on the current stream.
    pub fn replay(&self) -> Result<(), ShimError> {
        // SAFETY: the graph is a finished recording until it is dropped.
        check(unsafe { ffi::shim_graph_replay(self.0) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: ours alone, and never used again.
        unsafe { ffi::shim_graph_free(self.0) };
    }
}
