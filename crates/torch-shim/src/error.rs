//! How an exception of libtorch arrives in Rust.

use std::ffi::{CStr, c_int};

use crate::ffi;

/// What libtorch said when it refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("libtorch: {message}")]
pub struct ShimError {
    message: String,
}

impl ShimError {
    /// For what is refused before libtorch is asked.
    pub(crate) fn new(message: &str) -> Self {
        Self { message: message.to_owned() }
    }

    /// The message as libtorch gave it.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Turns the answer of a shim function into a `Result`, fetching the message of a failure.
pub(crate) fn check(code: c_int) -> Result<(), ShimError> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: `shim_error` answers a NUL-terminated string that this thread keeps until its next failure.
    let message = unsafe { CStr::from_ptr(ffi::shim_error()) };
    Err(ShimError { message: message.to_string_lossy().trim().to_owned() })
}

/// For calls that cannot fail on anything a user does: a failure here is a bug of this crate.
#[track_caller]
pub(crate) fn assume(code: c_int) {
    if let Err(error) = check(code) {
        panic!("torch-shim assumed that this call cannot fail: {error}");
    }
}
