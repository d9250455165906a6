//! `prescient demo`.

use crate::device::DeviceName;
use crate::progress::Progress;
use crate::{output, run};
use clap::Args;
use prescient::error::Result;
use prescient::experiment::{Experiment, Recipe, Record, recipes};
use prescient::report;
use std::path::PathBuf;

/// Train the base model and the Ghost model on drawn images and show them side by side: three minutes at most
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
        let out = self.out.unwrap_or_else(first_free);
        let mut records = Vec::new();
        for (name, recipe) in [("base", "demo-base"), ("ghost", "demo-ghost")] {
            let about = recipes::built_in().iter().find(|known| known.name == recipe).map(|known| known.about());
            output::tell(about.unwrap_or(recipe));
            let recipe = Recipe { seed: self.seed, ..Recipe::find(recipe)? };
            let mut progress = Progress::new();
            let run = out.join(name);
            let done = Experiment::new(recipe, device)?.run(&run, None, &mut progress);
            progress.finish();
            run::say_how_to_go_on(&done, &run);
            records.push((name, done?));
        }
        let runs: Vec<(&str, &Record)> = records.iter().map(|(name, record)| (*name, record)).collect();
        output::print_text(&format!(
            "\nright answers in percent; seen: classes that have come, unseen: classes still to come\n\n{}\n\
             written to {out}\nlook closer with: prescient report {out}/ghost\n                  prescient inspect {out}/ghost\n",
            report::side_by_side(&runs),
            out = out.display(),
        ))
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
