//! `prescient forget`.

use super::Change;
use crate::output;
use crate::progress::Progress;
use clap::Args;
use prescient::error::Result;

/// Forget classes, as if the project had never had them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient forget shop zebra
  prescient forget shop zebra 'giant panda'

Photos and rows of the table go. Earlier versions still have them: `prescient rollback` brings one back.")]
pub(crate) struct Forget {
    #[command(flatten)]
    change: Change,

    /// The classes
    #[arg(required = true, value_name = "CLASS")]
    classes: Vec<String>,
}

impl Forget {
    pub(crate) fn run(self) -> Result<()> {
        let mut project = self.change.open()?;
        let mut progress = Progress::new();
        let number = project.forget(&self.classes, &mut progress).map(|version| version.number);
        progress.finish();
        output::print_text(&format!("version {}: {} forgotten\n", number?, self.classes.join(", ")))
    }
}
