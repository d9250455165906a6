//! `prescient cache`: the features of photos that earlier runs computed.

use crate::output;
use clap::{Args, Subcommand};
use prescient::error::{Result, RunError};
use prescient::extractor::feature_cache::{cache_limit, cache_size, check_cache, clear_cache, features_root};
use std::path::PathBuf;

/// Show, check or clear the cache of features
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient cache                                where it is, how much is in it, and the limit
  prescient cache check                          compare every file with its digest
  prescient cache clear                          delete it; the next run computes features again
  PRESCIENT_FEATURES=/big/disk prescient run …   keep it elsewhere
  PRESCIENT_FEATURES_GIB=20 prescient run …      let it grow to 20 GiB

A frozen network gives the same feature of a photo every time, so each photo is looked at once.
Another order of classes, another spreadsheet or another run starts with what is here. Nothing is
lost when it is deleted but time.")]
pub(super) struct Cache {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum Verb {
    /// Say where it is, how much is in it, and how large it may grow (also without a verb)
    Show,
    /// Compare every file with its digest
    Check,
    /// Delete it: the next run computes features again
    Clear,
}

impl Cache {
    pub(super) fn run(self) -> Result<()> {
        // By its components: without a slash at its end.
        let root: PathBuf = features_root().ok_or(RunError::NoFeatures)?.components().collect();
        match self.verb.unwrap_or(Verb::Show) {
            Verb::Show => show(root),
            Verb::Check => check(root),
            Verb::Clear => clear(root),
        }
    }
}

fn size_of(bytes: u64) -> String {
    const GIB: u64 = 1 << 30;
    match bytes {
        GIB.. => format!("{:.1} GiB", bytes as f64 / GIB as f64),
        _ => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
    }
}

fn show(root: PathBuf) -> Result<()> {
    let size = cache_size(&root)?;
    output::print(&format!(
        "place     {}\nfeatures  {} in {} files\nsize      {} of {} at most\n",
        root.display(),
        size.features,
        size.parts,
        size_of(size.bytes),
        size_of(cache_limit())
    ))
}

fn check(root: PathBuf) -> Result<()> {
    let damaged = check_cache(&root)?;
    let others: Vec<String> = damaged.iter().skip(1).map(|error| format!("{error}\n")).collect();
    if let Some(first) = damaged.into_iter().next() {
        output::print(&others.concat())?;
        return Err(first.into());
    }
    let size = cache_size(&root)?;
    output::print(&format!("{} features in {} files are as they were written\n", size.features, size.parts))
}

fn clear(root: PathBuf) -> Result<()> {
    // A file that is damaged cannot be counted, and goes all the same.
    let size = cache_size(&root).ok();
    clear_cache(&root)?;
    output::print(&match size {
        Some(size) => format!("{} features deleted, {}\n", size.features, size_of(size.bytes)),
        None => "all features deleted\n".to_owned(),
    })
}
