//! `prescient list`.

use crate::output;
use clap::Args;
use prescient::data::DATASETS;
use prescient::error::Result;
use prescient::evaluation::METRICS;
use prescient::experiment::{keys_text, recipes};

/// Name the datasets, recipes, metrics and recipe keys there are
#[derive(Debug, Args)]
pub(super) struct List {
    /// Show every key of a recipe instead: its type, what is allowed, its default in both presets, what it means
    #[arg(long)]
    keys: bool,

    /// Show this recipe in full instead, with all that its preset fills in, to start your own from
    #[arg(long, value_name = "NAME", conflicts_with = "keys")]
    recipe: Option<String>,
}

impl List {
    pub(super) fn run(self) -> Result<()> {
        let text = match self.recipe {
            _ if self.keys => keys_text(),
            Some(name) => {
                let (text, path) = recipes::find(&name)?;
                recipes::full_text(&text, &path)?
            }
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
    let others: Vec<&recipes::BuiltIn> = recipes::built_in().iter().filter(|recipe| !recipe.is_row).collect();
    let width = others.iter().map(|recipe| recipe.name.len()).max().unwrap_or(0);
    for recipe in others {
        lines.push(format!("  {:<width$} {}", recipe.name, recipe.about()));
    }
    lines.push(format!(
        "\nrows of the paper's tables, as recipes: DATASET-ROW with our settings, DATASET-ROW-paper with the paper's\n  \
         DATASET  {}\n  ROW      {}",
        recipes::table_datasets().join(", "),
        recipes::table_rows().join(",\n           ")
    ));
    lines.push("\nmetrics".to_owned());
    for metric in METRICS {
        lines.push(format!("  {:<20} {}", metric.name(), metric.about()));
    }
    lines.join("\n") + "\n"
}
