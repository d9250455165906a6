//! Headers of safetensors, where we read them: a file of features, and a file of tensors of a run.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::data::{Dataset, Features, FeaturesSettings, Subset};
use prescient::engine::TensorFile;
use prescient_fuzz::{folder, made};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Two classes, two rows of three numbers on each side.
fn whole() -> Vec<u8> {
    let header = r#"{"__metadata__":{"classes":"cat\ndog"},"train.features":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"test.features":{"dtype":"F32","shape":[2,3],"data_offsets":[24,48]},"train.labels":{"dtype":"I64","shape":[2],"data_offsets":[48,64]},"test.labels":{"dtype":"U8","shape":[2],"data_offsets":[64,66]}}"#;
    let rows = (0..12).flat_map(|number| (number as f32).to_le_bytes());
    let labels = [0u64, 1].into_iter().flat_map(u64::to_le_bytes);
    let length = (header.len() as u64).to_le_bytes();
    length.into_iter().chain(header.bytes()).chain(rows).chain(labels).chain([1, 0]).collect()
}

fuzz_target!(|input: &[u8]| {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let path = PATH.get_or_init(|| folder().join("features.safetensors"));
    std::fs::write(path, made(&whole(), input)).expect("a file");
    let settings = FeaturesSettings::new(path);
    if let Ok(features) = Features::open(path, &settings) {
        for sample in [Subset::Train, Subset::Test].into_iter().flat_map(|subset| features.samples(subset)) {
            assert!(sample.class.index() < features.catalogue().len());
            let row = features.image(sample).expect("a row");
            assert_eq!(row.pixels.len() % 4, 0);
        }
    }
    if let Ok(file) = TensorFile::open(path) {
        for name in file.names().expect("its names") {
            if let Ok(tensor) = file.read(&name, None) {
                assert_eq!(tensor.numel(), tensor.size().iter().product::<i64>() as usize);
            }
        }
    }
});
