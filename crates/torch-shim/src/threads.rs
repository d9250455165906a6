//! Threads that compute alone.

use crate::error::assume;
use crate::ffi;

/// Has the calling thread compute without the help of others, and no other thread; whether it does now.
///
/// Where libtorch has no OpenMP, it may not.
pub fn use_one_thread() -> bool {
    let mut threads = 0;
    // SAFETY: `threads` outlives the call.
    assume(unsafe { ffi::shim_use_one_thread(&mut threads) });
    threads == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn one_thread_computes_alone_and_the_others_as_before() {
        let before = tch::get_num_threads();
        assert!(thread::spawn(|| use_one_thread() && tch::get_num_threads() == 1).join().expect("no panic"));
        assert_eq!(tch::get_num_threads(), before);
        assert_eq!(
            thread::spawn(tch::get_num_threads).join().expect("no panic"),
            before,
            "a thread that asked for nothing"
        );
    }
}
