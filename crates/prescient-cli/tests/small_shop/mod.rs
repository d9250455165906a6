//! A project of a few drawn classes with a small network, as a shop that gets photos month by month.

use prescient::Project;
use prescient::extractor::{ExtractorKind, SmallCnn};
use prescient::project::{ClassTable, Settings};
use std::ops::Range;
use std::path::Path;

/// Which of the drawn photos of a class come in which month: `(folder, class, numbers)`.
pub(crate) const MONTHS: [(&str, &str, Range<usize>); 5] = [
    ("month_01", "lion", 0..10),
    ("month_01", "bison", 0..10),
    ("month_01", "tiger", 0..6),
    ("month_02", "lion", 10..12),
    ("month_02", "ox", 0..6),
];

/// A new project that knows the classes of `table`.
pub(crate) fn create(path: impl AsRef<Path>, table: &str) -> Project {
    let extractor = ExtractorKind::SmallCnn(SmallCnn { features: 16, width: 4 });
    let settings = Settings { size: 32, ..Settings::new(extractor) };
    let table = ClassTable::parse(table.as_bytes(), Path::new("classes.csv")).unwrap();
    Project::create(path, &table, settings, tch::Device::Cpu).unwrap()
}
