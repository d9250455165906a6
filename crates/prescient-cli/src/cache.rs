//! `prescient cache`: the features of photos that earlier runs computed.

use crate::output::{self, Form};
use clap::{Args, ValueEnum};
use prescient::error::{Result, RunError};
use prescient::extractor::feature_cache::{
    CacheSize, cache_limit, cache_size, check_cache, clear_cache, features_root,
};
use serde_json::json;
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
    /// What to do
    #[arg(value_enum, default_value = "show")]
    verb: Verb,

    #[command(flatten)]
    form: Form,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Verb {
    /// Say where it is, how much is in it, and how large it may grow
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
        match self.verb {
            Verb::Show => show(root, self.form),
            Verb::Check => check(root, self.form),
            Verb::Clear => clear(root, self.form),
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

fn show(root: PathBuf, form: Form) -> Result<()> {
    let CacheSize { parts, features, bytes } = cache_size(&root)?;
    let limit = cache_limit();
    if form.is_json() {
        let document = json!({ "place": root, "features": features, "files": parts, "bytes": bytes, "limit": limit });
        return output::print_json(&document);
    }
    let (place, size, limit) = (root.display(), size_of(bytes), size_of(limit));
    output::print_text(&format!(
        "place     {place}\nfeatures  {features} in {parts} files\nsize      {size} of {limit} at most\n"
    ))
}

fn check(root: PathBuf, form: Form) -> Result<()> {
    let damaged = check_cache(&root)?;
    let said: Vec<String> = damaged.iter().map(ToString::to_string).collect();
    let size = if damaged.is_empty() { Some(cache_size(&root)?) } else { None };
    let features = size.as_ref().map(|size| size.features);
    let files = size.as_ref().map(|size| size.parts);
    match (form.is_json(), size) {
        (true, _) => {
            let document = json!({ "place": root, "features": features, "files": files, "damaged": said });
            output::print_json(&document)?;
        }
        (false, Some(CacheSize { features, parts, .. })) => {
            output::print_text(&format!("{features} features in {parts} files are as they were written\n"))?;
        }
        // The first one is the error.
        (false, None) => output::print_text(&said.iter().skip(1).map(|line| format!("{line}\n")).collect::<String>())?,
    }
    damaged.into_iter().next().map_or(Ok(()), |first| Err(first.into()))
}

fn clear(root: PathBuf, form: Form) -> Result<()> {
    // A file that is damaged cannot be counted, and goes all the same.
    let size = cache_size(&root).ok();
    clear_cache(&root)?;
    match (form.is_json(), size) {
        (true, size) => {
            let (features, bytes) = (size.as_ref().map(|size| size.features), size.as_ref().map(|size| size.bytes));
            output::print_json(&json!({ "place": root, "features": features, "bytes": bytes }))
        }
        (false, Some(size)) => {
            output::print_text(&format!("{} features deleted, {}\n", size.features, size_of(size.bytes)))
        }
        (false, None) => output::print_text("all features deleted\n"),
    }
}
