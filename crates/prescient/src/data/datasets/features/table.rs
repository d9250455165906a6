//! The rows of one side, with the class and the name of each.

use crate::data::datasets::features::fault;
use crate::disk;
use crate::error::DataError;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// So many rows of a kind are named one by one.
const NAMED: usize = 100;
/// Rows that are looked through together.
const TOGETHER: usize = 64;

/// One side.
pub(crate) struct Table {
    /// The file it came from.
    path: PathBuf,
    /// `train` or `test`, or the photo of each row.
    names: Names,
    width: usize,
    values: Values,
    classes: Vec<String>,
}

/// The numbers of all rows, row by row.
pub(crate) enum Values {
    /// In memory.
    InMemory(Vec<f32>),
    /// In a file, from this place on, four bytes a number, the lowest first: a row is read when it is asked for.
    InFile(File, u64),
}

impl Values {
    /// Those of a file, from the place `start` on.
    pub(crate) fn in_file(path: &Path, start: usize) -> Result<Self, DataError> {
        let (file, _) = disk::open(path).map_err(DataError::io(path))?;
        Ok(Self::InFile(file, start as u64))
    }

    /// Some of them.
    fn read(&self, start: usize, count: usize) -> io::Result<Cow<'_, [f32]>> {
        match self {
            Self::InMemory(values) => Ok(Cow::Borrowed(&values[start..][..count])),
            Self::InFile(file, first) => {
                let mut bytes = vec![0; count * 4];
                file.read_exact_at(&mut bytes, first + start as u64 * 4)?;
                let numbers = bytes.chunks_exact(4).map(|n| f32::from_le_bytes(n.try_into().expect("four bytes")));
                Ok(Cow::Owned(numbers.collect()))
            }
        }
    }
}

/// What rows are called.
pub(crate) enum Names {
    /// By their place: `train[12]`.
    Side(&'static str),
    /// By the photos they were computed from.
    Photos(Vec<String>),
}

impl Table {
    /// So many rows of `width` numbers, one after the other, and the class of each.
    pub(crate) fn new(
        path: &Path,
        names: Names,
        [rows, width]: [usize; 2],
        values: Values,
        classes: Vec<String>,
    ) -> Result<Self, DataError> {
        if rows == 0 || width == 0 || rows > u32::MAX as usize || width > u32::MAX as usize / 4 {
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

    pub(crate) fn row(&self, row: usize) -> Result<Cow<'_, [f32]>, DataError> {
        self.values.read(row * self.width, self.width).map_err(DataError::io(&self.path))
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

    /// A fault for each row with something that is no number, the first of them by name. All numbers go into `digest`.
    pub(crate) fn not_finite(&self, digest: &mut blake3::Hasher) -> Result<Vec<DataError>, DataError> {
        let hint =
            "the extractor may have overflowed (half precision?): compute the row again, or leave it out of the file";
        let (mut faults, mut bytes) = (Vec::new(), Vec::new());
        for first in (0..self.rows()).step_by(TOGETHER) {
            let rows = TOGETHER.min(self.rows() - first);
            let numbers = self.values.read(first * self.width, rows * self.width).map_err(DataError::io(&self.path))?;
            bytes.clear();
            numbers.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
            digest.update(&bytes);
            for (row, numbers) in (first..).zip(numbers.chunks(self.width)) {
                let Some(column) = numbers.iter().position(|value| !value.is_finite()) else { continue };
                if faults.len() < NAMED {
                    let found = format!("{} in row {row}, column {column}, counted from 0", numbers[column]);
                    faults.push(fault(&self.path, "finite numbers".to_owned(), found, hint));
                }
            }
        }
        Ok(faults)
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
