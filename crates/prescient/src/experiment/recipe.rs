//! A recipe: everything that decides a run, as TOML. What it does not say is filled from its preset, the paper's unless it
//! names another.

use crate::data::Crop;
use crate::data::{Augmentation, Channels, Dataset, View};
use crate::engine::Compute;
use crate::error::RecipeError;
use crate::experiment::data::DataSettings;
use crate::experiment::preset::{self, Preset};
use crate::experiment::{check, keys};
use crate::ghost::GeneratorKind;
use crate::learner::{
    CalibrateSettings, ClosedFormSettings, CompleteSettings, FinetuneSettings, GhostSettings, LearnSettings,
    LearnerKind, ModelSettings, Oracle, Target, TrainSettings,
};
use crate::loss::LossSettings;
use crate::memory::MemorySettings;
use crate::protocol::Sealed;
use crate::scenario::{Order, Split};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::str::FromStr;
use toml::Table;
use toml::de::{DeTable, DeValue};

/// A recipe. Read one with [`Recipe::parse`] or [`str::parse`], which fill in its preset; [`Recipe::default`] is the paper's.
///
/// ```
/// use prescient::Recipe;
///
/// let recipe: Recipe = "scenario.split = \"12+3x4\"\ntrain.epochs = 8\n".parse()?;
/// assert_eq!((recipe.train.epochs, recipe.train.lr), (8, 0.1));
///
/// let error = "train.epoch = 8\n".parse::<Recipe>().unwrap_err();
/// assert!(error.to_string().ends_with("did you mean `train.epochs`?"));
/// # Ok::<(), prescient::error::RecipeError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// What filled the keys that were not written.
    pub preset: Preset,
    /// The one seed of the run.
    pub seed: u32,
    /// Which images.
    pub data: DataSettings,
    /// How they are cropped, resized and mirrored.
    pub images: ImageSettings,
    /// Which classes arrive when.
    pub scenario: ScenarioSettings,
    /// How it learns.
    pub learner: LearnerKind,
    /// What learns.
    pub model: ModelSettings,
    /// What is minimized.
    pub loss: LossSettings,
    /// The main training of each task.
    pub train: TrainSettings,
    /// The balanced fine-tune after it.
    pub finetune: FinetuneSettings,
    /// The rehearsal memory.
    pub memory: MemorySettings,
    /// Where ghosts come from and how they are used.
    pub ghosts: GhostSettings,
    /// The classifier for all classes.
    pub complete: CompleteSettings,
    /// How scores of seen and future classes are balanced.
    pub calibrate: CalibrateSettings,
    /// Speed, not results.
    pub compute: Compute,
}

/// Which classes arrive when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScenarioSettings {
    /// How many classes each task brings. There is no default: it depends on the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// The share of each class's training images that is held out and tested on in place of the test images: for choosing
    /// settings. None: the test images are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub val_fraction: Option<f64>,
    /// In which order.
    pub order: Order,
}

/// How images are cropped, resized and mirrored. What is left out is the dataset's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImageSettings {
    /// The side of the square that the model sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// Which part of a training image is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crop: Option<Crop>,
    /// Whether training images are mirrored at random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flip: Option<bool>,
}

impl FromStr for Recipe {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        Self::parse(text, Path::new("recipe.toml"))
    }
}

impl Recipe {
    /// Reads a recipe's text; `path` is named in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Self, RecipeError> {
        let table = Self::table(text, path)?;
        Self::from_table(table).map_err(|reason| {
            // Read once more as it stands: then the error names its line.
            let reason = match toml::from_str::<Self>(text) {
                Err(error) => in_our_words(error.to_string().trim_end()),
                Ok(_) => reason,
            };
            RecipeError::Syntax { path: path.to_owned(), reason }
        })
    }

    /// The keys of a recipe as they are written, each known and its value allowed; `path` is named in errors.
    pub(super) fn table(text: &str, path: &Path) -> Result<Table, RecipeError> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| RecipeError::Syntax {
            path: path.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        keys::check(&table).and_then(|()| keys::check_learner(&table)).map_err(|fault| {
            match line_of(text, &fault.key) {
                Some(line) => RecipeError::Key { path: path.to_owned(), line, reason: fault.reason },
                None => RecipeError::Syntax { path: path.to_owned(), reason: fault.reason },
            }
        })?;
        Ok(table)
    }

    /// The recipe that a table of checked keys makes, filled from its preset.
    pub(super) fn from_table(mut table: Table) -> Result<Self, String> {
        preset::fill(&mut table);
        table.try_into().map_err(|error: toml::de::Error| in_our_words(error.message()))
    }

    /// The recipe as TOML, with nothing left to its preset; without the keys of a learner that it does not use.
    pub fn to_toml(&self) -> String {
        let mut table = Table::try_from(self).expect("a recipe is plain data");
        if self.learner.is_closed_form() {
            table.retain(|key, _| !keys::OF_THE_GHOST_LEARNER.contains(&key));
            if self.ghosts.generator == GeneratorKind::Real {
                preset::put(&mut table, keys::ORACLE_OF_BOTH, "real".into());
            }
        }
        toml::to_string(&table).expect("a recipe is plain data")
    }

    /// Whether every value makes sense, as far as can be said before the data is opened.
    pub fn check(&self) -> Result<(), RecipeError> {
        check::check(self)
    }

    /// The same with nothing left open: what the dataset decides is filled in, and every value makes sense.
    pub fn effective(mut self, dataset: &dyn Dataset) -> Result<Self, RecipeError> {
        self.check()?;
        let rows = dataset.channels() == Channels::Features;
        check::check_input(&self, dataset.channels())?;
        if rows {
            return Ok(self);
        }
        let Augmentation { crop, flip } = self.data.augmentation();
        let size = self.model.extractor.input().map_or_else(|| dataset.size(), |input| input.size);
        let images = &mut self.images;
        images.size.get_or_insert(size);
        images.crop.get_or_insert(crop);
        images.flip.get_or_insert(flip);
        check::check_images(&self)?;
        Ok(self)
    }

    /// How the recipe breaks the rules of the setting with so many `classes`, if it does. Those without photos are among them: while
    /// they are to come, a single task is no oracle.
    pub fn oracle(&self, classes: usize) -> Option<String> {
        let at_once = self.scenario.split.as_ref().is_some_and(|split| split.sizes() == [classes]);
        let broken = match (self.ghosts.oracle, &self.ghosts.generator) {
            _ if at_once => "full oracle: all classes arrive in one task",
            (Oracle::Partial, _) => "partial oracle: it also trains on actual images of future classes",
            (Oracle::TrainingFeatures, _) => "ghosts of the training are features of actual future images",
            (Oracle::None, GeneratorKind::Real) => "ghosts are features of actual future images",
            (Oracle::None, _) => return None,
        };
        Some(broken.to_owned())
    }

    /// How the images of a dataset are cropped and resized; the rows of `dataset`, where it has no images.
    ///
    /// # Panics
    /// If the recipe is not [`Recipe::effective`].
    fn view(&self, dataset: &Sealed) -> View {
        if dataset.channels() == Channels::Features {
            return View::of_rows(dataset.size());
        }
        let images = &self.images;
        let size = images.size.expect("an effective recipe");
        let (crop, flip) = images.crop.zip(images.flip).expect("an effective recipe");
        // In the dataset's own proportion: 256 to 224 for the paper's photos, 1 to 1 for most, and before pretrained weights.
        let input = self.model.extractor.input().map(|input| (input.size, input.size));
        let (from, to) = input.unwrap_or_else(|| (dataset.resize(), dataset.size()));
        let resize = u64::from(size) * u64::from(from) / u64::from(to.max(1));
        let resize = u32::try_from(resize).unwrap_or(u32::MAX).max(size);
        View { size, resize, augmentation: Augmentation { crop, flip } }
    }

    /// How the learner is to learn from `dataset`.
    ///
    /// # Panics
    /// If the recipe is not [`Recipe::effective`].
    pub fn learn_settings(&self, dataset: &Sealed) -> LearnSettings {
        LearnSettings {
            model: self.model.clone(),
            loss: self.loss.clone(),
            train: self.train,
            finetune: self.finetune,
            memory: self.memory,
            ghosts: self.ghosts.clone(),
            complete: self.complete,
            calibrate: self.calibrate,
            view: self.view(dataset),
            normalization: self
                .model
                .extractor
                .input()
                .map_or_else(|| dataset.normalization(), |input| input.normalization),
            compute: self.compute,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Recipe {
    /// How the closed form is to learn from `dataset`.
    ///
    /// # Panics
    /// If the recipe is not [`Recipe::effective`].
    pub fn closed_form_settings(&self, dataset: &Sealed) -> ClosedFormSettings {
        let LearnSettings { view, normalization, .. } = self.learn_settings(dataset);
        ClosedFormSettings {
            extractor: self.model.extractor.clone(),
            target: self.calibrate.target(Target::Accuracy),
            view,
            normalization,
            compute: self.compute,
            oracle: self.ghosts.generator == GeneratorKind::Real,
        }
    }
}

/// The line of a key in a recipe's text, from 1.
fn line_of(text: &str, key: &str) -> Option<usize> {
    fn place(table: &DeTable<'_>, key: &str) -> Option<usize> {
        let (first, rest) = key.split_once('.').map_or((key, None), |(first, rest)| (first, Some(rest)));
        let (name, value) = table.iter().find(|(name, _)| name.get_ref() == first)?;
        match (rest, value.get_ref()) {
            (Some(rest), DeValue::Table(inner)) => place(inner, rest),
            _ => Some(name.span().start),
        }
    }
    let table = DeTable::parse(text).ok()?;
    let start = place(table.get_ref(), key)?;
    Some(text[..start].matches('\n').count() + 1)
}

/// What serde says, without the words of its trade.
fn in_our_words(reason: &str) -> String {
    [
        ("missing field", "there is no key"),
        ("expected a sequence", "expected a list in brackets"),
        ("expected an array of length", "expected a list of"),
        ("internally tagged enum", "table with a key `kind`"),
        ("expected usize", "expected a whole number, at least 0"),
        ("expected f64", "expected a number"),
    ]
    .iter()
    .fold(reason.to_owned(), |reason, (theirs, ours)| reason.replace(theirs, ours))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Synthetic, SyntheticSettings};

    fn dataset() -> Synthetic {
        Synthetic::new(&SyntheticSettings { train: 1, test: 1 })
    }

    #[test]
    fn an_effective_recipe_reads_back_as_itself() {
        let recipe: Recipe = "[scenario]\nsplit = \"12+4x3\"\n".parse().expect("a recipe");
        let recipe = recipe.effective(&dataset()).expect("effective");
        assert_eq!(recipe.images.size, Some(32));
        assert_eq!(recipe.to_toml().parse::<Recipe>().expect("its own text"), recipe);
    }

    #[test]
    fn what_is_wrong_is_told_where_it_stands() {
        let says = |text: &str| text.parse::<Recipe>().expect_err(text).to_string();
        assert_eq!(
            says("seed = 1\n[train]\nepoch = 3\n"),
            "`recipe.toml`, line 3: there is no key `train.epoch`; did you mean `train.epochs`?"
        );
        assert_eq!(
            says("[model]\nextractor = { kind = \"vit\" }\n"),
            "`recipe.toml`, line 2: `model.extractor.kind` is `vit`; expected `resnet18`, `resnet50`, `mobilenet-v2`, `efficientnet-lite0`, `torchscript`, `small-cnn`, `mlp` or `identity`"
        );
        for (text, part) in [
            ("[data]\nkind = \"imagenet\"\n", "line 2: `data.kind` is `imagenet`; expected `synthetic`, `mnist`"),
            ("[data]\nkind = \"folder\"\n", "there is no key `path`"),
            ("[scenario]\nsplit = \"25+\"\n", "line 2"),
            ("[images]\ncrop = \"center\"\n", "the crop `center` cannot be read: expected `none`, `shift PIXELS`"),
            ("seed = \n", "line 1"),
        ] {
            assert!(says(text).contains(part), "{}", says(text));
        }
    }

    #[test]
    fn every_oracle_is_named() {
        let oracle = |text: &str| {
            let recipe: Recipe = format!("scenario.split = \"12+12\"\n{text}").parse().expect(text);
            recipe.oracle(24).unwrap_or_default()
        };
        assert_eq!(oracle(""), "");
        assert_eq!(oracle("ghosts.generator.kind = \"gmmn\""), "");
        assert!(oracle("ghosts.generator.kind = \"real\"").contains("actual future images"));
        let trained = oracle("ghosts = { oracle = \"training-features\", generator = { kind = \"gmmn\" } }");
        assert!(trained.contains("ghosts of the training"), "{trained}");
        // All 24 at once; with four more that are described and have no photos yet, the future is still to come.
        let at_once: Recipe = "scenario.split = \"24\"".parse().expect("a recipe");
        assert!(at_once.oracle(24).expect("an oracle").contains("full oracle"));
        assert_eq!(at_once.oracle(28), None);
    }
}
