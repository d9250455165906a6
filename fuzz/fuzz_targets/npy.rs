//! NumPy arrays: an array has as many numbers as its shape says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::data::formats::npy::read;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(matrix) = read(bytes, Path::new("a.npy")) {
        assert_eq!(matrix.shape[0] * matrix.shape[1], matrix.values.len());
    }
});
