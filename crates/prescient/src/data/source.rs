//! Which dataset, and where it lies.

use crate::data::{
    Apy, ApySettings, Augmentation, Awa2, Awa2Settings, Crop, Dataset, Features, FeaturesSettings, Folder,
    FolderSettings, Mnist, MnistSettings, Pack, PackSettings, Synthetic, SyntheticSettings,
};
use crate::error::DataError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Source {
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

impl Default for Source {
    fn default() -> Self {
        Source::Synthetic(SyntheticSettings::default())
    }
}

/// A dataset as `prescient list` shows it.
#[derive(Clone, Copy, Debug)]
pub struct DatasetInfo {
    /// Its `kind` in a recipe.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What it needs on disk.
    pub needs: &'static str,
}

/// Every dataset.
pub const DATASETS: &[DatasetInfo] = &[
    DatasetInfo {
        name: "synthetic",
        about: "small colour images whose classes are combinations of attributes, drawn from a seed",
        needs: "nothing",
    },
    DatasetInfo {
        name: "mnist",
        about: "handwritten digits, 28×28, without attributes",
        needs: "the four idx files, gzipped or not, in the folder `path`, else in `mnist` below the data root",
    },
    DatasetInfo {
        name: "folder",
        about: "your own photos, with a table of attributes",
        needs: "`train/CLASS/*` and `test/CLASS/*` in the folder or .zip `path`; `attributes = [\"a.csv\", …]`",
    },
    DatasetInfo {
        name: "awa2",
        about: "Animals with Attributes 2: 37,322 photos of 50 animals, 85 attributes",
        needs: "the unpacked archive, or the .zip itself, as `path`, else as `awa2` below the data root",
    },
    DatasetInfo {
        name: "apy",
        about: "Attribute Pascal and Yahoo: 15,339 objects of 32 classes cut out of photos, 64 attributes",
        needs: "the annotation files, VOC2008 and `ayahoo_test_images` in the folder `path`, else in `apy` below the data \
                root",
    },
    DatasetInfo {
        name: "pack",
        about: "photos of any of these, decoded and resized once: loads at memory speed",
        needs: "the file `path`, which `prescient data pack` writes",
    },
    DatasetInfo {
        name: "features",
        about: "features that were computed elsewhere, a row a sample, instead of images: protocols in minutes",
        needs: "`train.npy`, `test.npy`, `train.txt` and `test.txt` in the folder `path`, or xlsa17's `res101.mat` and \
                `att_splits.mat`; or a `.safetensors`",
    },
];

/// Where data lies unless a recipe says otherwise: `PRESCIENT_DATA`, else the folder `data`, else `../shared/data`.
pub fn root() -> PathBuf {
    match std::env::var_os("PRESCIENT_DATA") {
        Some(root) => root.into(),
        None if Path::new("data").is_dir() => "data".into(),
        None if Path::new("../shared/data").is_dir() => "../shared/data".into(),
        None => "data".into(),
    }
}

/// A path as it stands, if it is there; else below the data root.
pub fn resolve(path: &Path) -> PathBuf {
    if path.is_absolute() || path.exists() { path.to_owned() } else { root().join(path) }
}

impl Source {
    /// Opens the dataset.
    pub fn open(&self) -> Result<Arc<dyn Dataset>, DataError> {
        Ok(match self {
            Source::Synthetic(settings) => Arc::new(Synthetic::new(settings)),
            Source::Mnist(settings) => {
                Arc::new(Mnist::open(&resolve(settings.path.as_deref().unwrap_or(Path::new("mnist"))))?)
            }
            Source::Folder(settings) => Arc::new(Folder::open(&resolve(&settings.path), settings)?),
            Source::Pack(settings) => Arc::new(Pack::open(&resolve(&settings.path))?),
            Source::Features(settings) => Arc::new(Features::open(&resolve(&settings.path), settings)?),
            Source::Awa2(settings) => {
                Arc::new(Awa2::open(&resolve(settings.path.as_deref().unwrap_or(Path::new("awa2"))), settings)?)
            }
            Source::Apy(settings) => {
                Arc::new(Apy::open(&resolve(settings.path.as_deref().unwrap_or(Path::new("apy"))), settings)?)
            }
        })
    }

    /// What is done to its training images unless a recipe says otherwise: photos are cropped and mirrored as in the
    /// paper, digits and drawings are not; of numbers nothing could be.
    pub fn augmentation(&self) -> Augmentation {
        match self {
            Source::Synthetic(_) | Source::Mnist(_) | Source::Features(_) => Augmentation::default(),
            Source::Folder(_) | Source::Awa2(_) | Source::Apy(_) | Source::Pack(_) => {
                Augmentation { crop: Crop::Resized { area: 0.08 }, flip: true }
            }
        }
    }

    /// Its name in [`DATASETS`].
    pub fn name(&self) -> &'static str {
        match self {
            Source::Synthetic(_) => "synthetic",
            Source::Mnist(_) => "mnist",
            Source::Folder(_) => "folder",
            Source::Awa2(_) => "awa2",
            Source::Apy(_) => "apy",
            Source::Pack(_) => "pack",
            Source::Features(_) => "features",
        }
    }
}
