//! aP&Y's annotations: one of the five files is changed; what is read has every object in a class and every flag in place.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::data::{Apy, ApySettings, Dataset, Subset};
use prescient_fuzz::{folder, made};
use std::path::PathBuf;
use std::sync::OnceLock;

const FILES: [(&str, &str); 5] = [
    ("class_names.txt", "cat\ndog\n"),
    ("attribute_names.txt", "Tail\nWing\nFurry\n"),
    ("apascal_train.txt", "1.jpg cat 1 1 20 20 1 0 1\n2.jpg dog 3 4 9 9 0 0 1\n3.jpg cat 1 1 5 5 1 0 1\n"),
    ("apascal_test.txt", "4.jpg cat 1 1 20 20 1 0 1\n5.jpg dog 3 4 9 9 0 0 1\n6.jpg dog 1 1 5 5 1 0 1\n"),
    ("ayahoo_test.txt", "7.jpg dog 1 1 20 20 1 0 1\n8.jpg dog 3 4 9 9 0 0 1\n9.jpg cat 1 1 5 5 1 0 1\n"),
];

fn place() -> &'static PathBuf {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let at = folder();
        FILES.iter().for_each(|(name, text)| std::fs::write(at.join(name), text).expect("a file"));
        for (within, photos) in [("JPEGImages", 1..=6), ("ayahoo_test_images", 7..=9)] {
            std::fs::create_dir(at.join(within)).expect("a folder");
            photos.for_each(|photo| std::fs::write(at.join(within).join(format!("{photo}.jpg")), "").expect("a file"));
        }
        at
    })
}

fuzz_target!(|input: &[u8]| {
    let Some((&which, input)) = input.split_first() else { return };
    let (name, text) = FILES[usize::from(which) % FILES.len()];
    let path = place().join(name);
    std::fs::write(&path, made(text.as_bytes(), input)).expect("a file");
    if let Ok(apy) = Apy::open(place(), &ApySettings::default()) {
        let catalogue = apy.catalogue();
        assert!(catalogue.rows().all(|(_, row)| row.iter().all(|value| value.is_finite())));
        for sample in [Subset::Train, Subset::Test].into_iter().flat_map(|subset| apy.samples(subset)) {
            assert!(sample.class.index() < catalogue.len());
            assert!(!apy.name(sample).is_empty());
        }
    }
    std::fs::write(&path, text).expect("a file");
});
