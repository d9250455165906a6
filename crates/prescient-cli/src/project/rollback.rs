//! `prescient rollback`.

use super::Change;
use crate::output;
use clap::Args;
use prescient::error::Result;

/// Bring an earlier version of a project back
#[derive(Debug, Args)]
#[command(after_help = "Example:
  prescient rollback shop 3

It makes a new version with the files of version 3. Nothing is lost: the versions between stay, and can be brought back too.")]
pub(crate) struct Rollback {
    #[command(flatten)]
    change: Change,

    /// The number of the version
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    version: u32,
}

impl Rollback {
    pub(crate) fn run(self) -> Result<()> {
        let mut project = self.change.open()?;
        let number = project.rollback(self.version as usize)?.number;
        output::print_text(&format!("version {number}: as version {}\n", self.version))
    }
}
