//! `prescient list`.

use super::{output, recipes};
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
        let text = match self.recipe {
            _ if self.keys => keys(),
            Some(name) => recipes::find(&name)?.0,
            None => everything(),
        };
        output::print(&text)
    }
}

fn everything() -> String {
    let mut lines = vec!["datasets".to_owned()];
    for dataset in DATASETS {
        lines.push(format!("  {:<20} {}\n  {:<20} needs: {}", dataset.name, dataset.about, "", dataset.needs));
    }
    lines.push("\nrecipes (prescient run NAME; prescient list --recipe NAME shows one)".to_owned());
    for (name, text) in recipes::RECIPES {
        lines.push(format!("  {name:<20} {}", recipes::about(text)));
    }
    lines.push("\nmetrics".to_owned());
    for metric in METRICS {
        lines.push(format!("  {:<20} {}", metric.name(), metric.about()));
    }
    lines.join("\n") + "\n"
}

fn keys() -> String {
    format!(
        "# Every key with its default, which is the paper's value where the paper gives one.\n\
         # Left out here: scenario.split, which every recipe must give, and what the dataset decides\n\
         # (images.size, images.resize, images.crop, images.flip, images.normalization).\n\n{}",
        Recipe::default().to_toml()
    )
}
