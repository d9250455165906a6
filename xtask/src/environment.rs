//! The outside world as a value: variables, programs, platform. Tests hand in one of their own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;

/// What set-up may know of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// The repository's root.
    pub(crate) root: PathBuf,
    /// All that child processes see, too.
    pub(crate) variables: BTreeMap<OsString, OsString>,
    /// As `std::env::consts` names them: the operating system and the processor.
    pub(crate) platform: (&'static str, &'static str),
}

impl Environment {
    pub(crate) fn of_this_process() -> Result<Self, Error> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest).parent().ok_or(Error::NoRoot)?.to_owned();
        let platform = (std::env::consts::OS, std::env::consts::ARCH);
        Ok(Self { root, variables: std::env::vars_os().collect(), platform })
    }

    /// A variable, where it is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The first program of this name on `PATH`.
    pub(crate) fn program(&self, name: impl AsRef<Path>) -> Option<PathBuf> {
        let path = self.variable("PATH").unwrap_or_default();
        std::env::split_paths(path).map(|folder| folder.join(&name)).find(|program| program.is_file())
    }

    /// A child that sees this environment and nothing else, started in the root.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.variables).current_dir(&self.root);
        command
    }

    /// Where the link to libtorch lies; `.cargo/config.toml` names the same place.
    pub(crate) fn link(&self) -> PathBuf {
        self.root.join(".libtorch")
    }
}
