//! The table of keys against the types of a recipe.

use super::*;
use crate::experiment::Recipe;
use std::collections::BTreeSet;

/// Each table of a recipe, and a text that makes one of each kind.
const TABLES: &[(&str, &[&str])] = &[
    ("", &[""]),
    ("images", &[""]),
    ("scenario", &[""]),
    ("model", &[""]),
    ("loss", &[""]),
    ("train", &[""]),
    ("finetune", &[""]),
    ("memory", &[""]),
    ("ghosts", &[""]),
    ("complete", &[""]),
    ("calibrate", &[""]),
    ("compute", &[""]),
    ("loss.classification", &[""]),
    ("loss.svm_reg", &[""]),
    (
        "data",
        &[
            "kind='synthetic'",
            "kind='mnist'",
            "kind='folder'\npath='x'",
            "kind='awa2'",
            "kind='apy'",
            "kind='pack'\npath='x'",
            "kind='features'\npath='x'",
        ],
    ),
    (
        "model.extractor",
        &[
            "kind='resnet18'",
            "kind='resnet50'",
            "kind='mobilenet-v2'",
            "kind='efficientnet-lite0'",
            "kind='torchscript'\npath='x'",
            "kind='small-cnn'",
            "kind='mlp'",
            "kind='identity'",
        ],
    ),
    ("learner", &["kind='ghost'", "kind='closed-form'"]),
    ("loss.distillation", &["kind='pod'", "kind='less-forget'"]),
    ("ghosts.generator", &["kind='gmmn'", "kind='gaussian'"]),
];

/// What the types of a recipe take: a key that is none makes them name all that they know.
fn keys_of_the_types() -> BTreeSet<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for (table, kinds) in TABLES {
        for kind in *kinds {
            let head = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
            let text = format!("{head}{kind}\nno-key-has-this-name = 1\n");
            let error = toml::from_str::<Recipe>(&text).expect_err(&text).message().to_owned();
            assert!(error.contains("`no-key-has-this-name`"), "{table}, {kind}: {error}");
            let known = error.split_once("expected").map_or("", |(_, known)| known);
            let names = known.split('`').skip(1).step_by(2);
            found.extend(names.map(|name| if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }));
            if !kind.is_empty() {
                found.insert(format!("{table}.kind"));
            }
        }
    }
    let tables: BTreeSet<&str> = TABLES.iter().map(|(table, _)| *table).collect();
    found.into_iter().filter(|name| !tables.contains(name.as_str())).collect()
}

#[test]
fn the_table_names_exactly_the_keys_that_recipes_have() {
    let listed: BTreeSet<String> = KEYS.iter().map(|key| key.name.to_owned()).collect();
    assert_eq!(listed.len(), KEYS.len(), "a key stands in the table twice");
    assert_eq!(listed, keys_of_the_types());
    assert!(KEYS.len() <= 60, "{} keys", KEYS.len());
}

/// A word that is none makes the types name all that they know.
#[test]
fn choices_are_exactly_those_of_the_types() {
    for key in KEYS {
        let Choice(words) = key.allowed else { continue };
        let (above, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        let head = if above.is_empty() { String::new() } else { format!("[{above}]\n") };
        let kind = match key.of.first() {
            Some(kind @ (&"folder" | &"torchscript")) => format!("kind = '{kind}'\npath = 'x'\n"),
            Some(kind) => format!("kind = '{kind}'\n"),
            None => String::new(),
        };
        let text = format!("{head}{kind}{name} = 'no-such-word'\n");
        let error = toml::from_str::<Recipe>(&text).expect_err(&text).message().to_owned();
        let known = error.split_once("expected").map_or("", |(_, known)| known);
        let known: BTreeSet<&str> = known.split('`').skip(1).step_by(2).collect();
        assert_eq!(known, words.iter().copied().collect(), "{}: {error}", key.name);
    }
}

#[test]
fn every_kind_and_every_choice_can_be_written() {
    for key in KEYS {
        let Choice(words) = key.allowed else { continue };
        for word in words {
            let (above, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
            let kind = match (name, key.of.first(), *word) {
                ("kind", _, "folder" | "pack" | "features" | "torchscript") => "path = 'x'\n".to_owned(),
                (_, Some(kind), _) => {
                    let path = if ["folder", "torchscript"].contains(kind) { "path = 'x'\n" } else { "" };
                    format!("kind = '{kind}'\n{path}")
                }
                _ => String::new(),
            };
            let head = if above.is_empty() { String::new() } else { format!("[{above}]\n") };
            let text = format!("{head}{kind}{name} = '{word}'\n");
            text.parse::<Recipe>().unwrap_or_else(|error| panic!("{text}{error}"));
        }
    }
}
