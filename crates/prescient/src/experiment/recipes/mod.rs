//! The recipes that come along: files, the rows of the paper's tables, and variants of either.

mod matrix;

pub use matrix::{table_datasets, table_rows};

use crate::error::RecipeError;
use crate::experiment::Recipe;
use crate::experiment::difference::{flat, flatten};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Name and text of each file.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../../recipes/", $name, ".toml")))),*]
    };
}

/// The recipes that are files.
const FILES: &[(&str, &str)] = files![
    "demo-base",
    "demo-ghost",
    "own-photos",
    "awa43-closed",
    "animals50-closed",
    "mnist-podnet",
    "mnist3-podnet",
    "mnist3-ghost",
    "mnist3-ghost-paper",
    "mnist6-podnet",
    "mnist6-ghost",
    "mnist-joint",
];

/// The tables, from which the other recipes are made.
const TABLES: &str = include_str!("../../../../../recipes/tables.toml");

/// A recipe that comes along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// What to call it.
    pub name: String,
    /// Its text, as a file would have it: a header, and the keys that it sets.
    pub text: String,
    /// Whether it is a row of a table: `DATASET-ROW` or `DATASET-ROW-paper`.
    pub is_row: bool,
}

impl BuiltIn {
    /// The first line of its header.
    pub fn about(&self) -> &str {
        self.text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
    }
}

/// Every recipe that comes along.
pub fn built_in() -> &'static [BuiltIn] {
    static ALL: LazyLock<Vec<BuiltIn>> = LazyLock::new(|| {
        let file =
            |(name, text): &(&str, &str)| BuiltIn { name: (*name).to_owned(), text: (*text).to_owned(), is_row: false };
        let mut all: Vec<BuiltIn> = FILES.iter().map(file).collect();
        all.extend(matrix::expanded(TABLES, FILES).expect("the tables that come along can be expanded"));
        all
    });
    &ALL
}

/// The text of the recipe of that name that comes along, or of a recipe file, and what to call it in errors.
pub fn find(name: &str) -> Result<(String, PathBuf), RecipeError> {
    if let Some(known) = built_in().iter().find(|known| known.name == name) {
        return Ok((known.text.clone(), format!("{name}.toml").into()));
    }
    let path = Path::new(name);
    if !path.exists() && path.extension().is_none() {
        return Err(RecipeError::Unknown { name: name.to_owned() });
    }
    let text = crate::disk::read_text(path).map_err(|source| RecipeError::Io { path: path.to_owned(), source })?;
    Ok((text, path.to_owned()))
}

impl Recipe {
    /// The recipe of that name that comes along, or the one in a file.
    ///
    /// ```
    /// let recipe = prescient::experiment::Recipe::find("animals50-podnet-ghost-paper")?;
    /// assert_eq!(recipe.train.epochs, 90);
    /// # Ok::<(), prescient::error::RecipeError>(())
    /// ```
    pub fn find(name: &str) -> Result<Self, RecipeError> {
        let (text, path) = find(name)?;
        Self::parse(&text, &path)
    }
}

/// A recipe's text with all that it leaves to its preset below it, as comments; `path` is named in errors.
pub fn full_text(text: &str, path: &Path) -> Result<String, RecipeError> {
    let recipe = Recipe::parse(text, path)?;
    let mut written = BTreeMap::new();
    flatten("", &Recipe::table(text, path)?, &mut written);
    let mut text = text.trim_end().to_owned();
    text.push_str(&format!(
        "\n\n# The preset \"{}\" fills in the rest. Any of these keys can be set above, in its table, or with --set KEY=VALUE:\n",
        recipe.preset
    ));
    for (key, value) in flat(&recipe).iter().filter(|(key, _)| !written.contains_key(*key)) {
        text.push_str(&format!("# {key} = {value}\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{PRESETS, Preset};
    use crate::ghost::GeneratorKind;
    use crate::learner::Oracle;
    use crate::scenario::Order;

    fn read(name: &str) -> Recipe {
        Recipe::find(name).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[test]
    fn every_recipe_can_be_read_and_says_what_it_is() {
        for BuiltIn { name, text, .. } in built_in() {
            let recipe = read(name);
            recipe.check().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(text.starts_with("# "), "{name} has no header");
            assert!(text.contains(&format!("prescient run {name} ")) || name == "own-photos", "{name} has no command");
        }
        let names: std::collections::BTreeSet<&String> = built_in().iter().map(|recipe| &recipe.name).collect();
        assert_eq!(names.len(), built_in().len(), "a name stands for two recipes");
    }

    /// A file left out of the list would be a recipe that nobody finds; and more than a page of files, one that nobody reads.
    #[test]
    fn every_file_is_listed_and_there_are_few() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
        let stem = |path: PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut files: Vec<String> =
            std::fs::read_dir(folder).expect("recipes").map(|entry| stem(entry.expect("an entry").path())).collect();
        files.sort();
        assert!(files.len() <= 14, "{} files", files.len());
        let mut listed: Vec<&str> = FILES.iter().map(|(name, _)| *name).chain(["tables"]).collect();
        listed.sort_unstable();
        assert_eq!(files, listed);
    }

    #[test]
    fn every_row_comes_in_both_presets() {
        assert_eq!((table_datasets().len(), table_rows().len()), (5, 15));
        for (data, row) in table_datasets().iter().flat_map(|data| table_rows().iter().map(move |row| (data, row))) {
            assert_eq!(read(&format!("{data}-{row}")).preset, Preset::Tuned);
            assert_eq!(read(&format!("{data}-{row}-paper")).preset, Preset::Paper);
        }
        assert_eq!(built_in().iter().filter(|recipe| recipe.is_row).count(), 5 * 15 * PRESETS.len());
    }

    /// A tuned row carries our settings, and its header does not call them the paper's.
    #[test]
    fn headers_say_whose_settings_a_row_has() {
        for BuiltIn { name, text, .. } in built_in().iter().filter(|recipe| recipe.is_row) {
            let (ours, theirs) =
                ("with our settings (preset \"tuned\"), not the paper's", "with the paper's printed settings");
            let paper = name.ends_with("-paper");
            assert_eq!((text.contains(ours), text.contains(theirs)), (!paper, paper), "{name}");
        }
    }

    /// What tells two rows of a table apart is in their recipes and nothing else, so that a difference in results has one
    /// cause. `drop` removes that from the recipe of the row that has more.
    #[track_caller]
    fn assert_rows_differ_in(base: &str, row: &str, drop: impl Fn(&mut Recipe)) {
        let (base_recipe, mut recipe) = (read(base), read(row));
        assert_ne!(base_recipe, recipe, "{base} and {row}");
        drop(&mut recipe);
        assert_eq!(base_recipe.to_toml(), recipe.to_toml(), "{base} and {row}");
    }

    fn no_generator(recipe: &mut Recipe) {
        recipe.ghosts.generator = GeneratorKind::None;
    }

    #[test]
    fn rows_differ_in_what_they_are_about() {
        for (data, preset) in table_datasets().iter().flat_map(|data| ["", "-paper"].map(|preset| (data, preset))) {
            let name = |row: &str| format!("{data}-{row}{preset}");
            for base in ["podnet", "ucir", "zero-shot-podnet"] {
                let row = |row: &str| name(&format!("{base}{row}"));
                let weight = read(&name(base)).loss.svm_reg.weight;
                assert_rows_differ_in(&row(""), &row("-control"), |recipe| recipe.complete.seen_only = false);
                assert_rows_differ_in(&row(""), &row("-ghost-svm"), no_generator);
                assert_rows_differ_in(&row("-ghost-svm"), &row("-ghost"), |recipe| recipe.loss.svm_reg.weight = weight);
            }
            let less_forget = read(&name("ucir")).loss.distillation;
            assert_rows_differ_in(&name("ucir"), &name("podnet"), |recipe| recipe.loss.distillation = less_forget);
            let scenario = read(&name("podnet")).scenario;
            for other in ["zero-shot-podnet", "full-oracle"] {
                assert_rows_differ_in(&name("podnet"), &name(other), |recipe| recipe.scenario = scenario.clone());
            }
            let ghost = name("podnet-ghost-svm");
            assert_rows_differ_in(&ghost, &name("real"), |recipe| recipe.ghosts.oracle = Oracle::None);
            let generator = read(&ghost).ghosts.generator;
            assert_rows_differ_in(&ghost, &name("partial-oracle"), |recipe| {
                recipe.ghosts.oracle = Oracle::None;
                recipe.ghosts.generator = generator.clone();
            });
        }
    }

    #[test]
    fn the_other_recipes_differ_in_what_they_are_about() {
        let no_ghosts = |recipe: &mut Recipe| {
            let plain = Recipe::default();
            recipe.ghosts = plain.ghosts;
            recipe.complete = plain.complete;
            recipe.calibrate = plain.calibrate;
            recipe.loss.svm_reg = plain.loss.svm_reg;
        };
        for (base, ghost, control) in [
            ("demo-base", "demo-ghost", "demo-control"),
            ("mnist3-podnet", "mnist3-ghost", "mnist3-control"),
            ("mnist6-podnet", "mnist6-ghost", "mnist6-control"),
        ] {
            assert_rows_differ_in(base, ghost, no_ghosts);
            assert_rows_differ_in(base, control, |recipe| recipe.complete = Recipe::default().complete);
            let trained =
                |name: &str| (read(name).complete.epochs, read(name).complete.lr, read(name).complete.batch_size);
            assert_eq!(trained(ghost), trained(control), "the control trains its proxies as the Ghost model does");
        }
        let Recipe { scenario, memory, loss, train, .. } = read("mnist3-podnet");
        assert_rows_differ_in("mnist3-podnet", "mnist-joint", |recipe| {
            recipe.scenario = scenario.clone();
            // Where no class comes later, little depends on the initial weights.
            recipe.train.restarts = train.restarts;
            // One task has no past, and no teacher.
            recipe.memory = memory;
            recipe.loss.distillation = loss.distillation;
        });
        assert_rows_differ_in("mnist3-podnet", "mnist6-podnet", |recipe| recipe.scenario = scenario.clone());
        // The paper's timing: once a task, from the second on, and one training of the first.
        assert_rows_differ_in("mnist3-podnet", "mnist3-ghost-paper", |recipe| {
            no_generator(recipe);
            recipe.loss.svm_reg.weight = loss.svm_reg.weight;
            recipe.train.restarts = train.restarts;
        });
        let paper = read("mnist3-ghost-paper");
        assert_eq!((paper.ghosts.refresh_epochs, paper.ghosts.init_from_ghosts, paper.train.restarts), (0, false, 1));
    }

    /// The paper's protocols, in the standard order of its datasets, and its λ₁ for each.
    #[test]
    fn the_papers_protocols() {
        for (data, split, start, weight) in [("awa2", "25+5x5", "40+5x2", 3.0), ("apy", "16+8x2", "20+6x2", 15.0)] {
            let row = flat(&read(&format!("{data}-podnet-ghost-svm-paper")));
            assert_eq!(
                (row["scenario.split"].as_str(), row["data.kind"].as_str()),
                (&*format!("{split:?}"), &*format!("{data:?}"))
            );
            assert_eq!(row["loss.distillation.weight"].parse::<f64>(), Ok(weight));
            let zero_shot = read(&format!("{data}-zero-shot-podnet-paper")).scenario;
            assert_eq!((zero_shot.split, zero_shot.order), (start.parse().ok(), Order::Standard));
            let mut less_forget = flat(&read(&format!("{data}-ucir-paper")));
            assert_eq!(less_forget.remove("loss.distillation.weight").as_deref(), Some("4.0"));
        }
    }

    #[test]
    fn the_names_of_all_recipes() {
        let names: Vec<&str> = built_in().iter().map(|recipe| recipe.name.as_str()).collect();
        insta::assert_snapshot!(names.join("\n"));
    }

    #[test]
    fn rows_expand_to_recipes() {
        let shown =
            ["animals50-podnet-ghost-svm", "apy-zero-shot-podnet-control-paper", "awa43-real", "mnist3-control"];
        let texts = shown.map(|name| format!("======== {name}\n{}", find(name).expect(name).0));
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn a_recipe_in_full_has_every_key() {
        let (text, path) = find("animals50-podnet-ghost-svm").expect("a row");
        let full = full_text(&text, &path).expect("a recipe");
        assert_eq!(full.parse::<Recipe>().expect("still a recipe"), read("animals50-podnet-ghost-svm"));
        insta::assert_snapshot!(full);
    }
}
