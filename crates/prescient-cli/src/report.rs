//! `prescient report`.

use crate::{drawings, output};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use prescient::error::Result;
use prescient::experiment::{Record, RunFolder};
use prescient::report::{self, Format};
use std::path::{Path, PathBuf};

/// Show what runs found, from their folders alone
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient report runs/demo/ghost                          a table for the terminal
  prescient report runs/demo/* --format md                  tables for a README
  prescient report runs/demo/* --format csv > demo.csv      every metric after every task, a line each
  prescient report runs/demo/* --format json                the same as one JSON document
  prescient report runs/demo/* --html                       one page with all figures: report.html
  prescient report runs/mine-seed* --html mine.html         seeds of one recipe: means and bands
  prescient report runs/demo/ghost --figures figures        every figure as an .svg file

Runs whose recipes differ in the seed alone are one kind. A page and figures need neither
data nor weights nor a GPU, and the same folders give the same bytes.")]
pub(super) struct Report {
    /// The folders of runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// The form of the tables
    #[arg(long, value_enum, default_value = "text", conflicts_with_all = ["html", "figures"])]
    format: Form,

    /// Write one page that opens from disk in any browser; `report.html` unless given
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "report.html")]
    html: Option<PathBuf>,

    /// Write every figure as an .svg file into this folder
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatName {
    /// For the terminal
    Text,
    /// Markdown
    Md,
    /// Comma-separated values, for programs
    Csv,
    /// LaTeX, with the rules of booktabs
    Latex,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Text => Format::Text,
            FormatName::Md => Format::Markdown,
            FormatName::Csv => Format::Csv,
            FormatName::Latex => Format::Latex,
        }
    }
}

/// The form of a report: tables, or one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Tables(FormatName),
    Json,
}

impl ValueEnum for Form {
    fn value_variants<'a>() -> &'a [Self] {
        use FormatName::{Csv, Latex, Md, Text};
        &[Form::Tables(Text), Form::Tables(Md), Form::Tables(Csv), Form::Tables(Latex), Form::Json]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Form::Tables(name) => name.to_possible_value(),
            Form::Json => Some(PossibleValue::new("json").help("One document with all numbers, for programs")),
        }
    }
}

impl Report {
    pub(super) fn run(self) -> Result<()> {
        if self.html.is_some() || self.figures.is_some() {
            return drawings::write(&self.runs, self.html.as_deref(), self.figures.as_deref());
        }
        let runs = read(&self.runs)?;
        match (&runs[..], self.format) {
            (runs, Form::Json) => output::print(&report::json(runs)),
            ([(_, record)], Form::Tables(FormatName::Text)) => output::print_text(&report::text(record)),
            (runs, Form::Tables(FormatName::Text)) => output::print_text(&report::tables(runs, Format::Text)),
            (runs, Form::Tables(format)) => output::print(&report::tables(runs, format.into())),
        }
    }
}

/// The records of run folders, each with the folder's name.
pub(super) fn read(runs: &[PathBuf]) -> Result<Vec<(String, Record)>> {
    let read = |run: &PathBuf| -> Result<(String, Record)> {
        let record = Record::read(&RunFolder::open(run)?.record())?;
        Ok((name(run), record))
    };
    runs.iter().map(read).collect()
}

/// As the run was named on the command line.
pub(super) fn name(run: &Path) -> String {
    run.display().to_string().trim_end_matches('/').to_owned()
}
