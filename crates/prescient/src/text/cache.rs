//! Embeddings that were computed before, beside the weights: a second start need not load the network. A file for each list
//! of texts, named by a hash of the weights and the texts. A file that is not as it should be counts as none.

use crate::text::WIDTH;
use crate::weights::Found;
use std::path::PathBuf;

/// Embeddings, and which texts were cut.
type Made = (Vec<Vec<f32>>, Vec<usize>);

/// Where the embeddings of `texts` lie, or would lie.
fn path(found: &Found, texts: &[String]) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    hasher.update(found.digest.as_bytes());
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    found.folder.join("embeddings").join(&hasher.finalize().to_hex()[..32])
}

/// What was kept of `texts`, if it is whole.
pub(super) fn read(found: &Found, texts: &[String]) -> Option<Made> {
    parse(&crate::disk::read(&path(found, texts), crate::disk::TABLE).ok()?, texts.len())
}

/// Keeps embeddings. That they cannot be kept is no harm.
pub(super) fn write(found: &Found, texts: &[String], made: &Made) {
    let path = path(found, texts);
    let Some(folder) = path.parent() else { return };
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&temporary, to_bytes(made)))
        .and_then(|()| std::fs::rename(&temporary, &path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
}

/// A digest of the rest, whether each text was cut (a byte each), then the rows.
fn to_bytes((rows, cut): &Made) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..rows.len()).map(|place| u8::from(cut.contains(&place))).collect();
    bytes.extend(rows.iter().flatten().flat_map(|value| value.to_le_bytes()));
    [blake3::hash(&bytes).as_bytes().as_slice(), &bytes].concat()
}

fn parse(bytes: &[u8], texts: usize) -> Option<Made> {
    let (digest, rest) = bytes.split_at_checked(32)?;
    let whole = rest.len() == texts * (1 + 4 * WIDTH) && blake3::hash(rest).as_bytes() == digest;
    let (cut, values) = whole.then(|| rest.split_at(texts))?;
    let values: Vec<f32> = values.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let cut = cut.iter().enumerate().filter(|(_, cut)| **cut == 1).map(|(place, _)| place).collect();
    Some((values.chunks(WIDTH).map(<[f32]>::to_vec).collect(), cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_reads_back_and_what_was_changed_counts_as_none() {
        let made: Made = (vec![vec![0.5; WIDTH], vec![-0.25; WIDTH]], vec![1]);
        let bytes = to_bytes(&made);
        assert_eq!(parse(&bytes, 2), Some(made));
        assert_eq!(parse(&bytes, 1), None);
        assert_eq!(parse(&bytes[..bytes.len() - 1], 2), None);
        for place in [0, 40, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert_eq!(parse(&changed, 2), None, "byte {place}");
        }
    }
}
