//! NumPy arrays in a folder.
//!
//! ```text
//! train.npy  test.npy                   a row a sample
//! train.txt  test.txt                   the class of each row, a line
//! or train-labels.npy  test-labels.npy  its number, from 0, and classes.txt, a class a line
//! ```

use crate::data::datasets::features::table::{Names, Table, Values};
use crate::data::datasets::features::{Found, fault, named};
use crate::data::formats::npy;
use crate::error::DataError;
use mapped::Mapped;
use std::path::Path;

pub(crate) fn read(folder: &Path) -> Result<Found, DataError> {
    let listed = folder.join("classes.txt");
    let classes = if listed.is_file() { Some(named::list(named::lines(&listed)?, &listed)?) } else { None };
    let (train, test) = (side(folder, "train", classes.as_deref())?, side(folder, "test", classes.as_deref())?);
    Ok(Found { train, test, classes, attributes: None, proposed: None })
}

fn side(folder: &Path, side: &'static str, names: Option<&[String]>) -> Result<Table, DataError> {
    let path = folder.join(format!("{side}.npy"));
    let map = Mapped::open(&path).map_err(DataError::io(&path))?;
    let layout = npy::Layout::of(&map, &path)?;
    let width = layout.shape[1];
    // Millions of rows stay where they are.
    let values = match layout.is_plain() {
        true => Values::in_file(&path, layout.start)?,
        false => Values::InMemory(npy::read(&map, &path)?.values),
    };
    let (texts, numbers) = (folder.join(format!("{side}.txt")), folder.join(format!("{side}-labels.npy")));
    let classes = match (texts.is_file(), names) {
        (true, None) => named::lines(&texts)?,
        (true, Some(names)) => listed(named::lines(&texts)?, names, &texts)?,
        (false, Some(names)) => {
            let labels: Vec<f64> = matrix(&numbers)?.values.into_iter().map(f64::from).collect();
            named::numbered(&labels, 0, names, &numbers)?
        }
        (false, None) => {
            let expected = format!("`{side}.txt` beside it, or `{side}-labels.npy` and `classes.txt`");
            return Err(fault(&path, expected, "neither".to_owned(), crate::data::datasets::features::LAYOUT));
        }
    };
    Table::new(&path, Names::Side(side), [layout.shape[0], width], values, classes)
}

fn matrix(path: &Path) -> Result<npy::Matrix, DataError> {
    npy::read(&Mapped::open(path).map_err(DataError::io(path))?, path)
}

/// The classes of rows, each of which must be in the list.
fn listed(classes: Vec<String>, names: &[String], path: &Path) -> Result<Vec<String>, DataError> {
    match classes.iter().position(|class| !names.contains(class)) {
        None => Ok(classes),
        Some(line) => Err(DataError::Malformed {
            path: path.to_owned(),
            line: Some(line + 1),
            expected: "a class of `classes.txt`".to_owned(),
            found: format!("`{}`", classes[line]),
            hint: "names must agree to the letter; without `classes.txt` the classes are those of the rows".to_owned(),
        }),
    }
}
