//! Features of photos in a file: for each photo the digest of its pixels, then its feature. The file carries its own digest.
//!
//! ```text
//! PFEAT001 | width | count | digest of all that follows, with width and count | 32 bytes a photo | width × f32 a photo
//! ```

/// The first bytes.
const MAGIC: &[u8; 8] = b"PFEAT\x00\x00\x01";
/// Magic, width, count, and the digest of all that follows.
const HEADER: usize = 8 + 8 + 8 + 32;
const KEY: usize = 32;

/// A photo by its digest, and its feature.
pub(crate) type Row = (blake3::Hash, Vec<f32>);

/// The bytes of such a file, and the digest that they carry.
pub(crate) fn to_bytes(width: usize, rows: &[Row]) -> (Vec<u8>, blake3::Hash) {
    let mut bytes = Vec::with_capacity(HEADER + rows.len() * (KEY + width * 4));
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(width as u64).to_le_bytes());
    bytes.extend_from_slice(&(rows.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; 32]);
    rows.iter().for_each(|(photo, _)| bytes.extend_from_slice(photo.as_bytes()));
    let numbers = rows.iter().flat_map(|(_, feature)| feature);
    numbers.for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    let digest = digest(width, rows.len(), &bytes[HEADER..]);
    bytes[24..HEADER].copy_from_slice(digest.as_bytes());
    (bytes, digest)
}

fn digest(width: usize, count: usize, body: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(width as u64).to_le_bytes()).update(&(count as u64).to_le_bytes()).update(body);
    hasher.finalize()
}

/// Width and count as the header says.
fn counts(bytes: &[u8]) -> (usize, usize) {
    let number = |start: usize| u64::from_le_bytes(bytes[start..start + 8].try_into().expect("eight bytes")) as usize;
    (number(8), number(16))
}

/// Width and count, once the length agrees.
pub(crate) fn checked_counts(bytes: &[u8]) -> Result<(usize, usize), String> {
    if bytes.len() < HEADER || &bytes[..8] != MAGIC {
        return Err("expected a file of features, found another".to_owned());
    }
    let (width, count) = counts(bytes);
    let expected = width.checked_mul(4).and_then(|row| row.checked_add(KEY)).and_then(|row| row.checked_mul(count));
    match expected.and_then(|body| body.checked_add(HEADER)) {
        Some(expected) if expected == bytes.len() => Ok((width, count)),
        _ => Err(format!("expected {count} features of {width} numbers, found {} bytes", bytes.len())),
    }
}

/// The same, once every byte is as it was written.
pub(crate) fn verified(bytes: &[u8]) -> Result<(usize, usize), String> {
    let (width, count) = checked_counts(bytes)?;
    if digest(width, count, &bytes[HEADER..]).as_bytes()[..] != bytes[24..HEADER] {
        return Err("its content is not what was written".to_owned());
    }
    Ok((width, count))
}

/// The photo of a row.
pub(crate) fn photo(bytes: &[u8], row: usize) -> blake3::Hash {
    let key: [u8; KEY] = bytes[HEADER + row * KEY..][..KEY].try_into().expect("32 bytes");
    blake3::Hash::from_bytes(key)
}

/// Appends the feature of a row to `out`.
pub(crate) fn append(bytes: &[u8], row: usize, out: &mut Vec<f32>) {
    let (width, count) = counts(bytes);
    let start = HEADER + count * KEY + row * width * 4;
    let numbers = bytes[start..start + width * 4].chunks_exact(4);
    out.extend(numbers.map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes"))));
}

/// The photo and the feature of a row.
pub(crate) fn row(bytes: &[u8], row: usize) -> Row {
    let mut feature = Vec::with_capacity(counts(bytes).0);
    append(bytes, row, &mut feature);
    (photo(bytes, row), feature)
}
