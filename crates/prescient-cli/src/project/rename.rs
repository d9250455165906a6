//! `prescient rename`.

use super::Change;
use crate::output;
use crate::progress::Progress;
use clap::Args;
use prescient::error::Result;

/// Give a class another name; its photos and its description stay
#[derive(Debug, Args)]
#[command(after_help = "Example:
  prescient rename shop 'polar bear' 'ice bear'")]
pub(crate) struct Rename {
    #[command(flatten)]
    change: Change,

    /// The class
    class: String,

    /// Its new name
    name: String,
}

impl Rename {
    pub(crate) fn run(self) -> Result<()> {
        let mut project = self.change.open()?;
        let mut progress = Progress::new();
        let number = project.rename(&self.class, &self.name, &mut progress).map(|version| version.number);
        progress.finish();
        output::print_text(&format!("version {}: `{}` is called `{}`\n", number?, self.class, self.name.trim()))
    }
}
