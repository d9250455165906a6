//! `prescient report`.

use super::{drawings, output};
use crate::error::Result;
use crate::experiment::{Record, RunFolder};
use crate::report;
use clap::Args;
use std::path::PathBuf;

/// Show what a run found, from its folder alone
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient report runs/demo/ghost                         a table for the terminal
  prescient report runs/demo/base runs/demo/ghost          two runs side by side
  prescient report runs/demo/base runs/demo/ghost --html   one page: report.html
  prescient report runs/mine-seed* --html mine.html        seeds of one recipe: means and bands
  prescient report runs/demo/ghost --figures figures       every figure as an .svg file

Runs whose recipes differ in the seed alone are one kind. A page and figures need neither
data nor weights nor a GPU, and the same folders give the same bytes.")]
pub(super) struct Report {
    /// The folders of runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Write one page that opens from disk in any browser; `report.html` unless given
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "report.html")]
    html: Option<PathBuf>,

    /// Write every figure as an .svg file into this folder
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

impl Report {
    pub(super) fn run(self) -> Result<()> {
        if self.html.is_some() || self.figures.is_some() {
            return drawings::write(&self.runs, self.html.as_deref(), self.figures.as_deref());
        }
        let records = self.runs.iter().map(|run| Ok(Record::read(&RunFolder::open(run)?.record())?));
        let records = records.collect::<Result<Vec<_>>>()?;
        match records.as_slice() {
            [record] => output::print(&report::text(record)),
            records => {
                let names: Vec<String> = self.runs.iter().map(|run| run.display().to_string()).collect();
                let named: Vec<(&str, &Record)> = names.iter().map(String::as_str).zip(records).collect();
                output::print(&report::side_by_side(&named))
            }
        }
    }
}
