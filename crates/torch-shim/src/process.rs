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
//! on MNIST, 30 to 40 s of 270. Keeping up to 1 GiB ends that, for some hundreds of megabytes.
//!
//! Both read this when they are loaded, before `main`; so the program starts itself once more.

const POLICY: &str = "OMP_WAIT_POLICY";
const ROUNDS: (&str, &str) = ("GOMP_SPINCOUNT", "4000");
const KEEP: [&str; 2] = ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"];

/// Starts the program again with the variables it needs, unless they are set.
pub fn tune_process() {
    #[cfg(unix)]
    if std::env::var_os(POLICY).is_none()
        && let Ok(program) = std::env::current_exe()
    {
        use std::os::unix::process::CommandExt;
        let mut again = std::process::Command::new(program);
        again.args(std::env::args_os().skip(1)).env(POLICY, "passive").env(ROUNDS.0, ROUNDS.1);
        for name in KEEP.iter().filter(|name| std::env::var_os(name).is_none()) {
            again.env(name, (1u64 << 30).to_string());
        }
        let error = again.exec();
        // Nothing is lost but speed.
        eprintln!("warning: cannot start again with {POLICY}=passive: {error}");
    }
}
