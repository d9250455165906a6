//! `prescient list`.

use crate::output::{self, Form};
use clap::Args;
use prescient::data::DATASETS;
use prescient::error::Result;
use prescient::evaluation::METRICS;
use prescient::experiment::{key_rows, keys_text, keys_text_below_each_other, recipes};
use serde_json::{Value, json};

/// Name the datasets, recipes, metrics and recipe keys there are
#[derive(Debug, Args)]
pub(super) struct List {
    /// Show every key of a recipe instead: its type, what is allowed, its default in both presets, what it means
    #[arg(long)]
    keys: bool,

    /// Show this recipe in full instead, with all that its preset fills in, to start your own from
    #[arg(long, value_name = "NAME", conflicts_with = "keys")]
    recipe: Option<String>,

    #[command(flatten)]
    form: Form,
}

impl List {
    pub(super) fn run(self) -> Result<()> {
        let recipe = self.recipe.as_deref().map(full_recipe).transpose()?;
        match (self.form.is_json(), recipe) {
            (true, _) if self.keys => output::print_json(&json!({ "keys": key_documents() })),
            (true, Some(text)) => output::print_json(&json!({ "recipe": self.recipe, "toml": text })),
            (true, None) => output::print_json(&everything_as_json()),
            (false, _) if self.keys => output::print_text(&keys()),
            (false, Some(text)) => output::print(&text),
            (false, None) => output::print_text(&everything()),
        }
    }
}

/// A line for each key, where that fits.
fn keys() -> String {
    let lines = keys_text();
    let widest = lines.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    match output::width() {
        Some(width) if width < widest => keys_text_below_each_other(),
        _ => lines,
    }
}

/// A recipe with all that its preset fills in.
fn full_recipe(name: &str) -> Result<String> {
    let (text, path) = recipes::find(name)?;
    Ok(recipes::full_text(&text, &path)?)
}

fn key_documents() -> Vec<Value> {
    let document = |[name, allowed, default, about]: [String; 4]| {
        let default = default.trim_matches(['[', ']']);
        json!({ "name": name, "allowed": allowed, "default": default, "about": about })
    };
    key_rows().into_iter().map(document).collect()
}

/// All datasets.
pub(super) fn datasets_as_json() -> Vec<Value> {
    DATASETS.iter().map(|data| json!({ "name": data.name, "about": data.about, "needs": data.needs })).collect()
}

fn everything_as_json() -> Value {
    let recipe = |one: &recipes::BuiltIn| json!({ "name": one.name, "about": one.about(), "row": one.is_row });
    let recipes: Vec<Value> = recipes::built_in().iter().map(recipe).collect();
    let metrics: Vec<Value> =
        METRICS.iter().map(|metric| json!({ "name": metric.name(), "about": metric.about() })).collect();
    json!({ "datasets": datasets_as_json(), "recipes": recipes, "metrics": metrics })
}

fn everything() -> String {
    let mut lines = vec!["datasets".to_owned()];
    for dataset in DATASETS {
        lines.push(format!("  {:<20}  {}\n  {:<20}  needs: {}", dataset.name, dataset.about, "", dataset.needs));
    }
    lines.push("\nrecipes (prescient run NAME; prescient list --recipe NAME shows one)".to_owned());
    let others: Vec<&recipes::BuiltIn> = recipes::built_in().iter().filter(|recipe| !recipe.is_row).collect();
    let width = others.iter().map(|recipe| recipe.name.len()).max().unwrap_or(0);
    for recipe in others {
        lines.push(format!("  {:<width$}  {}", recipe.name, recipe.about()));
    }
    lines.push(format!(
        "\nrows of the paper's tables, as recipes: DATASET-ROW with our settings, DATASET-ROW-paper with the paper's\n  \
         DATASET  {}\n  ROW      {}",
        recipes::table_datasets().join(", "),
        recipes::table_rows().join(",\n           ")
    ));
    lines.push("\nmetrics".to_owned());
    let width = METRICS.iter().map(|metric| metric.name().chars().count()).max().unwrap_or(0);
    for metric in METRICS {
        lines.push(format!("  {:<width$}  {}", metric.name(), metric.about()));
    }
    lines.join("\n") + "\n"
}
