//! What tests of real data share.

use std::path::{Path, PathBuf};

/// A folder of the real data, where it is at hand. Where `PRESCIENT_REQUIRE` names `data`, it must be.
pub(crate) fn real_data(sub: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PRESCIENT_DATA").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let folder = root.join(sub);
    if folder.exists() {
        return Some(folder);
    }
    let required = std::env::var("PRESCIENT_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|what| what == "data"), "`{}` is required and not here", folder.display());
    eprintln!("left out: `{}` is not here", folder.display());
    None
}
