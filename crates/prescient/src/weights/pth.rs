//! What `torch.save` writes, read without running anything: a zip since PyTorch 1.6, plain pickles and bytes before.
//!
//! ```text
//! zip:     NAME/data.pkl, a pickle with the shapes; NAME/data/KEY, the bytes of each storage
//! before:  magic number, version, about the system, the shapes, the keys: a pickle each; then for each key its count and bytes
//! ```
//!
//! Every size that a file claims is compared with the bytes that are there before memory is taken.

use crate::weights::Stored;
use crate::weights::pickle::{Fault, Numbers, Pickled, Value, View, malformed, read};
use std::collections::BTreeMap;

/// The magic number of the old format, `0x1950a86a20f9469cfc6c`.
const MAGIC: [u8; 10] = [0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
/// The version of the old format.
const VERSION: i64 = 1001;
/// What checkpoints that hold more than weights call them.
const INSIDE: [&str; 2] = ["state_dict", "model"];

/// The bytes of each storage, by its key.
type Storages<'a> = BTreeMap<String, &'a [u8]>;

/// The tensors of the old format.
pub(super) fn old(file: &[u8]) -> Result<BTreeMap<String, Stored>, Fault> {
    let mut at = 0;
    let mut next = || -> Result<Pickled, Fault> {
        let pickled = read(&file[at..])?;
        at += pickled.length;
        Ok(pickled)
    };
    match (next()?.top(), next()?.top()) {
        (Value::Long(magic), Value::Int(VERSION)) if *magic == MAGIC => {}
        _ => return malformed("it is no file of `torch.save`"),
    }
    next()?;
    let (tensors, keys) = (next()?, next()?);
    let mut kinds: BTreeMap<&str, Numbers> = BTreeMap::new();
    let named = named(&tensors)?;
    for view in named.values() {
        kinds.insert(&view.key, view.numbers);
    }
    let Value::List(keys_in_order) = keys.top() else { return malformed("it does not list its storages") };
    let mut storages = Storages::new();
    for key in keys_in_order {
        let Value::Text(key) = keys.get(*key) else { return malformed("it does not list its storages") };
        let count = file.get(at..at.saturating_add(8)).and_then(|bytes| bytes.try_into().ok()).map(i64::from_le_bytes);
        let (Some(count), Some(kind)) = (count, kinds.get(key.as_str())) else {
            return malformed("it ends in the middle");
        };
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(kind.bytes()));
        let end = bytes.and_then(|bytes| (at + 8).checked_add(bytes)).filter(|end| *end <= file.len());
        let Some(end) = end else { return malformed("it ends in the middle") };
        storages.insert(key.clone(), &file[at + 8..end]);
        at = end;
    }
    stored(&named, &storages, file.len())
}

/// The tensors of the zip format.
#[cfg(feature = "archives")]
pub(super) fn zipped(file: &[u8]) -> Result<BTreeMap<String, Stored>, Fault> {
    let damaged = |error: zip::result::ZipError| Fault::Malformed(format!("its zip cannot be read: {error}"));
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(file)).map_err(damaged)?;
    let mut parts: BTreeMap<String, &[u8]> = BTreeMap::new();
    for index in 0..archive.len() {
        let part = archive.by_index_raw(index).map_err(damaged)?;
        let name = part.name().map_err(damaged)?.to_string();
        // torch does not compress, so no part is larger than the file.
        let start = part.data_start().and_then(|start| usize::try_from(start).ok());
        let length = usize::try_from(part.size()).ok();
        let end = start.zip(length).and_then(|(start, length)| start.checked_add(length));
        let bytes = start.zip(end).and_then(|(start, end)| file.get(start..end));
        match bytes {
            Some(bytes) if part.compression() == zip::CompressionMethod::Stored => drop(parts.insert(name, bytes)),
            _ => return malformed(format!("`{name}` in it is compressed or cut short")),
        }
    }
    let main = parts.iter().find_map(|(name, bytes)| Some((name.strip_suffix("/data.pkl")?, *bytes)));
    let Some((folder, main)) = main else { return malformed("it has no `data.pkl`") };
    if parts.get(&format!("{folder}/byteorder")).is_some_and(|order| *order != b"little") {
        return malformed("its numbers are big-endian");
    }
    let tensors = read(main)?;
    let below = format!("{folder}/data/");
    let storages = parts.iter().filter_map(|(name, bytes)| Some((name.strip_prefix(&below)?.to_owned(), *bytes)));
    stored(&named(&tensors)?, &storages.collect(), file.len())
}

#[cfg(not(feature = "archives"))]
pub(super) fn zipped(_file: &[u8]) -> Result<BTreeMap<String, Stored>, Fault> {
    malformed("it is a zip, and this program was built without `archives`")
}

/// The tensors of a dictionary by name; numbers and texts beside them are left out.
fn named(pickled: &Pickled) -> Result<BTreeMap<&str, &View>, Fault> {
    let Value::Dict(mut items) = pickled.top().clone() else { return malformed("it holds no dictionary of tensors") };
    let inside = items.iter().find_map(|(key, value)| match (pickled.get(*key), pickled.get(*value)) {
        (Value::Text(key), Value::Dict(inside)) if INSIDE.contains(&key.as_str()) => Some(inside.clone()),
        _ => None,
    });
    if let Some(inside) = inside {
        items = inside;
    }
    let named: BTreeMap<&str, &View> = items
        .iter()
        .filter_map(|(key, value)| match (pickled.get(*key), pickled.get(*value)) {
            (Value::Text(key), Value::Tensor(view)) => Some((key.as_str(), view)),
            _ => None,
        })
        .collect();
    if named.is_empty() { malformed("it holds no dictionary of tensors") } else { Ok(named) }
}

/// The numbers of each tensor. A file of `length` bytes cannot hold more numbers than that, unless tensors share them.
fn stored(
    named: &BTreeMap<&str, &View>,
    storages: &Storages<'_>,
    length: usize,
) -> Result<BTreeMap<String, Stored>, Fault> {
    let mut room = length;
    let mut found = BTreeMap::new();
    for (name, view) in named {
        let fault = |what: &str| Fault::Malformed(format!("the tensor `{name}` {what}"));
        let bytes = storages.get(&view.key).ok_or_else(|| fault("has no numbers"))?;
        let held = bytes.len() / view.numbers.bytes();
        if usize::try_from(view.count).ok() != Some(held) {
            return Err(fault("is cut short"));
        }
        let count = reach(view, held).ok_or_else(|| fault("reaches beyond its numbers"))?;
        room = room.checked_sub(count * view.numbers.bytes()).ok_or_else(|| fault("is larger than the file"))?;
        // Counters such as `num_batches_tracked` are no weights.
        if !matches!(view.numbers, Numbers::Whole(_)) {
            found
                .insert((*name).to_owned(), Stored { shape: view.shape.clone(), values: gathered(view, count, bytes) });
        }
    }
    Ok(found)
}

/// How many numbers a tensor has, where all of them are among the `held` of its storage, and none twice.
fn reach(view: &View, held: usize) -> Option<usize> {
    if view.shape.len() != view.strides.len() || view.shape.len() > 8 {
        return None;
    }
    let (mut count, mut last) = (1i64, view.offset);
    for (size, stride) in view.shape.iter().zip(&view.strides) {
        if *size < 0 || *stride < 0 {
            return None;
        }
        count = count.checked_mul(*size)?;
        last = last.checked_add((size - 1).max(0).checked_mul(*stride)?)?;
    }
    let fits = count == 0 || (0..=last).contains(&view.offset) && last < held as i64 && count <= held as i64;
    fits.then_some(count as usize)
}

/// The numbers of a tensor that [`reach`] has checked, row by row.
fn gathered(view: &View, count: usize, bytes: &[u8]) -> Vec<f32> {
    let width = view.numbers.bytes();
    let mut index = vec![0i64; view.shape.len()];
    let mut at = view.offset;
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        values.push(number(view.numbers, &bytes[at as usize * width..][..width]));
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            at += view.strides[axis];
            if index[axis] < view.shape[axis] {
                break;
            }
            at -= view.strides[axis] * view.shape[axis];
            index[axis] = 0;
        }
    }
    values
}

/// One number from its little-endian bytes; 0 for whole numbers.
pub(super) fn number(numbers: Numbers, bytes: &[u8]) -> f32 {
    match (numbers, bytes) {
        (Numbers::F16, &[a, b]) => half::f16::from_le_bytes([a, b]).to_f32(),
        (Numbers::Bf16, &[a, b]) => half::bf16::from_le_bytes([a, b]).to_f32(),
        (Numbers::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
        (Numbers::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]) as f32,
        _ => 0.0,
    }
}
