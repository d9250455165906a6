//! `prescient list`.

use super::recipes;
use crate::data::DATASETS;
use crate::error::Result;
use crate::evaluation::METRICS;
use crate::experiment::Recipe;
use clap::Args;

/// Name the datasets, recipes, metrics and recipe keys there are
#[derive(Debug, Args)]
pub(super) struct List {
    /// Show every key of a recipe with its default instead
    #[arg(long)]
    keys: bool,

    /// Show the text of this recipe instead, to start your own from
    #[arg(long, value_name = "NAME", conflicts_with = "keys")]
    recipe: Option<String>,
}

impl List {
    pub(super) fn run(self) -> Result<()> {
        if self.keys {
            print!("{}", keys());
            return Ok(());
        }
        if let Some(name) = self.recipe {
            print!("{}", recipes::find(&name)?.0);
            return Ok(());
        }
        println!("datasets");
        for dataset in DATASETS {
            println!("  {:<20} {}\n  {:<20} needs: {}", dataset.name, dataset.about, "", dataset.needs);
        }
        println!("\nrecipes (prescient run NAME; prescient list --recipe NAME shows one)");
        for (name, text) in recipes::RECIPES {
            println!("  {name:<20} {}", recipes::about(text));
        }
        println!("\nmetrics");
        for metric in METRICS {
            println!("  {:<20} {}", metric.name(), metric.about());
        }
        Ok(())
    }
}

fn keys() -> String {
    format!(
        "# Every key with its default, which is the paper's value where the paper gives one.\n\
         # Left out here: scenario.split, which every recipe must give, and what the dataset decides\n\
         # (images.size, images.resize, images.crop, images.flip, images.normalization).\n\n{}",
        Recipe::default().to_toml()
    )
}
