//! Ctrl-C and SIGTERM: the first one asks a run to stop where it can go on later, the second one ends the process.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// What the process ends with.
const CODE: i32 = 130;

static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second time it is set already. Where a signal cannot be had, it ends the process as before.
        let _ = flag::register_conditional_shutdown(signal, CODE, asked.clone());
        let _ = flag::register(signal, asked.clone());
    }
    asked
});

/// From now on signals ask.
pub(super) fn watch() {
    LazyLock::force(&ASKED);
}

/// Whether one has.
pub(super) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
