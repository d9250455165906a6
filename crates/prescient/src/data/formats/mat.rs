//! MATLAB's `.mat`, version 5: enough of it to read matrices of numbers and lists of names.
//!
//! ```text
//! header, 128 bytes | element | element | …
//! element: kind, 4 bytes | length, 4 bytes | data, padded to 8      (or all in 8 bytes, if data has at most 4)
//! matrix:  an element of elements: flags, dimensions, name, then its numbers, or one matrix for each cell
//! ```
//!
//! Elements of kind "compressed" hold one more element, packed with zlib.

use crate::error::DataError;
use flate2::read::ZlibDecoder;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// What all variables together may unpack to: xlsa17's largest, AwA2's features, has 611 MB.
const LARGEST: u64 = 1 << 30;

const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A matrix, column by column.
    Numbers {
        /// `[rows, columns]`.
        shape: [usize; 2],
        /// Column by column.
        values: Vec<f64>,
    },
    /// Text.
    Text(String),
    /// A list of texts, such as names; a cell of another kind is an empty text.
    Texts(Vec<String>),
    /// What is not read here.
    Other,
}

/// Every variable by its name.
pub fn read(bytes: &[u8], path: &Path) -> Result<BTreeMap<String, Value>, DataError> {
    let wrong = |expected: &str, found: &str, hint: &str| DataError::Malformed {
        path: path.to_owned(),
        line: None,
        expected: expected.to_owned(),
        found: found.to_owned(),
        hint: hint.to_owned(),
    };
    if bytes.starts_with(b"\x89HDF") || bytes.get(..19) == Some(b"MATLAB 7.3 MAT-file") {
        return Err(wrong("a .mat file of version 5", "one of version 7.3", "save it again in MATLAB with `-v7`"));
    }
    if bytes.get(126..128) != Some(b"IM") {
        return Err(wrong(
            "a .mat file of version 5",
            "a file of another kind",
            "xlsa17's `att_splits.mat` can be read; it may be cut short: fetch it again",
        ));
    }
    let mut variables = BTreeMap::new();
    let mut rest = &bytes[128..];
    // A byte of it may become a number of eight.
    let mut left = crate::disk::unpacked(bytes.len() as u64 / 2, LARGEST);
    while !rest.is_empty() {
        let variable = element(&mut rest).and_then(|(kind, data)| match kind {
            COMPRESSED => {
                let mut unpacked = Vec::new();
                ZlibDecoder::new(data).take(left).read_to_end(&mut unpacked).ok()?;
                left -= unpacked.len() as u64;
                let (kind, data) = element(&mut &unpacked[..])?;
                (kind == MATRIX).then(|| matrix(data, true))?
            }
            MATRIX => matrix(data, true),
            _ => Some((String::new(), Value::Other)),
        });
        let Some((name, value)) = variable else {
            let found = format!("one that is damaged after {} variables", variables.len());
            return Err(wrong("a whole .mat file", &found, "the file may be cut short: fetch it again"));
        };
        variables.insert(name, value);
    }
    Ok(variables)
}

/// Takes one element off the front: its kind and its data.
fn element<'a>(rest: &mut &'a [u8]) -> Option<(u32, &'a [u8])> {
    let kind = u32_at(rest, 0)?;
    let small = kind >> 16;
    if small > 0 {
        let data = rest.get(4..8)?.get(..small as usize)?;
        *rest = &rest[8..];
        return Some((kind & 0xffff, data));
    }
    let length = u32_at(rest, 4)? as usize;
    let data = rest.get(8..)?.get(..length)?;
    let padded = if kind == COMPRESSED { length } else { length.next_multiple_of(8) };
    // The last element may come without its padding.
    *rest = &rest[(8 + padded).min(rest.len())..];
    Some((kind, data))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(four))
}

/// The name and value of a matrix. Cells are read one level deep: names have no deeper ones.
fn matrix(mut data: &[u8], with_cells: bool) -> Option<(String, Value)> {
    let rest = &mut data;
    let class = u32_at(element(rest)?.1, 0)? & 0xff;
    let dimensions = numbers(element(rest)?)?;
    let name = String::from_utf8_lossy(element(rest)?.1).into_owned();
    let count = dimensions.iter().product::<f64>();
    let value = match class {
        1 if with_cells => {
            let mut texts = Vec::new();
            while !rest.is_empty() {
                let (kind, cell) = element(rest)?;
                texts.push(match (kind == MATRIX).then(|| matrix(cell, false))?? {
                    (_, Value::Text(text)) => text,
                    _ => String::new(),
                });
            }
            Value::Texts(texts)
        }
        4 => {
            let codes = numbers(element(rest)?)?;
            Value::Text(codes.iter().map(|&code| char::from_u32(code as u32).unwrap_or('\u{fffd}')).collect())
        }
        6..=15 if dimensions.len() == 2 => {
            let values = numbers(element(rest)?)?;
            if values.len() as f64 != count {
                return None;
            }
            Value::Numbers { shape: [dimensions[0] as usize, dimensions[1] as usize], values }
        }
        _ => Value::Other,
    };
    Some((name, value))
}

/// The numbers of an element; MATLAB stores them in the smallest kind that holds them.
fn numbers((kind, data): (u32, &[u8])) -> Option<Vec<f64>> {
    fn each<const N: usize>(data: &[u8], value: fn([u8; N]) -> f64) -> Vec<f64> {
        let (numbers, _) = data.as_chunks::<N>();
        numbers.iter().map(|bytes| value(*bytes)).collect()
    }
    Some(match kind {
        1 => each(data, |bytes| f64::from(i8::from_le_bytes(bytes))),
        2 | 16 => each(data, |bytes| f64::from(u8::from_le_bytes(bytes))),
        3 => each(data, |bytes| f64::from(i16::from_le_bytes(bytes))),
        4 | 17 => each(data, |bytes| f64::from(u16::from_le_bytes(bytes))),
        5 => each(data, |bytes| f64::from(i32::from_le_bytes(bytes))),
        6 => each(data, |bytes| f64::from(u32::from_le_bytes(bytes))),
        7 => each(data, |bytes| f64::from(f32::from_le_bytes(bytes))),
        9 => each(data, f64::from_le_bytes),
        12 => each(data, |bytes| i64::from_le_bytes(bytes) as f64),
        13 => each(data, |bytes| u64::from_le_bytes(bytes) as f64),
        _ => return None,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write;

    fn packed(kind: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn array(class: u32, shape: [u32; 2], name: &str, contents: &[u8]) -> Vec<u8> {
        let flags = packed(6, &[class.to_le_bytes(), [0; 4]].concat());
        let dimensions = packed(5, &shape.map(u32::to_le_bytes).concat());
        packed(14, &[flags, dimensions, packed(1, name.as_bytes()), contents.to_vec()].concat())
    }

    pub(crate) fn doubles(name: &str, shape: [u32; 2], values: &[f64]) -> Vec<u8> {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        array(6, shape, name, &packed(9, &data))
    }

    /// Names of at most four letters are written in the short form, as MATLAB does.
    pub(crate) fn names(name: &str, names: &[&str]) -> Vec<u8> {
        let cell = |text: &&str| {
            let codes = match text.len() {
                1..=4 => {
                    let mut bytes = (16 | (text.len() as u32) << 16).to_le_bytes().to_vec();
                    bytes.extend(text.bytes());
                    bytes.resize(8, 0);
                    bytes
                }
                _ => packed(16, text.as_bytes()),
            };
            array(4, [1, text.len() as u32], "", &codes)
        };
        array(1, [names.len() as u32, 1], name, &names.iter().map(cell).collect::<Vec<_>>().concat())
    }

    pub(crate) fn compressed(element: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(element).expect("to memory");
        let data = encoder.finish().expect("to memory");
        let mut bytes = [15u32.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
        bytes.extend(data);
        bytes
    }

    pub(crate) fn file(elements: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![b' '; 124];
        bytes.extend([0, 1, b'I', b'M']);
        bytes.extend(elements.concat());
        bytes
    }

    #[test]
    fn numbers_and_names_are_read_packed_or_not() {
        let bytes = file(&[
            doubles("att", [2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            compressed(&names("allclasses_names", &["cat", "killer+whale"])),
            compressed(&array(7, [1, 2], "small", &packed(1, &[5, 0xff]))),
        ]);
        let variables = read(&bytes, Path::new("a.mat")).expect("three variables");
        let values = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(variables["att"], Value::Numbers { shape: [2, 3], values });
        assert_eq!(variables["allclasses_names"], Value::Texts(vec!["cat".to_owned(), "killer+whale".to_owned()]));
        assert_eq!(variables["small"], Value::Numbers { shape: [1, 2], values: vec![5.0, -1.0] });
    }

    #[test]
    fn another_kind_of_file_is_told() {
        let says = |bytes: &[u8]| read(bytes, Path::new("a.mat")).expect_err("a fault").to_string();
        assert_eq!(says(b"PK"), "`a.mat`: expected a .mat file of version 5, found a file of another kind");
        let newer = [b"MATLAB 7.3 MAT-file".to_vec(), vec![0; 200]].concat();
        assert_eq!(says(&newer), "`a.mat`: expected a .mat file of version 5, found one of version 7.3");
    }

    /// Wherever it is cut: an answer, no panic, and never a value that was not there.
    #[test]
    fn damage_anywhere_is_no_crash() {
        let whole = file(&[compressed(&doubles("att", [1, 2], &[1.0, 2.0])), names("n", &["cat", "lioness"])]);
        let good = read(&whole, Path::new("a.mat")).expect("a file");
        for end in 0..whole.len() {
            if let Ok(variables) = read(&whole[..end], Path::new("a.mat")) {
                assert!(variables.iter().all(|(name, value)| good.get(name) == Some(value)), "cut at {end}");
            }
        }
        for at in 128..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            drop(read(&bytes, Path::new("a.mat")));
        }
    }
}
