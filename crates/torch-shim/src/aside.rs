//! Two pieces of work at the same time, on one GPU.
//!
//! The kernels of small images leave most of a GPU idle; those of another piece of work fit in beside them.

use std::ffi::{c_int, c_void};

use tch::Device;

use crate::error::assume;
use crate::ffi;

/// Does `aside` and `here`, which must not depend on each other. On a GPU both may run at the same time, in a recording
/// too; elsewhere one after the other. What follows waits for both.
///
/// `aside` must leave nothing for gradients, and what it reads must live until `here` is done: give it tensors that are
/// borrowed, not its own.
pub fn side_by_side<A, B>(device: Device, aside: impl FnOnce() -> A, here: impl FnOnce() -> B) -> (A, B) {
    let Device::Cuda(index) = device else {
        return (aside(), here());
    };
    let mut work = Aside::begin(index);
    let first = aside();
    work.end();
    let second = here();
    drop(work);
    (first, second)
}

/// Work on the side, from its beginning to where both meet again; also when one of them panics.
struct Aside {
    handle: *mut c_void,
    ended: bool,
}

impl Aside {
    fn begin(index: usize) -> Self {
        let mut handle = std::ptr::null_mut();
        // SAFETY: `handle` outlives the call.
        assume(unsafe { ffi::shim_aside_begin(index as c_int, &mut handle) });
        Self { handle, ended: false }
    }

    fn end(&mut self) {
        self.ended = true;
        // SAFETY: the handle is that of a successful begin, and is not freed before drop.
        assume(unsafe { ffi::shim_aside_end(self.handle) });
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // A failure is dropped on purpose: a panic while unwinding from another would end the process. What can fail here
        // is CUDA itself, and then the next call says so.
        if !self.ended {
            // SAFETY: as in `end`.
            let _ = unsafe { ffi::shim_aside_end(self.handle) };
        }
        // SAFETY: ended, and never used again.
        let _ = unsafe { ffi::shim_aside_join(self.handle) };
    }
}
