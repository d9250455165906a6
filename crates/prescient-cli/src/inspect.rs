//! `prescient inspect`.

use crate::device::DeviceName;
use crate::output::{self, Form};
use clap::Args;
use prescient::error::Result;
use prescient::experiment::Experiment;
use prescient::report;
use std::path::PathBuf;

/// Compare what a run imagines of classes with what their images look like
#[derive(Debug, Args)]
#[command(
    after_help = "Ghosts are compared with features of test images, which nothing is learned from here. Classes that have no
test images yet can only be judged by how well those that have some are imagined.

What the columns say:
  turned     the angle between the mean of the ghosts and the mean of the real features, in degrees; 0 is right
  nearest    the angle from the real mean to that of the nearest other class: a ghost that is turned further is lost
  spread     how far features lie from their mean, ghosts over real ones; 1 is right
  mmd        the distance of the two sets that the generator minimizes; 0 is right
  agree      ghosts that lie nearest to the real mean of their own class, of all classes, in percent"
)]
pub(super) struct Inspect {
    /// The folder of a run with ghosts
    run: PathBuf,

    /// After which task; the last one with classes still to come unless given
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    task: Option<u32>,

    #[command(flatten)]
    form: Form,

    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceName,
}

impl Inspect {
    pub(super) fn run(self) -> Result<()> {
        let device = self.device.open()?;
        let inspection = Experiment::inspect(&self.run, device, self.task.map(|task| task as usize))?;
        match self.form.is_json() {
            true => output::print(&(inspection.to_json() + "\n")),
            false => output::print_text(&report::inspection(&inspection)),
        }
    }
}
