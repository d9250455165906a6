//! Animals with Attributes 2 (Xian et al.): 37,322 photos of 50 animals, and 85 attributes of each animal.
//!
//! ```text
//! Animals_with_Attributes2/
//!   classes.txt  predicates.txt  predicate-matrix-binary.txt  predicate-matrix-continuous.txt
//!   JPEGImages/antelope/antelope_10001.jpg …
//! ```
//!
//! It comes without a split of its own images: each class is dealt out four to one, by a seed (errata 10).

mod check;
mod matrix;
mod published;

pub use matrix::Matrix;
pub(crate) use matrix::from_matrix_file;
pub(crate) use published::SIZES;

use crate::catalogue::{Catalogue, Scale};
use crate::class::ClassId;
use crate::data::check::Inventory;
use crate::data::datasets::photos::{Photos, Survey, as_the_photos, fault, images_of_class};
use crate::data::datasets::shares::{SPLIT_SEED, four_fifths};
use crate::data::formats::files::Files;
use crate::data::{Dataset, DatasetInfo, DatasetKind, DatasetOptions, Normalization, resolve_or};
use crate::error::DataError;
use crate::scenario::{Order, zero_shot_order};
use crate::seeds::Seeds;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LAYOUT: &str = "AwA2's photos are expected as `JPEGImages/CLASS/CLASS_NNNNN.jpg`, a folder for each line of \
                      `classes.txt`; `prescient data get awa2` says where they come from";

/// Where AwA2 is, and how it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Awa2Settings {
    /// The unpacked archive, its folder `Animals_with_Attributes2`, or the `.zip` itself; `awa2` below the data root, if
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Which matrix of attributes.
    pub attributes: Matrix,
    /// How the attributes are scaled.
    pub scale: Scale,
}

impl Default for Awa2Settings {
    fn default() -> Self {
        Self { path: None, attributes: Matrix::Continuous, scale: Scale::UnitL2 }
    }
}

impl DatasetKind for Awa2Settings {
    const INFO: DatasetInfo = DatasetInfo {
        name: "awa2",
        about: "Animals with Attributes 2: 37,322 photos of 50 animals, 85 attributes",
        needs: "the unpacked archive, or the .zip itself, as `path`, else as `awa2` below the data root",
        photos: true,
        in_memory: false,
    };

    fn with(options: DatasetOptions) -> Self {
        let usual = Self::default();
        Self { path: options.path, scale: options.scale.unwrap_or(usual.scale), ..usual }
    }

    fn open(&self) -> Result<Arc<dyn Dataset>, DataError> {
        Ok(Arc::new(Awa2::open(&resolve_or(self.path.as_deref(), "awa2"), self)?))
    }

    fn inventory(&self) -> Result<Inventory, Vec<DataError>> {
        check::inventory(&resolve_or(self.path.as_deref(), "awa2")).map_err(|error| vec![error])
    }
}

/// Animals with Attributes 2.
pub struct Awa2 {
    photos: Photos,
    /// In the standard order.
    catalogue: Catalogue,
    proposed: Vec<ClassId>,
}

impl Awa2 {
    /// Finds all photos and reads the class information; no photo is opened.
    pub fn open(path: &Path, settings: &Awa2Settings) -> Result<Self, DataError> {
        let files = files(path)?;
        let listed = settings.scale.scaled(&matrix::catalogue(&files, settings.attributes)?);
        let catalogue = listed.arranged(&standard(&files, listed.names())?);
        let proposed = catalogue.ids(&zero_shot_order(listed.names(), &published::PROPOSED));
        let (train, test) = survey(&files, listed.names(), SPLIT_SEED).sides()?;
        Ok(Self { photos: Photos::new(files, &catalogue, train, test), catalogue, proposed })
    }
}

/// The folder or archive in which `classes.txt` lies.
pub(crate) fn files(path: &Path) -> Result<Files, DataError> {
    const TOP: &str = "Animals_with_Attributes2/";
    let files = Files::open(path)?;
    Ok(if !files.has("classes.txt") && files.has(TOP) { files.inside(TOP) } else { files })
}

/// The names of the classes as `classes.txt` lists them, and whatever is wrong with the class information.
pub(crate) fn classes(files: &Files) -> (Vec<String>, Vec<DataError>) {
    let mut faults = Vec::new();
    let mut names = Vec::new();
    for matrix in [Matrix::Continuous, Matrix::Binary] {
        match matrix::catalogue(files, matrix) {
            Ok(catalogue) => names = catalogue.names().to_vec(),
            Err(fault) => faults.push(fault),
        }
    }
    (names, faults)
}

/// Deals the photos of `classes` out to both sides, and finds whatever is wrong with the layout.
pub(crate) fn survey(files: &Files, classes: &[String], seed: u64) -> Survey {
    let mut survey = Survey::default();
    let faults = &mut survey.faults;
    let folders = files.entries("JPEGImages/").unwrap_or_else(|error| {
        faults.push(error);
        Vec::new()
    });
    for folder in &folders {
        let class = folder["JPEGImages/".len()..].trim_end_matches('/');
        if !folder.ends_with('/') {
            faults.push(fault(files, folder, "a folder for each class here", "a file", LAYOUT));
        } else if !classes.iter().any(|name| name == class) {
            faults.push(fault(files, folder, "a class of `classes.txt`", &format!("`{class}`"), LAYOUT));
        }
    }
    for class in classes.iter().filter(|_| !folders.is_empty()) {
        let folder = format!("JPEGImages/{class}/");
        if !folders.contains(&folder) {
            let expected = format!("a folder `{class}`, as in `classes.txt`");
            faults.push(fault(files, "JPEGImages", &expected, "none", LAYOUT));
            continue;
        }
        let images = images_of_class(files, &folder, LAYOUT, faults);
        let named_so =
            |name: &String| name[folder.len()..].strip_prefix(class).is_some_and(|rest| rest.starts_with('_'));
        if let Some(other) = images.iter().find(|name| !named_so(name)) {
            // A photo in the wrong folder would be learned as the wrong animal.
            faults.push(fault(files, other, &format!("a name such as `{class}_10001.jpg`"), "another", LAYOUT));
        }
        if images.len() < 2 {
            let found = images.len().to_string();
            faults.push(fault(files, folder.trim_end_matches('/'), "at least 2 images of the class", &found, LAYOUT));
        }
        let mut stream = Seeds::new(seed).child("split", 0).stream(class, 0);
        let (train, test) = four_fifths(images, &mut stream);
        survey.train.insert(class.clone(), train);
        survey.test.insert(class.clone(), test);
    }
    survey
}

/// The standard order: the training classes, then the test classes, of the standard split. The archive's own two files
/// decide where they are there.
fn standard(files: &Files, listed: &[String]) -> Result<Vec<String>, DataError> {
    let (train, test) = ("trainclasses.txt", "testclasses.txt");
    if !files.has(train) || !files.has(test) {
        return Ok(zero_shot_order(listed, &published::STANDARD));
    }
    let text = [files.text(train)?, files.text(test)?].join("\n");
    let order: Vec<String> = text.lines().map(str::trim).filter(|name| !name.is_empty()).map(String::from).collect();
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    if sorted(&order) != sorted(listed) {
        let hint = format!("`{train}` and `{test}` together name each class of `classes.txt` once: fetch them again");
        return Err(fault(files, test, "the classes that are left", "others", &hint));
    }
    Ok(order)
}

impl Dataset for Awa2 {
    as_the_photos!();

    /// The authors'.
    fn normalization(&self) -> Normalization {
        Normalization { mean: [0.466, 0.459, 0.397], std: [0.211, 0.206, 0.203] }
    }

    fn size(&self) -> u32 {
        224
    }

    fn resize(&self) -> u32 {
        256
    }

    fn order(&self, order: &Order) -> Option<Vec<ClassId>> {
        match order {
            Order::Standard => Some(self.catalogue.ids(self.catalogue.names())),
            Order::Proposed => Some(self.proposed.clone()),
            Order::Listed | Order::Shuffled { .. } | Order::File { .. } => None,
        }
    }
}
