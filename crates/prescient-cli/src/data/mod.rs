//! `prescient data`: one file for each of its verbs.

mod check;
mod get;
mod pack;
mod show;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use prescient::data::{DATASET_NAMES, DATASETS, DatasetOptions, Source};
use prescient::error::Result;

/// Fetch data, check it, pack it and show it
#[derive(Debug, Args)]
pub(super) struct Data {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Name the datasets and what each needs
    List,
    /// Fetch a dataset, or say where to get it by hand
    Get(get::Get),
    /// Read every file of a dataset, and say all that is wrong with it
    Check(check::Check),
    /// Decode and resize the images of a dataset once, into one file that loads at memory speed
    Pack(pack::Pack),
    /// Write a contact sheet of each class as PNG
    Show(show::Show),
}

impl Data {
    pub(super) fn run(self) -> Result<()> {
        match self.verb {
            Verb::List => {
                let lines = DATASETS.iter().map(|dataset| {
                    format!("{:<12}  {}\n{:<12}  needs: {}\n", dataset.name, dataset.about, "", dataset.needs)
                });
                crate::output::print_text(&lines.collect::<String>())
            }
            Verb::Get(verb) => verb.run(),
            Verb::Check(verb) => verb.run(),
            Verb::Pack(verb) => verb.run(),
            Verb::Show(verb) => verb.run(),
        }
    }
}

/// The names of all datasets, to choose from.
fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(DATASET_NAMES)
}

/// The dataset of one of these names.
fn source(name: &str, options: DatasetOptions) -> Source {
    Source::new(name, options).expect("clap takes the names of datasets alone")
}
