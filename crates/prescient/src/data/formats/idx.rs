//! An idx file: a header of big-endian numbers (the magic number, how many, and for images their height and width), then
//! one byte a label or a pixel.

use crate::error::DataError;
use std::path::Path;

/// One idx file of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idx {
    /// How many, and for images their height and width.
    pub dimensions: Vec<usize>,
    /// As many as the product of the dimensions.
    pub values: Vec<u8>,
}

impl Idx {
    /// Reads a file's bytes and checks that it is whole; `path` is named in the error.
    pub fn parse(mut bytes: Vec<u8>, magic: usize, dimensions: usize, path: &Path) -> Result<Self, DataError> {
        let header = 4 * (dimensions + 1);
        if bytes.len() < header {
            return Err(malformed(path, format!("a header of {header} bytes"), format!("{}", bytes.len())));
        }
        let numbers: Vec<usize> = bytes[..header]
            .chunks_exact(4)
            .map(|four| four.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)))
            .collect();
        if numbers[0] != magic {
            return Err(malformed(path, format!("the magic number {magic}"), format!("{}", numbers[0])));
        }
        let dimensions = numbers[1..].to_vec();
        let expected = dimensions.iter().fold(1u128, |product, &number| product * number as u128);
        let found = bytes.len() - header;
        if found as u128 != expected {
            let by = dimensions.iter().map(usize::to_string).collect::<Vec<_>>().join(" × ");
            let unit = if dimensions.len() == 1 { "labels" } else { "pixels" };
            return Err(malformed(path, format!("{by} {unit}, {expected} bytes"), format!("{found}")));
        }
        bytes.drain(..header);
        Ok(Self { dimensions, values: bytes })
    }
}

pub(crate) fn malformed(path: &Path, expected: String, found: String) -> DataError {
    let hint = "the file may be cut short or of another kind: fetch it again".to_owned();
    DataError::Malformed { path: path.to_owned(), line: None, expected, found, hint }
}
