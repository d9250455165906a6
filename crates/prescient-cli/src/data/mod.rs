//! `prescient data`: one file for each of its verbs.

mod check;
mod get;
mod pack;
mod show;

use crate::output::{self, Form};
use clap::builder::{PossibleValue, PossibleValuesParser, StyledStr, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Args, Command, Subcommand};
use prescient::data::{DATASET_NAMES, DATASETS, DatasetOptions, Source, resolve};
use prescient::error::Result;
use serde_json::json;
use std::ffi::OsStr;
use std::path::Path;

/// Fetch data, check it, pack it and show it
#[derive(Debug, Args)]
pub(super) struct Data {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Name the datasets and what each needs
    List(Form),
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
            Verb::List(form) if form.is_json() => {
                output::print_json(&json!({ "datasets": crate::list::datasets_as_json() }))
            }
            Verb::List(_) => {
                let lines = DATASETS.iter().map(|dataset| {
                    format!("{:<12}  {}\n{:<12}  needs: {}\n", dataset.name, dataset.about, "", dataset.needs)
                });
                output::print_text(&lines.collect::<String>())
            }
            Verb::Get(verb) => verb.run(),
            Verb::Check(verb) => verb.run(),
            Verb::Pack(verb) => verb.run(),
            Verb::Show(verb) => verb.run(),
        }
    }
}

/// The names of all datasets, to choose from.
fn names() -> Names {
    Names(PossibleValuesParser::new(DATASET_NAMES))
}

/// The same; who names a folder of photos alone is told which dataset that is.
#[derive(Clone)]
struct Names(PossibleValuesParser);

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> std::result::Result<String, clap::Error> {
        self.0.parse_ref(command, argument, value).map_err(|mut error| {
            if resolve(Path::new(value)).exists() {
                let meant = format!("did you mean `folder {}`?", value.to_string_lossy());
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(meant)]));
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// The dataset of one of these names.
fn source(name: &str, options: DatasetOptions) -> Source {
    Source::new(name, options).expect("clap takes the names of datasets alone")
}
