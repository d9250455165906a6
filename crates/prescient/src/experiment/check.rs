//! What must hold between the keys of a recipe, beyond the range of each.

use crate::data::{Channels, Crop};
use crate::error::RecipeError;
use crate::experiment::keys;
use crate::experiment::recipe::{ImageSettings, Recipe};
use crate::extractor::ExtractorKind;
use crate::ghost::GeneratorKind;
use crate::learner::Oracle;
use crate::loss::{DistillationKind, Pod};
use toml::Table;

/// The widest extractor of images.
const WIDEST: u32 = 1024;

fn wrong(key: &str, found: impl ToString, expected: impl Into<String>) -> Result<(), RecipeError> {
    Err(RecipeError::Value { key: key.to_owned(), found: found.to_string(), expected: expected.into() })
}

/// Whether every value makes sense, as far as can be said before the data is opened.
pub(super) fn check(recipe: &Recipe) -> Result<(), RecipeError> {
    // A recipe that was made in code has not been read from a text.
    let table = Table::try_from(recipe).expect("a recipe is plain data");
    keys::check(&table).map_err(|fault| RecipeError::Fault { reason: fault.reason })?;
    if recipe.scenario.split.is_none() {
        return wrong("scenario.split", "missing", "how many classes each task brings, such as `25+5x5`");
    }
    if let ExtractorKind::ResNet18(crate::extractor::ResNet18 { width, .. })
    | ExtractorKind::SmallCnn(crate::extractor::SmallCnn { width, .. }) = &recipe.model.extractor
        && *width > WIDEST
    {
        return wrong("model.extractor.width", width, format!("1 to {WIDEST} for images"));
    }
    check_pretrained(&recipe.model.extractor)?;
    check_ghosts(recipe)
}

fn check_pretrained(extractor: &ExtractorKind) -> Result<(), RecipeError> {
    let key = |name: &str| format!("model.extractor.{name}");
    match extractor {
        ExtractorKind::ResNet18(crate::extractor::ResNet18 { weights: Some(_), width, .. }) if *width != 64 => {
            wrong(&key("width"), width, "64, for weights of torchvision's ResNet18")
        }
        ExtractorKind::ResNet18(crate::extractor::ResNet18 { weights: None, freeze: Some(true), .. })
        | ExtractorKind::ResNet50(crate::extractor::ResNet50 { weights: None, freeze: Some(true) })
        | ExtractorKind::MobileNetV2(crate::extractor::MobileNetV2 { weights: None, freeze: Some(true) })
        | ExtractorKind::EfficientNetLite0(crate::extractor::EfficientNetLite0 { weights: None, freeze: Some(true) }) => {
            wrong(&key("freeze"), true, "weights beside it: `weights = \"imagenet\"`, or a file")
        }
        _ => Ok(()),
    }
}

fn check_ghosts(recipe: &Recipe) -> Result<(), RecipeError> {
    let ghosts = &recipe.ghosts;
    match (ghosts.oracle, &ghosts.generator) {
        (Oracle::Partial, generator) if *generator != GeneratorKind::Real => {
            return wrong("ghosts.oracle", "`partial`", "`ghosts.generator.kind = \"real\"` beside it");
        }
        (Oracle::TrainingFeatures, GeneratorKind::None | GeneratorKind::Real) => {
            return wrong(
                "ghosts.oracle",
                "`training-features`",
                "a generator beside it that gives the answers: `ghosts.generator.kind = \"gmmn\"` or `\"gaussian\"`",
            );
        }
        _ => {}
    }
    if recipe.complete.seen_only && ghosts.enabled() {
        return wrong("complete.seen_only", true, "no ghosts beside it: `ghosts.generator.kind = \"none\"`");
    }
    Ok(())
}

/// Whether the model can take what the dataset holds: rows of numbers, or images.
pub(super) fn check_input(recipe: &Recipe, channels: Channels) -> Result<(), RecipeError> {
    let rows = channels == Channels::Features;
    let (name, data) = (recipe.model.extractor.name(), recipe.data.name());
    match (rows, recipe.model.extractor.takes_rows()) {
        (true, false) => {
            let expected = format!("`mlp` or `identity`, for `{data}` has no images");
            return wrong("model.extractor.kind", format!("`{name}`"), expected);
        }
        (false, true) => {
            let expected = format!("`resnet18`, `mobilenet-v2` or `small-cnn`, for `{data}` has images");
            return wrong("model.extractor.kind", format!("`{name}`"), expected);
        }
        _ => {}
    }
    if channels == Channels::Grey && recipe.model.extractor.is_pretrained() {
        return wrong("data.kind", format!("`{data}`"), format!("images in colour, for a pretrained `{name}`"));
    }
    if rows && recipe.images != ImageSettings::default() {
        return wrong("images", "given", "none of its keys: features are not cropped, mirrored, resized or normalized");
    }
    match recipe.loss.distillation {
        _ if recipe.learner.is_closed_form() => Ok(()),
        DistillationKind::Pod(Pod { weight, .. }) if rows && weight != 0.0 => wrong(
            "loss.distillation.weight",
            weight,
            "0, for features come without the maps that POD compares: `loss.distillation = { kind = \"pod\", weight = 0.0 }` \
             keeps the part that compares features",
        ),
        _ => Ok(()),
    }
}

/// Whether images can be looked at so, once nothing is left to the dataset.
pub(super) fn check_images(recipe: &Recipe) -> Result<(), RecipeError> {
    let size = recipe.images.size.unwrap_or_default();
    if !(8..=1024).contains(&size) {
        return wrong("images.size", size, "8 to 1024 pixels");
    }
    match recipe.images.crop {
        Some(Crop::Shift { pixels }) if pixels > size => {
            wrong("images.crop", format!("`shift {pixels}`"), format!("a shift of at most `images.size`, {size}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Synthetic, SyntheticSettings};
    use crate::ghost::Gmmn;

    fn recipe(text: &str) -> Recipe {
        format!("scenario.split = \"24\"\n{text}").parse().expect(text)
    }

    #[test]
    fn keys_that_do_not_go_together_are_refused() {
        let says = |text: &str| recipe(text).check().expect_err(text).to_string();
        assert_eq!(
            says("ghosts.oracle = \"partial\""),
            "`ghosts.oracle` is `partial`; expected `ghosts.generator.kind = \"real\"` beside it"
        );
        assert!(says("ghosts = { oracle = \"training-features\", generator = { kind = \"real\" } }").contains("gmmn"));
        let control = says("complete.seen_only = true\nghosts.generator.kind = \"gaussian\"");
        assert_eq!(
            control,
            "`complete.seen_only` is true; expected no ghosts beside it: `ghosts.generator.kind = \"none\"`"
        );
        assert_eq!(
            says("model.extractor.width = 2000"),
            "`model.extractor.width` is 2000; expected 1 to 1024 for images"
        );
        let missing = Recipe::default().check().expect_err("no split").to_string();
        assert!(missing.starts_with("`scenario.split` is missing"), "{missing}");
    }

    /// Nobody has read these from a text.
    #[test]
    fn values_of_a_recipe_made_in_code_are_checked_too() {
        let says = |change: &dyn Fn(&mut Recipe)| {
            let mut recipe = recipe("");
            change(&mut recipe);
            recipe.check().expect_err("nonsense").to_string()
        };
        assert_eq!(says(&|recipe| recipe.train.lr = f64::NAN), "`train.lr` is NaN; expected a number, at least 0");
        assert_eq!(
            says(&|recipe| recipe.train.grad_clip_norm = Some(0.0)),
            "`train.grad_clip_norm` is 0.0; expected a number, above 0"
        );
        let hidden = |hidden| GeneratorKind::Gmmn(Gmmn { hidden, ..Default::default() });
        assert!(says(&|recipe| recipe.ghosts.generator = hidden(0)).starts_with("`ghosts.generator.hidden` is 0"));
        assert!(says(&|recipe| recipe.scenario.val_fraction = Some(1.0)).starts_with("`scenario.val_fraction` is 1.0"));
        assert!(
            says(&|recipe| recipe.images.size = Some(2)).starts_with("`images.size` is 2; expected a whole number")
        );
    }

    #[test]
    fn a_shift_beyond_the_image_is_refused() {
        let dataset = Synthetic::new(&SyntheticSettings { train: 1, test: 1 });
        let error = recipe("images.crop = \"shift 33\"").effective(&dataset).expect_err("too far").to_string();
        assert_eq!(error, "`images.crop` is `shift 33`; expected a shift of at most `images.size`, 32");
    }
}
