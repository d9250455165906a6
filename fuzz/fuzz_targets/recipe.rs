//! Recipes: what can be read can be written, and reads back as itself; overrides answer too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::experiment::{Recipe, overridden};
use std::path::Path;

fuzz_target!(|text: &str| {
    let path = Path::new("r.toml");
    if let Ok(recipe) = Recipe::parse(text, path) {
        let written = recipe.to_toml();
        let again = Recipe::parse(&written, path).unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(again.to_toml(), written);
    }
    drop(overridden("", path, &[text.to_owned()]));
});
