//! Which dataset: the one list of all there are.
//!
//! A dataset is a module of [`datasets`](crate::data::datasets) whose settings are a [`DatasetKind`], and a line in
//! [`DATASETS`] below. Recipes, `prescient list` and the verbs of `prescient data` go by that list.

use crate::catalogue::{AttributeSource, Scale};
use crate::data::check::Inventory;
use crate::data::{
    ApySettings, Augmentation, Awa2Settings, Crop, Dataset, FeaturesSettings, FolderSettings, MnistSettings,
    PackSettings, SyntheticSettings,
};
use crate::error::DataError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A dataset as `prescient list` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatasetInfo {
    /// Its `kind` in a recipe.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What it needs on disk.
    pub needs: &'static str,
    /// Whether its images are photos, of which random parts are learned from unless a recipe says otherwise, mirrored
    /// or not. Digits and drawings would lose their meaning.
    pub photos: bool,
    /// Whether all of it lies in memory once it is open, so that nothing is gained by caching its images.
    pub in_memory: bool,
}

/// The settings of a dataset, as the table `[data]` of a recipe has them.
pub(crate) trait DatasetKind: Sized {
    /// What it is.
    const INFO: DatasetInfo;

    /// The settings that a command line gives; what it does not say has its default.
    fn with(options: DatasetOptions) -> Self;

    /// Opens the dataset.
    fn open(&self) -> Result<Arc<dyn Dataset>, DataError>;

    /// What `prescient data check` goes through, and what is wrong before an image is opened.
    fn inventory(&self) -> Result<Inventory, Vec<DataError>> {
        Ok(Inventory::of_dataset(self.open().map_err(|error| vec![error])?))
    }
}

/// What a command line can say of a dataset. Each takes what it has a use for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatasetOptions {
    /// Where it lies.
    pub path: Option<PathBuf>,
    /// Where attributes come from.
    pub attributes: Vec<AttributeSource>,
    /// How the attributes of each source are scaled, unless the dataset's own way is meant.
    pub scale: Option<Scale>,
    /// Images that are not used.
    pub exclude: Vec<String>,
    /// How many training images of a class are wanted, where they are made to order.
    pub per_class: Option<usize>,
}

/// Declares [`Source`] and [`DATASETS`].
macro_rules! datasets {
    ($($(#[$about:meta])* $name:ident($settings:ty),)+) => {
        /// Which dataset.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Source { $($(#[$about])* $name($settings),)+ }

        /// Every dataset.
        pub const DATASETS: &[DatasetInfo] = &[$(<$settings as DatasetKind>::INFO),+];

        impl Source {
            /// The dataset that is called `name`, as far as `options` say more of it; none where there is no such dataset.
            pub fn new(name: &str, options: DatasetOptions) -> Option<Self> {
                match name {
                    $(name if name == <$settings as DatasetKind>::INFO.name => {
                        Some(Self::$name(<$settings as DatasetKind>::with(options)))
                    })+
                    _ => None,
                }
            }

            /// What it is.
            pub fn info(&self) -> DatasetInfo {
                match self { $(Self::$name(_) => <$settings as DatasetKind>::INFO,)+ }
            }

            /// Opens the dataset.
            pub fn open(&self) -> Result<Arc<dyn Dataset>, DataError> {
                match self { $(Self::$name(settings) => settings.open(),)+ }
            }

            pub(crate) fn inventory(&self) -> Result<Inventory, Vec<DataError>> {
                match self { $(Self::$name(settings) => settings.inventory(),)+ }
            }
        }
    };
}

// A line for each.
datasets! {
    /// Drawn by our own code.
    Synthetic(SyntheticSettings),
    /// Handwritten digits.
    Mnist(MnistSettings),
    /// Photos in folders and a table of attributes.
    Folder(FolderSettings),
    /// Animals with Attributes 2.
    Awa2(Awa2Settings),
    /// Attribute Pascal and Yahoo.
    Apy(ApySettings),
    /// Any of these, decoded and resized once.
    Pack(PackSettings),
    /// Features that were computed elsewhere.
    Features(FeaturesSettings),
}

/// The names of all datasets.
pub const DATASET_NAMES: [&str; DATASETS.len()] = {
    let mut names = [""; DATASETS.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = DATASETS[place].name;
        place += 1;
    }
    names
};

impl Default for Source {
    fn default() -> Self {
        Source::Synthetic(SyntheticSettings::default())
    }
}

impl Source {
    /// Its name in [`DATASETS`].
    pub fn name(&self) -> &'static str {
        self.info().name
    }

    /// What is done to its training images unless a recipe says otherwise: photos are cropped and mirrored as in the
    /// paper.
    pub fn augmentation(&self) -> Augmentation {
        match self.info().photos {
            true => Augmentation { crop: Crop::Resized { area: 0.08 }, flip: true },
            false => Augmentation::default(),
        }
    }
}

/// Where data lies unless a recipe says otherwise: `PRESCIENT_DATA`, else the folder `data`, else `../shared/data`.
pub fn root() -> PathBuf {
    match std::env::var_os("PRESCIENT_DATA") {
        Some(root) => root.into(),
        None if Path::new("data").is_dir() => "data".into(),
        None if Path::new("../shared/data").is_dir() => "../shared/data".into(),
        None => "data".into(),
    }
}

/// A path as it stands, if it is there; else below the data root. One that is in neither place stays as it was written: errors
/// name it so.
pub fn resolve(path: &Path) -> PathBuf {
    let below = root().join(path);
    if path.is_absolute() || path.exists() || !below.exists() { path.to_owned() } else { below }
}

/// The same, or the folder `own` below the data root where no path is given.
pub(crate) fn resolve_or(path: Option<&Path>, own: &str) -> PathBuf {
    path.map_or_else(|| if Path::new(own).exists() { own.into() } else { root().join(own) }, resolve)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One name in recipes, in the list and on the command line; and each has a line that says what it is.
    #[test]
    fn a_dataset_has_one_name() {
        for info in DATASETS {
            let source = Source::new(info.name, DatasetOptions::default()).expect("it is in the list");
            assert_eq!(source.info(), *info);
            let table = toml::Table::try_from(&source).expect("settings are plain data");
            assert_eq!(table["kind"].as_str(), Some(info.name));
            assert!(!info.about.is_empty() && !info.needs.is_empty(), "{info:?}");
        }
        assert_eq!(Source::new("imagenet", DatasetOptions::default()), None);
        assert_eq!(DATASET_NAMES.len(), DATASETS.len());
    }

    /// What a command line says reaches the settings, and what a dataset has no use for is not asked for.
    #[test]
    fn options_become_settings() {
        let options =
            DatasetOptions { path: Some("photos".into()), exclude: vec!["a".to_owned()], ..Default::default() };
        let expected = FolderSettings { exclude: vec!["a".to_owned()], ..FolderSettings::new("photos") };
        assert_eq!(Source::new("folder", options.clone()), Some(Source::Folder(expected)));
        let expected = MnistSettings { path: Some("photos".into()) };
        assert_eq!(Source::new("mnist", options), Some(Source::Mnist(expected)));
    }

    /// What was never written is not shown; a dataset's own place is, for nobody wrote it.
    #[test]
    fn a_path_that_is_nowhere_stays_as_it_was_written() {
        assert_eq!(resolve(Path::new("no/such/photos")), Path::new("no/such/photos"));
        assert_eq!(resolve_or(None, "no-such-set"), root().join("no-such-set"));
    }

    /// Every module of a dataset is in the list: each has settings, and each kind of settings its line.
    #[test]
    fn every_module_is_listed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/data/datasets");
        let kinds =
            |path: &Path| std::fs::read_to_string(path).unwrap_or_default().matches("impl DatasetKind for").count();
        let modules = std::fs::read_dir(folder).expect("the datasets").map(|entry| entry.expect("an entry").path());
        let listed: usize =
            modules.map(|path| if path.is_dir() { kinds(&path.join("mod.rs")) } else { kinds(&path) }).sum();
        assert_eq!(listed, DATASETS.len());
    }
}
