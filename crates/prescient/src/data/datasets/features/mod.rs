//! Features that were computed elsewhere: a matrix with a row for each sample, and the class of each row.
//!
//! Whole protocols run on them in minutes, without an image. A row is an image of one row whose pixels are numbers
//! (ADR 16), so that the seal, the ledger, the memory and the audit are those of images.

mod arrays;
mod named;
mod table;
mod tensors;
mod xlsa17;

use crate::catalogue::{AttributeSource, Catalogue, Scale, class_information};
use crate::class::ClassId;
use crate::data::check::{Finding, Inventory, Kind, warnings};
use crate::data::{
    Channels, Dataset, DatasetInfo, DatasetKind, DatasetOptions, Image, Normalization, Sample, Subset, resolve,
};
use crate::error::DataError;
use crate::scenario::Order;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::Table;

/// Where features, classes and attributes are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeaturesSettings {
    /// A folder with `train.npy`, `test.npy` and their classes, or with xlsa17's `res101.mat`; or a `.safetensors`.
    pub path: PathBuf,
    /// Where the attributes come from, joined by the name of the class. The first gives the order of the classes.
    #[serde(default)]
    pub attributes: Vec<AttributeSource>,
    /// How the attributes of each source are scaled.
    #[serde(default)]
    pub scale: Scale,
}

impl FeaturesSettings {
    /// Features alone: nothing is known of their classes but what comes with them.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), attributes: Vec::new(), scale: Scale::default() }
    }
}

impl DatasetKind for FeaturesSettings {
    const INFO: DatasetInfo = DatasetInfo {
        name: "features",
        about: "features that were computed elsewhere, a row a sample, instead of images: protocols in minutes",
        needs: "`train.npy`, `test.npy`, `train.txt` and `test.txt` in the folder `path`, or xlsa17's `res101.mat` and \
                `att_splits.mat`; or a `.safetensors`",
        photos: false,
        in_memory: true,
    };

    fn with(options: DatasetOptions) -> Self {
        let path = options.path.unwrap_or_else(|| PathBuf::from("."));
        Self { attributes: options.attributes, scale: options.scale.unwrap_or_default(), ..Self::new(path) }
    }

    fn open(&self) -> Result<Arc<dyn Dataset>, DataError> {
        Ok(Arc::new(Features::open(&resolve(&self.path), self)?))
    }

    /// An item is a row.
    fn inventory(&self) -> Result<Inventory, Vec<DataError>> {
        let (dataset, faults) = Features::survey(&resolve(&self.path), self).map_err(|error| vec![error])?;
        let mut findings: Vec<Finding> = faults.iter().map(|error| Finding::fault(Kind::Image, error)).collect();
        findings.extend(warnings(dataset.catalogue()));
        Ok(Inventory { findings, ..Inventory::of_dataset(Arc::new(dataset)) })
    }
}

/// What one of the formats gives: both sides, and what else it knows.
struct Found {
    train: Table,
    test: Table,
    /// The classes in the order in which the format lists them; none where rows name their classes themselves.
    classes: Option<Vec<String>>,
    /// Class information that comes along.
    attributes: Option<PathBuf>,
    /// Xian et al.'s order, where the format knows it.
    proposed: Option<Vec<String>>,
}

/// Rows of numbers with their classes.
pub struct Features {
    catalogue: Catalogue,
    train: Side,
    test: Side,
    width: usize,
    proposed: Option<Vec<ClassId>>,
    /// Of every number.
    digest: blake3::Hash,
}

struct Side {
    samples: Vec<Sample>,
    table: Table,
}

impl Features {
    /// Reads all of it once. Rows that lie in a file as they are used stay there.
    pub fn open(path: &Path, settings: &FeaturesSettings) -> Result<Self, DataError> {
        let (features, faults) = Self::survey(path, settings)?;
        match faults.into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(features),
        }
    }

    /// The same with all that is wrong with rows and classes, as far as it can be read at all.
    pub(crate) fn survey(path: &Path, settings: &FeaturesSettings) -> Result<(Self, Vec<DataError>), DataError> {
        let Found { train, test, classes, attributes, proposed } = found(path)?;
        if train.width() != test.width() {
            let expected = format!("rows of {} numbers, as in `{}`", train.width(), train.path().display());
            let hint = "both sides must come from one extractor";
            return Err(fault(test.path(), expected, format!("rows of {}", test.width()), hint));
        }
        let mut digest = blake3::Hasher::new();
        let mut faults = train.not_finite(&mut digest)?;
        faults.extend(test.not_finite(&mut digest)?);
        let digest = digest.finalize();
        let listed = match classes {
            Some(listed) => listed,
            None => named::list(train.classes_with(&test), path)?,
        };
        faults.extend(train.without(&listed));
        faults.extend(test.without(&listed));
        let sources = match attributes {
            Some(path) if settings.attributes.is_empty() => vec![AttributeSource::new(path)],
            _ => settings.attributes.clone(),
        };
        let catalogue = class_information(path, listed, &sources, settings.scale)?;
        let proposed = proposed.map(|names| names.iter().filter_map(|name| catalogue.find(name)).collect());
        let (width, side) = (train.width(), |subset, table| Side::new(subset, table, &catalogue));
        let (train, test) = (side(Subset::Train, train), side(Subset::Test, test));
        Ok((Self { catalogue, train, test, width, proposed, digest }, faults))
    }

    fn side(&self, subset: Subset) -> &Side {
        match subset {
            Subset::Train => &self.train,
            Subset::Test => &self.test,
        }
    }
}

/// Reads the format that the path says.
fn found(path: &Path) -> Result<Found, DataError> {
    let kind = std::fs::metadata(path).map_err(DataError::io(path))?;
    let (extension, in_it) = (path.extension().unwrap_or_default().to_ascii_lowercase(), |name| path.join(name));
    if kind.is_dir() && in_it("train.npy").is_file() {
        arrays::read(path)
    } else if kind.is_dir() && in_it("res101.mat").is_file() {
        xlsa17::read(path)
    } else if !kind.is_dir() && extension == "safetensors" {
        tensors::read(path)
    } else {
        let found = if kind.is_dir() { "a folder with neither" } else { "a file of another kind" };
        let expected = "a folder with `train.npy` or `res101.mat`, or a `.safetensors`";
        Err(fault(path, expected.to_owned(), found.to_owned(), LAYOUT))
    }
}

const LAYOUT: &str = "features are expected as `train.npy` and `test.npy`, a row a sample, with `train.txt` and `test.txt`, \
                      the class of each row a line; docs/guide/data.md has the other ways";

fn fault(path: &Path, expected: String, found: String, hint: &str) -> DataError {
    DataError::Malformed { path: path.to_owned(), line: None, expected, found, hint: hint.to_owned() }
}

impl Side {
    /// Rows keep their order.
    fn new(subset: Subset, table: Table, catalogue: &Catalogue) -> Self {
        let classes: BTreeMap<&str, ClassId> =
            catalogue.names().iter().zip(0..).map(|(name, class)| (name.as_str(), ClassId(class))).collect();
        let sample = |row: usize| Sample { subset, index: row as u32, class: classes[table.class(row)] };
        let samples = (0..table.rows()).map(sample).collect();
        Self { samples, table }
    }
}

impl Dataset for Features {
    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn samples(&self, subset: Subset) -> &[Sample] {
        &self.side(subset).samples
    }

    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        Ok(Image::of_features(&self.side(sample.subset).table.row(sample.index as usize)?))
    }

    /// As in `train[12]`, NumPy's way; or the name of the photo a row was computed from.
    fn name(&self, sample: &Sample) -> String {
        self.side(sample.subset).table.name(sample.index as usize)
    }

    fn channels(&self) -> Channels {
        Channels::Features
    }

    /// Numbers are taken as they are.
    fn normalization(&self) -> Normalization {
        Normalization { mean: [0.0; 3], std: [1.0; 3] }
    }

    /// The length of a row.
    fn size(&self) -> u32 {
        self.width as u32
    }

    fn order(&self, order: &Order) -> Option<Vec<ClassId>> {
        match order {
            Order::Proposed => self.proposed.clone(),
            _ => None,
        }
    }

    /// Of every number: the same names with features of another extractor are other data.
    fn digest(&self) -> Option<blake3::Hash> {
        Some(self.digest)
    }
}

#[cfg(test)]
mod tests;
