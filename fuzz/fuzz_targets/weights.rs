//! Files of weights, `.pth` in both formats and safetensors: a tensor has as many numbers as its shape says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::weights::read;
use prescient_fuzz::{folder, made};
use std::path::PathBuf;
use std::sync::OnceLock;

/// What `torch.save` writes today, what it wrote before, and safetensors.
const WHOLE: [&[u8]; 3] = [
    include_bytes!("../../crates/prescient/tests/golden/weights.pth"),
    include_bytes!("../../crates/prescient/tests/golden/weights-old.pth"),
    b"\x6e\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F16\",\"shape\":[1,2],\"data_offsets\":[8,12]}}\0\0\0\0\0\0\x80\x3f\0\x3c\0\x3c",
];

fuzz_target!(|input: &[u8]| {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let path = PATH.get_or_init(|| folder().join("weights.pth"));
    let Some((&which, input)) = input.split_first() else { return };
    let bytes = made(WHOLE[usize::from(which) % WHOLE.len()], input);
    std::fs::write(path, &bytes).expect("a file");
    if let Ok(tensors) = read(path) {
        for stored in tensors.values() {
            assert_eq!(stored.shape.iter().product::<i64>() as usize, stored.values.len());
            // No number is there that is not in the file.
            assert!(stored.values.len() <= 1 << 20);
        }
    }
});
