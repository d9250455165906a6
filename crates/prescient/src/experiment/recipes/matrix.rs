//! `tables.toml` expanded: each dataset with each row, in both presets; and variants of other recipes.

use crate::experiment::recipes::{BuiltIn, TABLES};
use crate::experiment::{PRESETS, Preset};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use toml::{Table, Value};

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    datasets: BTreeMap<String, Dataset>,
    rows: BTreeMap<String, Row>,
    variants: BTreeMap<String, Variant>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Dataset {
    /// What a header calls it.
    title: String,
    /// What it needs, and how long it takes.
    needs: String,
    /// What else there is to say.
    note: Option<String>,
    /// The split that starts with half of the classes, with as many as zero-shot benchmarks, with all.
    half: String,
    zero_shot: String,
    joint: String,
    /// λ₁ of POD, where it is another than the paper's for AwA2.
    pod_weight: Option<f64>,
    recipe: Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    about: String,
    /// The paper's tables in which it stands.
    tables: String,
    #[serde(default)]
    start: Start,
    /// What the paper reports for it.
    paper: Option<Reported>,
    recipe: Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reported {
    awa2: String,
    apy: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Start {
    #[default]
    Half,
    ZeroShot,
    Joint,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    /// The recipe that it changes.
    of: String,
    about: String,
    recipe: Table,
}

/// The datasets that tables can be about.
pub fn table_datasets() -> &'static [String] {
    &NAMES.0
}

/// The rows of the tables.
pub fn table_rows() -> &'static [String] {
    &NAMES.1
}

static NAMES: LazyLock<(Vec<String>, Vec<String>)> = LazyLock::new(|| {
    let tables: Tables = toml::from_str(TABLES).expect("the tables that come along can be read");
    (tables.datasets.into_keys().collect(), tables.rows.into_keys().collect())
});

/// All recipes that `text` stands for; `files` are those that variants can change.
pub(super) fn expanded(text: &str, files: &[(&str, &str)]) -> Result<Vec<BuiltIn>, toml::de::Error> {
    let Tables { datasets, rows, variants } = toml::from_str(text)?;
    let mut all = Vec::new();
    for (name, variant) in variants {
        let (_, base) = files.iter().find(|(file, _)| *file == variant.of).expect("a variant of a file");
        let mut recipe: Table = toml::from_str(base)?;
        merge(&mut recipe, &variant.recipe);
        let head = format!("# {}.\n# As `{}`, with what differs below.\n", variant.about, variant.of);
        all.push(BuiltIn { text: written(&head, &name, &recipe), name, is_row: false });
    }
    for (data, dataset) in &datasets {
        for (row_name, row) in &rows {
            for preset in PRESETS {
                let suffix = if preset == Preset::Paper { "-paper" } else { "" };
                let name = format!("{data}-{row_name}{suffix}");
                let text = written(&header(data, dataset, row, preset), &name, &keys(dataset, row, preset));
                all.push(BuiltIn { name, text, is_row: true });
            }
        }
    }
    Ok(all)
}

fn split<'a>(dataset: &'a Dataset, row: &Row) -> &'a str {
    match row.start {
        Start::Half => &dataset.half,
        Start::ZeroShot => &dataset.zero_shot,
        Start::Joint => &dataset.joint,
    }
}

/// The keys that a row sets.
fn keys(dataset: &Dataset, row: &Row, preset: Preset) -> Table {
    let mut recipe = Table::from_iter([("preset".to_owned(), Value::String(preset.name().to_owned()))]);
    let scenario = Table::from_iter([("split".to_owned(), Value::String(split(dataset, row).to_owned()))]);
    recipe.insert("scenario".to_owned(), Value::Table(scenario));
    merge(&mut recipe, &dataset.recipe);
    merge(&mut recipe, &row.recipe);
    let distillation = recipe.get_mut("loss").and_then(|loss| loss.get_mut("distillation"));
    if let (Some(weight), Some(Value::Table(distillation))) = (dataset.pod_weight, distillation)
        && distillation.get("kind").and_then(Value::as_str) == Some("pod")
    {
        distillation.insert("weight".to_owned(), Value::Float(weight));
    }
    recipe
}

/// What a row is, whose settings it has, what the paper reports, and what it needs.
fn header(data: &str, dataset: &Dataset, row: &Row, preset: Preset) -> String {
    let whose = match preset {
        Preset::Paper => "with the paper's printed settings (preset \"paper\")",
        Preset::Tuned => "with our settings (preset \"tuned\"), not the paper's",
    };
    let reported = match (&row.paper, data) {
        (None, _) => "The paper has no such row.".to_owned(),
        (Some(paper), "awa2") => format!("The paper: {}, on a split that shares images (errata 9).", paper.awa2),
        (Some(paper), "apy") => format!("The paper: {}, on a split that shares images (errata 9).", paper.apy),
        (Some(paper), _) => format!("The paper, on its own data: {} (AwA2); {} (aP&Y).", paper.awa2, paper.apy),
    };
    let Dataset { title, needs, note, .. } = dataset;
    let mut text = format!(
        "# {title}, {split}: {about}; {whose}.\n# {tables}. {reported}\n# {needs}\n",
        split = split(dataset, row),
        about = row.about,
        tables = row.tables
    );
    text.extend(note.iter().map(|note| format!("# {note}\n")));
    text
}

/// A recipe as a file would have it.
fn written(head: &str, name: &str, recipe: &Table) -> String {
    let keys = toml::to_string(recipe).expect("a table is plain data");
    let device = if recipe.get("preset").is_some() { " --device cuda" } else { "" };
    format!("{head}#   prescient run {name} --seed 1{device}\n\n{keys}")
}

/// Puts the keys of `over` over those of `table`.
fn merge(table: &mut Table, over: &Table) {
    for (key, value) in over {
        match (table.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(over)) => merge(inner, over),
            _ => drop(table.insert(key.clone(), value.clone())),
        }
    }
}
