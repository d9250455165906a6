//! A recipe: everything that decides a run, as TOML. What is not written is the paper's value.

use crate::data::{Augmentation, Crop, Dataset, Image, Normalization, Source, View};
use crate::engine::Compute;
use crate::error::RecipeError;
use crate::extractor::ExtractorKind;
use crate::learner::{
    CalibrateSettings, CompleteSettings, FinetuneSettings, GhostSettings, LearnSettings, ModelSettings, TrainSettings,
};
use crate::loss::{DistillationKind, LossSettings, Pod};
use crate::memory::MemorySettings;
use crate::protocol::Sealed;
use crate::scenario::{Order, Split};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A recipe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// The one seed of the run.
    pub seed: u32,
    /// Which images.
    pub data: Source,
    /// How they are looked at.
    pub images: ImageSettings,
    /// Which classes arrive when.
    pub scenario: ScenarioSettings,
    /// What learns.
    pub model: ModelSettings,
    /// What is minimized.
    pub loss: LossSettings,
    /// The main training of each task.
    pub train: TrainSettings,
    /// The balanced fine-tune after it.
    pub finetune: FinetuneSettings,
    /// What is kept of the past.
    pub memory: MemorySettings,
    /// What is imagined of the future.
    pub ghosts: GhostSettings,
    /// The classifier for all classes.
    pub complete: CompleteSettings,
    /// What seen classes give way by.
    pub calibrate: CalibrateSettings,
    /// How it is computed: speed, not results.
    pub compute: Compute,
}

/// Which classes arrive when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScenarioSettings {
    /// How many classes each task brings. There is no default: it depends on the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// The share of each class's training images that is held out and answered in place of the test images: for choosing
    /// settings. None: the test images are answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validate: Option<f64>,
    /// In which order.
    pub order: Order,
}

/// How images are looked at. What is left out is the dataset's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImageSettings {
    /// The side of the square that the model sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// The shorter side to which test images are scaled before the middle is cut out; unless given, the size, or for the
    /// paper's photos 256/224 of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resize: Option<u32>,
    /// Which part of a training image is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crop: Option<Crop>,
    /// Whether training images are mirrored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flip: Option<bool>,
    /// Mean and deviation of the pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalization: Option<Normalization>,
}

impl Recipe {
    /// Reads a recipe's text; `path` is named in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Self, RecipeError> {
        toml::from_str(text).map_err(|error| RecipeError::Syntax {
            path: path.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })
    }

    /// The recipe as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a recipe is plain data")
    }

    /// The same with nothing left open: what the dataset decides is filled in, and every value makes sense.
    pub fn effective(mut self, dataset: &dyn Dataset) -> Result<Self, RecipeError> {
        let rows = dataset.channels() == Image::NUMBERS;
        self.check_input(rows)?;
        if rows {
            self.check()?;
            return Ok(self);
        }
        let Augmentation { crop, flip } = self.data.augmentation();
        let images = &mut self.images;
        let size = *images.size.get_or_insert(dataset.size());
        // In the dataset's own proportion: 256 to 224 for the paper's photos, 1 to 1 for most.
        let resize = u64::from(size) * u64::from(dataset.resize()) / u64::from(dataset.size().max(1));
        images.resize.get_or_insert(u32::try_from(resize).unwrap_or(u32::MAX));
        images.crop.get_or_insert(crop);
        images.flip.get_or_insert(flip);
        images.normalization.get_or_insert(dataset.normalization());
        self.check()?;
        Ok(self)
    }

    /// What must make sense before the data is opened: drawn images take memory.
    pub(super) fn check_data(&self) -> Result<(), RecipeError> {
        match &self.data {
            Source::Synthetic(drawn) => {
                let counts = [("data.train", drawn.train, 1, 10_000), ("data.test", drawn.test, 1, 10_000)];
                counts.into_iter().try_for_each(within)
            }
            Source::Mnist(_)
            | Source::Folder(_)
            | Source::Awa2(_)
            | Source::Apy(_)
            | Source::Pack(_)
            | Source::Features(_) => Ok(()),
        }
    }

    /// Whether the model can take what the dataset holds: rows of numbers, or images.
    fn check_input(&self, rows: bool) -> Result<(), RecipeError> {
        let wrong = |key: &str, found: &str, expected: &str| {
            let [key, found, expected] = [key, found, expected].map(str::to_owned);
            Err(RecipeError::Value { key, found, expected })
        };
        let (name, data) = (self.model.extractor.name(), self.data.name());
        match (rows, self.model.extractor.takes_rows()) {
            (true, false) => {
                let expected = format!("`mlp` or `identity`, for `{data}` has no images");
                return wrong("model.extractor.kind", &format!("`{name}`"), &expected);
            }
            (false, true) => {
                let expected = format!("`resnet18` or `small-cnn`, for `{data}` has images");
                return wrong("model.extractor.kind", &format!("`{name}`"), &expected);
            }
            _ => {}
        }
        if rows && self.images != ImageSettings::default() {
            let expected = "none of its keys: features are not cropped, mirrored, resized or normalized";
            return wrong("images", "given", expected);
        }
        match self.loss.distillation {
            DistillationKind::Pod(Pod { weight, .. }) if rows && weight != 0.0 => {
                let expected = "0, for features come without the maps that POD compares: `loss.distillation = { kind = \
                                \"pod\", weight = 0.0 }` keeps the part that compares features";
                wrong("loss.distillation.weight", &weight.to_string(), expected)
            }
            _ => Ok(()),
        }
    }

    fn check(&self) -> Result<(), RecipeError> {
        let wrong = |key: &str, found: String, expected: &str| {
            Err(RecipeError::Value { key: key.to_owned(), found, expected: expected.to_owned() })
        };
        let size = self.images.size.unwrap_or_default();
        let resize = self.images.resize.unwrap_or_default();
        let numbers = [
            ("train.lr", self.train.lr),
            ("train.incremental_lr", self.train.incremental_lr.unwrap_or_default()),
            ("train.weight_decay", self.train.weight_decay),
            ("finetune.lr", self.finetune.lr),
            ("loss.classification.margin", self.loss.classification.margin),
        ];
        if let Some((key, number)) = numbers.iter().find(|(_, number)| !(number.is_finite() && *number >= 0.0)) {
            return wrong(key, number.to_string(), "a number that is not negative");
        }
        if let Some(clip) = self.train.grad_clip_norm.filter(|clip| !(clip.is_finite() && *clip > 0.0)) {
            return wrong(
                "train.grad_clip_norm",
                clip.to_string(),
                "a number above 0, or nothing: then gradients are as long as they are",
            );
        }
        if self.scenario.split.is_none() {
            return wrong(
                "scenario.split",
                "missing".to_owned(),
                "how many classes each task brings, such as \"25+5x5\"",
            );
        }
        if self.train.epochs == 0 {
            return wrong("train.epochs", "0".to_owned(), "at least 1");
        }
        if let Some(share) = self.scenario.validate
            && !(share > 0.0 && share < 1.0)
        {
            return wrong(
                "scenario.validate",
                share.to_string(),
                "a share of the training images, above 0 and below 1",
            );
        }
        if !(0.0..1.0).contains(&self.calibrate.max_seen_drop) {
            return wrong(
                "calibrate.max_seen_drop",
                self.calibrate.max_seen_drop.to_string(),
                "a share, at least 0 and below 1",
            );
        }
        let rows = self.model.extractor.takes_rows();
        if !rows && !(8..=1024).contains(&size) {
            return wrong("images.size", size.to_string(), "8 to 1024 pixels");
        }
        if resize < size {
            return wrong("images.resize", resize.to_string(), &format!("at least `images.size`, {size}"));
        }
        let counts = [
            ("complete.batch_size", self.complete.batch_size, 1, 1 << 20),
            ("ghosts.per_class", self.ghosts.per_class, 1, 1 << 20),
            ("memory.repeat", self.memory.repeat, 0, 1000),
            ("train.batch_size", self.train.batch_size, 2, 1 << 20),
            ("train.restarts", self.train.restarts, 1, 100),
        ];
        let backbone = match self.model.extractor {
            ExtractorKind::ResNet18(net) => vec![("model.extractor.width", net.width as usize, 1, 1024)],
            ExtractorKind::SmallCnn(net) => vec![
                ("model.extractor.width", net.width as usize, 1, 1024),
                ("model.extractor.features", net.features as usize, 1, 65_536),
            ],
            ExtractorKind::Mlp(net) => vec![
                ("model.extractor.layers", net.layers as usize, 0, 16),
                ("model.extractor.width", net.width as usize, 1, 65_536),
                ("model.extractor.features", net.features as usize, 1, 65_536),
            ],
            ExtractorKind::Identity(_) => Vec::new(),
        };
        counts.into_iter().chain(backbone).try_for_each(within)?;
        if let Some(Crop::Shift { pixels }) = self.images.crop
            && pixels > size
        {
            return wrong("images.crop.pixels", pixels.to_string(), &format!("at most `images.size`, {size}"));
        }
        if let Some(Crop::Resized { area }) = self.images.crop
            && !(area > 0.0 && area <= 1.0)
        {
            return wrong("images.crop.area", area.to_string(), "a share of the image, above 0 and at most 1");
        }
        Ok(())
    }

    /// How the recipe breaks the rules of the setting, if it does.
    pub fn oracle(&self) -> Option<String> {
        let tasks = self.scenario.split.as_ref().map_or(0, |split| split.sizes().len());
        let broken = if tasks == 1 {
            "full oracle: all classes arrive in one task"
        } else if self.ghosts.oracle == crate::learner::Oracle::Partial {
            "partial oracle: it also trains on actual images of future classes"
        } else if self.ghosts.reads_the_future() {
            "ghosts are features of actual future images"
        } else {
            return None;
        };
        Some(broken.to_owned())
    }

    /// How the images of a dataset are looked at; the rows of `dataset`, where it has no images.
    ///
    /// # Panics
    /// If the recipe is not [`Recipe::effective`].
    fn view(&self, dataset: &Sealed) -> View {
        if dataset.channels() == Image::NUMBERS {
            return View::of_rows(dataset.size());
        }
        let images = &self.images;
        let (size, resize) = images.size.zip(images.resize).expect("an effective recipe");
        let (crop, flip) = images.crop.zip(images.flip).expect("an effective recipe");
        View { size, resize, augmentation: Augmentation { crop, flip } }
    }

    /// How the learner is to learn from `dataset`.
    ///
    /// # Panics
    /// If the recipe is not [`Recipe::effective`].
    pub fn learn_settings(&self, dataset: &Sealed) -> LearnSettings {
        LearnSettings {
            model: self.model,
            loss: self.loss.clone(),
            train: self.train,
            finetune: self.finetune,
            memory: self.memory,
            ghosts: self.ghosts.clone(),
            complete: self.complete,
            calibrate: self.calibrate,
            view: self.view(dataset),
            normalization: self.images.normalization.unwrap_or_else(|| dataset.normalization()),
            compute: self.compute,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Whether the value of a key lies in its range.
fn within((key, found, least, most): (&str, usize, usize, usize)) -> Result<(), RecipeError> {
    match (least..=most).contains(&found) {
        true => Ok(()),
        false => Err(RecipeError::Value {
            key: key.to_owned(),
            found: found.to_string(),
            expected: format!("{least} to {most}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Synthetic, SyntheticSettings};

    fn parse(text: &str) -> Result<Recipe, RecipeError> {
        Recipe::parse(text, Path::new("r.toml"))
    }

    fn dataset() -> Synthetic {
        Synthetic::new(&SyntheticSettings { train: 1, test: 1, ..Default::default() })
    }

    #[test]
    fn what_is_not_written_is_the_papers_value() {
        let recipe = parse("").expect("an empty recipe");
        assert_eq!((recipe.train.epochs, recipe.train.lr, recipe.train.weight_decay), (90, 0.1, 1e-4));
        assert_eq!((recipe.loss.classification.margin, recipe.memory.per_class), (0.6, 20));
    }

    #[test]
    fn an_effective_recipe_reads_back_as_itself() {
        let recipe =
            parse("[scenario]\nsplit = \"12+4x3\"\n").expect("a recipe").effective(&dataset()).expect("effective");
        assert_eq!(recipe.images.size, Some(32));
        assert_eq!(parse(&recipe.to_toml()).expect("its own text"), recipe);
    }

    #[test]
    fn unknown_keys_are_refused_where_they_stand() {
        let says = |text| parse(text).expect_err(text).to_string();
        assert!(says("[train]\nepoch = 3\n").contains("line 2"), "{}", says("[train]\nepoch = 3\n"));
        for text in ["colour = 1\n", "[train]\nepoch = 3\n", "[data]\nkind = \"synthetic\"\nsede = 3\n"] {
            assert!(says(text).contains("unknown field"), "{}", says(text));
        }
        assert!(says("[data]\nkind = \"imagenet\"\n").contains("unknown variant `imagenet`"));
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let says = |text: &str| {
            let text = format!("[scenario]\nsplit = \"24\"\n{text}");
            parse(&text).expect("readable").effective(&dataset()).expect_err("nonsense").to_string()
        };
        assert_eq!(says("[train]\nlr = -1.0\n"), "`train.lr` is -1; expected a number that is not negative");
        let clip = says("[train]\nclip = 0.0\n");
        assert_eq!(
            clip,
            "`train.grad_clip_norm` is 0; expected a number above 0, or nothing: then gradients are as long as they are"
        );
        assert_eq!(says("[train]\nbatch = 1\n"), "`train.batch` is 1; expected 2 to 1048576");
        assert_eq!(says("[memory]\nrepeat = 1001\n"), "`memory.repeat` is 1001; expected 0 to 1000");
        assert_eq!(says("[train]\ntries = 0\n"), "`train.restarts` is 0; expected 1 to 100");
        assert_eq!(
            says("[ghosts]\nfirst = true\ntrain = false\n"),
            "`ghosts.first` is true; expected `ghosts.train = true` beside it"
        );
        assert_eq!(says("[images]\nsize = 2\n"), "`images.size` is 2; expected 8 to 1024 pixels");
        let missing = Recipe::default().effective(&dataset()).expect_err("no split").to_string();
        assert!(missing.starts_with("`scenario.split` is missing"), "{missing}");
    }
}
