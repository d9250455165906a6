//! Finding libtorch 2.11.0, or fetching it.
//!
//! In this order: what the user set (`LIBTORCH`), what an earlier set-up linked, what a Python has, what the
//! cache holds, what pip can fetch. The first that is whole wins; only the last costs anything.

mod cache;
mod download;
mod folder;
mod full;
mod gpu;
mod link;
#[cfg(test)]
mod machine;
mod manifest;
mod python;
#[cfg(test)]
mod tests;
mod unpack;
mod wheels;

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::environment::Environment;
use crate::error::Error;
use cache::Cache;
use wheels::Wheel;

/// The one version that tch 0.24 is written for.
const VERSION: &str = "2.11.0";

/// Which half of libtorch the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// What is there; if nothing is, what suits the machine.
    Whichever,
    Cpu,
    Cuda,
}

/// Which half is looked for once it is known what suits the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Cpu,
    Cuda,
}

impl Variant {
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        }
    }
}

/// Makes sure that libtorch is there and answers what `LIBTORCH` must be to build with it.
pub(crate) fn ensure(environment: &Environment, wish: Wish) -> Result<PathBuf, Error> {
    ensure_from(environment, wish, wheels::CPU)
}

/// [`ensure`] with another list of wheels: tests have small ones.
fn ensure_from(environment: &Environment, wish: Wish, wheels: &[Wheel<'_>]) -> Result<PathBuf, Error> {
    // First, for nothing can be built without: better now than after half a gigabyte.
    check_compiler(environment)?;

    if let Some(folder) = users_own(environment)? {
        say(format_args!("libtorch {VERSION}: `LIBTORCH`, {}", folder.display()));
        return Ok(folder);
    }
    let link = environment.link();
    if let Some(target) = link::valid(&link, wish) {
        say(format_args!("libtorch {VERSION}: {}", target.display()));
        if wish == Wish::Whichever && !folder::has_cuda(&target) && gpu::present(environment) {
            say(format_args!("there is an NVIDIA GPU; `cargo xtask setup --gpu` fetches what it needs (4.7 GB)"));
        }
        return Ok(link);
    }
    link::check_replaceable(&link)?;

    let start = Instant::now();
    let variant = match wish {
        Wish::Cpu => Variant::Cpu,
        Wish::Cuda => Variant::Cuda,
        Wish::Whichever if gpu::present(environment) => Variant::Cuda,
        Wish::Whichever => Variant::Cpu,
    };
    let target = match python::torch_folder(environment).filter(|folder| folder::suits(folder, wish, variant)) {
        Some(folder) => folder,
        None => cached_or_fetched(environment, variant, wheels)?,
    };
    let had_cuda = link.is_dir().then(|| folder::has_cuda(&link));
    link::point(&link, &target)?;
    if had_cuda.is_some_and(|had| had != folder::has_cuda(&target)) {
        crate::steps::forget_torch_sys(environment);
    }
    say(format_args!(
        "libtorch {VERSION}: {}, linked from `.libtorch` ({:.0} s)",
        target.display(),
        start.elapsed().as_secs_f64()
    ));
    Ok(link)
}

/// The C++ compiler that the build will call.
fn check_compiler(environment: &Environment) -> Result<(), Error> {
    let wanted = environment.variable("CXX").map_or("c++".into(), |name| name.to_string_lossy());
    // `CXX` may be a path, or carry a wrapper and flags: `ccache g++`.
    let program = wanted.split_whitespace().next().unwrap_or("c++");
    // Joining an absolute path to a folder of `PATH` answers the absolute path.
    match environment.program(program) {
        Some(_) => Ok(()),
        None => Err(Error::NoCompiler { program: program.to_owned() }),
    }
}

/// The libtorch that `LIBTORCH` names. It is refused if it does not fit, never passed over.
fn users_own(environment: &Environment) -> Result<Option<PathBuf>, Error> {
    let Some(value) = environment.variable("LIBTORCH").map(Path::new) else {
        return Ok(None);
    };
    // Cargo sets the variable to the link for all it runs (`.cargo/config.toml`): that is us, not the user.
    if value == environment.link() {
        return Ok(None);
    }
    let folder = std::path::absolute(value).map_err(Error::io("find", value))?;
    match folder::fault(&folder) {
        None => Ok(Some(folder)),
        Some(reason) => Err(Error::Libtorch { folder, reason }),
    }
}

fn cached_or_fetched(environment: &Environment, variant: Variant, wheels: &[Wheel<'_>]) -> Result<PathBuf, Error> {
    let cache = Cache::open(environment)?;
    let folder = cache.libtorch(variant);
    if folder.exists() {
        match folder::fault(&folder) {
            None => return Ok(folder),
            Some(fault) => say(format_args!("the cached libtorch is damaged and will be fetched anew: {fault}")),
        }
    }
    if environment.platform != ("linux", "x86_64") {
        let (os, arch) = environment.platform;
        return Err(Error::Platform { os, arch });
    }
    match variant {
        Variant::Cpu => {
            let downloaded = download::all(environment, &cache, wheels)?;
            unpack::all(&cache, wheels, &downloaded)?;
        }
        Variant::Cuda => full::install(environment, &cache)?,
    }
    match folder::fault(&folder) {
        None => Ok(folder),
        Some(reason) => Err(Error::Fetched { reason }),
    }
}

/// Progress goes to stderr: stdout belongs to what is run afterwards.
fn say(message: std::fmt::Arguments<'_>) {
    eprintln!("set-up: {message}");
}
