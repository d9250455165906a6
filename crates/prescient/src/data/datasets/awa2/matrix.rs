//! AwA2's class information: `classes.txt`, `predicates.txt`, and a matrix with a line for each class.

use crate::catalogue::Catalogue;
use crate::data::formats::files::Files;
use crate::error::DataError;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Which matrix is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matrix {
    /// How strongly people associate attribute and class, in percent.
    #[default]
    Continuous,
    /// The same, cut at its mean: 0 or 1.
    Binary,
}

impl Matrix {
    fn file(self) -> &'static str {
        match self {
            Self::Continuous => "predicate-matrix-continuous.txt",
            Self::Binary => "predicate-matrix-binary.txt",
        }
    }
}

/// The classes in the order of `classes.txt`, each with its line of the matrix.
pub(crate) fn catalogue(files: &Files, matrix: Matrix) -> Result<Catalogue, DataError> {
    let classes = numbered(files, "classes.txt")?;
    let predicates = numbered(files, "predicates.txt")?;
    let name = matrix.file();
    let text = files.text(name)?;
    let mut rows: Vec<Vec<f32>> = Vec::new();
    for (line, row) in text.lines().enumerate().filter(|(_, row)| !row.trim().is_empty()) {
        let wrong = |expected: String, found: String| malformed(files, name, Some(line + 1), expected, found);
        let values = row.split_whitespace().map(|value| {
            let number = value.parse().ok().filter(|number: &f32| number.is_finite());
            number.ok_or_else(|| wrong("finite numbers".to_owned(), format!("`{value}`")))
        });
        let values: Vec<f32> = values.collect::<Result<_, _>>()?;
        if values.len() != predicates.len() {
            return Err(wrong(format!("{} attributes", predicates.len()), values.len().to_string()));
        }
        rows.push(values);
    }
    if rows.len() != classes.len() {
        let expected = format!("a line for each of {} classes", classes.len());
        return Err(malformed(files, name, None, expected, rows.len().to_string()));
    }
    Ok(Catalogue::new(classes, predicates, rows))
}

/// The class information that a file `predicate-matrix-*.txt` holds, with those beside it.
pub(crate) fn from_matrix_file(path: &Path) -> Result<Catalogue, DataError> {
    let matrix = match path.file_name() {
        Some(name) if name == Matrix::Binary.file() => Matrix::Binary,
        _ => Matrix::Continuous,
    };
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    catalogue(&Files::open(folder)?, matrix)
}

/// The names of a file with lines such as `7 horse`, each number that of its line.
fn numbered(files: &Files, name: &str) -> Result<Vec<String>, DataError> {
    let mut names: Vec<String> = Vec::new();
    for (line, text) in files.text(name)?.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let wrong = |expected: String| malformed(files, name, Some(line + 1), expected, format!("`{}`", text.trim()));
        let (number, entry) =
            text.trim().split_once(char::is_whitespace).ok_or_else(|| wrong("a number and a name".to_owned()))?;
        if number.parse() != Ok(names.len() + 1) {
            return Err(wrong(format!("the number {}", names.len() + 1)));
        }
        let entry = entry.trim().to_owned();
        if names.contains(&entry) {
            return Err(wrong("every name once".to_owned()));
        }
        names.push(entry);
    }
    if names.is_empty() || names.len() > crate::class::MOST {
        return Err(malformed(files, name, None, "a name a line".to_owned(), names.len().to_string()));
    }
    Ok(names)
}

fn malformed(files: &Files, name: &str, line: Option<usize>, expected: String, found: String) -> DataError {
    let path = files.path(name);
    let folder = files.path("");
    let hint = format!(
        "the file may be cut short; `prescient data check awa2 {}` verifies each one",
        folder.display().to_string().trim_end_matches('/')
    );
    DataError::Malformed { path, line, expected, found, hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::ClassId;
    use std::fs;

    fn folder(classes: &str, predicates: &str, matrix: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in
            [("classes.txt", classes), ("predicates.txt", predicates), ("predicate-matrix-continuous.txt", matrix)]
        {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        folder
    }

    fn read(classes: &str, predicates: &str, matrix: &str) -> Result<Catalogue, DataError> {
        let folder = folder(classes, predicates, matrix);
        catalogue(&Files::open(folder.path()).expect("files"), Matrix::Continuous)
    }

    const CLASSES: &str = "     1\tantelope\n     2\tgrizzly+bear\n";
    const PREDICATES: &str = "     1\tblack\n     2\twhite\n";

    #[test]
    fn a_line_is_a_class() {
        let table = read(CLASSES, PREDICATES, "  0.00  12.34\n 39.25   1.39\n").expect("a table");
        assert_eq!(table.names(), ["antelope", "grizzly+bear"]);
        assert_eq!(table.attribute_names(), ["black", "white"]);
        assert_eq!(table.attributes(ClassId(1)), [39.25, 1.39]);
    }

    #[test]
    fn faults_are_told_by_line() {
        let says = |classes, predicates, matrix| {
            let text = read(classes, predicates, matrix).expect_err("a fault").to_string();
            text[text.find("`, line").or(text.find("`: ")).expect("a file")..].to_owned()
        };
        assert_eq!(says(CLASSES, PREDICATES, "1 2\n3\n"), "`, line 2: expected 2 attributes, found 1");
        assert_eq!(says(CLASSES, PREDICATES, "1 2\n3 x\n"), "`, line 2: expected finite numbers, found `x`");
        assert_eq!(says(CLASSES, PREDICATES, "1 2\n"), "`: expected a line for each of 2 classes, found 1");
        assert_eq!(says("1 cat\n3 dog\n", PREDICATES, ""), "`, line 2: expected the number 2, found `3\u{20}dog`");
        assert_eq!(says("1 cat\n2 cat\n", PREDICATES, ""), "`, line 2: expected every name once, found `2 cat`");
        assert_eq!(says("cat\n", PREDICATES, ""), "`, line 1: expected a number and a name, found `cat`");
    }
}
