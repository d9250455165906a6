//! The recipes that come along, inside the program.

use crate::error::RecipeError;
use std::path::{Path, PathBuf};

/// Name and text of every recipe.
pub(super) const RECIPES: &[(&str, &str)] = &[
    ("demo", include_str!("../../recipes/demo.toml")),
    ("mnist-podnet", include_str!("../../recipes/mnist-podnet.toml")),
    ("animals12-podnet", include_str!("../../recipes/animals12-podnet.toml")),
    ("animals12-ucir", include_str!("../../recipes/animals12-ucir.toml")),
    ("animals50-podnet", include_str!("../../recipes/animals50-podnet.toml")),
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
