//! Class information from anywhere: tables, AwA2's and aP&Y's own files, xlsa17's splits, NumPy arrays.
//!
//! Each source is read by what its name says, scaled, and put beside the others by the name of the class. Nothing is ever
//! matched by position (errata 24).

mod neighbours;
mod scale;
mod source;
mod table;
pub mod xlsa17;

pub use neighbours::{Neighbour, Warning, nearest, warnings};
pub use scale::Scale;
pub use source::AttributeSource;
pub use table::Catalogue;

use crate::data::datasets::{apy, awa2};
use crate::data::formats::npy;
use crate::data::resolve;
use crate::error::DataError;
use std::collections::BTreeSet;
use std::path::Path;

/// The classes of the first source with the attributes of all, side by side; every source must name the same classes.
pub fn joined(sources: &[AttributeSource], scale: Scale) -> Result<Option<Catalogue>, DataError> {
    let mut joined: Option<Catalogue> = None;
    for source in sources {
        let table = scale.scaled(&read(source)?);
        joined = Some(match joined {
            None => table,
            Some(before) => {
                agree(&before, &sources[0].path, &table, &source.path)?;
                before.joined(&table)
            }
        });
    }
    Ok(joined)
}

/// The classes in the order of the first source, with the attributes of all; without one, in order of their names.
/// `images` is where the images of the `classes` are.
pub(crate) fn class_information(
    images: &Path,
    classes: Vec<String>,
    sources: &[AttributeSource],
    scale: Scale,
) -> Result<Catalogue, DataError> {
    for source in sources {
        compare(&classes, images, &read(source)?, &source.path)?;
    }
    Ok(joined(sources, scale)?.unwrap_or_else(|| Catalogue::bare(classes)))
}

/// Reads one source as it stands.
pub fn read(source: &AttributeSource) -> Result<Catalogue, DataError> {
    let path = resolve(&source.path);
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension).unwrap_or_default();
    let bytes = || std::fs::read(&path).map_err(DataError::io(&path));
    let catalogue = match extension {
        _ if path.is_dir() => from_folder(&path)?,
        "csv" => Catalogue::from_csv(&bytes()?, &path)?,
        "mat" => xlsa17::from_mat(&bytes()?, source.variable.as_deref(), &path)?,
        "npy" => npy::from_npy(&bytes()?, source.classes.as_deref(), &path)?,
        "txt" if ["predicate-matrix-binary.txt", "predicate-matrix-continuous.txt"].contains(&name.as_str()) => {
            awa2::from_matrix_file(&path)?
        }
        // What is not there is told as such; what is there and unknown, as unknown.
        _ => match std::fs::metadata(&path) {
            Ok(_) => return Err(unknown(&path, "a file of another kind")),
            Err(error) => return Err(DataError::io(&path)(error)),
        },
    };
    check(&catalogue, &path)?;
    Ok(catalogue)
}

/// AwA2's or aP&Y's own files.
fn from_folder(path: &Path) -> Result<Catalogue, DataError> {
    if path.join("predicates.txt").is_file() {
        awa2::from_matrix_file(&path.join("predicate-matrix-continuous.txt"))
    } else if path.join("attribute_names.txt").is_file() {
        apy::from_annotations(path)
    } else {
        Err(unknown(path, "a folder with neither `predicates.txt` nor `attribute_names.txt`"))
    }
}

fn unknown(path: &Path, found: &str) -> DataError {
    DataError::Malformed {
        path: path.to_owned(),
        line: None,
        expected: "class information".to_owned(),
        found: found.to_owned(),
        hint: "what can be read: a CSV, AwA2's `predicate-matrix-*.txt`, xlsa17's `att_splits.mat`, a `.npy`, or the \
               folder of AwA2's or aP&Y's own files"
            .to_owned(),
    }
}

/// What must hold whatever the format: every class and every attribute once, every value a number.
fn check(catalogue: &Catalogue, path: &Path) -> Result<(), DataError> {
    let wrong = |expected: &str, found: String| {
        let hint =
            "class information has every class once, every attribute once, and a finite number for each".to_owned();
        Err(DataError::Malformed { path: path.to_owned(), line: None, expected: expected.to_owned(), found, hint })
    };
    if catalogue.is_empty() {
        return wrong("at least one class", "none".to_owned());
    }
    for (names, expected) in
        [(catalogue.names(), "every class once"), (catalogue.attribute_names(), "every attribute once")]
    {
        let mut before = BTreeSet::new();
        if let Some(name) = names.iter().find(|name| !before.insert(name.as_str())) {
            return wrong(expected, format!("`{name}` a second time"));
        }
    }
    for (name, row) in catalogue.rows() {
        if let Some(value) = row.iter().find(|value| !value.is_finite()) {
            return wrong("finite numbers", format!("{value} for `{name}`"));
        }
    }
    Ok(())
}

/// Whether two sources name the same classes.
fn agree(first: &Catalogue, first_path: &Path, table: &Catalogue, path: &Path) -> Result<(), DataError> {
    let missing = first.names().iter().find(|name| table.find(name).is_none()).map(|name| format!("no `{name}`"));
    let beyond =
        table.names().iter().find(|name| first.find(name).is_none()).map(|name| format!("`{name}` beyond them"));
    let found: Vec<String> = [missing, beyond].into_iter().flatten().collect();
    if found.is_empty() {
        return Ok(());
    }
    Err(DataError::Malformed {
        path: path.to_owned(),
        line: None,
        expected: format!("the classes of `{}`", first_path.display()),
        found: found.join(", and "),
        hint: "sources are put side by side by the name of the class: names must agree to the letter".to_owned(),
    })
}

/// Whether images and a source name the same classes.
fn compare(classes: &[String], of: &Path, table: &Catalogue, path: &Path) -> Result<(), DataError> {
    let (known, named): (BTreeSet<&String>, BTreeSet<&String>) =
        (classes.iter().collect(), table.names().iter().collect());
    let only_images: Vec<String> = known.difference(&named).map(|name| (*name).clone()).collect();
    let only_attributes: Vec<String> = named.difference(&known).map(|name| (*name).clone()).collect();
    if only_images.is_empty() && only_attributes.is_empty() {
        return Ok(());
    }
    Err(DataError::Classes { images: of.to_owned(), attributes: path.to_owned(), only_images, only_attributes })
}
