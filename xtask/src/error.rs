//! What can go wrong, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Every failure of this program. [`hint`](Error::hint) says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("there is no command `{verb}`")]
    Command { verb: String },
    #[error("`{verb}` does not take `{argument}`")]
    Argument { verb: String, argument: String },
    #[error("cannot tell where the repository lies")]
    NoRoot,

    #[error("no C++ compiler: `{program}` is not on the path")]
    NoCompiler { program: String },
    #[error("no Python to fetch libtorch with: `python3` is not on the path")]
    NoPython,
    #[error("no pip to fetch libtorch with: `{} -m pip` does not work", python.display())]
    NoPip { python: PathBuf },
    #[error("no libtorch, and none is fetched for {os} on {arch}: only for linux on x86_64")]
    Platform { os: &'static str, arch: &'static str },
    #[error("no place for a cache: neither `PRESCIENT_CACHE` nor `XDG_CACHE_HOME` nor `HOME` is set")]
    NoCache,
    #[error("not enough room in `{}`: {needed} MB are needed, {free} MB are free", folder.display())]
    NoRoom { folder: PathBuf, needed: u64, free: u64 },

    #[error("`LIBTORCH` is `{}`, which is not a libtorch 2.11.0\n  {reason}", folder.display())]
    Libtorch { folder: PathBuf, reason: String },
    #[error("`{}` is not a link that set-up made, and not a libtorch 2.11.0\n  {reason}", path.display())]
    NotALink { path: PathBuf, reason: String },

    #[error("pip could not fetch `{requirement}` ({status})")]
    Pip { requirement: String, status: String },
    #[error("pip fetched another file for `{requirement}` than `{expected}`")]
    OtherWheel { requirement: String, expected: String },
    #[error(
        "`{file}` is not what it should be, and was removed\n  expected sha256 {expected}\n  found    sha256 {found}"
    )]
    Checksum { file: String, expected: String, found: String },
    #[error("`{}` cannot be unpacked: {reason}", wheel.display())]
    Unpack { wheel: PathBuf, reason: String },
    #[error("what was fetched is not a libtorch 2.11.0\n  {reason}")]
    Fetched { reason: String },

    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("`{command}` cannot be measured: {reason}")]
    Peer { command: String, reason: String },
    #[error("{step} failed")]
    Step { step: &'static str, alone: String, code: u8 },
}

impl Error {
    /// For `map_err`: what was being done to which file.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    /// What the user can do about it.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Peer { .. } => {
                "bench needs a Python with torch 2.11 and scikit-learn: `PEER_PYTHON=/path/to/python cargo xtask bench`".into()
            }
            Self::Command { .. } => "the commands are `setup`, `demo`, `test` and `bench`; `cargo xtask --help` explains them".into(),
            Self::Argument { .. } => "`cargo xtask --help` lists the options".into(),
            Self::NoRoot => "start it as `cargo xtask` inside the repository".into(),
            Self::NoCompiler { program } if program == "c++" => {
                "install one, on Debian and Ubuntu with `sudo apt install build-essential`".into()
            }
            Self::NoCompiler { .. } => "correct `CXX`, or unset it to use `c++`".into(),
            Self::NoPython => {
                "on Debian and Ubuntu `sudo apt install python3-pip`; or set `LIBTORCH` to the folder of a libtorch 2.11.0"
                    .into()
            }
            Self::NoPip { .. } => {
                "on Debian and Ubuntu `sudo apt install python3-pip`; elsewhere `python3 -m ensurepip`; or set \
                 `LIBTORCH` to the folder of a libtorch 2.11.0"
                    .into()
            }
            Self::Platform { .. } => {
                "install PyTorch 2.11.0 for your `python3`, or set `LIBTORCH` to the folder of a libtorch 2.11.0".into()
            }
            Self::NoCache => "set `PRESCIENT_CACHE` to a folder with room for libtorch".into(),
            Self::NoRoom { .. } => "make room, or set `PRESCIENT_CACHE` to a folder on another disk".into(),
            Self::Libtorch { .. } => {
                "correct `LIBTORCH`, or unset it to have set-up find or fetch libtorch 2.11.0".into()
            }
            Self::NotALink { .. } => "move it away, then run `cargo xtask setup` again".into(),
            Self::Pip { .. } => {
                "pip's own message stands above; check the network, or the index and proxy pip is set to, and run the \
                 same command again: what was complete is kept. `docs/guide/setup.md` tells how to do it offline"
                    .into()
            }
            Self::OtherWheel { .. } => {
                "pip may be set to another index (`PIP_INDEX_URL`, `PIP_EXTRA_INDEX_URL`, `pip config list`); \
                 unset it for this command"
                    .into()
            }
            Self::Checksum { .. } => {
                "run the same command again; if it happens twice, something between here and the index alters files".into()
            }
            Self::Unpack { .. } | Self::Fetched { .. } => "run `cargo xtask setup` again; please report it if it happens twice".into(),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "make room, or set `PRESCIENT_CACHE` to a folder on another disk".into()
            }
            Self::Io { .. } => "check that the folder exists and that you may write to it".into(),
            Self::Step { alone, .. } => format!("to run this step alone: `{alone}`"),
        }
    }

    /// That of the failed step; 2 for a wrong command line, else 1.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Step { code, .. } => *code,
            Self::Command { .. } | Self::Argument { .. } => 2,
            _ => 1,
        }
    }
}
