//! Packs: a header that is believed has every pixel it speaks of.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::data::{Dataset, Pack, Subset, framed};
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    // As they are; and as a header whose digest is right, which no fuzzer would find.
    for pack in [bytes.to_vec(), framed(&[7; 64], bytes)] {
        let Ok(pack) = Pack::from_bytes(pack, Path::new("a.pack")) else { continue };
        for subset in [Subset::Train, Subset::Test] {
            for sample in pack.samples(subset) {
                assert!(sample.class.index() < pack.catalogue().len());
                if let Ok(image) = pack.image(sample) {
                    assert_eq!(image.pixels.len(), (image.width * image.height) as usize * image.channels.bytes());
                }
            }
        }
    }
});
