//! Sums over the GPUs of several processes: NCCL, found where libtorch has it.
//!
//! A [`Group`](crate::Group) adds up in main memory; this one goes from GPU to GPU, does not wait for the result, and can be
//! part of a recording ([`Graph`](crate::Graph)). Every process must ask for the same sums in the same order. NCCL waits for a peer
//! for ever: whoever uses it needs another way to learn that one is gone.

use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::time::Duration;

use tch::{Device, Kind, Tensor};

use crate::ShimError;
use crate::error::check;
use crate::ffi;

/// As `cpp/nccl.h` says.
const ID_BYTES: usize = 128;
const UUID_BYTES: usize = 16;

/// The version of NCCL, such as `2.28.9`; an error where there is none.
pub fn nccl_version() -> Result<String, ShimError> {
    let mut version = 0;
    // SAFETY: the number outlives the call.
    check(unsafe { ffi::shim_nccl_version(&mut version) })?;
    Ok(format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100))
}

/// What the processes of a group have in common: one makes it and gives it to all others.
pub fn nccl_id() -> Result<Vec<u8>, ShimError> {
    let mut id = vec![0; ID_BYTES];
    // SAFETY: there is room for as many bytes as are written.
    check(unsafe { ffi::shim_nccl_id(id.as_mut_ptr()) })?;
    Ok(id)
}

/// What tells a GPU from all others, also where each process numbers them in its own way.
pub fn gpu_uuid(device: Device) -> Result<String, ShimError> {
    let Device::Cuda(index) = device else { return Err(ShimError::new("only a CUDA device has such a number")) };
    let mut uuid = [0u8; UUID_BYTES];
    // SAFETY: as above.
    check(unsafe { ffi::shim_gpu_uuid(index as c_int, uuid.as_mut_ptr()) })?;
    Ok(uuid.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Processes, each with a GPU of its own, that add up over them.
///
/// Recordings with a sum in them must be dropped before it.
#[derive(Debug)]
pub struct GpuGroup {
    handle: NonNull<c_void>,
    device: Device,
}

// SAFETY: NCCL's communicators belong to no thread; sums are asked for under a mutex.
unsafe impl Send for GpuGroup {}
// SAFETY: as above, and NCCL lets other threads ask for errors meanwhile.
unsafe impl Sync for GpuGroup {}

impl GpuGroup {
    /// Makes process `rank` of `size` one of the group with this `id`, with the GPU `device`. All must call it; who has waited for
    /// `timeout` gets an error.
    pub fn join(id: &[u8], (rank, size): (usize, usize), device: Device, timeout: Duration) -> Result<Self, ShimError> {
        assert!(rank < size, "process {rank} of {size}");
        let Device::Cuda(index) = device else { return Err(ShimError::new("NCCL adds up on CUDA devices only")) };
        if id.len() != ID_BYTES {
            return Err(ShimError::new(&format!("an id of NCCL has {ID_BYTES} bytes, and this one {}", id.len())));
        }
        let timeout = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
        let (rank, size, mut handle) = (rank as c_int, size as c_int, null_mut());
        // SAFETY: the id has as many bytes as are read; the place for the result outlives the call.
        check(unsafe { ffi::shim_nccl_join(id.as_ptr(), rank, size, index as c_int, timeout, &mut handle) })?;
        Ok(Self { handle: NonNull::new(handle).expect("a group, for the call succeeded"), device })
    }

    /// Whether it adds up tensors of this kind and place.
    pub fn takes(&self, tensor: &Tensor) -> bool {
        use Kind::{BFloat16, Double, Float, Half, Int, Int64, Uint8};
        let kinds = [BFloat16, Double, Float, Half, Int, Int64, Uint8];
        tensor.device() == self.device && kinds.contains(&tensor.kind())
    }

    /// Makes each element of `to` the sum of `from` over all processes: the same bits in each. Both may be the same tensor. As all
    /// work of a GPU it is asked for, and not done when this returns.
    ///
    /// # Panics
    /// If it does not take them, or they are not contiguous, or differ in size or kind.
    pub fn sum(&self, from: &Tensor, to: &Tensor) -> Result<(), ShimError> {
        let fits = |tensor: &Tensor| self.takes(tensor) && tensor.is_contiguous();
        assert!(fits(from) && fits(to), "contiguous numbers on {:?}", self.device);
        assert!(from.numel() == to.numel() && from.kind() == to.kind(), "tensors of one size and kind");
        // SAFETY: the group lives until `drop`. The tensors may go before the sum is done: their memory is used again by what
        // comes later on the same stream.
        check(unsafe { ffi::shim_nccl_sum(self.handle.as_ptr(), from.as_ptr(), to.as_ptr()) })
    }

    /// What went wrong since it began, such as a peer that is gone. May be asked from another thread.
    pub fn trouble(&self) -> Option<ShimError> {
        // SAFETY: as above.
        check(unsafe { ffi::shim_nccl_trouble(self.handle.as_ptr()) }).err()
    }
}

impl Drop for GpuGroup {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and is not used again.
        unsafe { ffi::shim_nccl_close(self.handle.as_ptr()) }
    }
}
