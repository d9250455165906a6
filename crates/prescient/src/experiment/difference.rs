//! What tells two recipes apart, key by key.

use crate::experiment::Recipe;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The keys in which the recipe of a run is another than the one asked for, with both values. What the recipe that is
/// asked for leaves to its dataset counts as the same.
pub fn differences(asked: &Recipe, run: &Recipe) -> Vec<String> {
    let mut asked = asked.clone();
    let (images, theirs) = (&mut asked.images, &run.images);
    images.size = images.size.or(theirs.size);
    images.crop = images.crop.or(theirs.crop);
    images.flip = images.flip.or(theirs.flip);
    let (asked, run) = (flat(&asked), flat(run));
    let nothing = "nothing".to_owned();
    let keys: std::collections::BTreeSet<&String> = asked.keys().chain(run.keys()).collect();
    keys.into_iter()
        .filter(|key| asked.get(*key) != run.get(*key))
        .map(|key| {
            let value = |recipe: &BTreeMap<String, String>| recipe.get(key).unwrap_or(&nothing).clone();
            format!("`{key}` is {} there and {} here", value(&run), value(&asked))
        })
        .collect()
}

/// `train.epochs` → `90`, for each key of the recipe.
pub(super) fn flat(recipe: &Recipe) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    flatten("", &Table::try_from(recipe).expect("a recipe is plain data"), &mut out);
    out
}

pub(super) fn flatten(above: &str, table: &Table, out: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let key = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value {
            Value::Table(inner) => flatten(&key, inner, out),
            value => drop(out.insert(key, value.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn recipe(text: &str) -> Recipe {
        Recipe::parse(text, Path::new("r.toml")).expect("a recipe")
    }

    #[test]
    fn each_key_that_differs_is_named_with_both_values() {
        let (asked, run) = (recipe("[train]\nepochs = 2\n"), recipe("seed = 3\n[ghosts.generator]\nkind = \"real\"\n"));
        let expected = [
            "`ghosts.generator.kind` is \"real\" there and \"none\" here",
            "`seed` is 3 there and 0 here",
            "`train.epochs` is 90 there and 2 here",
        ];
        assert_eq!(differences(&asked, &run), expected);
    }

    #[test]
    fn what_is_left_to_the_dataset_is_no_difference() {
        let (open, filled) = (recipe(""), recipe("[images]\nsize = 64\nflip = true\n"));
        assert!(differences(&open, &filled).is_empty());
        let other = recipe("[images]\nsize = 32\n");
        assert_eq!(differences(&other, &filled), ["`images.size` is 64 there and 32 here"]);
    }
}
