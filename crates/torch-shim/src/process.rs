//! What must stand in the environment before libtorch is loaded.
//!
//! libgomp's threads spin while they wait for each other. With as many threads as cores, anything else that wants a core
//! (our own image readers, another program) then keeps a thread from running that all others wait for. Waiting asleep has
//! its price when the machine is quiet. So they spin a little, then sleep. Measured on two cores, task 1 of the demo:
//!
//! | | quiet, 3 epochs | beside a busy program, 1 epoch |
//! | --- | --- | --- |
//! | spinning 200,000 / 100,000 rounds | 5.4 s | 32 s |
//! | spinning 4,000 rounds | 7.3 s | 8.7 s |
//! | asleep at once | 10.3 s | 6.0 s |
//!
//! glibc's allocator hands the memory of each step back to the system and has it faulted in again for the next: measured
//! on MNIST, 30 to 40 s of 270. Keeping up to 1 GiB ends that, for some hundreds of megabytes. A glibc before 2.35 refuses a threshold
//! above 32 MiB for blocks of their own and stays at 128 KiB then, 25 times as many page faults: there it is 32 MiB.
//!
//! libtorch's process groups print a backtrace for every connection that is not there yet. Our errors say it in a line, so they are silenced.
//!
//! All read this when they are loaded, before `main`; so the program starts itself once more.

const POLICY: &str = "OMP_WAIT_POLICY";
const ROUNDS: (&str, &str) = ("GOMP_SPINCOUNT", "4000");
const LOG: (&str, &str) = ("TORCH_CPP_LOG_LEVEL", "FATAL");
const TRIM: &str = "MALLOC_TRIM_THRESHOLD_";
const MMAP: &str = "MALLOC_MMAP_THRESHOLD_";
const KEPT: u64 = 1 << 30;

/// The largest threshold for blocks of their own that this version of glibc takes.
fn mmap_threshold(version: &str) -> u64 {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < (2, 35) { 32 << 20 } else { KEPT }
}

/// The version of the C library that runs, where that is glibc.
fn libc_version() -> String {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: glibc's own, without arguments; the text is static.
        unsafe extern "C" {
            safe fn gnu_get_libc_version() -> *const std::ffi::c_char;
        }
        // SAFETY: a static text that ends in a zero.
        unsafe { std::ffi::CStr::from_ptr(gnu_get_libc_version()) }.to_string_lossy().into_owned()
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    String::new()
}

/// Starts the program again with the variables it needs, unless they are set.
pub fn tune_process() {
    #[cfg(unix)]
    if (std::env::var_os(POLICY).is_none() || std::env::var_os(LOG.0).is_none())
        && let Ok(program) = std::env::current_exe()
        // Started through the loader, `ld.so prescient …`, the program is the loader, which would take the first argument for it.
        && !program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld"))
    {
        use std::os::unix::process::CommandExt;
        let mut again = std::process::Command::new(program);
        let bytes = |bytes: u64| bytes.to_string();
        let mut wanted = vec![(LOG.0, LOG.1.to_owned())];
        // Who has chosen how threads wait has chosen the rest too.
        if std::env::var_os(POLICY).is_none() {
            wanted.extend([(POLICY, "passive".to_owned()), (ROUNDS.0, ROUNDS.1.to_owned())]);
            wanted.extend([(TRIM, bytes(KEPT)), (MMAP, bytes(mmap_threshold(&libc_version())))]);
        }
        wanted.retain(|(name, _)| std::env::var_os(name).is_none());
        again.args(std::env::args_os().skip(1)).envs(wanted);
        let error = again.exec();
        // Nothing is lost but speed.
        eprintln!("warning: cannot start again with {POLICY}=passive: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_glibc_gets_a_threshold_that_it_takes() {
        assert_eq!(
            ["2.31", "2.34", "2.35", "2.41", ""].map(|version| mmap_threshold(version) >> 20),
            [32, 32, 1024, 1024, 32]
        );
        assert!(cfg!(not(target_env = "gnu")) || libc_version().starts_with("2."), "{}", libc_version());
    }
}
