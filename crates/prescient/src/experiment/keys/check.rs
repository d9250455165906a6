//! Whether what a recipe writes is a key, and its value allowed.

use crate::class::distance;
use crate::error::OF_ANOTHER;
use crate::experiment::keys::Allowed::{self, Choice, Flag, Number, Other, Text, Whole};
use crate::experiment::keys::{KEYS, Key, OF_THE_GHOST_LEARNER, ORACLE_OF_BOTH};
use crate::experiment::preset::put;
use std::ops::{Bound, RangeBounds};
use toml::{Table, Value};

/// What is wrong with a key of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::experiment) struct Fault {
    /// Which key, as it is written.
    pub(in crate::experiment) key: String,
    /// What is wrong, in words.
    pub(in crate::experiment) reason: String,
}

impl Allowed {
    /// What is expected, as an error says it.
    fn expected(&self) -> String {
        match self {
            Flag | Text(_) => self.values(),
            Other(_) => format!("a list: {}", self.values()),
            Choice(_) => self.values(),
            Whole(..) => format!("a whole number, {}", self.values()),
            Number(..) => format!("a number, {}", self.values()),
        }
    }

    fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Flag, Value::Boolean(_)) | (Text(_), Value::String(_)) | (Other(_), Value::Array(_)) => true,
            (Other(described), Value::String(_)) => described.contains("the word"),
            (Choice(words), Value::String(word)) => words.contains(&word.as_str()),
            (Whole(least, most), Value::Integer(number)) => (least..=most).contains(&number),
            (Number(least, most), Value::Integer(number)) => within(*number as f64, *least, *most),
            (Number(least, most), Value::Float(number)) => within(*number, *least, *most),
            _ => false,
        }
    }
}

fn within(number: f64, least: Bound<f64>, most: Bound<f64>) -> bool {
    // What single precision cannot hold is as good as infinite.
    number.abs() <= f64::from(f32::MAX) && (least, most).contains(&number)
}

/// Whether every key of a recipe is known and its value allowed.
pub(in crate::experiment) fn check(table: &Table) -> Result<(), Fault> {
    walk(table, "")
}

/// Whether every table of a recipe that somebody wrote belongs to the learner that it names.
pub(in crate::experiment) fn check_learner(table: &Table) -> Result<(), Fault> {
    let kind = table.get("learner").and_then(|learner| learner.get("kind")).and_then(Value::as_str);
    let is_oracle = |value: &Value| *value == Value::Table(oracle());
    let foreign = |(key, value): &(&String, &Value)| OF_THE_GHOST_LEARNER.contains(&key.as_str()) && !is_oracle(value);
    let foreign = table.iter().find(foreign).map(|(key, _)| key);
    match (kind, foreign) {
        (Some("closed-form"), Some(key)) => {
            let reason = format!("`{key}` {OF_ANOTHER} `ghost`; with `closed-form` there is nothing to train by it");
            Err(Fault { key: key.clone(), reason })
        }
        _ => Ok(()),
    }
}

/// What the closed form takes of the table `ghosts`: ghosts are the means of actual future photos.
fn oracle() -> Table {
    let mut table = Table::new();
    put(&mut table, ORACLE_OF_BOTH, "real".into());
    match table.remove("ghosts") {
        Some(Value::Table(ghosts)) => ghosts,
        _ => Table::new(),
    }
}

fn walk(table: &Table, above: &str) -> Result<(), Fault> {
    for (name, value) in table {
        let name = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        match (KEYS.iter().find(|key| key.name == name), value) {
            (Some(key), value) if key.allowed.takes(value) => fits_its_kind(key, table, above)?,
            // `seed.x`: a key is no table.
            (Some(_), Value::Table(inner)) if !inner.is_empty() => {
                let inside = format!("{name}.{}", inner.keys().next().map_or("", String::as_str));
                return Err(Fault { reason: format!("there is no key `{inside}`"), key: inside });
            }
            (Some(key), value) => {
                let reason = format!("`{name}` is {}; expected {}", shown(value), key.allowed.expected());
                return Err(Fault { key: name, reason });
            }
            (None, Value::Table(inner)) if is_table(&name) => walk(inner, &name)?,
            (None, value) if is_table(&name) => {
                let reason = format!("`{name}` is {}; expected a table of keys", shown(value));
                return Err(Fault { key: name, reason });
            }
            (None, _) => {
                let near = nearest(&name).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let reason = format!("there is no key `{name}`{near}");
                return Err(Fault { key: name, reason });
            }
        }
    }
    Ok(())
}

/// Whether the kind that the table names has the key. `none` and `real` use no key, and take any: so one `--set` does for
/// rows with and without ghosts.
fn fits_its_kind(key: &Key, table: &Table, above: &str) -> Result<(), Fault> {
    match table.get("kind").and_then(Value::as_str) {
        Some("none" | "real") | None => Ok(()),
        Some(_) if key.of.is_empty() => Ok(()),
        Some(kind) if key.of.contains(&kind) => Ok(()),
        Some(kind) => {
            let reason = format!(
                "`{}` does not go with `{above}.kind = \"{kind}\"`; it is a key of {}",
                key.name,
                key.of.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ")
            );
            Err(Fault { key: key.name.to_owned(), reason })
        }
    }
}

/// Whether keys lie in a table of this name.
fn is_table(name: &str) -> bool {
    KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// A value as an error shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        Value::Table(_) => "a table".to_owned(),
        Value::Float(number) => format!("{number:?}"),
        value => value.to_string(),
    }
}

/// The key that comes closest to a name that is none: by at most three letters, or the same word in another table.
fn nearest(name: &str) -> Option<&'static str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let close = KEYS.iter().map(|key| (distance(key.name, name), key.name)).min().filter(|(far, _)| *far <= 3);
    let elsewhere = || KEYS.iter().find(|key| last(key.name) == last(name)).map(|key| key.name);
    close.map(|(_, name)| name).or_else(elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str) -> String {
        check(&text.parse().expect("TOML")).expect_err(text).reason
    }

    #[test]
    fn what_is_wrong_is_told_in_words() {
        let expected = [
            ("train.epoch = 3", "there is no key `train.epoch`; did you mean `train.epochs`?"),
            ("colour = 1", "there is no key `colour`"),
            ("batch_size = 8", "there is no key `batch_size`; did you mean `train.batch_size`?"),
            ("train.epochs = 'many'", "`train.epochs` is `many`; expected a whole number, 1 to 100000"),
            ("train.epochs = 2.5", "`train.epochs` is 2.5; expected a whole number, 1 to 100000"),
            ("train.epochs = -1", "`train.epochs` is -1; expected a whole number, 1 to 100000"),
            ("train = 3", "`train` is 3; expected a table of keys"),
            ("train.lr = nan", "`train.lr` is NaN; expected a number, at least 0"),
            ("train.lr = 1e60", "`train.lr` is 1e60; expected a number, at least 0"),
            (
                "calibrate.max_seen_drop = 1",
                "`calibrate.max_seen_drop` is 1; expected a number, at least 0 and below 1",
            ),
            ("ghosts.ratio = 0", "`ghosts.ratio` is 0; expected a number, above 0 and at most 100"),
            ("ghosts.l2_normalize = 1", "`ghosts.l2_normalize` is 1; expected `true` or `false`"),
            ("ghosts.generator.limit = 0", "`ghosts.generator.limit` is 0; expected a whole number, 1 to 1048576"),
            (
                "data.exclude = 'a.jpg'",
                "`data.exclude` is `a.jpg`; expected a list: images such as `train/cat/0001.jpg`",
            ),
            ("memory.per_class = {}", "`memory.per_class` is a table; expected a whole number, 0 to 1048576"),
            ("ghosts.oracle = 'full'", "`ghosts.oracle` is `full`; expected `none`, `training-features` or `partial`"),
            (
                "loss.distillation = { kind = 'less-forget', flat = 2 }",
                "`loss.distillation.flat` does not go with `loss.distillation.kind = \"less-forget\"`; it is a key of `pod`",
            ),
        ];
        for (text, words) in expected {
            assert_eq!(says(text), words);
        }
    }

    #[test]
    fn a_generator_that_is_off_takes_keys_that_it_does_not_use() {
        for kind in ["none", "real"] {
            let text = format!("ghosts.generator = {{ kind = '{kind}', epochs = 2 }}");
            assert!(check(&text.parse().expect("TOML")).is_ok());
        }
        assert!(
            says("ghosts.generator = { kind = 'none', epoch = 2 }").contains("did you mean `ghosts.generator.epochs`")
        );
    }
}
