//! What all files have in common: read with a cap, written so that they outlast a power cut, known by a digest.
//!
//! Nothing else reads a file: a pipe, a device or an endless file in a folder of others is refused here, once for all.

mod durable;
mod json;
mod lock;
mod regular;

#[cfg(test)]
pub(crate) use durable::tests::SYNCED;
pub(crate) use durable::{replace, sync_folder, sync_tree};
pub(crate) use json::{opened, signed};
pub(crate) use lock::Lock;
pub use regular::{IMAGE, RUN, open, open_folder, read, read_text};
pub(crate) use regular::{TABLE, read_run_text, unpacked};

/// A digest of a file.
pub(crate) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The first digits of a digest: enough to tell two apart.
pub(crate) fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}
