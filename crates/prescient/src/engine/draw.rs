//! First weights, drawn by libtorch's own generator.
//!
//! The process has only one of it. So whoever draws seeds it first and is alone until done; two models that are made at
//! the same time do not disturb each other.

use std::sync::{Mutex, PoisonError};

static GENERATOR: Mutex<()> = Mutex::new(());

/// What `draw` makes of the generator's numbers after `seed`.
pub fn with_seed<T>(seed: i64, draw: impl FnOnce() -> T) -> T {
    let _alone = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    tch::manual_seed(seed);
    draw()
}
