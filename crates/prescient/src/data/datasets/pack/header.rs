//! How a pack lies on disk, and what must hold of it before it is believed.
//!
//! ```text
//! "prescient pack 1" | pixels, image after image | header (JSON) | its length (8 bytes) | its BLAKE3 digest (32 bytes)
//! ```
//!
//! The header comes last, so that a pack can be written while its images are being decoded.

use crate::catalogue::{Block, Catalogue};
use crate::class::ClassId;
use crate::data::{Channels, Normalization};
use crate::error::DataError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// How every pack begins; the number is the version of the format.
pub(crate) const MAGIC: &[u8; 16] = b"prescient pack 1";
/// The length of the header and its digest.
const TAIL: usize = 8 + 32;

/// All but the pixels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(crate) channels: Channels,
    pub(crate) normalization: Normalization,
    /// The side of the square that a model takes.
    pub(crate) size: u32,
    /// The shorter side to which test images are scaled first.
    pub(crate) resize: u32,
    /// The names of the classes.
    pub(crate) classes: Vec<String>,
    pub(crate) attributes: Vec<String>,
    /// The attributes of each class.
    pub(crate) rows: Vec<Vec<f32>>,
    /// Which columns come from which source, unless there is but one table of numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) blocks: Vec<Block>,
    /// The orders that the dataset's literature has a name for.
    pub(crate) standard: Option<Vec<ClassId>>,
    pub(crate) proposed: Option<Vec<ClassId>>,
    pub(crate) train: Vec<Entry>,
    pub(crate) test: Vec<Entry>,
}

/// One image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// What people called it where it came from.
    pub(crate) name: String,
    pub(crate) class: ClassId,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Where its pixels begin.
    pub(crate) at: u64,
    /// Which images of its side it belongs together with.
    pub(crate) group: u64,
    /// The first 8 bytes of the BLAKE3 digest of its pixels.
    pub(crate) check: u64,
}

impl Entry {
    /// How many bytes its pixels take; none where no machine could hold them.
    pub(crate) fn bytes(&self, channels: Channels) -> Option<usize> {
        let area = (self.width as usize).checked_mul(self.height as usize)?;
        area.checked_mul(channels.bytes())
    }
}

/// What is compared before the pixels of an image are believed.
pub(crate) fn check(pixels: &[u8]) -> u64 {
    let digest = blake3::hash(pixels);
    u64::from_le_bytes(digest.as_bytes()[..8].try_into().expect("a digest has 32 bytes"))
}

/// What follows the pixels.
pub(crate) fn tail(header: &[u8]) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    [header, &length, blake3::hash(header).as_bytes()].concat()
}

/// A pack of these parts, whatever is in them.
pub fn framed(pixels: &[u8], header: &[u8]) -> Vec<u8> {
    [MAGIC, pixels, &tail(header)].concat()
}

/// Reads and checks the header of a whole pack; `path` is named in errors.
pub(crate) fn read(bytes: &[u8], path: &Path) -> Result<(Header, Catalogue), DataError> {
    let wrong = |expected: &str, found: String| DataError::Malformed {
        path: path.to_owned(),
        line: None,
        expected: expected.to_owned(),
        found,
        hint: "the file may be cut short, damaged or of another kind: make it again with `prescient data pack`"
            .to_owned(),
    };
    if !bytes.starts_with(MAGIC) {
        return Err(wrong("a pack of `prescient data pack`", "another beginning".to_owned()));
    }
    let cut = || wrong("a whole pack", "one whose end is missing or damaged".to_owned());
    let body = bytes.len().checked_sub(TAIL).filter(|body| *body >= MAGIC.len()).ok_or_else(cut)?;
    let (length, digest) = bytes[body..].split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("split at 8"));
    let length = usize::try_from(length).ok().filter(|length| *length <= body - MAGIC.len()).ok_or_else(cut)?;
    let text = &bytes[body - length..body];
    if blake3::hash(text).as_bytes() != digest {
        return Err(cut());
    }
    let header: Header =
        serde_json::from_slice(text).map_err(|error| wrong("a header that can be read", error.to_string()))?;
    let catalogue = header.checked(body - length).map_err(|found| wrong("a header that fits together", found))?;
    Ok((header, catalogue))
}

impl Header {
    /// What is known of the classes, if all of the header makes sense for a file whose pixels end at `end`.
    fn checked(&self, end: usize) -> Result<Catalogue, String> {
        let classes = self.classes.len();
        let distinct = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
        if classes == 0 || classes > crate::class::MOST || !distinct(&self.classes) || !distinct(&self.attributes) {
            return Err("classes or attributes that are none, too many, or there twice".to_owned());
        }
        let values = self.rows.iter().flatten();
        if self.rows.len() != classes
            || self.rows.iter().any(|row| row.len() != self.attributes.len())
            || values.into_iter().any(|value| !value.is_finite())
        {
            return Err("a table of attributes that has holes".to_owned());
        }
        let numbers = self.normalization.mean.iter().chain(&self.normalization.std);
        if self.channels == Channels::Features
            || !(1..=self.resize).contains(&self.size)
            || numbers.into_iter().any(|number| !number.is_finite())
            || self.normalization.std.contains(&0.0)
        {
            return Err("images that cannot be used".to_owned());
        }
        let all: BTreeSet<ClassId> = (0..classes).map(|class| ClassId(class as u32)).collect();
        for order in [&self.standard, &self.proposed].into_iter().flatten() {
            if order.len() != classes || order.iter().copied().collect::<BTreeSet<_>>() != all {
                return Err("an order that is not one of all classes".to_owned());
            }
        }
        // Classes that are described and have no image come last.
        let last = self.train.iter().map(|entry| entry.class).max().ok_or("no images to learn from")?;
        let pictured: BTreeSet<ClassId> = all.iter().copied().filter(|class| *class <= last).collect();
        for side in [&self.train, &self.test] {
            let there: BTreeSet<ClassId> = side.iter().map(|entry| entry.class).collect();
            if !all.contains(&last) || there != pictured || u32::try_from(side.len()).is_err() {
                return Err("classes that are not on both sides".to_owned());
            }
            let lost = side.iter().find(|entry| !self.lies_before(entry, end));
            if let Some(entry) = lost {
                return Err(format!("`{}`, whose pixels are not in the file", entry.name));
            }
        }
        let catalogue = Catalogue::new(self.classes.clone(), self.attributes.clone(), self.rows.clone());
        let mut columns = 0;
        for block in &self.blocks {
            if block.columns.start != columns || block.columns.end < columns {
                return Err("sources of attributes that do not follow each other".to_owned());
            }
            columns = block.columns.end;
        }
        match self.blocks.is_empty() {
            true => Ok(catalogue),
            false if columns == self.attributes.len() => Ok(catalogue.with_blocks(self.blocks.clone())),
            false => Err("sources of other attributes".to_owned()),
        }
    }

    fn lies_before(&self, entry: &Entry, end: usize) -> bool {
        let span = entry.bytes(self.channels).zip(usize::try_from(entry.at).ok());
        let reach = span.and_then(|(bytes, at)| Some((bytes, at, at.checked_add(bytes)?)));
        reach.is_some_and(|(bytes, at, to)| bytes > 0 && at >= MAGIC.len() && to <= end)
    }
}
