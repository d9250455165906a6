//! The classes of rows: named one a line, or numbered, with a list of names.

use crate::data::datasets::features::fault;
use crate::error::DataError;
use std::collections::BTreeSet;
use std::path::Path;

/// The lines of a text with one name each. An empty line is told: everything after it would be in the wrong place.
pub(crate) fn lines(path: &Path) -> Result<Vec<String>, DataError> {
    let text = crate::disk::read_text(path).map_err(DataError::io(path))?;
    let lines: Vec<String> = text.lines().map(|line| crate::class::spelled(line.trim())).collect();
    match lines.iter().position(String::is_empty) {
        None => Ok(lines),
        Some(line) => Err(DataError::Malformed {
            path: path.to_owned(),
            line: Some(line + 1),
            expected: "a name".to_owned(),
            found: "an empty line".to_owned(),
            hint: "one class a line, in the order of the rows, without gaps".to_owned(),
        }),
    }
}

/// The list of classes that numbers refer to: some, each once.
pub(crate) fn list(names: Vec<String>, path: &Path) -> Result<Vec<String>, DataError> {
    let mut before = BTreeSet::new();
    let twice = names.iter().find(|name| !before.insert(name.as_str())).map(|name| format!("`{name}` a second time"));
    let found = match names.len() {
        0 => Some("none".to_owned()),
        count if count > crate::class::MOST => Some(count.to_string()),
        _ => twice,
    };
    match found {
        None => Ok(names),
        Some(found) => {
            let hint = "the list of classes has every name once, in the order of the numbers";
            Err(fault(path, "1 to 1,000,000 classes, each once".to_owned(), found, hint))
        }
    }
}

/// The class of each label, a number from `first`; `path` is named in errors.
pub(crate) fn numbered(labels: &[f64], first: usize, names: &[String], path: &Path) -> Result<Vec<String>, DataError> {
    let last = first + names.len();
    let class = |(row, &label): (usize, &f64)| {
        let whole = label.fract() == 0.0 && (first as f64..last as f64).contains(&label);
        whole.then(|| names[label as usize - first].clone()).ok_or_else(|| {
            let expected = format!("labels from {first} to {}", last as i64 - 1);
            let hint = format!("a label is the place of its class in the list of names, counted from {first}");
            fault(path, expected, format!("{label} in row {row}"), &hint)
        })
    };
    labels.iter().enumerate().map(class).collect()
}
