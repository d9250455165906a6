//! What must stand in the environment before libtorch is loaded.
//!
//! libgomp's threads spin while they wait for each other. With as many threads as cores, anything else that wants a core
//! (our own image readers, another program) then keeps a thread from running that all others wait for: measured on two
//! cores beside one busy program, a run of 6 s took over a minute. Waiting asleep costs nothing that can be measured.
//!
//! glibc's allocator hands the memory of each step back to the system and has it faulted in again for the next: measured
//! on MNIST, 30 to 40 s of 270. Keeping up to 1 GiB ends that, for some hundreds of megabytes.
//!
//! Both read this when they are loaded, before `main`; so the program starts itself once more.

const POLICY: &str = "OMP_WAIT_POLICY";
const KEEP: [&str; 2] = ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"];

/// Starts the program again with the variables it needs, unless they are set.
pub(super) fn prepare() {
    #[cfg(unix)]
    if std::env::var_os(POLICY).is_none()
        && let Ok(program) = std::env::current_exe()
    {
        use std::os::unix::process::CommandExt;
        let mut again = std::process::Command::new(program);
        again.args(std::env::args_os().skip(1)).env(POLICY, "passive");
        for name in KEEP.iter().filter(|name| std::env::var_os(name).is_none()) {
            again.env(name, (1u64 << 30).to_string());
        }
        let error = again.exec();
        // Nothing is lost but speed.
        tracing::warn!("cannot start again with {POLICY}=passive: {error}");
    }
}
