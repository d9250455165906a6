//! What a check goes through: every image of a dataset, and what is wrong before one is opened.

use crate::catalogue::{self, Catalogue};
use crate::data::check::{Finding, Kind};
use crate::data::datasets::apy::Object;
use crate::data::datasets::photos::{Classes, Survey};
use crate::data::{Channels, Dataset, Files, Image, Sample, Subset};
use crate::error::DataError;
use std::sync::Arc;

/// One image to check.
pub(crate) struct Item {
    pub(crate) subset: Subset,
    /// What it shows; several things, for a photo of aP&Y.
    pub(crate) classes: Vec<String>,
    /// Its file, or what comes closest.
    pub(crate) name: String,
    pub(crate) sample: Option<Sample>,
    /// What must lie inside it.
    pub(crate) objects: Vec<Object>,
}

/// Where images come from.
pub(crate) enum Pictures {
    Files(Files),
    Dataset(Arc<dyn Dataset>),
}

/// All that is to be checked.
pub(crate) struct Inventory {
    pub(crate) pictures: Pictures,
    pub(crate) items: Vec<Item>,
    /// Images, or objects, of each class on both sides.
    pub(crate) counts: Vec<(String, [usize; 2])>,
    pub(crate) findings: Vec<Finding>,
    /// Whether a recipe can leave an item out by its name.
    pub(crate) can_exclude: bool,
}

impl Pictures {
    /// Whether they are rows of numbers, and no images.
    pub(crate) fn are_rows(&self) -> bool {
        matches!(self, Pictures::Dataset(dataset) if dataset.channels() == Channels::Features)
    }

    /// What to call an item.
    pub(crate) fn path(&self, item: &Item) -> String {
        match self {
            Pictures::Files(files) => files.path(&item.name).display().to_string(),
            Pictures::Dataset(_) => item.name.clone(),
        }
    }

    /// The bytes of an item's file, where it has one of its own, and the image.
    pub(crate) fn open(&self, item: &Item) -> Result<(Vec<u8>, Image), DataError> {
        match (self, &item.sample) {
            (Pictures::Dataset(dataset), Some(sample)) => Ok((Vec::new(), dataset.image(sample)?)),
            (Pictures::Dataset(_), None) => unreachable!("an item of a dataset has its sample"),
            (Pictures::Files(files), _) => {
                let bytes = files.read(&item.name)?;
                let image = Image::decode(&bytes, Channels::Rgb, &files.path(&item.name))?;
                Ok((bytes, image))
            }
        }
    }
}

impl Inventory {
    /// Every sample of a dataset that is open.
    pub(crate) fn of_dataset(dataset: Arc<dyn Dataset>) -> Self {
        let names = dataset.catalogue().names();
        let mut counts: Vec<(String, [usize; 2])> = names.iter().map(|name| (name.clone(), [0; 2])).collect();
        let mut items = Vec::new();
        for (side, subset) in [Subset::Train, Subset::Test].into_iter().enumerate() {
            for sample in dataset.samples(subset) {
                counts[sample.class.index()].1[side] += 1;
                let (name, classes) = (dataset.name(sample), vec![names[sample.class.index()].clone()]);
                items.push(Item { subset, classes, name, sample: Some(*sample), objects: Vec::new() });
            }
        }
        let findings = Vec::new();
        Self { pictures: Pictures::Dataset(dataset), items, counts, findings, can_exclude: false }
    }

    /// What to exclude so that these are not used; nothing where a recipe cannot.
    pub(crate) fn excluding<'a>(&self, items: impl IntoIterator<Item = &'a Item>) -> Vec<String> {
        let names = items.into_iter().map(|item| item.name.clone());
        names.filter(|_| self.can_exclude).collect()
    }

    /// The files that a survey has found, with the counts of `classes`.
    pub(crate) fn of_survey(files: Files, survey: Survey, classes: Vec<String>, mut findings: Vec<Finding>) -> Self {
        let Survey { train, test, faults } = survey;
        findings.splice(0..0, faults.iter().map(|error| Finding::fault(Kind::Layout, error)));
        let count = |side: &Classes, class: &str| side.get(class).map_or(0, Vec::len);
        let counts = classes.iter().map(|class| (class.clone(), [count(&train, class), count(&test, class)])).collect();
        let side = |side: Classes, subset: Subset| {
            side.into_iter().flat_map(move |(class, names)| {
                names.into_iter().map(move |name| Item {
                    subset,
                    classes: vec![class.clone()],
                    name,
                    sample: None,
                    objects: Vec::new(),
                })
            })
        };
        let items = side(train, Subset::Train).chain(side(test, Subset::Test)).collect();
        Self { pictures: Pictures::Files(files), items, counts, findings, can_exclude: false }
    }
}

/// What is worth a look about class information, where there is any.
pub(crate) fn warnings(catalogue: &Catalogue) -> impl Iterator<Item = Finding> {
    let warnings = if catalogue.attribute_names().is_empty() { Vec::new() } else { catalogue::warnings(catalogue) };
    warnings.into_iter().map(|warning| {
        let kind = if warning.is_of_meaning() { Kind::Column } else { Kind::ClassInformation };
        Finding::notice(kind, warning.to_string())
    })
}
