//! `--set train.epochs=3`: any key of a recipe, for one run.

use crate::error::RecipeError;
use crate::experiment::{Recipe, keys, preset};
use std::path::Path;
use toml::{Table, Value};

/// The recipe in `text` with each of `sets` put in its place, and filled from its preset after that.
pub fn overridden(text: &str, path: &Path, sets: &[String]) -> Result<Recipe, RecipeError> {
    // Read as it stands first: what is wrong with the file is told with its line.
    let mut recipe = Recipe::parse(text, path)?;
    let mut table = Recipe::table(text, path)?;
    // A new kind starts from its own values, so it comes before the keys that are set beside it.
    let (kinds, others): (Vec<&String>, Vec<&String>) = sets.iter().partition(|set| key_of(set).ends_with("kind"));
    for set in kinds.into_iter().chain(others) {
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

/// Whether the recipe in `text`, or one of `sets`, says how to learn: with which learner, or with which network.
pub fn names_learner(text: &str, sets: &[String]) -> bool {
    let names = |key: &str| ["learner", "model"].contains(&key);
    let written = text.parse::<Table>().is_ok_and(|table| table.keys().any(|key| names(key)));
    written || sets.iter().any(|set| key_of(set).split('.').next().is_some_and(names))
}

fn key_of(set: &str) -> &str {
    set.split_once('=').map_or(set, |(key, _)| key.trim())
}

/// The table with `value` at `key`, and the recipe it makes; or why it makes none.
fn placed(table: &Table, key: &str, value: Value) -> Result<(Table, Recipe), String> {
    let mut table = table.clone();
    if key.split('.').any(str::is_empty) {
        return Err("expected a key such as `train.epochs` before `=`".to_owned());
    }
    // No key lies deeper, and tables in tables without end would end the program.
    if key.split('.').count() > 3 {
        return Err(format!("there is no key `{key}`"));
    }
    if let Some(above) = key.strip_suffix(".kind")
        && preset::get(&table, key) != Some(&value)
    {
        preset::put(&mut table, above, Value::Table(Table::new()));
    }
    preset::put(&mut table, key, value.clone());
    // As text: NaN, which is no value for any key, is not even itself.
    if preset::get(&table, key).map(Value::to_string) != Some(value.to_string()) {
        return Err(format!("there is no key `{key}`"));
    }
    keys::check(&table).and_then(|()| keys::check_learner(&table)).map_err(|fault| fault.reason)?;
    let recipe = Recipe::from_table(table.clone())?;
    Ok((table, recipe))
}

/// A TOML value, if it is one.
fn read(value: &str) -> Option<Value> {
    toml::from_str::<Table>(&format!("value = {value}")).ok().and_then(|mut table| table.remove("value"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Preset;
    use crate::ghost::GeneratorKind;
    use crate::loss::{DistillationKind, LessForget, Pod};

    const TEXT: &str = "[scenario]\nsplit = \"6+2+2\"\n[train]\nepochs = 30\n";

    fn with(sets: &[&str]) -> Result<Recipe, RecipeError> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        overridden(TEXT, Path::new("r.toml"), &sets)
    }

    #[test]
    fn a_key_of_the_other_learner_is_refused_as_in_a_file() {
        let text = "scenario.split = \"4+2\"\nlearner.kind = \"closed-form\"\n";
        let set =
            |set: &str| overridden(text, Path::new("r.toml"), &[set.to_owned()]).map_err(|error| error.to_string());
        let refused = set("train.epochs=3").expect_err("a key of the Ghost learner");
        assert!(refused.contains("`train` belongs to the learner `ghost`"), "{refused}");
        let sets = ["train.epochs=3".to_owned()];
        let error = crate::Error::from(overridden(text, Path::new("r.toml"), &sets).expect_err("the same"));
        let hint = error.hint().expect("a hint");
        assert!(hint.contains("does not have that key") && hint.contains("`prescient list --keys`"), "{hint}");
        assert!(!hint.contains("--set"), "{hint}");
        assert!(set("calibrate.target=balance").is_ok());
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
    fn a_preset_fills_what_is_left() {
        let recipe = with(&["preset=tuned", "ghosts.generator.kind=gmmn", "ghosts.generator.lr=1e-4"]).expect("set");
        assert_eq!((recipe.preset, recipe.train.epochs, recipe.train.batch_size), (Preset::Tuned, 30, 128));
        let GeneratorKind::Gmmn(gmmn) = recipe.ghosts.generator else { panic!("{:?}", recipe.ghosts.generator) };
        assert_eq!((gmmn.epochs, gmmn.lr), (250, 1e-4));
    }

    #[test]
    fn a_new_kind_starts_from_its_own_values() {
        let text = format!("{TEXT}[loss.distillation]\nkind = \"pod\"\nweight = 6.0\nflat = 2.0\n");
        let sets = ["loss.distillation.weight=5".to_owned(), "loss.distillation.kind=less-forget".to_owned()];
        let of = |sets: &[String]| overridden(&text, Path::new("r.toml"), sets).expect("set").loss.distillation;
        assert_eq!(of(&sets), DistillationKind::LessForget(LessForget { weight: 5.0 }));
        assert_eq!(of(&sets[1..]), DistillationKind::LessForget(LessForget { weight: 4.0 }));
        assert_eq!(
            of(&["loss.distillation.kind=pod".to_owned()]),
            DistillationKind::Pod(Pod { weight: 6.0, flat: 2.0 })
        );
    }

    #[test]
    fn keys_that_are_not_there_are_refused() {
        let says = |set: &str| with(&[set]).expect_err(set).to_string();
        assert_eq!(
            says("train.epoch=3"),
            "`--set train.epoch=3`: there is no key `train.epoch`; did you mean `train.epochs`?"
        );
        assert_eq!(says("train.epochs"), "`--set train.epochs`: expected `KEY=VALUE`, found no `=`");
        assert_eq!(says("seed.x=3"), "`--set seed.x=3`: there is no key `seed.x`");
        assert_eq!(says("=3"), "`--set =3`: expected a key such as `train.epochs` before `=`");
        assert_eq!(
            says("train.epochs=many"),
            "`--set train.epochs=many`: `train.epochs` is `many`; expected a whole number, 1 to 100000"
        );
    }
}
