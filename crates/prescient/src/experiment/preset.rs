//! What fills the keys that a recipe does not say: `paper`, the paper's printed settings, or `tuned`, ours.
//!
//! The defaults of all settings are the paper's, so `paper` adds nothing to them. `tuned` is the short list below; each
//! value was chosen on held-out training images of `animals50` (errata 35). A preset never turns ghosts on.

use serde::{Deserialize, Serialize};
use std::fmt;
use toml::{Table, Value};

/// Which values fill what a recipe does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The paper to the letter, with the settings it prints.
    #[default]
    Paper,
    /// Ours.
    Tuned,
}

/// Both.
pub const PRESETS: [Preset; 2] = [Preset::Paper, Preset::Tuned];

impl Preset {
    /// As a recipe names it.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Paper => "paper",
            Preset::Tuned => "tuned",
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value that `tuned` changes.
struct Change {
    key: &'static str,
    /// As TOML.
    value: &'static str,
    /// The kinds of its table for which it is meant, where not for all: the key of the kind, and the kinds.
    when: Option<(&'static str, &'static [&'static str])>,
}

const fn change(key: &'static str, value: &'static str) -> Change {
    Change { key, value, when: None }
}

impl Change {
    const fn when(self, kind: &'static str, of: &'static [&'static str]) -> Self {
        Self { when: Some((kind, of)), ..self }
    }
}

/// What `tuned` changes.
const TUNED: &[Change] = &[
    change("images.crop", "\"resized 0.25\"").when("data.kind", &["folder", "awa2", "apy", "pack"]),
    change("loss.classification.form", "\"cross-entropy\""),
    change("loss.distillation.flat", "10.0").when("loss.distillation.kind", &["pod"]),
    change("train.epochs", "30"),
    change("train.batch_size", "128"),
    change("train.incremental_lr", "0.02"),
    change("train.weight_decay", "1e-3"),
    change("ghosts.l2_normalize", "true"),
    change("ghosts.generator.epochs", "250").when("ghosts.generator.kind", &["gmmn"]),
    change("complete.lr", "1e-3"),
    change("complete.batch_size", "1024"),
    change("calibrate.target", "\"accuracy\""),
];

/// The kind of a table that does not name one.
const KINDS: &[(&str, &str)] = &[
    ("data.kind", "synthetic"),
    ("learner.kind", "ghost"),
    ("model.extractor.kind", "resnet18"),
    ("loss.distillation.kind", "pod"),
    ("ghosts.generator.kind", "none"),
];

/// Fills what the recipe in `table` does not say from its preset.
pub(super) fn fill(table: &mut Table) {
    for (key, kind) in KINDS {
        let above = key.trim_end_matches(".kind");
        if get(table, above).is_some_and(Value::is_table) && get(table, key).is_none() {
            put(table, key, Value::String((*kind).to_owned()));
        }
    }
    // The closed form needs an extractor that has seen something.
    let closed = kind_in(table, "learner.kind") == "closed-form" && kind_in(table, "data.kind") != "features";
    if closed && get(table, "model.extractor").is_none() {
        put(table, "model.extractor", parsed("{ kind = \"mobilenet-v2\", weights = \"imagenet\" }"));
    }
    if table.get("preset").and_then(Value::as_str) != Some(Preset::Tuned.name()) {
        return;
    }
    for Change { key, value, when } in TUNED {
        let meant = when.is_none_or(|(kind, of)| of.contains(&kind_in(table, kind).as_str()));
        if meant && get(table, key).is_none() {
            if let Some((kind, _)) = when {
                let found = kind_in(table, kind);
                // A table of a kind cannot be without it; that of the data is another table than the key's.
                if key.rsplit_once('.').map(|(above, _)| above) == kind.rsplit_once('.').map(|(above, _)| above) {
                    put(table, kind, Value::String(found));
                }
            }
            put(table, key, parsed(value));
        }
    }
}

fn parsed(value: &str) -> Value {
    let mut table: Table = format!("value = {value}").parse().expect("the preset is TOML");
    table.remove("value").expect("just written")
}

/// The kind that a table has, or would have.
fn kind_in(table: &Table, key: &str) -> String {
    let default = || KINDS.iter().find(|(kind, _)| *kind == key).expect("a key of a kind").1;
    get(table, key).and_then(Value::as_str).unwrap_or_else(default).to_owned()
}

/// The value at `train.epochs`.
pub(super) fn get<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        None => table.get(key),
        Some((first, rest)) => get(table.get(first)?.as_table()?, rest),
    }
}

/// Puts a value at `train.epochs`; where a table should be and is none, nothing: the check tells that.
pub(super) fn put(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => drop(table.insert(key.to_owned(), value)),
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// The value of a key under `tuned`, where it changes it.
pub(super) fn tuned_value(key: &str) -> Option<Value> {
    TUNED.iter().find(|change| change.key == key).map(|change| parsed(change.value))
}

/// What `tuned` changes, as one reads it: `train.epochs = 30, …`.
pub fn tuned_changes() -> String {
    let change = |change: &Change| {
        let when = change.when.map(|(_, of)| match of {
            ["folder", ..] => " for photos".to_owned(),
            of => format!(" with {}", of.join(", ")),
        });
        format!("{} = {}{}", change.key, change.value, when.unwrap_or_default())
    };
    TUNED.iter().map(change).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Recipe;
    use crate::experiment::difference::flat;
    use crate::loss::LossSettings;
    use std::collections::BTreeMap;

    fn recipe(text: &str) -> Recipe {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// The paper's supplement, "Implementation Details", and section 4; then what it leaves open, where we follow the authors'
    /// code or say why not in the errata. Written out by hand.
    #[test]
    fn paper_has_exactly_the_printed_values() {
        let printed = [
            ("loss.classification.form", "\"nca\""),
            ("loss.svm_reg.weight", "0.001"),
            ("loss.distillation.kind", "\"pod\""),
            ("loss.distillation.weight", "3.0"),
            ("train.epochs", "90"),
            ("train.lr", "0.1"),
            ("train.weight_decay", "0.0001"),
            ("memory.per_class", "20"),
            ("ghosts.generator.kind", "\"gmmn\""),
            ("ghosts.generator.epochs", "1200"),
            ("ghosts.generator.lr", "0.00001"),
            ("complete.epochs", "60"),
            ("complete.lr", "0.0001"),
            ("model.extractor.kind", "\"resnet18\""),
            ("model.extractor.width", "64"),
            // Ghosts are produced once per task; 500 features a class.
            ("ghosts.refresh_epochs", "0"),
            ("ghosts.per_class", "500"),
            // It has none of these.
            ("calibrate.max_seen_drop", "0.0"),
            ("ghosts.l2_normalize", "false"),
            ("ghosts.init_from_ghosts", "false"),
            ("ghosts.oracle", "\"none\""),
            ("complete.seen_only", "false"),
            ("train.restarts", "1"),
        ];
        let open = [
            ("preset", "\"paper\""),
            ("seed", "0"),
            ("data.kind", "\"synthetic\""),
            ("data.train", "150"),
            ("data.test", "40"),
            ("scenario.order", "\"listed\""),
            ("learner.kind", "\"ghost\""),
            ("loss.distillation.flat", "1.0"),
            ("train.batch_size", "64"),
            ("finetune.epochs", "20"),
            ("finetune.lr", "0.01"),
            ("memory.repeat", "1"),
            ("ghosts.reduction", "\"images-and-ghosts\""),
            ("ghosts.generator.hidden", "1024"),
            ("ghosts.generator.limit", "3000"),
            ("complete.batch_size", "128"),
            ("compute.precision", "\"auto\""),
        ];
        let expected: BTreeMap<String, String> =
            printed.iter().chain(&open).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        for text in ["", "preset = \"paper\"\n"] {
            let found = flat(&recipe(&format!("{text}[ghosts.generator]\nkind = \"gmmn\"\n")));
            let number =
                |value: &String| value.parse::<f64>().map_or_else(|_| value.clone(), |value| format!("{value:?}"));
            let plain = |map: &BTreeMap<String, String>| -> BTreeMap<String, String> {
                map.iter().map(|(key, value)| (key.clone(), number(value))).collect()
            };
            assert_eq!(plain(&found), plain(&expected));
        }
        let LossSettings { classification, svm_reg, .. } = recipe("").loss;
        assert_eq!((classification.margin, svm_reg.margin), (0.6, 1.0), "δ and τ, which are no keys");
        let less_forget = recipe("[loss.distillation]\nkind = \"less-forget\"\n");
        assert_eq!(flat(&less_forget)["loss.distillation.weight"], "4.0");
    }

    /// On photos, with PODNet's distillation and the paper's generator, these keys and no others; with neither, those that are
    /// left. Written out by hand.
    #[test]
    fn tuned_changes_exactly_these() {
        let changed = |rest: &str| -> Vec<String> {
            let [paper, tuned] = PRESETS.map(|preset| flat(&recipe(&format!("preset = \"{preset}\"\n{rest}"))));
            let differs = |key: &&String| paper.get(*key) != tuned.get(*key) && *key != "preset";
            tuned.keys().filter(differs).map(|key| format!("{key} = {}", tuned[key])).collect()
        };
        let always = [
            "calibrate.target = \"accuracy\"",
            "complete.batch_size = 1024",
            "complete.lr = 0.001",
            "ghosts.l2_normalize = true",
            "loss.classification.form = \"cross-entropy\"",
            "train.batch_size = 128",
            "train.epochs = 30",
            "train.incremental_lr = 0.02",
            "train.weight_decay = 0.001",
        ];
        let sometimes =
            ["ghosts.generator.epochs = 250", "images.crop = \"resized 0.25\"", "loss.distillation.flat = 10.0"];
        let mut all = [&always[..], &sometimes].concat();
        all.sort_unstable();
        let photos = "[data]\nkind = \"folder\"\npath = \"x\"\n";
        assert_eq!(changed(&format!("{photos}[ghosts.generator]\nkind = \"gmmn\"\n")), all);
        assert_eq!(changed("[loss.distillation]\nkind = \"less-forget\"\n[data]\nkind = \"mnist\"\n"), always);
    }

    #[test]
    fn what_a_recipe_says_stays_and_ghosts_stay_off() {
        let text = "preset = \"tuned\"\n[train]\nepochs = 7\n[loss]\ndistillation = { kind = \"pod\", flat = 2.0 }\n";
        let found = flat(&recipe(text));
        assert_eq!((found["train.epochs"].as_str(), found["train.batch_size"].as_str()), ("7", "128"));
        assert_eq!(
            (found["loss.distillation.flat"].as_str(), found["loss.distillation.weight"].as_str()),
            ("2.0", "3.0")
        );
        assert_eq!(found["ghosts.generator.kind"], "\"none\"");
    }

    /// A run keeps its recipe with everything written out, and reads it back.
    #[test]
    fn a_filled_recipe_reads_back_as_itself() {
        for preset in PRESETS {
            for rest in [
                "",
                "[data]\nkind = \"awa2\"\n[ghosts.generator]\nkind = \"gmmn\"\n",
                "[ghosts.generator]\nepochs = 3\n",
            ] {
                let recipe = recipe(&format!("preset = \"{preset}\"\n{rest}"));
                assert_eq!(recipe.to_toml().parse::<Recipe>().expect("its own text"), recipe, "{preset} {rest}");
            }
        }
    }
}
