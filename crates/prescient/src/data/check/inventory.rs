//! What a check goes through: every image of a dataset, and what is wrong before one is opened.

use crate::catalogue::{self, AttributeSource, Scale};
use crate::class::ClassId;
use crate::data::check::{Finding, Kind};
use crate::data::datasets::apy::{self, Annotations, Object};
use crate::data::datasets::photos::{Classes, Survey, fault};
use crate::data::datasets::shares::SPLIT_SEED;
use crate::data::datasets::{awa2, folder};
use crate::data::{Dataset, Features, FeaturesSettings, Files, Image, Mnist, Sample, Subset};
use crate::error::DataError;
use std::collections::BTreeMap;
use std::path::Path;

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
    Dataset(Box<dyn Dataset>),
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
        matches!(self, Pictures::Dataset(dataset) if dataset.channels() == Image::NUMBERS)
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
                let image = Image::decode(&bytes, 3, &files.path(&item.name))?;
                Ok((bytes, image))
            }
        }
    }
}

/// Photos in folders by class.
pub(crate) fn of_folder(path: &Path, sources: &[AttributeSource], exclude: &[String]) -> Result<Inventory, DataError> {
    let files = folder::files(path)?;
    let survey = folder::survey(&files, exclude);
    let mut findings = Vec::new();
    let mut classes: Vec<String> = survey.train.keys().chain(survey.test.keys()).cloned().collect();
    classes.sort();
    classes.dedup();
    for source in sources {
        match catalogue::read(source) {
            Ok(table) => findings.extend(unmatched(&files, &classes, source, table.names())),
            Err(error) => findings.push(Finding::fault(Kind::ClassInformation, &error)),
        }
    }
    if let Ok(Some(catalogue)) = catalogue::joined(sources, Scale::None) {
        let warnings = catalogue::warnings(&catalogue);
        findings.extend(warnings.iter().map(|warning| Finding::notice(Kind::ClassInformation, warning.to_string())));
    }
    Ok(Inventory { can_exclude: true, ..from_survey(files, survey, classes, findings) })
}

/// A finding for each class that only images, or only attributes, have.
fn unmatched(files: &Files, classes: &[String], source: &AttributeSource, named: &[String]) -> Vec<Finding> {
    let table = source.path.display();
    let hint = "names must agree to the letter: rename the folder or the row, or add what is missing";
    let without = classes.iter().filter(|class| !named.contains(class)).map(|class| {
        fault(files, &format!("train/{class}"), &format!("a row for the class in `{table}`"), "none", hint)
    });
    let beyond = named.iter().filter(|name| !classes.contains(name)).map(|name| DataError::Malformed {
        path: source.path.clone(),
        line: None,
        expected: "rows for the classes of the images alone".to_owned(),
        found: format!("`{name}`"),
        hint: hint.to_owned(),
    });
    without.chain(beyond).map(|error| Finding::fault(Kind::ClassInformation, &error)).collect()
}

/// AwA2.
pub(crate) fn of_awa2(path: &Path) -> Result<Inventory, DataError> {
    let files = awa2::files(path)?;
    let (classes, faults) = awa2::classes(&files);
    let mut findings: Vec<Finding> = faults.iter().map(|error| Finding::fault(Kind::ClassInformation, error)).collect();
    let published: Vec<String> = awa2::SIZES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let classes = if classes.is_empty() { published } else { classes };
    let survey = awa2::survey(&files, &classes, SPLIT_SEED);
    let mut inventory = from_survey(files, survey, classes, Vec::new());
    for (class, expected) in awa2::SIZES {
        let count = inventory.counts.iter().find(|(name, _)| name == class);
        let found: usize = count.map_or(0, |(_, sides)| sides.iter().sum());
        if found != expected {
            let Pictures::Files(files) = &inventory.pictures else { continue };
            let hint = "some photos may not have been unpacked, or others added: unpack the archive once more";
            let error =
                fault(files, &format!("JPEGImages/{class}"), &format!("{expected} images"), &found.to_string(), hint);
            findings.push(Finding::fault(Kind::Count, &error));
        }
    }
    inventory.findings.splice(0..0, findings);
    Ok(inventory)
}

fn from_survey(files: Files, survey: Survey, classes: Vec<String>, mut findings: Vec<Finding>) -> Inventory {
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
    Inventory { pictures: Pictures::Files(files), items, counts, findings, can_exclude: false }
}

/// aP&Y: an item is a photo, a count is of objects.
pub(crate) fn of_apy(path: &Path) -> Result<Inventory, DataError> {
    let files = Files::open(path)?;
    let annotations = Annotations::read(&files)?;
    let mut findings = Vec::new();
    for ((name, _, expected), found) in apy::SOURCES.into_iter().zip(annotations.counts) {
        if found != expected {
            let error = fault(&files, name, &format!("{expected} objects"), &found.to_string(), "fetch the file again");
            findings.push(Finding::fault(Kind::Count, &error));
        }
    }
    findings.extend(apy::missing(&files, &annotations).iter().map(|error| Finding::fault(Kind::Layout, error)));
    let (train, test) = apy::sides(&annotations, SPLIT_SEED);
    let mut counts: Vec<(String, [usize; 2])> = annotations.classes.iter().map(|name| (name.clone(), [0; 2])).collect();
    let mut photos: BTreeMap<&str, Item> = BTreeMap::new();
    for (subset, side, objects) in [(Subset::Train, 0, train), (Subset::Test, 1, test)] {
        for object in objects {
            counts[object.class].1[side] += 1;
            let name = object.photo.clone();
            let empty = || Item { subset, classes: Vec::new(), name, sample: None, objects: Vec::new() };
            let item = photos.entry(&object.photo).or_insert_with(empty);
            item.classes.push(annotations.classes[object.class].clone());
            item.objects.push(object.clone());
        }
    }
    let items = photos.into_values().filter(|item| files.has(&item.name)).collect();
    Ok(Inventory { pictures: Pictures::Files(files), items, counts, findings, can_exclude: false })
}

/// MNIST, or another set in the same files.
pub(crate) fn of_mnist(path: &Path) -> Result<Inventory, Vec<DataError>> {
    let dataset = Mnist::open(path).map_err(|_| Mnist::faults(path))?;
    let mut findings = Vec::new();
    let mut counts: Vec<(String, [usize; 2])> =
        dataset.catalogue().names().iter().map(|name| (name.clone(), [0; 2])).collect();
    let mut items = Vec::new();
    for (subset, side, name, expected) in
        [(Subset::Train, 0, "train-images-idx3-ubyte", 60_000), (Subset::Test, 1, "t10k-images-idx3-ubyte", 10_000)]
    {
        let samples = dataset.samples(subset);
        if samples.len() != expected {
            let error = DataError::Malformed {
                path: path.join(name),
                line: None,
                expected: format!("{expected} images"),
                found: samples.len().to_string(),
                hint: "it may be a part of MNIST, or another set: `prescient data get mnist` fetches the whole"
                    .to_owned(),
            };
            findings.push(Finding::fault(Kind::Count, &error));
        }
        for sample in samples {
            let ClassId(class) = sample.class;
            counts[usize::from(class)].1[side] += 1;
            let (name, classes) = (dataset.name(sample), vec![class.to_string()]);
            items.push(Item { subset, classes, name, sample: Some(*sample), objects: Vec::new() });
        }
    }
    let pictures = Pictures::Dataset(Box::new(dataset));
    Ok(Inventory { pictures, items, counts, findings, can_exclude: false })
}

/// Features that were computed elsewhere: an item is a row.
pub(crate) fn of_features(path: &Path, sources: &[AttributeSource]) -> Result<Inventory, DataError> {
    let settings = FeaturesSettings { attributes: sources.to_vec(), ..FeaturesSettings::new(path) };
    let (dataset, faults) = Features::survey(path, &settings)?;
    let mut findings: Vec<Finding> = faults.iter().map(|error| Finding::fault(Kind::Image, error)).collect();
    let warnings = match dataset.catalogue().attribute_names() {
        [] => Vec::new(),
        _ => catalogue::warnings(dataset.catalogue()),
    };
    findings.extend(warnings.iter().map(|warning| Finding::notice(Kind::ClassInformation, warning.to_string())));
    let names = dataset.catalogue().names().to_vec();
    let mut counts: Vec<(String, [usize; 2])> = names.iter().map(|name| (name.clone(), [0; 2])).collect();
    let mut items = Vec::new();
    for (side, subset) in [Subset::Train, Subset::Test].into_iter().enumerate() {
        for sample in dataset.samples(subset) {
            counts[sample.class.index()].1[side] += 1;
            let (name, classes) = (dataset.name(sample), vec![names[sample.class.index()].clone()]);
            items.push(Item { subset, classes, name, sample: Some(*sample), objects: Vec::new() });
        }
    }
    let pictures = Pictures::Dataset(Box::new(dataset));
    Ok(Inventory { pictures, items, counts, findings, can_exclude: false })
}
