//! Pythons: one that has torch already, or one that has pip.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{VERSION, folder};
use crate::environment::Environment;
use crate::error::Error;

/// Asks for the version and the folder of torch without importing it, which would take seconds.
const WHERE_IS_TORCH: &str = "\
import importlib.metadata, importlib.util
print(importlib.metadata.version('torch'))
print(importlib.util.find_spec('torch').submodule_search_locations[0])";

/// That of an active virtual environment first.
fn candidates(environment: &Environment) -> Vec<PathBuf> {
    let active = environment.variable("VIRTUAL_ENV").map(|folder| Path::new(folder).join("bin/python"));
    active.filter(|python| python.is_file()).into_iter().chain(environment.program("python3")).collect()
}

/// The folder of the first torch 2.11.0 that a Python has.
pub(super) fn torch_folder(environment: &Environment) -> Option<PathBuf> {
    candidates(environment).iter().find_map(|python| {
        let answer = environment.command(python).args(["-c", WHERE_IS_TORCH]).stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&answer.stdout);
        let mut lines = text.lines();
        let version = lines.next()?.trim().split('+').next()?;
        let found = PathBuf::from(lines.next()?.trim());
        (answer.status.success() && version == VERSION && folder::fault(&found).is_none()).then_some(found)
    })
}

/// The first Python that has pip.
pub(super) fn with_pip(environment: &Environment) -> Result<PathBuf, Error> {
    let candidates = candidates(environment);
    let works = |python: &&PathBuf| {
        let answer = environment.command(python).args(["-m", "pip", "--version"]).stdin(Stdio::null()).output();
        answer.is_ok_and(|answer| answer.status.success())
    };
    match (candidates.iter().find(works), candidates.first()) {
        (Some(python), _) => Ok(python.clone()),
        (None, Some(python)) => Err(Error::NoPip { python: python.clone() }),
        (None, None) => Err(Error::NoPython),
    }
}
