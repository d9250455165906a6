//! Class information from anywhere: tables, words, AwA2's and aP&Y's own files, xlsa17's splits, NumPy arrays.
//!
//! Each source is read by what its name says, scaled, and put beside the others by the name of the class. Nothing is ever
//! matched by position (errata 24).

mod block;
mod columns;
pub(crate) mod csv;
mod neighbours;
mod scale;
mod source;
mod table;
mod words;
pub mod xlsa17;

pub use block::{Block, BlockKind};
pub(crate) use columns::{is_numbering, listed};
pub use neighbours::{Neighbour, Warning, nearest, warnings};
pub use scale::Scale;
pub use source::AttributeSource;
pub use table::Catalogue;
pub(crate) use words::as_words;

use crate::class;
use crate::data::datasets::{apy, awa2};
use crate::data::formats::npy;
use crate::data::resolve;
use crate::error::DataError;
use std::collections::BTreeSet;
use std::path::Path;

/// The classes of the first source with the attributes of all, side by side; every source must name the same classes.
pub fn joined(sources: &[AttributeSource], scale: Scale) -> Result<Option<Catalogue>, DataError> {
    Ok(side_by_side(&tables(sources, None)?, scale))
}

/// Every class of the images, then those of which there is a description and no image, each part in the order of the first
/// source; without a source, in order of their names. `images` is where the images of the `classes` are.
pub(crate) fn class_information(
    images: &Path,
    classes: Vec<String>,
    sources: &[AttributeSource],
    scale: Scale,
) -> Result<Catalogue, DataError> {
    let tables = tables(sources, Some(&classes))?;
    for (table, source) in tables.iter().zip(sources) {
        compare(&classes, images, table, &source.path)?;
    }
    let Some(catalogue) = side_by_side(&tables, scale) else { return Ok(Catalogue::bare(classes)) };
    let known: BTreeSet<&String> = classes.iter().collect();
    let (mut order, described): (Vec<String>, Vec<String>) =
        catalogue.names().iter().cloned().partition(|name| known.contains(name));
    if described.is_empty() {
        return Ok(catalogue);
    }
    order.extend(described);
    Ok(catalogue.arranged(&order))
}

/// Each source as it stands. Names are those of the first source that lists classes, else those `listed`.
fn tables(sources: &[AttributeSource], listed: Option<&[String]>) -> Result<Vec<Catalogue>, DataError> {
    let first = sources.iter().find(|source| !source.is_names());
    let listing = first.map(read).transpose()?;
    let of_names = || {
        let classes = listing.as_ref().map(Catalogue::names).or(listed);
        words::from_names(classes.ok_or_else(|| unknown(Path::new(words::NAMES), "no list of classes beside it"))?)
    };
    sources
        .iter()
        .map(|source| match (source.is_names(), first, &listing) {
            (true, ..) => of_names(),
            (false, Some(first), Some(listing)) if std::ptr::eq(source, first) => Ok(listing.clone()),
            (false, first, listing) => {
                let table = read(source)?;
                if let Some((first, listing)) = first.zip(listing.as_ref()) {
                    agree(listing, &first.path, &table, &source.path)?;
                }
                Ok(table)
            }
        })
        .collect()
}

fn side_by_side(tables: &[Catalogue], scale: Scale) -> Option<Catalogue> {
    tables.iter().map(|table| scale.scaled(table)).reduce(|before, table| before.joined(&table))
}

/// Reads one source as it stands.
pub fn read(source: &AttributeSource) -> Result<Catalogue, DataError> {
    let path = resolve(&source.path);
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension).unwrap_or_default();
    let bytes = |most: u64| crate::disk::read(&path, most).map_err(DataError::io(&path));
    let catalogue = match extension {
        _ if path.is_dir() => from_folder(&path)?,
        "csv" => Catalogue::from_csv(&bytes(crate::disk::IMAGE)?, &path)?,
        "mat" => xlsa17::from_mat(&bytes(crate::disk::TABLE)?, source.variable.as_deref(), &path)?,
        "npy" => npy::from_npy(&bytes(crate::disk::TABLE)?, source.classes.as_deref(), &path)?,
        "txt" if ["predicate-matrix-binary.txt", "predicate-matrix-continuous.txt"].contains(&name.as_str()) => {
            awa2::from_matrix_file(&path)?
        }
        // What is not there is told as such; what is there and unknown, as unknown.
        _ => match std::fs::metadata(&path) {
            Ok(_) if ["xlsx", "xls", "ods"].contains(&extension) => return Err(csv::workbook(&path)),
            Ok(_) => return Err(unknown(&path, "a file of another kind")),
            Err(error) => return Err(DataError::io(&path)(error)),
        },
    };
    check(&catalogue, &path)?;
    Ok(match extension {
        "csv" => catalogue,
        _ => catalogue.called_after(&name),
    })
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
        hint: "what can be read: a CSV, AwA2's `predicate-matrix-*.txt`, xlsa17's `att_splits.mat`, a `.npy`, the folder of \
               AwA2's or aP&Y's own files, or the word `names` beside images or one of these"
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
    if catalogue.len() > class::MOST {
        return wrong("at most 1,000,000 classes", catalogue.len().to_string());
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
    let (mine, theirs): (BTreeSet<&String>, BTreeSet<&String>) =
        (first.names().iter().collect(), table.names().iter().collect());
    let missing = first.names().iter().find(|name| !theirs.contains(name)).map(|name| format!("no `{name}`"));
    let beyond = table.names().iter().find(|name| !mine.contains(name)).map(|name| format!("`{name}` beyond them"));
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

/// Whether a source names every class of the images. What it names beyond them is a description of classes without images.
fn compare(classes: &[String], of: &Path, table: &Catalogue, path: &Path) -> Result<(), DataError> {
    let (known, named): (BTreeSet<&String>, BTreeSet<&String>) =
        (classes.iter().collect(), table.names().iter().collect());
    let only_images: Vec<String> = known.difference(&named).map(|name| (*name).clone()).collect();
    let only_attributes: Vec<String> = named.difference(&known).map(|name| (*name).clone()).collect();
    if only_images.is_empty() {
        return Ok(());
    }
    Err(DataError::Classes { images: of.to_owned(), attributes: path.to_owned(), only_images, only_attributes })
}
