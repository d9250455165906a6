//! Bytes to a device, without a copy on the way.

use std::ffi::c_int;

use tch::{Device, Tensor};

use crate::error::check;
use crate::ffi;

/// The bytes as a tensor on `device`. Unlike `Tensor::from_slice` followed by `to_device` it makes no tensor of them
/// here first, which for gigabytes of images takes longer than the transfer.
///
/// # Panics
/// If the device has no room, or there is no such device.
pub fn upload(bytes: &[u8], device: Device) -> Tensor {
    let index = index_of(device);
    let mut result = std::ptr::null_mut();
    // SAFETY: the bytes outlive the call, which has copied them when it returns.
    let answer = check(unsafe { ffi::shim_upload(bytes.as_ptr(), bytes.len() as i64, index, &mut result) });
    if let Err(error) = answer {
        panic!("{} bytes could not be brought to the device: {error}", bytes.len());
    }
    // SAFETY: on success `result` is a fresh `at::Tensor` from `new`, and nobody else owns it.
    unsafe { Tensor::from_ptr(result) }
}

/// As the C++ half numbers devices: CUDA devices from 0, and the CPU as −1.
pub(crate) fn index_of(device: Device) -> c_int {
    match device {
        Device::Cuda(index) => index as c_int,
        Device::Cpu => -1,
        other => panic!("it is the CPU or a CUDA device, not {other:?}"),
    }
}
