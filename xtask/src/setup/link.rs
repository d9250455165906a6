//! The link `.libtorch`, by which plain `cargo build` finds what set-up found.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Wish, folder};
use crate::error::Error;

/// Where the link leads, if to a whole libtorch of the half that is asked for.
pub(super) fn valid(link: &Path, wish: Wish) -> Option<PathBuf> {
    let target = fs::canonicalize(link).ok()?;
    let wanted = match wish {
        Wish::Whichever => true,
        Wish::Cpu => !folder::has_cuda(&target),
        Wish::Cuda => folder::has_cuda(&target),
    };
    // A version that nobody tells is not taken on trust here: it is ours to know.
    (wanted && folder::version(&target).is_some() && folder::fault(&target).is_none()).then_some(target)
}

/// Only a link is ever replaced: a folder by that name is somebody's work.
pub(super) fn check_replaceable(link: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(link) {
        Ok(metadata) if !metadata.is_symlink() => {
            let reason =
                folder::fault(link).unwrap_or_else(|| "its version or half is not the one asked for".to_owned());
            Err(Error::NotALink { path: link.to_owned(), reason })
        }
        _ => Ok(()),
    }
}

/// Leads the link to `target`, in one step: nobody sees it missing.
pub(super) fn point(link: &Path, target: &Path) -> Result<(), Error> {
    let fresh = link.with_extension(format!("{}.tmp", std::process::id()));
    let _ = fs::remove_file(&fresh);
    symlink(target, &fresh).map_err(Error::io("make the link", &fresh))?;
    fs::rename(&fresh, link).map_err(Error::io("make the link", link))
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_target: &Path, _link: &Path) -> std::io::Result<()> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "set `LIBTORCH` instead on this system"))
}
