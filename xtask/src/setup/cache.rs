//! The folder that libtorch is kept in, for all checkouts of one user.
//!
//! ```text
//! lock                     held while one set-up writes
//! downloads/               whole, checked wheels of a set-up that did not finish
//! libtorch-2.11.0-cpu/     include, lib
//! libtorch-2.11.0-cuda/    a full torch, as pip installs it
//! *.partial-<process>      work in progress, or what is left of it
//! ```

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{VERSION, Variant, say};
use crate::environment::Environment;
use crate::error::Error;

/// The cache, held by this process alone until dropped.
pub(super) struct Cache {
    folder: PathBuf,
    /// The lock goes with the file: also a killed set-up lets go of it.
    _lock: File,
}

impl Cache {
    /// Waits for another set-up to finish, then clears away what a killed one left behind.
    pub(super) fn open(environment: &Environment) -> Result<Self, Error> {
        let folder = location(environment)?;
        fs::create_dir_all(&folder).map_err(Error::io("make", &folder))?;
        let path = folder.join("lock");
        let lock = File::create(&path).map_err(Error::io("make", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                say(format_args!("another set-up is at work in `{}`; waiting for it", folder.display()));
                lock.lock().map_err(Error::io("lock", &path))?;
            }
            Err(TryLockError::Error(source)) => return Err(Error::Io { doing: "lock", path, source }),
        }
        let cache = Self { folder, _lock: lock };
        cache.clear_partial();
        Ok(cache)
    }

    /// Where the include and lib folders of this half are, or will be.
    pub(super) fn libtorch(&self, variant: Variant) -> PathBuf {
        match variant {
            Variant::Cpu => self.home(variant),
            Variant::Cuda => self.home(variant).join("torch"),
        }
    }

    /// All that belongs to this half.
    pub(super) fn home(&self, variant: Variant) -> PathBuf {
        self.folder.join(format!("libtorch-{VERSION}-{}", variant.name()))
    }

    /// Moves what is now whole to its place; what lay there was damaged.
    pub(super) fn install(&self, whole: &Path, variant: Variant) -> Result<(), Error> {
        let home = self.home(variant);
        if home.exists() {
            fs::remove_dir_all(&home).map_err(Error::io("remove", &home))?;
        }
        fs::rename(whole, &home).map_err(Error::io("move to its place", &home))
    }

    /// Where whole wheels wait to be unpacked.
    pub(super) fn downloads(&self) -> Result<PathBuf, Error> {
        let folder = self.folder.join("downloads");
        fs::create_dir_all(&folder).map_err(Error::io("make", &folder))?;
        Ok(folder)
    }

    /// A fresh folder to work in. Its name is this process's own: a pip that outlived its
    /// set-up may still write to the last one.
    pub(super) fn partial(&self, name: &str) -> Result<PathBuf, Error> {
        let folder = self.folder.join(format!("{name}.partial-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(Error::io("make", &folder))?;
        Ok(folder)
    }

    /// Removes all work in progress. What cannot be removed is in nobody's way.
    pub(super) fn clear_partial(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().contains(".partial-") {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Refuses to begin what the disk has no room for. Where `df` does not tell, we try.
    pub(super) fn check_room(&self, environment: &Environment, needed: u64) -> Result<(), Error> {
        match free_space(environment, &self.folder) {
            Some(free) if free < needed => {
                let mb = 1_000_000;
                Err(Error::NoRoom { folder: self.folder.clone(), needed: needed.div_ceil(mb), free: free / mb })
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.clear_partial();
    }
}

fn location(environment: &Environment) -> Result<PathBuf, Error> {
    let under = |name, rest| environment.variable(name).map(|folder| Path::new(folder).join(rest));
    let folder = under("PRESCIENT_CACHE", "")
        .or_else(|| under("XDG_CACHE_HOME", "prescient"))
        .or_else(|| under("HOME", ".cache/prescient"))
        .ok_or(Error::NoCache)?;
    std::path::absolute(&folder).map_err(Error::io("find", &folder))
}

fn free_space(environment: &Environment, folder: &Path) -> Option<u64> {
    let df = environment.program("df")?;
    let answer = environment.command(df).arg("-Pk").arg(folder).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let kib: u64 = text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Environment { root: "/".into(), variables, platform: ("linux", "x86_64") }
    }

    #[test]
    fn the_more_particular_variable_wins() {
        let home = ("HOME", "/home/ada");
        let xdg = ("XDG_CACHE_HOME", "/var/cache/ada");
        let own = ("PRESCIENT_CACHE", "/big/disk");
        let of = |variables: &[_]| location(&environment(variables)).expect("a place");
        assert_eq!(of(&[home]), Path::new("/home/ada/.cache/prescient"));
        assert_eq!(of(&[home, xdg]), Path::new("/var/cache/ada/prescient"));
        assert_eq!(of(&[home, xdg, own]), Path::new("/big/disk"));
        assert!(matches!(location(&environment(&[])), Err(Error::NoCache)));
    }
}
