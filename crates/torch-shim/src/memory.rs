//! How much memory a run needed at its worst moment.

use std::ffi::c_int;
use std::fs;

use tch::Device;

use crate::error::check;
use crate::ffi;

/// The most bytes in use on `device` at once, since the start or the last [`reset_peak_memory`].
///
/// On CUDA it is what tensors held, as `torch.cuda.max_memory_allocated` counts it; what the process took from the
/// driver is more. On the CPU it is [`peak_ram`]. `None` where nobody counts, as before the first use of CUDA.
pub fn peak_memory(device: Device) -> Option<u64> {
    match device {
        Device::Cpu => peak_ram(),
        Device::Cuda(index) => {
            let (mut known, mut bytes) = (0, 0);
            let index = c_int::try_from(index).ok()?;
            // SAFETY: both places outlive the call.
            check(unsafe { ffi::shim_cuda_peak(index, &mut known, &mut bytes) }).ok()?;
            (known != 0).then_some(bytes)
        }
        _ => None,
    }
}

/// Starts counting anew: the peak becomes what is in use now.
///
/// Where the system does not allow that (main memory on anything but Linux), the peak stays that of the process.
pub fn reset_peak_memory(device: Device) {
    match device {
        // 5 resets VmHWM; see proc(5). Without the right to do so the old peak stays, which is still an upper bound.
        Device::Cpu => drop(fs::write("/proc/self/clear_refs", "5")),
        Device::Cuda(index) => {
            if let Ok(index) = c_int::try_from(index) {
                // SAFETY: takes a number only. A device that is not there has no peak to reset.
                let _ = check(unsafe { ffi::shim_cuda_reset_peak(index) });
            }
        }
        _ => {}
    }
}

/// The most main memory, in bytes, that this process ever had resident.
///
/// From `VmHWM` where there is a `/proc`: `getrusage`, the fallback, also counts what the process was before `exec`.
pub fn peak_ram() -> Option<u64> {
    fs::read_to_string("/proc/self/status").ok().and_then(|status| high_water_mark(&status)).or_else(|| {
        let mut bytes = 0;
        // SAFETY: `bytes` outlives the call.
        check(unsafe { ffi::shim_ram_peak(&mut bytes) }).ok()?;
        Some(bytes)
    })
}

/// All main memory of the machine, in bytes, where there is a `/proc`.
pub fn total_ram() -> Option<u64> {
    fs::read_to_string("/proc/meminfo").ok().and_then(|text| kib_of(&text, "MemTotal:"))
}

/// `VmHWM` of a `/proc/…/status` text, in bytes.
fn high_water_mark(status: &str) -> Option<u64> {
    kib_of(status, "VmHWM:")
}

fn kib_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_read_in_bytes() {
        let status = "Name:\tprescient\nVmHWM:\t    1024 kB\nVmRSS:\t 8 kB\n";
        assert_eq!(high_water_mark(status), Some(1 << 20));
        assert_eq!(high_water_mark("Name:\tprescient\n"), None);
    }

    #[test]
    fn getrusage_knows_a_peak_too() {
        let mut bytes = 0;
        // SAFETY: `bytes` outlives the call.
        check(unsafe { ffi::shim_ram_peak(&mut bytes) }).expect("getrusage works for the own process");
        assert!(bytes > 1 << 20, "{bytes}");
    }
}
