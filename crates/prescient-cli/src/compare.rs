//! `prescient compare`.

use crate::output;
use crate::report::{Form, FormatName, name, read};
use clap::Args;
use prescient::error::{CompareError, Result};
use prescient::report::{Comparison, Format};
use std::path::PathBuf;

/// Compare models over seeds: paired differences, intervals, and a verdict
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient compare runs/base-seed* runs/ghost-seed*     base is the baseline: it comes first
  prescient compare runs/* --baseline runs/base-seed1    the baseline by name

Runs of one recipe are one model, whatever their seeds. Each model is compared with the baseline
seed by seed: the mean difference, its 95 % interval and p-value by Student's paired test,
corrected by Holm where several models are compared. With one seed in common, the comparison is
image by image (bootstrap; McNemar's test for the final accuracy): that tells of other test
images, not of other seeds. A difference is called better or worse where the corrected p is
below 0.05.

Measures: continual (mean over tasks, all classes), final (after the last task), seen and unseen
(means over tasks of the accuracy over classes that have come, and over classes still to come;
all classes compete).")]
pub(super) struct Compare {
    /// The folders of finished runs
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// A run of the model that the others are compared with; the first run's unless given
    #[arg(long, value_name = "RUN")]
    baseline: Option<PathBuf>,

    /// The form of the table
    #[arg(long, value_enum, default_value = "text")]
    format: Form,
}

impl Compare {
    pub(super) fn run(self) -> Result<()> {
        let runs = read(&self.runs)?;
        let baseline = match &self.baseline {
            None => 0,
            Some(path) => runs
                .iter()
                .position(|(run, _)| *run == name(path))
                .ok_or_else(|| CompareError::NoBaseline { path: path.clone() })?,
        };
        let comparison = Comparison::new(&runs, baseline)?;
        match self.format {
            Form::Tables(FormatName::Text) => output::print_text(&comparison.render(Format::Text)),
            Form::Tables(format) => output::print(&comparison.render(format.into())),
            Form::Json => output::print(&comparison.to_json()),
        }
    }
}
