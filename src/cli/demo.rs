//! `prescient demo`.

use super::device::DeviceName;
use super::progress::Progress;
use super::{recipes, run};
use crate::error::{Result, RunError};
use crate::experiment::{Experiment, overridden};
use clap::Args;
use std::path::PathBuf;

/// Train a small model on drawn images and show how it does: three minutes at most
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// The seed
    #[arg(long, default_value_t = 1)]
    seed: u32,

    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceName,

    /// The folder to write; an earlier demo in the default folder is replaced
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Demo {
    pub(super) fn run(self) -> Result<()> {
        let device = self.device.open()?;
        let (text, path) = recipes::find("demo")?;
        let mut recipe = overridden(&text, &path, &[])?;
        recipe.seed = self.seed;
        let experiment = Experiment::new(recipe, device)?;
        let out = match self.out {
            Some(out) => out,
            None => replaced(PathBuf::from("runs/demo"))?,
        };

        eprintln!("{}", recipes::about(&text));
        let mut progress = Progress::new();
        let record = experiment.run(&out, None, &mut progress)?;
        progress.finish();
        run::show(&record, &out);
        println!("look again with: prescient report {}", out.display());
        Ok(())
    }
}

/// The demo's own folder, cleared of an earlier demo.
fn replaced(out: PathBuf) -> Result<PathBuf> {
    match std::fs::remove_dir_all(&out) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(RunError::io(&out)(error).into()),
        _ => Ok(out),
    }
}
