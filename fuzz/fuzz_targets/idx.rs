//! MNIST's idx files: what is read is exactly as long as its header says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::data::Idx;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    for (magic, dimensions) in [(2051, 3), (2049, 1)] {
        if let Ok(idx) = Idx::parse(bytes.to_vec(), magic, dimensions, Path::new("idx")) {
            assert_eq!(idx.values.len(), idx.dimensions.iter().product::<usize>());
        }
    }
});
