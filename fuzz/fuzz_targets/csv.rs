//! Tables of attributes: every class once, a finite number for each attribute.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::catalogue::{Catalogue, Scale, warnings};
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(catalogue) = Catalogue::from_csv(bytes, Path::new("a.csv")) {
        assert!(!catalogue.is_empty() && !catalogue.attribute_names().is_empty());
        assert!(catalogue.rows().all(|(_, row)| row.iter().all(|value| value.is_finite())));
        for scale in [Scale::None, Scale::UnitL2, Scale::Range] {
            let scaled = scale.scaled(&catalogue);
            assert!(scaled.rows().all(|(_, row)| row.iter().all(|value| value.is_finite())));
        }
        if catalogue.len() < 50 {
            drop(warnings(&catalogue));
        }
    }
});
