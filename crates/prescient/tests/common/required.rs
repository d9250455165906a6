//! What some tests need and not every machine has: a GPU, a browser, real data, pretrained weights, a Python with onnxruntime or torch. Without it they are skipped, and say so;
//! `PRESCIENT_REQUIRE=gpu,browser,data,weights,onnxruntime,torch` names what must be there, and turns skipping into a failure.
#![allow(dead_code, unreachable_pub, missing_docs)]

use std::path::{Path, PathBuf};

/// What can be named.
const NAMES: [&str; 6] = ["gpu", "browser", "data", "weights", "onnxruntime", "torch"];

/// Says that the test, or a part of it, is skipped for want of `what`.
///
/// # Panics
/// If `PRESCIENT_REQUIRE` names it.
#[track_caller]
pub fn skip(what: &str, why: &str) {
    assert!(NAMES.contains(&what), "`{what}` cannot be required");
    let required = std::env::var("PRESCIENT_REQUIRE").unwrap_or_default();
    for name in required.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        assert!(NAMES.contains(&name), "PRESCIENT_REQUIRE names `{name}`; expected some of {NAMES:?}");
        assert!(name != what, "PRESCIENT_REQUIRE names `{what}`, but {why}");
    }
    eprintln!("skipped: {why}");
}

/// Real data beyond the repository: below `PRESCIENT_DATA`, else `../shared/data` beside the repository.
#[track_caller]
pub fn real_data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PRESCIENT_DATA")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    skip("data", &format!("`{name}` is not below `{}`; PRESCIENT_DATA names another folder", root.display()));
    None
}

/// Fashion-MNIST: where Debian's package `dataset-fashion-mnist` puts it, else `fashion-mnist` among the real data.
#[track_caller]
pub fn fashion_mnist() -> Option<PathBuf> {
    let packaged = Path::new("/usr/share/datasets/fashion-mnist");
    if packaged.exists() { Some(packaged.to_owned()) } else { real_data("fashion-mnist") }
}
