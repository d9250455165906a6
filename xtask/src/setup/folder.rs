//! Whether a folder is a whole libtorch of the right version.

use std::fs;
use std::path::Path;

use super::manifest::Manifest;
use super::{VERSION, Variant, Wish};

/// What is wrong with `folder`, or nothing.
pub(super) fn fault(folder: &Path) -> Option<String> {
    if !folder.is_dir() {
        return Some(format!("`{}` is not a folder", folder.display()));
    }
    if !["libtorch_cpu.so", "libtorch_cpu.dylib"].iter().any(|name| folder.join("lib").join(name).is_file()) {
        return Some("there is no `lib/libtorch_cpu.so` in it".to_owned());
    }
    if !folder.join("include").is_dir() {
        return Some("there is no `include` in it".to_owned());
    }
    match version(folder) {
        Some(found) if found != VERSION => return Some(format!("expected version {VERSION}, found {found}")),
        _ => {}
    }
    Manifest::read(folder).and_then(|manifest| manifest.fault(folder))
}

/// The version as `build-version` tells it (libtorch's archives) or `version.py` (Python packages); without `+cpu`.
pub(super) fn version(folder: &Path) -> Option<String> {
    let told = fs::read_to_string(folder.join("build-version")).ok().or_else(|| {
        let text = fs::read_to_string(folder.join("version.py")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("__version__ = "))?;
        Some(line.trim().trim_matches(['\'', '"']).to_owned())
    })?;
    Some(told.trim().split('+').next().unwrap_or_default().to_owned())
}

/// Whether GPUs can be used with it.
pub(super) fn has_cuda(folder: &Path) -> bool {
    folder.join("lib/libtorch_cuda.so").is_file()
}

/// Whether what was found without fetching is what is wanted.
///
/// A torch with CUDA also serves a machine without a GPU; one without does not serve a machine that has one.
pub(super) fn suits(folder: &Path, wish: Wish, variant: Variant) -> bool {
    let cuda = has_cuda(folder);
    match (wish, variant) {
        (Wish::Cpu, _) => !cuda,
        (_, Variant::Cuda) => cuda,
        (_, Variant::Cpu) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn libtorch(version: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("lib")).expect("a folder");
        fs::create_dir(folder.path().join("include")).expect("a folder");
        fs::write(folder.path().join("lib/libtorch_cpu.so"), "code").expect("a file");
        fs::write(folder.path().join("build-version"), version).expect("a file");
        folder
    }

    #[test]
    fn a_whole_one_has_no_fault() {
        assert_eq!(fault(libtorch("2.11.0\n").path()), None);
        assert_eq!(fault(libtorch("2.11.0+cpu").path()), None);
    }

    #[test]
    fn a_fault_says_what_is_missing() {
        let folder = libtorch("2.10.1");
        assert_eq!(fault(folder.path()).expect("a fault"), "expected version 2.11.0, found 2.10.1");
        fs::remove_file(folder.path().join("lib/libtorch_cpu.so")).expect("removed");
        assert_eq!(fault(folder.path()).expect("a fault"), "there is no `lib/libtorch_cpu.so` in it");
        assert!(fault(&folder.path().join("nowhere")).expect("a fault").ends_with("is not a folder"));
    }

    #[test]
    fn a_python_package_tells_its_version_too() {
        let folder = libtorch("");
        fs::remove_file(folder.path().join("build-version")).expect("removed");
        let text = "from typing import Optional\n\n__all__ = ['__version__']\n__version__ = '2.9.0+cu130'\n";
        fs::write(folder.path().join("version.py"), text).expect("a file");
        assert_eq!(version(folder.path()).expect("told"), "2.9.0");
        assert_eq!(fault(folder.path()).expect("a fault"), "expected version 2.11.0, found 2.9.0");
    }

    #[test]
    fn cuda_serves_all_but_who_refuses_it() {
        let folder = libtorch("2.11.0");
        let folder = folder.path();
        assert!(suits(folder, Wish::Whichever, Variant::Cpu));
        assert!(suits(folder, Wish::Cpu, Variant::Cpu));
        assert!(!suits(folder, Wish::Whichever, Variant::Cuda));
        fs::write(folder.join("lib/libtorch_cuda.so"), "code").expect("a file");
        assert!(suits(folder, Wish::Whichever, Variant::Cuda));
        assert!(suits(folder, Wish::Whichever, Variant::Cpu));
        assert!(!suits(folder, Wish::Cpu, Variant::Cpu));
    }
}
