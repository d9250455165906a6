//! What must stand in the environment before libtorch is loaded.
//!
//! libgomp's threads spin while they wait for each other. With as many threads as cores, anything else that wants a core
//! (our own image readers, another program) then keeps a thread from running that all others wait for: measured on two
//! cores beside one busy program, a run of 6 s took over a minute. Waiting asleep costs nothing that can be measured.
//!
//! libgomp reads this when it is loaded, before `main`; so the program starts itself once more.

const POLICY: &str = "OMP_WAIT_POLICY";

/// Starts the program again with the variables it needs, unless they are set.
pub(super) fn prepare() {
    #[cfg(unix)]
    if std::env::var_os(POLICY).is_none()
        && let Ok(program) = std::env::current_exe()
    {
        use std::os::unix::process::CommandExt;
        let error = std::process::Command::new(program).args(std::env::args_os().skip(1)).env(POLICY, "passive").exec();
        // Nothing is lost but speed.
        tracing::warn!("cannot start again with {POLICY}=passive: {error}");
    }
}
