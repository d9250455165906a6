//! All of torch, for machines with an NVIDIA GPU: libtorch's CUDA half needs some fifteen packages of NVIDIA's,
//! and only pip knows which.

use std::fs;

use super::cache::Cache;
use super::download::pip;
use super::manifest::Manifest;
use super::{VERSION, Variant, python, say};
use crate::environment::Environment;
use crate::error::Error;

/// Unpacked, and as much again for the wheels while pip is at work.
const ROOM: u64 = 8_000_000_000;

/// Installs torch with all it depends on into the cache.
pub(super) fn install(environment: &Environment, cache: &Cache) -> Result<(), Error> {
    let python = python::with_pip(environment)?;
    cache.check_room(environment, ROOM)?;
    say(format_args!("fetching libtorch for NVIDIA GPUs with pip, once: 4.7 GB on disk"));
    say(format_args!("(0.5 GB are enough for the CPU alone: `cargo xtask setup --cpu`)"));

    let home = cache.partial("torch")?;
    let scratch = cache.partial("scratch")?;
    let requirement = format!("torch==={VERSION}");
    let status = pip(environment, &python, &scratch)
        .args(["install", "--only-binary=:all:", "--no-cache-dir", "--no-compile"])
        // Named, so that any Python can fetch it. pip does not take a later tag to include the earlier ones.
        .args((17..=28).rev().flat_map(|minor| ["--platform".to_owned(), format!("manylinux_2_{minor}_x86_64")]))
        .args(["--platform", "manylinux2014_x86_64"])
        .args(["--python-version", "311", "--implementation", "cp", "--abi", "cp311"])
        .arg("--target")
        .arg(&home)
        .arg(&requirement)
        .status()
        .map_err(Error::io("start", &python))?;
    if !status.success() {
        return Err(Error::Pip { requirement, status: status.to_string() });
    }

    let torch = home.join("torch");
    let version = torch.join("build-version");
    fs::write(&version, VERSION).map_err(Error::io("write", &version))?;
    let parts: &[&str] =
        if home.join("nvidia").is_dir() { &["include", "lib", "../nvidia"] } else { &["include", "lib"] };
    Manifest::of(&torch, parts)?.write(&torch)?;

    cache.install(&home, Variant::Cuda)
}
