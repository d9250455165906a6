//! The keys as people read them.

use crate::experiment::Recipe;
use crate::experiment::difference::flat;
use crate::experiment::keys::{Allowed, KEYS, Key};
use crate::experiment::preset::{Preset, tuned_value};

/// Every key, a line each: its name, its type, what is allowed, its default, and what it means.
pub fn keys_text() -> String {
    let rows = key_rows();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1).min(60), width(2).min(40)];
    let mut text = String::from(
        "# NAME  TYPE: ALLOWED  [DEFAULT]  MEANING. What a recipe does not say is filled from its `preset`: `paper` (default)\n\
         # is the paper's printed setting, `tuned` is ours. Any key can be set for one run: --set train.epochs=3\n",
    );
    for [name, allowed, default, about] in &rows {
        let line = format!("{name:<0$}  {allowed:<1$}  {default:<2$}  {about}", widths[0], widths[1], widths[2]);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The same for a narrow terminal: a key's name, and below it what it means, its type, what is allowed and its default.
pub fn keys_text_below_each_other() -> String {
    let mut text = String::from(
        "What a recipe does not say is filled from its `preset`: `paper` (default) is the paper's printed setting, `tuned` is ours. \
         Any key can be set for one run: --set train.epochs=3\n\n",
    );
    for [name, allowed, default, about] in key_rows() {
        text.push_str(&format!("{name}\n    {about}\n    {allowed} {default}\n"));
    }
    text
}

/// Each key: its name, what may be written, its default, and what it means.
pub fn key_rows() -> Vec<[String; 4]> {
    KEYS.iter().map(|key| [key.name.to_owned(), allowed(key), default_of(key), key.about.to_owned()]).collect()
}

fn allowed(key: &Key) -> String {
    let plain = |text: String| text.replace('`', "");
    let of = if key.of.is_empty() { String::new() } else { format!(" ({})", key.of.join(", ")) };
    match key.allowed {
        Allowed::Flag => format!("true or false{of}"),
        Allowed::Choice(words) => format!("text: {}{of}", words.join(" | ")),
        _ => format!("{}: {}{of}", key.allowed.kind(), plain(key.allowed.values())),
    }
}

/// `[90, tuned 30]`.
fn default_of(key: &Key) -> String {
    let paper = defaults(key, Preset::Paper);
    let tuned = defaults(key, Preset::Tuned);
    let paper = if paper.is_empty() { key.unset.replace('`', "") } else { paper };
    match tuned_value(key.name) {
        Some(value) if tuned != paper => {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let photos = if key.name == "images.crop" { " for photos" } else { "" };
            format!("[{paper}; tuned {value}{photos}]")
        }
        _ => format!("[{paper}]"),
    }
}

/// The default under a preset; where it depends on the kind of its table, that of each kind.
fn defaults(key: &Key, preset: Preset) -> String {
    let value = |text: String| -> Option<String> {
        let recipe: Recipe = text.parse().expect("a recipe of defaults");
        let value = flat(&recipe).get(key.name)?.clone();
        Some(if value == "[]" { "none".to_owned() } else { value.trim_matches('"').to_owned() })
    };
    let head = format!("preset = \"{preset}\"\n");
    if key.of.is_empty() {
        return value(head).unwrap_or_default();
    }
    let (above, name) = key.name.rsplit_once('.').expect("a key of a kind has a table");
    if name == "path" {
        return String::new();
    }
    let by_kind: Vec<(&str, String)> = key
        .of
        .iter()
        .filter_map(|kind| {
            let path = if ["folder", "features", "pack", "torchscript"].contains(kind) { "path = \"x\"\n" } else { "" };
            Some((*kind, value(format!("{head}[{above}]\nkind = \"{kind}\"\n{path}"))?))
        })
        .collect();
    let mut values: Vec<&String> = by_kind.iter().map(|(_, value)| value).collect();
    values.sort();
    values.dedup();
    match values[..] {
        [] => String::new(),
        [one] => one.clone(),
        _ => by_kind.iter().map(|(kind, value)| format!("{kind} {value}")).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_listed_on_a_line() {
        insta::assert_snapshot!(keys_text());
        assert_eq!(keys_text().lines().filter(|line| !line.starts_with('#')).count(), KEYS.len());
    }
}
