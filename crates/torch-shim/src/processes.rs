//! Several processes: names with values that all share, and operations in which all take part.
//!
//! Both are libtorch's own (c10d): a TCP store, and Gloo for tensors on the CPU. Every process must take part in the same
//! operations in the same order; who waits in vain gets an error after the group's timeout, or at once where a peer is gone.

use std::ffi::{CString, c_int, c_void};
use std::ptr::{NonNull, null, null_mut};
use std::time::Duration;

use tch::{Device, Tensor};

use crate::ShimError;
use crate::error::check;
use crate::ffi;

/// Names with values that several processes share over TCP. A store is used by one thread at a time: a process that watches
/// beside its work opens a second one.
#[derive(Debug)]
pub struct Store {
    handle: NonNull<c_void>,
    port: u16,
}

// SAFETY: a reference-counted TCPStore, whose calls lock a mutex; nothing in it belongs to a thread.
unsafe impl Send for Store {}

/// Processes that add up, share and wait for each other.
#[derive(Debug)]
pub struct Group {
    handle: NonNull<c_void>,
    size: usize,
}

// SAFETY: a reference-counted ProcessGroupGloo: work is queued under a mutex and done by threads of its own.
unsafe impl Send for Group {}
// SAFETY: as above. That all processes ask in the same order is what the results depend on, not memory.
unsafe impl Sync for Group {}

fn text(text: &str) -> Result<CString, ShimError> {
    CString::new(text).map_err(|_| ShimError::new("a name with a zero byte in it"))
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX).max(1)
}

impl Store {
    /// Keeps a store here, for others to connect to. Port 0: any that is free.
    pub fn serve(host: &str, port: u16, timeout: Duration) -> Result<Self, ShimError> {
        Self::open(host, port, true, timeout)
    }

    /// Connects to a store that another process keeps, or will keep before `timeout` is over.
    pub fn connect(host: &str, port: u16, timeout: Duration) -> Result<Self, ShimError> {
        Self::open(host, port, false, timeout)
    }

    fn open(host: &str, port: u16, serve: bool, timeout: Duration) -> Result<Self, ShimError> {
        let (host, mut found, mut handle) = (text(host)?, c_int::from(port), null_mut());
        // SAFETY: the text and both places outlive the call.
        check(unsafe {
            ffi::shim_store_open(host.as_ptr(), &mut found, serve.into(), milliseconds(timeout), &mut handle)
        })?;
        let handle = NonNull::new(handle).expect("a store, for the call succeeded");
        Ok(Self { handle, port: u16::try_from(found).unwrap_or(port) })
    }

    /// Where it is kept.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Gives a name a value.
    pub fn set(&self, key: &str, value: &[u8]) -> Result<(), ShimError> {
        let key = text(key)?;
        // SAFETY: the handle is a store until `drop`; key and value outlive the call, which copies them.
        check(unsafe { ffi::shim_store_set(self.handle.as_ptr(), key.as_ptr(), value.as_ptr(), value.len() as i64) })
    }

    /// The value of a name, once it has one; an error after `timeout`.
    pub fn get(&self, key: &str, timeout: Duration) -> Result<Vec<u8>, ShimError> {
        let (key, mut result) = (text(key)?, null_mut());
        // SAFETY: as above; the result is written where the call succeeds.
        check(unsafe { ffi::shim_store_get(self.handle.as_ptr(), key.as_ptr(), milliseconds(timeout), &mut result) })?;
        // SAFETY: a fresh `at::Tensor` from `new`, and nobody else owns it.
        let bytes = unsafe { Tensor::from_ptr(result) };
        Vec::<u8>::try_from(bytes).map_err(|error| ShimError::new(&error.to_string()))
    }

    /// Whether a name has a value.
    pub fn has(&self, key: &str) -> Result<bool, ShimError> {
        let (key, mut answer) = (text(key)?, 0);
        // SAFETY: as above.
        check(unsafe { ffi::shim_store_has(self.handle.as_ptr(), key.as_ptr(), &mut answer) })?;
        Ok(answer != 0)
    }

    /// Makes process `rank` of `size` one of a group, whose operations wait at most `timeout`. All must call this with the same
    /// `name`. `address` is this machine's, where its host name does not say it.
    pub fn group(
        &self,
        name: &str,
        (rank, size): (usize, usize),
        address: Option<&str>,
        timeout: Duration,
    ) -> Result<Group, ShimError> {
        assert!(rank < size, "process {rank} of {size}");
        let (name, mut handle) = (text(name)?, null_mut());
        let address = address.map(text).transpose()?;
        // SAFETY: as above; the group keeps a reference to the store of its own.
        check(unsafe {
            ffi::shim_group_open(
                self.handle.as_ptr(),
                name.as_ptr(),
                rank as c_int,
                size as c_int,
                address.as_ref().map_or(null(), |address| address.as_ptr()),
                milliseconds(timeout),
                &mut handle,
            )
        })?;
        Ok(Group { handle: NonNull::new(handle).expect("a group, for the call succeeded"), size })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and is not used again.
        unsafe { ffi::shim_store_close(self.handle.as_ptr()) }
    }
}

/// What Gloo takes.
fn assert_plain(tensor: &Tensor) {
    assert!(tensor.device() == Device::Cpu && tensor.is_contiguous(), "a contiguous tensor on the CPU");
}

impl Group {
    /// Makes each element of `tensor` the sum over all processes: the same bits in each.
    ///
    /// # Panics
    /// If it is not on the CPU, or not contiguous. So with the others.
    pub fn sum(&self, tensor: &Tensor) -> Result<(), ShimError> {
        assert_plain(tensor);
        // SAFETY: the group lives until `drop`; the tensor outlives the call, which waits until all is done.
        check(unsafe { ffi::shim_group_sum(self.handle.as_ptr(), tensor.as_ptr()) })
    }

    /// Makes `tensor` what it is in process `root`. It has the same shape in all.
    pub fn broadcast(&self, tensor: &Tensor, root: usize) -> Result<(), ShimError> {
        assert_plain(tensor);
        // SAFETY: as above.
        check(unsafe { ffi::shim_group_broadcast(self.handle.as_ptr(), tensor.as_ptr(), root as c_int) })
    }

    /// The `tensor` of process 0, of process 1, …: all of one shape.
    pub fn gather(&self, tensor: &Tensor) -> Result<Vec<Tensor>, ShimError> {
        assert_plain(tensor);
        let results: Vec<Tensor> = (0..self.size).map(|_| tensor.empty_like()).collect();
        let pointers: Vec<_> = results.iter().map(|result| result.as_ptr().cast_mut()).collect();
        // SAFETY: as above; there is a result for each process.
        check(unsafe {
            ffi::shim_group_gather(self.handle.as_ptr(), tensor.as_ptr(), pointers.as_ptr(), self.size as c_int)
        })?;
        Ok(results)
    }

    /// Waits until every process is here.
    pub fn barrier(&self) -> Result<(), ShimError> {
        // SAFETY: as above.
        check(unsafe { ffi::shim_group_barrier(self.handle.as_ptr()) })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and is not used again.
        unsafe { ffi::shim_group_close(self.handle.as_ptr()) }
    }
}

/// Ends this process at once, with `code`. Nothing is tidied up: a group whose peers are gone might wait for ever.
pub fn leave(code: u8) -> ! {
    // SAFETY: takes a number only.
    unsafe { ffi::shim_leave(code.into()) };
    std::process::abort()
}
