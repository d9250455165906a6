//! NumPy's `.npy`: a header that says what follows, then the numbers.
//!
//! ```text
//! \x93NUMPY 1 0 | length of the header | {'descr': '<f4', 'fortran_order': False, 'shape': (50, 85), } | numbers
//! ```
//!
//! The header is a Python literal. NumPy writes only this one form of it, so no Python is parsed here.

use crate::catalogue::Catalogue;
use crate::error::DataError;
use std::path::Path;

/// A matrix of numbers, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// `[rows, columns]`; an array of one dimension is one column.
    pub shape: [usize; 2],
    /// Row by row.
    pub values: Vec<f32>,
}

/// A row of attributes for each class; the names come from `classes`, else from the `.txt` of the same name beside it.
pub(crate) fn from_npy(bytes: &[u8], classes: Option<&[String]>, path: &Path) -> Result<Catalogue, DataError> {
    let Matrix { shape: [rows, columns], values } = read(bytes, path)?;
    let companion = path.with_extension("txt");
    let names: Vec<String> = match classes {
        Some(classes) => classes.to_vec(),
        None => {
            let text = crate::disk::read_text(&companion).map_err(DataError::io(&companion))?;
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
        }
    };
    if names.len() != rows {
        let expected = format!("a row for each of {} classes", names.len());
        let hint = "rows are named by `classes` in the recipe, else by the `.txt` of the same name: one class a line, in \
                    the order of the rows";
        return Err(malformed(path, &expected, format!("{rows}"), hint));
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let attributes = (1..=columns).map(|column| format!("{stem} {column}")).collect();
    let rows = (0..rows).map(|row| values[row * columns..][..columns].to_vec()).collect();
    Ok(Catalogue::new(names, attributes, rows))
}

/// Reads an array of one or two dimensions of floats or integers.
pub fn read(bytes: &[u8], path: &Path) -> Result<Matrix, DataError> {
    let Layout { shape: [rows, columns], start, number, by_column } = Layout::of(bytes, path)?;
    let values: Vec<f32> = bytes[start..].chunks_exact(number.bytes).map(|bytes| number.value(bytes)).collect();
    let values = match by_column {
        true => (0..rows * columns).map(|at| values[at % columns * rows + at / columns]).collect(),
        false => values,
    };
    Ok(Matrix { shape: [rows, columns], values })
}

/// Where the numbers of an array are, and what they are.
pub(crate) struct Layout {
    /// As in [`Matrix`].
    pub(crate) shape: [usize; 2],
    /// The place of the first one.
    pub(crate) start: usize,
    number: Number,
    by_column: bool,
}

impl Layout {
    /// What the header says, once as many numbers follow.
    pub(crate) fn of(bytes: &[u8], path: &Path) -> Result<Self, DataError> {
        let cut = || malformed(path, "a whole .npy file", "one that is cut short".to_owned(), CUT);
        let wrong = |expected: &str, found: String| malformed(path, expected, found, KIND);
        let rest = bytes
            .strip_prefix(b"\x93NUMPY")
            .ok_or_else(|| wrong("a .npy file", "a file of another kind".to_owned()))?;
        // Version 1 has two bytes for the length of its header, later ones four.
        let digits = if rest.first().ok_or_else(cut)? == &1 { 2 } else { 4 };
        let length =
            rest.get(2..2 + digits).ok_or_else(cut)?.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        let header = rest.get(2 + digits..).and_then(|rest| rest.get(..length)).ok_or_else(cut)?;
        let data = &rest[2 + digits + length..];

        let header = String::from_utf8_lossy(header);
        let unreadable = || wrong("NumPy's header", "one that cannot be read".to_owned());
        let number = Number::named(entry(&header, "descr").ok_or_else(unreadable)?)
            .ok_or_else(|| wrong("floats or integers", format!("`{}`", entry(&header, "descr").unwrap_or_default())))?;
        let by_column = entry(&header, "fortran_order").ok_or_else(unreadable)? == "True";
        let shape = shape(entry(&header, "shape").ok_or_else(unreadable)?).ok_or_else(unreadable)?;
        let [rows, columns] = match shape[..] {
            [rows] => [rows, 1],
            [rows, columns] => [rows, columns],
            _ => return Err(wrong("one or two dimensions", format!("{}", shape.len()))),
        };

        if rows == 0 || columns == 0 {
            return Err(wrong("at least one number", format!("{rows} × {columns}")));
        }
        let expected = (rows as u128 * columns as u128).saturating_mul(number.bytes as u128);
        if data.len() as u128 != expected {
            let expected = format!("{rows} × {columns} numbers, {expected} bytes");
            return Err(malformed(path, &expected, format!("{}", data.len()), CUT));
        }
        Ok(Self { shape: [rows, columns], start: bytes.len() - data.len(), number, by_column })
    }

    /// Whether rows lie in the file as they are used: single precision, the lowest byte first, row by row.
    pub(crate) fn is_plain(&self) -> bool {
        let Number { big_endian, kind, bytes } = self.number;
        (kind, bytes, big_endian, self.by_column) == ('f', 4, false, false)
    }
}

const CUT: &str = "the file may be cut short: write it again with `numpy.save`";
const KIND: &str = "write it with `numpy.save(\"a.npy\", array.astype(\"float32\"))`, an array of two dimensions";

fn malformed(path: &Path, expected: &str, found: String, hint: &str) -> DataError {
    DataError::Malformed {
        path: path.to_owned(),
        line: None,
        expected: expected.to_owned(),
        found,
        hint: hint.to_owned(),
    }
}

/// What stands after `'key':` in the header, up to its end; text without its quotes.
fn entry<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, value) = header.split_once(&format!("'{key}':"))?;
    let value = value.trim_start();
    let end = match value.chars().next()? {
        '(' => value.find(')')? + 1,
        _ => value.find([',', '}'])?,
    };
    Some(value[..end].trim().trim_matches('\''))
}

/// `(50, 85)` or `(50,)`.
fn shape(text: &str) -> Option<Vec<usize>> {
    let inside = text.strip_prefix('(')?.strip_suffix(')')?;
    inside.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

/// How a number is written.
struct Number {
    big_endian: bool,
    kind: char,
    bytes: usize,
}

impl Number {
    /// `<f4` and the like.
    fn named(descr: &str) -> Option<Self> {
        let mut chars = descr.chars();
        let big_endian = match chars.next()? {
            '<' | '|' | '=' => false,
            '>' => true,
            _ => return None,
        };
        let kind = chars.next()?;
        let bytes = chars.as_str().parse().ok()?;
        let known = match kind {
            'f' => [2, 4, 8].contains(&bytes),
            'i' | 'u' => [1, 2, 4, 8].contains(&bytes),
            'b' => bytes == 1,
            _ => false,
        };
        known.then_some(Self { big_endian, kind, bytes })
    }

    fn value(&self, bytes: &[u8]) -> f32 {
        let append = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        let number = match self.big_endian {
            true => bytes.iter().fold(0, append),
            false => bytes.iter().rev().fold(0, append),
        };
        match (self.kind, self.bytes) {
            ('f', 2) => half::f16::from_bits(number as u16).to_f32(),
            ('f', 4) => f32::from_bits(number as u32),
            ('f', _) => f64::from_bits(number) as f32,
            ('i', bytes) => {
                // The sign is carried up from the number's own highest bit.
                let unused = 64 - 8 * bytes as u32;
                ((number << unused) as i64 >> unused) as f32
            }
            _ => number as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::ClassId;

    fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn says(bytes: &[u8]) -> String {
        read(bytes, Path::new("a.npy")).expect_err("a fault").to_string()
    }

    fn values(bytes: &[u8]) -> Vec<f32> {
        read(bytes, Path::new("a.npy")).expect("an array").values
    }

    #[test]
    fn numbers_of_any_kind_are_read() {
        let floats: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(values(&npy("<f4", "False", "(1, 2)", &floats)), [1.5, -2.0]);
        let doubles: Vec<u8> = [0.25f64, 1e3].iter().flat_map(|value| value.to_be_bytes()).collect();
        assert_eq!(values(&npy(">f8", "False", "(2,)", &doubles)), [0.25, 1000.0]);
        let integers: Vec<u8> = [-3i16, 300].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(values(&npy("<i2", "False", "(2, 1)", &integers)), [-3.0, 300.0]);
        let halves: Vec<u8> = [0x3e00u16, 0xc000].iter().flat_map(|bits| bits.to_le_bytes()).collect();
        assert_eq!(values(&npy("<f2", "False", "(2,)", &halves)), [1.5, -2.0]);
        assert_eq!(values(&npy("|b1", "False", "(3,)", &[0, 1, 1])), [0.0, 1.0, 1.0]);
        assert_eq!(values(&npy("<u8", "False", "(1,)", &u64::MAX.to_le_bytes())), [u64::MAX as f32]);
    }

    /// Column by column 1 2 | 3 4 | 5 6 is 1 3 5 | 2 4 6 row by row.
    #[test]
    fn fortrans_order_is_turned() {
        assert_eq!(values(&npy("|u1", "True", "(2, 3)", &[1, 2, 3, 4, 5, 6])), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    }

    #[test]
    fn faults_are_told() {
        assert_eq!(says(b"PK\x03\x04"), "`a.npy`: expected a .npy file, found a file of another kind");
        assert_eq!(says(b"\x93NUMPY\x01\x00\xff"), "`a.npy`: expected a whole .npy file, found one that is cut short");
        assert_eq!(says(&npy("<f4", "False", "(2, 2)", &[0; 9])), "`a.npy`: expected 2 × 2 numbers, 16 bytes, found 9");
        assert_eq!(says(&npy("<c8", "False", "(1,)", &[0; 8])), "`a.npy`: expected floats or integers, found `<c8`");
        assert_eq!(says(&npy("|u1", "False", "(1, 1, 1)", &[0])), "`a.npy`: expected one or two dimensions, found 3");
        assert_eq!(says(&npy("|u1", "False", "(0, 9)", &[])), "`a.npy`: expected at least one number, found 0 × 9");
        let most = usize::MAX;
        assert!(says(&npy("<f8", "False", &format!("({most}, {most})"), &[])).ends_with("bytes, found 0"));
    }

    #[test]
    fn rows_are_named_by_the_text_beside_the_array_or_by_the_recipe() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("glove.npy");
        let bytes = npy("|u1", "False", "(2, 2)", &[1, 2, 3, 4]);
        std::fs::write(path.with_extension("txt"), "cat\nwhale\n").expect("a file");
        let catalogue = from_npy(&bytes, None, &path).expect("a table");
        assert_eq!(catalogue.names(), ["cat", "whale"]);
        assert_eq!(catalogue.attribute_names(), ["glove 1", "glove 2"]);
        assert_eq!(catalogue.attributes(ClassId(1)), [3.0, 4.0]);
        let classes = ["ant", "bee"].map(String::from);
        assert_eq!(from_npy(&bytes, Some(&classes), &path).expect("a table").names(), classes);
        let error = from_npy(&bytes, Some(&classes[..1]), &path).expect_err("a name too few").to_string();
        assert!(error.ends_with("expected a row for each of 1 classes, found 2"), "{error}");
    }
}
