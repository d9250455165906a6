//! `prescient demo`.

use super::device::DeviceName;
use super::progress::Progress;
use super::{output, recipes, run};
use crate::error::Result;
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

    /// The folder to write; `runs/demo` unless given, or the first of `runs/demo-2`, `runs/demo-3`, … that is free
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
            None => first_free(),
        };

        eprintln!("{}", recipes::about(&text));
        let mut progress = Progress::new();
        let record = experiment.run(&out, None, &mut progress)?;
        progress.finish();
        run::show(&record, &out)?;
        output::print(&format!("look again with: prescient report {}\n", out.display()))
    }
}

/// Where nothing is yet: an earlier demo stays.
fn first_free() -> PathBuf {
    let numbered = (2..).map(|number| PathBuf::from(format!("runs/demo-{number}")));
    std::iter::once(PathBuf::from("runs/demo"))
        .chain(numbered)
        .find(|path| !path.exists())
        .expect("some number is free")
}
