//! `--set train.epochs=3`: any key of a recipe, for one run.

use crate::error::RecipeError;
use crate::experiment::Recipe;
use std::path::Path;
use toml::{Table, Value};

/// The recipe in `text` with each of `sets` put in its place.
pub fn overridden(text: &str, path: &Path, sets: &[String]) -> Result<Recipe, RecipeError> {
    // Read as it stands first: what is wrong with the file is told with its line.
    let mut recipe = Recipe::parse(text, path)?;
    // With every default written out, so that one key of a table can be set and the others stay.
    let mut table = Table::try_from(&recipe).expect("a recipe is plain data");
    for set in sets {
        let wrong = |reason: String| RecipeError::Override { text: set.clone(), reason };
        let (key, value) = set.split_once('=').ok_or_else(|| wrong("expected `KEY=VALUE`, found no `=`".to_owned()))?;
        let (key, value) = (key.trim(), value.trim());
        // `24` may be meant as a number or as text: what fits the key is taken.
        let as_text = || placed(&table, key, Value::String(value.to_owned()));
        let fitting = match read(value) {
            Some(typed) => placed(&table, key, typed).or_else(|refusal| as_text().map_err(|_| refusal)),
            None => as_text(),
        };
        (table, recipe) = fitting.map_err(wrong)?;
    }
    Ok(recipe)
}

/// The table with `value` at `key`, and the recipe it makes; or why it makes none.
fn placed(table: &Table, key: &str, value: Value) -> Result<(Table, Recipe), String> {
    let mut table = table.clone();
    put(&mut table, key, value)?;
    let recipe = table.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    Ok((table, recipe))
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
    use crate::loss::{DistillationKind, Pod};

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
        let pod = with(&["loss.distillation.weight=15"]).expect("one key of a table").loss.distillation;
        assert_eq!(pod, DistillationKind::Pod(Pod { weight: 15.0, flat: 1.0 }));
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
