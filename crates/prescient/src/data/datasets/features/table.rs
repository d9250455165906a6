//! The rows of one side, with the class and the name of each.

use crate::data::datasets::features::fault;
use crate::error::DataError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// So many rows of a kind are named one by one.
const NAMED: usize = 100;

/// One side.
pub(crate) struct Table {
    /// The file it came from.
    path: PathBuf,
    /// `train` or `test`, or the photo of each row.
    names: Names,
    width: usize,
    /// Row by row.
    values: Vec<f32>,
    classes: Vec<String>,
}

/// What rows are called.
pub(crate) enum Names {
    /// By their place: `train[12]`.
    Side(&'static str),
    /// By the photos they were computed from.
    Photos(Vec<String>),
}

impl Table {
    /// Rows of `width` numbers, one after the other, and the class of each.
    pub(crate) fn new(
        path: &Path,
        names: Names,
        width: usize,
        values: Vec<f32>,
        classes: Vec<String>,
    ) -> Result<Self, DataError> {
        let rows = values.len() / width.max(1);
        if rows == 0 || rows > u32::MAX as usize || width > u32::MAX as usize / 4 {
            return Err(fault(
                path,
                "rows of numbers".to_owned(),
                format!("{rows} rows of {width}"),
                crate::data::datasets::features::LAYOUT,
            ));
        }
        if classes.len() != rows {
            let expected = format!("a class for each of {rows} rows");
            let hint = "a row of features needs its class at the same place: were both written from one list?";
            return Err(fault(path, expected, format!("{} classes", classes.len()), hint));
        }
        Ok(Self { path: path.to_owned(), names, width, values, classes })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn rows(&self) -> usize {
        self.classes.len()
    }

    pub(crate) fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..][..self.width]
    }

    pub(crate) fn class(&self, row: usize) -> &str {
        &self.classes[row]
    }

    pub(crate) fn name(&self, row: usize) -> String {
        match &self.names {
            Names::Side(side) => format!("{side}[{row}]"),
            Names::Photos(photos) => photos[row].clone(),
        }
    }

    /// The classes of both sides, in order of their names.
    pub(crate) fn classes_with(&self, other: &Self) -> Vec<String> {
        let all: BTreeSet<&String> = self.classes.iter().chain(&other.classes).collect();
        all.into_iter().cloned().collect()
    }

    /// A fault for each row with something that is no number, the first of them by name.
    pub(crate) fn not_finite(&self) -> Vec<DataError> {
        let places = (0..self.rows()).filter_map(|row| {
            let column = self.row(row).iter().position(|value| !value.is_finite())?;
            Some((row, column))
        });
        let hint =
            "the extractor may have overflowed (half precision?): compute the row again, or leave it out of the file";
        let told = |(row, column): (usize, usize)| {
            let found = format!("{} in row {row}, column {column}, counted from 0", self.row(row)[column]);
            fault(&self.path, "finite numbers".to_owned(), found, hint)
        };
        places.take(NAMED).map(told).collect()
    }

    /// A fault for each of `classes` that has no row on this side.
    pub(crate) fn without(&self, classes: &[String]) -> Vec<DataError> {
        let here: BTreeSet<&String> = self.classes.iter().collect();
        let missing = classes.iter().filter(|class| !here.contains(class));
        let hint =
            "every class is learned and asked about: it needs rows on both sides, or none and no name in the list";
        missing
            .map(|class| fault(&self.path, format!("rows of the class `{class}`"), "none".to_owned(), hint))
            .collect()
    }
}
