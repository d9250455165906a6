//! `--set train.epochs=3`: any key of a recipe, for one run.

use super::Recipe;
use crate::error::RecipeError;
use std::path::Path;
use toml::{Table, Value};

/// The recipe in `text` with each of `sets` put in its place.
pub fn overridden(text: &str, path: &Path, sets: &[String]) -> Result<Recipe, RecipeError> {
    // Read as it stands first: what is wrong with the file is told with its line.
    let mut recipe = Recipe::parse(text, path)?;
    let mut table: Table = toml::from_str(text).expect("it has just been read");
    for set in sets {
        let wrong = |reason: String| RecipeError::Override { text: set.clone(), reason };
        let (key, value) = set.split_once('=').ok_or_else(|| wrong("expected `KEY=VALUE`, found no `=`".to_owned()))?;
        let (key, value) = (key.trim(), value.trim());
        // `24` may be meant as a number or as text: what fits the key is taken.
        let mut first_refusal = None;
        let fitting = [read(value), Some(Value::String(value.to_owned()))].into_iter().flatten().find_map(|value| {
            let mut tried = table.clone();
            let fits = put(&mut tried, key, value)
                .and_then(|()| tried.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned()));
            fits.map(|recipe| (tried, recipe)).map_err(|reason| first_refusal.get_or_insert(reason).len()).ok()
        });
        (table, recipe) = fitting.ok_or_else(|| wrong(first_refusal.unwrap_or_default()))?;
    }
    Ok(recipe)
}

/// A TOML value, if it is one.
fn read(value: &str) -> Option<Value> {
    toml::from_str::<Table>(&format!("value = {value}")).ok().and_then(|mut table| table.remove("value"))
}

fn put(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    match key.split_once('.') {
        None if key.is_empty() => Err("expected a key, found nothing before `=`".to_owned()),
        None => {
            table.insert(key.to_owned(), value);
            Ok(())
        }
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            let inner = inner.as_table_mut().ok_or_else(|| format!("`{first}` is a value, not a table"))?;
            put(inner, rest, value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::DistillationKind;

    const TEXT: &str = "[scenario]\nsplit = \"6+2+2\"\n[train]\nepochs = 30\n";

    fn with(sets: &[&str]) -> Result<Recipe, RecipeError> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        overridden(TEXT, Path::new("r.toml"), &sets)
    }

    #[test]
    fn any_key_can_be_set() {
        let recipe =
            with(&["train.epochs=3", "scenario.split=5+5x1", "loss.distillation={kind=\"none\"}"]).expect("set");
        assert_eq!(recipe.train.epochs, 3);
        assert_eq!(with(&["scenario.split=10"]).expect("text").scenario.split.expect("a split").sizes(), [10]);
        assert_eq!(recipe.scenario.split.expect("a split").sizes(), [5, 1, 1, 1, 1, 1]);
        assert_eq!(recipe.loss.distillation, DistillationKind::None);
    }

    #[test]
    fn keys_that_are_not_there_are_refused() {
        let says = |set: &str| with(&[set]).expect_err(set).to_string();
        assert!(
            says("train.epoch=3").starts_with("`--set train.epoch=3`: unknown field `epoch`"),
            "{}",
            says("train.epoch=3")
        );
        assert_eq!(says("train.epochs"), "`--set train.epochs`: expected `KEY=VALUE`, found no `=`");
        assert_eq!(says("seed.x=3").split(':').next(), Some("`--set seed.x=3`"));
        assert!(says("train.epochs=many").contains("invalid type"), "{}", says("train.epochs=many"));
    }
}
