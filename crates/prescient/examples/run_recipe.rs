//! Runs a recipe and prints its report. Images are drawn, so it needs no download, and takes a few seconds.
//!
//! ```sh
//! cargo run --example run_recipe -p prescient -- runs/drawn
//! ```

use prescient::error::Result;
use prescient::learner::Silent;
use prescient::{Experiment, Recipe};
use std::path::PathBuf;

const RECIPE: &str = r#"
    preset = "tuned"
    data = { kind = "synthetic", train = 20, test = 5 }
    scenario.split = "12+6+6"
    model.extractor = { kind = "small-cnn", features = 32, width = 8 }
    train = { epochs = 3, batch_size = 32 }
    ghosts.generator = { kind = "gaussian" }
"#;

fn main() -> Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("runs/drawn"), PathBuf::from);
    let recipe: Recipe = RECIPE.parse()?;
    let experiment = Experiment::new(recipe, tch::Device::Cpu)?;
    let record = experiment.run(&folder, None, &mut Silent)?;
    println!("{}", prescient::report::text(&record));
    println!("written to {}", folder.display());
    Ok(())
}
