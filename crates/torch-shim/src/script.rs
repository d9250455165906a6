//! A TorchScript module made from source and tensors.
//!
//! tch traces a module: its tensors become constants, which `.to("cuda")` leaves where they are, and what the example's sizes
//! decided is decided for ever. Source has neither problem, and can be read in the file.

use crate::ShimError;
use crate::error::check;
use crate::ffi;
use std::ffi::{CString, c_void};
use std::path::Path;
use tch::Tensor;

/// A module in the making.
#[derive(Debug)]
pub struct Script {
    module: *mut c_void,
}

impl Script {
    /// One without anything in it yet; `name` is what its class is called.
    pub fn new(name: &str) -> Result<Self, ShimError> {
        let (name, mut module) = (text(name)?, std::ptr::null_mut());
        // SAFETY: `name` and `module` outlive the call.
        check(unsafe { ffi::shim_script_new(name.as_ptr(), &mut module) })?;
        Ok(Self { module })
    }

    /// Gives it a tensor: `self.NAME` in the source.
    pub fn buffer(&mut self, name: &str, tensor: &Tensor) -> Result<(), ShimError> {
        let name = text(name)?;
        // SAFETY: the module is ours alone; `name` outlives the call, `tensor` is a live tensor of tch's, only borrowed.
        check(unsafe { ffi::shim_script_buffer(self.module, name.as_ptr(), tensor.as_ptr()) })
    }

    /// Gives it the module that lies at `path`: `self.NAME(…)` in the source.
    pub fn part(&mut self, name: &str, path: &Path) -> Result<(), ShimError> {
        let (name, path) = (text(name)?, text(&path.to_string_lossy())?);
        // SAFETY: as above.
        check(unsafe { ffi::shim_script_part(self.module, name.as_ptr(), path.as_ptr()) })
    }

    /// Gives it the methods of `source`, such as `def forward(self, x): …`.
    pub fn define(&mut self, source: &str) -> Result<(), ShimError> {
        let source = text(source)?;
        // SAFETY: as above.
        check(unsafe { ffi::shim_script_define(self.module, source.as_ptr()) })
    }

    /// Writes it to `path`, for `torch.jit.load`.
    pub fn save(&self, path: &Path) -> Result<(), ShimError> {
        let path = text(&path.to_string_lossy())?;
        // SAFETY: as above.
        check(unsafe { ffi::shim_script_save(self.module, path.as_ptr()) })
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // SAFETY: it came from `shim_script_new`, and nobody uses it after this.
        unsafe { ffi::shim_script_free(self.module) }
    }
}

fn text(text: &str) -> Result<CString, ShimError> {
    CString::new(text).map_err(|_| ShimError::new("a name or a source has a NUL in it"))
}
