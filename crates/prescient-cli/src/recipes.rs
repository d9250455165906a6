//! The recipes that come along, inside the program.

use prescient::error::RecipeError;
use std::path::{Path, PathBuf};

/// Name and text of each recipe.
macro_rules! recipes {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../recipes/", $name, ".toml")))),*]
    };
}

/// Name and text of every recipe.
pub(super) const RECIPES: &[(&str, &str)] = recipes![
    "demo-base",
    "demo-ghost",
    "mnist-podnet",
    "mnist3-podnet",
    "mnist3-ghost",
    "mnist6-podnet",
    "mnist6-ghost",
    "mnist-joint",
    "awa2-podnet",
    "awa2-podnet-ghost",
    "awa2-podnet-ghost-svm",
    "awa2-ucir",
    "awa2-ucir-ghost",
    "awa2-ucir-ghost-svm",
    "awa2-real",
    "awa2-partial-oracle",
    "awa2-full-oracle",
    "awa2-zero-shot-podnet",
    "awa2-zero-shot-podnet-ghost",
    "awa2-zero-shot-podnet-ghost-svm",
    "awa2-features-podnet-ghost-svm",
    "apy-podnet",
    "apy-podnet-ghost",
    "apy-podnet-ghost-svm",
    "apy-ucir",
    "apy-ucir-ghost",
    "apy-ucir-ghost-svm",
    "apy-real",
    "apy-partial-oracle",
    "apy-full-oracle",
    "apy-zero-shot-podnet",
    "apy-zero-shot-podnet-ghost",
    "apy-zero-shot-podnet-ghost-svm",
    "animals12-podnet",
    "animals12-podnet-ghost",
    "animals12-podnet-ghost-svm",
    "animals12-ucir",
    "animals12-ucir-ghost",
    "animals12-ucir-ghost-svm",
    "animals12-real",
    "animals12-partial-oracle",
    "animals12-full-oracle",
    "animals12-zero-shot-podnet",
    "animals12-zero-shot-podnet-ghost",
    "animals12-zero-shot-podnet-ghost-svm",
    "animals50-podnet",
    "animals50-podnet-ghost",
    "animals50-podnet-ghost-svm",
    "animals50-ucir",
    "animals50-ucir-ghost",
    "animals50-ucir-ghost-svm",
    "animals50-real",
    "animals50-partial-oracle",
    "animals50-full-oracle",
    "animals50-zero-shot-podnet",
    "animals50-zero-shot-podnet-ghost",
    "animals50-zero-shot-podnet-ghost-svm",
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
    use prescient::experiment::Recipe;
    use prescient::ghost::GeneratorKind;
    use prescient::loss::{DistillationKind, Form, Nca, Pod};
    use prescient::report::paper::{Figure, TABLES};
    use prescient::scenario::{Order, Split};

    #[test]
    fn every_recipe_can_be_read_and_says_what_it_is() {
        for (name, text) in RECIPES {
            let recipe = Recipe::parse(text, Path::new(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(recipe.scenario.split.is_some(), "{name} has no split");
            assert!(text.starts_with("# ") && text.contains("prescient run"), "{name} has no header");
        }
    }

    fn read(name: &str) -> Recipe {
        let (text, path) = find(name).expect("a recipe that comes along");
        Recipe::parse(&text, &path).expect("a recipe")
    }

    /// What tells two rows of a table apart is in their recipes and nothing else, so that a difference in results has one
    /// cause. `drop` removes that from the recipe of the row that has more.
    #[track_caller]
    fn assert_rows_differ_in(base: &str, row: &str, drop: impl Fn(&mut Recipe)) {
        let (base, mut row) = (read(base), read(row));
        drop(&mut row);
        assert_eq!(base.to_toml(), row.to_toml());
    }

    fn no_ghosts(recipe: &mut Recipe) {
        let plain = Recipe::default();
        recipe.ghosts = plain.ghosts;
        recipe.complete = plain.complete;
        recipe.calibrate = plain.calibrate;
        recipe.loss.latent = plain.loss.latent;
    }

    #[test]
    fn rows_differ_in_what_they_are_about() {
        assert_rows_differ_in("demo-base", "demo-ghost", no_ghosts);
        for data in ["awa2", "apy", "animals12", "animals50"] {
            let name = |row: &str| format!("{data}-{row}");
            for base in ["podnet", "ucir", "zero-shot-podnet"] {
                let (base, ghost, svm) = (name(base), name(base) + "-ghost", name(base) + "-ghost-svm");
                assert_rows_differ_in(&base, &ghost, no_ghosts);
                assert_rows_differ_in(&ghost, &svm, |recipe| recipe.loss.latent.weight = 0.0);
            }
            let podnet = name("podnet");
            let less_forget = read(&name("ucir")).loss.distillation;
            assert_rows_differ_in(&name("ucir"), &podnet, |recipe| recipe.loss.distillation = less_forget);
            let scenario = read(&podnet).scenario;
            for other in ["zero-shot-podnet", "full-oracle"] {
                assert_rows_differ_in(&podnet, &name(other), |recipe| recipe.scenario = scenario.clone());
            }
            let generator = read(&name("podnet-ghost-svm")).ghosts.generator;
            assert_rows_differ_in(&name("podnet-ghost-svm"), &name("real"), |recipe| {
                recipe.ghosts.generator = generator.clone();
            });
            assert_rows_differ_in(&name("real"), &name("partial-oracle"), |recipe| recipe.ghosts.pixels = false);
        }
    }

    #[test]
    fn rows_on_digits_differ_in_what_they_are_about() {
        let Recipe { scenario, memory, loss, train, .. } = read("mnist3-podnet");
        assert_rows_differ_in("mnist3-podnet", "mnist-joint", |recipe| {
            recipe.scenario = scenario.clone();
            // Where no class comes later, little hangs on the first weights.
            recipe.train.tries = train.tries;
            // One task has no past, and no teacher.
            recipe.memory = memory;
            recipe.loss.distillation = loss.distillation;
        });
        assert_rows_differ_in("mnist3-podnet", "mnist6-podnet", |recipe| recipe.scenario = scenario.clone());
        for tasks in ["mnist3", "mnist6"] {
            assert_rows_differ_in(&format!("{tasks}-podnet"), &format!("{tasks}-ghost"), no_ghosts);
        }
        let ghost = read("mnist3-ghost");
        assert_eq!((ghost.ghosts.generator, ghost.loss.latent.weight), (GeneratorKind::Real, 0.0));
    }

    /// AwA2 and aP&Y are learned as the paper says, but for λ₁, which it chose for each.
    #[test]
    fn the_papers_settings() {
        for (data, split, start, weight) in [("awa2", "25+5x5", "40+5x2", 3.0), ("apy", "16+8x2", "20+6x2", 15.0)] {
            let recipe = read(&format!("{data}-podnet-ghost-svm"));
            let expected: Split = split.parse().expect("a split");
            assert_eq!(recipe.scenario.split, Some(expected));
            let zero_shot = read(&format!("{data}-zero-shot-podnet")).scenario;
            assert_eq!((zero_shot.split, zero_shot.order), (start.parse().ok(), Order::Proposed));
            let train = recipe.train;
            assert_eq!((train.epochs, train.lr, train.later_lr, train.weight_decay), (90, 0.1, None, 1e-4));
            assert_eq!(recipe.loss.classification, Nca { form: Form::Nca, margin: 0.6 });
            assert_eq!(recipe.loss.distillation, DistillationKind::Pod(Pod { weight, flat: 1.0 }));
            assert_eq!((recipe.loss.latent.weight, recipe.loss.latent.margin), (1e-3, 1.0));
            assert_eq!((recipe.complete.epochs, recipe.complete.lr, recipe.memory.per_class), (60, 1e-4, 20));
            let GeneratorKind::Gmmn(gmmn) = recipe.ghosts.generator else { panic!("the paper's generator") };
            assert_eq!((gmmn.epochs, gmmn.lr), (1200, 1e-5));
        }
    }

    /// A header that quoted another number than the table would send its reader astray.
    #[test]
    fn headers_quote_the_papers_numbers() {
        let quoted = |figure: Figure| match figure.deviation {
            Some(deviation) => format!("{:.2} ± {deviation:.2}", figure.mean),
            None => format!("{:.0} %", figure.mean),
        };
        let mut rows = 0;
        for (table, stand_in) in
            TABLES.iter().flat_map(|table| [None, Some("animals12"), Some("animals50")].map(|s| (table, s)))
        {
            for row in table.sections(stand_in).into_iter().flat_map(|section| section.rows) {
                let header = find(&row.recipe).expect("a recipe for each row").0;
                let figures = row.paper.iter().flat_map(|reported| [reported.continual, reported.last]).flatten();
                for figure in figures {
                    assert!(header.contains(&quoted(figure)), "{}: {}", row.recipe, quoted(figure));
                }
                rows += 1;
            }
        }
        assert!(rows > 60, "{rows}");
    }

    /// The protocols that tables name are those of their recipes, but for rows that learn all classes in one task.
    #[test]
    fn tables_name_the_protocols_of_their_recipes() {
        for stand_in in [None, Some("animals12"), Some("animals50")] {
            for section in TABLES.iter().flat_map(|table| table.sections(stand_in)) {
                let named: Split = section.protocol.parse().expect("a split");
                for row in &section.rows {
                    let split = read(&row.recipe).scenario.split.expect("a split");
                    let joint = ["full oracle", "joint training"].contains(&row.label);
                    assert!(split == named || (joint && split.sizes().len() == 1), "{}", row.recipe);
                }
            }
        }
    }

    /// A recipe left out of the list would be a file that nobody finds.
    #[test]
    fn every_file_is_listed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
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
