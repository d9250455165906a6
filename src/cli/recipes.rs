//! The recipes that come along, inside the program.

use crate::error::RecipeError;
use std::path::{Path, PathBuf};

/// Name and text of every recipe.
pub(super) const RECIPES: &[(&str, &str)] = &[
    ("demo-base", include_str!("../../recipes/demo-base.toml")),
    ("demo-ghost", include_str!("../../recipes/demo-ghost.toml")),
    ("mnist-podnet", include_str!("../../recipes/mnist-podnet.toml")),
    ("awa2-features-podnet-ghost-svm", include_str!("../../recipes/awa2-features-podnet-ghost-svm.toml")),
    ("animals12-podnet", include_str!("../../recipes/animals12-podnet.toml")),
    ("animals12-podnet-ghost", include_str!("../../recipes/animals12-podnet-ghost.toml")),
    ("animals12-podnet-ghost-svm", include_str!("../../recipes/animals12-podnet-ghost-svm.toml")),
    ("animals12-ucir", include_str!("../../recipes/animals12-ucir.toml")),
    ("animals12-ucir-ghost", include_str!("../../recipes/animals12-ucir-ghost.toml")),
    ("animals12-ucir-ghost-svm", include_str!("../../recipes/animals12-ucir-ghost-svm.toml")),
    ("animals12-real", include_str!("../../recipes/animals12-real.toml")),
    ("animals12-partial-oracle", include_str!("../../recipes/animals12-partial-oracle.toml")),
    ("animals12-full-oracle", include_str!("../../recipes/animals12-full-oracle.toml")),
    ("animals50-podnet", include_str!("../../recipes/animals50-podnet.toml")),
    ("animals50-podnet-ghost", include_str!("../../recipes/animals50-podnet-ghost.toml")),
    ("animals50-podnet-ghost-svm", include_str!("../../recipes/animals50-podnet-ghost-svm.toml")),
    ("animals50-ucir", include_str!("../../recipes/animals50-ucir.toml")),
    ("animals50-ucir-ghost", include_str!("../../recipes/animals50-ucir-ghost.toml")),
    ("animals50-ucir-ghost-svm", include_str!("../../recipes/animals50-ucir-ghost-svm.toml")),
    ("animals50-real", include_str!("../../recipes/animals50-real.toml")),
    ("animals50-partial-oracle", include_str!("../../recipes/animals50-partial-oracle.toml")),
    ("animals50-full-oracle", include_str!("../../recipes/animals50-full-oracle.toml")),
];

/// The text of a recipe file, or of the recipe of that name, and what to call it in errors.
pub(super) fn find(name: &str) -> Result<(String, PathBuf), RecipeError> {
    let path = Path::new(name);
    if let Some((name, text)) = RECIPES.iter().find(|(known, _)| *known == name) {
        return Ok(((*text).to_owned(), format!("recipes/{name}.toml").into()));
    }
    if !path.exists() && path.extension().is_none() {
        return Err(RecipeError::Unknown { name: name.to_owned() });
    }
    let text = std::fs::read_to_string(path).map_err(|source| RecipeError::Io { path: path.to_owned(), source })?;
    Ok((text, path.to_owned()))
}

/// The first line of a recipe's header.
pub(super) fn about(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Recipe;

    #[test]
    fn every_recipe_can_be_read_and_says_what_it_is() {
        for (name, text) in RECIPES {
            let recipe = Recipe::parse(text, Path::new(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(recipe.scenario.split.is_some(), "{name} has no split");
            assert!(text.starts_with("# ") && text.contains("prescient run"), "{name} has no header");
        }
    }

    /// What tells two rows of a table apart is in their recipes and nothing else, so that a difference in results has one
    /// cause. `drop` removes that from the recipe of the row that has more.
    #[track_caller]
    fn assert_rows_differ_in(base: &str, row: &str, drop: impl Fn(&mut Recipe)) {
        let read = |name: &str| {
            let (text, path) = find(name).expect("a recipe that comes along");
            Recipe::parse(&text, &path).expect("a recipe")
        };
        let (base, mut row) = (read(base), read(row));
        drop(&mut row);
        assert_eq!(base.to_toml(), row.to_toml());
    }

    #[test]
    fn rows_differ_in_what_they_are_about() {
        let plain = Recipe::default;
        let no_ghosts = |recipe: &mut Recipe| {
            recipe.ghosts = plain().ghosts;
            recipe.complete = plain().complete;
            recipe.calibrate = plain().calibrate;
            recipe.loss.latent = plain().loss.latent;
        };
        assert_rows_differ_in("demo-base", "demo-ghost", no_ghosts);
        for data in ["animals12", "animals50"] {
            let name = |row: &str| format!("{data}-{row}");
            for base in ["podnet", "ucir"] {
                let (base, ghost, svm) = (name(base), name(base) + "-ghost", name(base) + "-ghost-svm");
                assert_rows_differ_in(&base, &ghost, no_ghosts);
                assert_rows_differ_in(&ghost, &svm, |recipe| recipe.loss.latent.weight = 0.0);
            }
            let podnet = name("podnet");
            let less_forget = Recipe::parse(&find(&name("ucir")).expect("a recipe").0, Path::new("ucir")).expect("one");
            assert_rows_differ_in(&name("ucir"), &podnet, |recipe| {
                recipe.loss.distillation = less_forget.loss.distillation;
            });
            let whole = Recipe::parse(&find(&name("podnet-ghost-svm")).expect("a recipe").0, Path::new("whole"));
            let generator = whole.expect("a recipe").ghosts.generator;
            assert_rows_differ_in(&name("podnet-ghost-svm"), &name("real"), |recipe| {
                recipe.ghosts.generator = generator.clone();
            });
            assert_rows_differ_in(&name("real"), &name("partial-oracle"), |recipe| recipe.ghosts.pixels = false);
            let split =
                Recipe::parse(&find(&podnet).expect("a recipe").0, Path::new("podnet")).expect("one").scenario.split;
            assert_rows_differ_in(&podnet, &name("full-oracle"), |recipe| recipe.scenario.split = split.clone());
        }
    }

    /// A recipe left out of the list would be a file that nobody finds.
    #[test]
    fn every_file_is_listed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("recipes")
            .map(|entry| entry.expect("an entry").path().file_stem().unwrap_or_default().to_string_lossy().into_owned())
            .collect();
        files.sort();
        let mut listed: Vec<&str> = RECIPES.iter().map(|(name, _)| *name).collect();
        listed.sort_unstable();
        assert_eq!(files, listed);
    }
}
