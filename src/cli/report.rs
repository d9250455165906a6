//! `prescient report`.

use super::output;
use crate::error::Result;
use crate::experiment::{Record, RunFolder};
use crate::report::{self, Format};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Show what runs found, from their folders alone
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient report runs/demo/ghost                          a table for the terminal
  prescient report runs/demo/* --format md                  tables for a README
  prescient report runs/demo/* --format csv > demo.csv      every metric after every task, a line each")]
pub(super) struct Report {
    /// The folders of runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// The form of the tables
    #[arg(long, value_enum, default_value = "text")]
    format: FormatName,
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

impl Report {
    pub(super) fn run(self) -> Result<()> {
        let runs = read(&self.runs)?;
        output::print(&match (&runs[..], self.format) {
            ([(_, record)], FormatName::Text) => report::text(record),
            (runs, format) => report::tables(runs, format.into()),
        })
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
