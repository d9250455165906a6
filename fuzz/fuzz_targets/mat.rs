//! MATLAB files: a matrix has as many numbers as its shape says; and what xlsa17's reader makes of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::catalogue::xlsa17::from_mat;
use prescient::data::formats::mat::{Value, read};
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    // The header holds nothing that is read but its end: spare the fuzzer to find it.
    let mut file = vec![b' '; 126];
    file.extend(b"IM");
    file.extend(bytes);
    if let Ok(variables) = read(&file, Path::new("a.mat")) {
        for value in variables.values() {
            if let Value::Numbers { shape: [rows, columns], values } = value {
                assert_eq!(rows * columns, values.len());
            }
        }
    }
    drop(from_mat(&file, None, Path::new("a.mat")));
    drop(read(bytes, Path::new("a.mat")));
});
