//! Images of one's own: `CLASS/*`, or `train/CLASS/*` and `test/CLASS/*`, in a folder or a zip archive, and class information.

mod check;

use crate::catalogue::{AttributeSource, Catalogue, Scale, class_information};
use crate::class::spelled;
use crate::data::check::Inventory;
use crate::data::datasets::photos::{Classes, Photos, Survey, as_the_photos, fault, images_of_class};
use crate::data::formats::files::{Files, is_image};
use crate::data::{Dataset, DatasetInfo, DatasetKind, DatasetOptions, Normalization, Subset, resolve};
use crate::error::DataError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Larger images are reduced to this size unless a recipe says otherwise.
const LARGEST: u32 = 224;

const LAYOUT: &str = "images are expected as `train/CLASS/*.jpg` and `test/CLASS/*.jpg`, each class on both sides; or as \
                      `CLASS/*.jpg`, of which the last fifth is then tested on";
/// Where nobody divided the images of a class, one of so many is tested on.
const TESTED: usize = 5;

const EXCLUDE: &str = "`exclude` names images as they lie below the dataset's folder or archive, such as \
                         `train/cat/0001.jpg`; one that is gone need not be excluded any more";

/// Where the images and the attributes are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderSettings {
    /// A folder or a zip archive with `train/CLASS/*` and `test/CLASS/*`, or with `CLASS/*`.
    pub path: PathBuf,
    /// Where the attributes come from, joined by the name of the class. The first gives the order of the classes.
    #[serde(default)]
    pub attributes: Vec<AttributeSource>,
    /// How the attributes of each source are scaled.
    #[serde(default)]
    pub scale: Scale,
    /// Images that are left out, as in `train/cat/0001.jpg`: copies of a test image, or what shows something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

impl FolderSettings {
    /// Images alone: nothing is known of their classes, and none is left out.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), attributes: Vec::new(), scale: Scale::default(), exclude: Vec::new() }
    }
}

impl DatasetKind for FolderSettings {
    const INFO: DatasetInfo = DatasetInfo {
        name: "folder",
        about: "your own photos, with a table of attributes or descriptions",
        needs: "`CLASS/*`, or `train/CLASS/*` and `test/CLASS/*`, in the folder or .zip `path`; `attributes = [\"a.csv\", …]`",
        photos: true,
        in_memory: false,
    };

    fn with(options: DatasetOptions) -> Self {
        Self {
            path: options.path.unwrap_or_else(|| PathBuf::from(".")),
            attributes: options.attributes,
            scale: options.scale.unwrap_or_default(),
            exclude: options.exclude,
        }
    }

    fn open(&self) -> Result<Arc<dyn Dataset>, DataError> {
        Ok(Arc::new(Folder::open(&resolve(&self.path), self)?))
    }

    fn inventory(&self) -> Result<Inventory, Vec<DataError>> {
        check::inventory(&resolve(&self.path), self).map_err(|error| vec![error])
    }
}

/// Images in folders by class.
pub struct Folder {
    photos: Photos,
    catalogue: Catalogue,
    size: u32,
}

impl Folder {
    /// Finds all images and reads all attributes; of training images the headers are read, to know their size.
    pub fn open(path: &Path, settings: &FolderSettings) -> Result<Self, DataError> {
        let files = files(path)?;
        let (train, test) = survey(&files, &settings.exclude).sides()?;
        let classes = train.keys().cloned().collect();
        let catalogue = class_information(path, classes, &settings.attributes, settings.scale)?;

        let photos = Photos::new(files, &catalogue, train, test);
        let sizes = photos.shorter_sides();
        if sizes.is_empty() {
            // It says why.
            photos.image(&photos.samples(Subset::Train)[0])?;
        }
        let (median, smaller) = (typical(&sizes), outliers(&sizes));
        if let [(name, side), ..] = &smaller[..] {
            let count = smaller.len();
            tracing::warn!(
                "photos are at least {median} pixels on their shorter side, most of them; {count} are less than half of \
                 that, such as `{name}` with {side}"
            );
        }
        Ok(Self { photos, catalogue, size: median.min(LARGEST) })
    }
}

/// The median of the shorter sides: neither a thumbnail nor a poster among them decides for all. 1 where none can be told.
pub(crate) fn typical(sides: &[(String, u32)]) -> u32 {
    let mut sides: Vec<u32> = sides.iter().map(|(_, side)| *side).collect();
    sides.sort_unstable();
    sides.get(sides.len() / 2).copied().unwrap_or(1)
}

/// Photos that are less than half as large as is typical, and as the model sees them: little of them is left to learn from.
pub(crate) fn outliers(sides: &[(String, u32)]) -> Vec<&(String, u32)> {
    let least = typical(sides).min(LARGEST) / 2;
    sides.iter().filter(|(_, side)| *side < least).collect()
}

/// The folder or archive in which `train` and `test` lie. An archive often has all of it in one folder.
pub(crate) fn files(path: &Path) -> Result<Files, DataError> {
    let files = Files::open(path)?;
    let top = files.entries("")?;
    match &top[..] {
        [only] if only.ends_with('/') && !["train/", "test/"].contains(&only.as_str()) => Ok(files.inside(only)),
        _ => Ok(files),
    }
}

impl Dataset for Folder {
    as_the_photos!();

    /// ImageNet's.
    fn normalization(&self) -> Normalization {
        Normalization { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] }
    }

    /// The median of the shorter sides of all training images, at most 224.
    fn size(&self) -> u32 {
        self.size
    }
}

/// Finds the images of both sides without those left out, and whatever is wrong with the layout.
pub(crate) fn survey(files: &Files, exclude: &[String]) -> Survey {
    let mut faults = Vec::new();
    let undivided = undivided(files);
    let whole = undivided.is_some();
    let (mut train, mut test) = match undivided {
        Some(classes) => divided(files, &classes, &mut faults),
        None => (side(files, "train", &mut faults), side(files, "test", &mut faults)),
    };
    for name in exclude {
        let images = train.values_mut().chain(test.values_mut());
        let found: Vec<_> = images.filter(|images| images.contains(name)).collect();
        if found.is_empty() {
            faults.push(fault(files, name, "an image to exclude", "none", EXCLUDE));
        }
        found.into_iter().for_each(|images| images.retain(|image| image != name));
    }
    if faults.is_empty() && train.is_empty() {
        faults.push(fault(files, "train", "a folder for each class", "none", LAYOUT));
    }
    if train.len() > crate::class::MOST {
        faults.push(fault(files, "train", "at most 1,000,000 classes", &train.len().to_string(), LAYOUT));
    }
    for (classes, side, others, other_side) in [(&train, "train", &test, "test"), (&test, "test", &train, "train")] {
        for (class, images) in classes {
            if images.is_empty() {
                let folder = if whole { class.clone() } else { format!("{side}/{class}") };
                faults.push(fault(files, &folder, "images of the class", "none", LAYOUT));
            }
            if !others.contains_key(class) && files.has(&format!("{other_side}/")) {
                let expected = format!("a folder `{class}`, as in `{side}`");
                faults.push(fault(files, other_side, &expected, "none", LAYOUT));
            }
        }
    }
    Survey { train, test, faults }
}

/// The folders of classes, where there are neither `train` nor `test` and two folders or more have images.
pub(crate) fn undivided(files: &Files) -> Option<Vec<String>> {
    let has_images = |folder: &String| {
        let entries = if folder.ends_with('/') { files.entries(folder).unwrap_or_default() } else { Vec::new() };
        entries.iter().any(|name| is_image(name))
    };
    let folders: Vec<String> = files.entries("").ok()?.into_iter().filter(has_images).collect();
    (!files.has("train/") && !files.has("test/") && folders.len() > 1).then_some(folders)
}

/// The last fifth of the images of each class, by name, to be tested on. Not a fifth at random: photos of one scene have names
/// that follow each other, and should not be on both sides.
fn divided(files: &Files, folders: &[String], faults: &mut Vec<DataError>) -> (Classes, Classes) {
    let (mut train, mut test) = (Classes::new(), Classes::new());
    for folder in folders {
        let mut images = images_of_class(files, folder, LAYOUT, faults);
        images.sort();
        let class = spelled(folder.trim_end_matches('/'));
        if images.len() == 1 {
            faults.push(fault(files, &class, "two images of the class, one to test on", "one", LAYOUT));
        } else {
            let tested = images.split_off(images.len() - images.len().div_ceil(TESTED));
            test.entry(class.clone()).or_default().extend(tested);
        }
        train.entry(class).or_default().extend(images);
    }
    (train, test)
}

/// The images of each class of one side.
fn side(files: &Files, side: &str, faults: &mut Vec<DataError>) -> Classes {
    let below = format!("{side}/");
    if !files.has(&below) {
        faults.push(fault(files, "", &format!("a folder `{side}` in it"), "none", LAYOUT));
        return Classes::new();
    }
    let mut classes = Classes::new();
    let entries = files.entries(&below).unwrap_or_else(|error| {
        faults.push(error);
        Vec::new()
    });
    for entry in entries {
        match entry.strip_suffix('/') {
            Some(class) => {
                let images = images_of_class(files, &entry, LAYOUT, faults);
                classes.entry(spelled(&class[below.len()..])).or_default().extend(images);
            }
            None => faults.push(fault(files, &entry, "a folder for each class here", "a file", LAYOUT)),
        }
    }
    classes
}

#[cfg(test)]
mod tests;
