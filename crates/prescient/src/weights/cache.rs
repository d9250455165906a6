//! Where weights lie: a folder for each name, below `PRESCIENT_WEIGHTS`, else below the user's cache. Every file is checked
//! against its digest before it is used.

use crate::error::WeightsError;
use crate::weights::{File, WEIGHTS, Weights};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Weights that are there, each file as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// As a recipe names them.
    pub name: String,
    /// The folder of their files.
    pub folder: PathBuf,
    /// The SHA-256 of the file; of several, the SHA-256 of their names and digests.
    pub digest: String,
}

impl Found {
    /// The first file: the one with the tensors.
    pub fn file(&self) -> PathBuf {
        let known = WEIGHTS.iter().find(|weights| weights.name == self.name);
        self.folder.join(known.map_or("", |weights| weights.files[0].name))
    }
}

/// The folder below which all weights lie: `PRESCIENT_WEIGHTS`, else `prescient/weights` in the user's cache.
pub fn root() -> Result<PathBuf, WeightsError> {
    let under = |name: &str, rest: &str| {
        let folder = std::env::var_os(name).filter(|folder| !folder.is_empty());
        folder.map(|folder| Path::new(&folder).join(rest))
    };
    under("PRESCIENT_WEIGHTS", "")
        .or_else(|| under("XDG_CACHE_HOME", "prescient/weights"))
        .or_else(|| under("HOME", ".cache/prescient/weights"))
        .ok_or(WeightsError::NoCache)
}

/// The entry of a name.
pub fn known(name: &str) -> Result<&'static Weights, WeightsError> {
    let unknown =
        || WeightsError::Unknown { name: name.to_owned(), known: WEIGHTS.iter().map(|weights| weights.name).collect() };
    WEIGHTS.iter().find(|weights| weights.name == name).ok_or_else(unknown)
}

/// The folder in which the files of a name lie, or would lie.
pub fn folder(name: &str) -> Result<PathBuf, WeightsError> {
    Ok(root()?.join(known(name)?.name))
}

/// The weights of a name, every file checked.
pub fn find(name: &str) -> Result<Found, WeightsError> {
    check(known(name)?, &folder(name)?)
}

/// Whether `folder` has the files of `weights`, each as it should be.
pub fn check(weights: &Weights, folder: &Path) -> Result<Found, WeightsError> {
    let missing = |file: &File| WeightsError::Missing { name: weights.name, path: folder.join(file.name) };
    if let Some(file) = weights.files.iter().find(|file| !folder.join(file.name).is_file()) {
        return Err(missing(file));
    }
    let mut lines = String::new();
    let mut digest = String::new();
    for file in weights.files {
        let path = folder.join(file.name);
        digest = sha256(&path)?;
        if !digest.starts_with(file.sha256) {
            return Err(WeightsError::Digest { name: weights.name, path, expected: file.sha256, found: digest });
        }
        lines.push_str(&format!("{} {digest}\n", file.name));
    }
    if weights.files.len() > 1 {
        digest = hex(Sha256::digest(lines.as_bytes()).as_slice());
    }
    Ok(Found { name: weights.name.to_owned(), folder: folder.to_owned(), digest })
}

/// The SHA-256 of a file, as `sha256sum` writes it.
pub fn sha256(path: &Path) -> Result<String, WeightsError> {
    let mut hasher = Sha256::new();
    let (mut file, _) = crate::disk::open(path).map_err(WeightsError::io(path))?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(WeightsError::io(path))? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    Ok(hex(hasher.finalize().as_slice()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Weights = Weights {
        name: "small",
        about: "",
        licence: "",
        files: &[
            // `printf a | sha256sum`, `printf b | sha256sum`.
            File { name: "a", url: "", bytes: 1, sha256: "ca978112ca1bbdcafac231b39a23dc4d", in_package: "" },
            File { name: "b", url: "", bytes: 1, sha256: "3e23e816", in_package: "" },
        ],
        package: None,
    };

    #[test]
    fn each_file_is_checked() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let says = || check(&SMALL, folder.path()).expect_err("not whole").to_string();
        assert!(says().starts_with("the weights `small` are not here"), "{}", says());
        std::fs::write(folder.path().join("a"), "a").expect("our own folder");
        std::fs::write(folder.path().join("b"), "B").expect("our own folder");
        assert!(says().contains("expected a SHA-256 that begins with 3e23e816"), "{}", says());
        std::fs::write(folder.path().join("b"), "b").expect("our own folder");
        let found = check(&SMALL, folder.path()).expect("whole");
        assert_eq!((found.digest.len(), found.folder.as_path()), (64, folder.path()));
    }

    #[test]
    fn an_unknown_name_is_told_what_there_is() {
        let says = find("vgg").expect_err("unknown").to_string();
        assert!(says.contains("`vgg`") && says.contains("`mobilenet-v2`"), "{says}");
    }
}
