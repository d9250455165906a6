//! Attribute Pascal and Yahoo (Farhadi et al.): 15,339 objects of 32 classes in 6,577 photos, and 64 attributes of each object.
//!
//! ```text
//! attribute_data/   apascal_train.txt  apascal_test.txt  ayahoo_test.txt  class_names.txt  attribute_names.txt
//! VOCdevkit/VOC2008/JPEGImages/2008_000008.jpg …
//! ayahoo_test_images/donkey_1.jpg …
//! ```
//!
//! An image is an object, cut out of its photo by its box. A class's attributes are the average over its objects on the
//! training side.

mod annotations;
mod check;
mod sides;

pub(crate) use annotations::{Annotations, Object, SOURCES};

use crate::catalogue::{Catalogue, Scale};
use crate::class::ClassId;
use crate::data::check::Inventory;
use crate::data::datasets::photos::fault;
use crate::data::datasets::shares::SPLIT_SEED;
use crate::data::formats::files::Files;
use crate::data::{
    Channels, Dataset, DatasetInfo, DatasetKind, DatasetOptions, Image, Normalization, Sample, Subset, resolve_or,
};
use crate::error::DataError;
use crate::scenario::{Order, zero_shot_order};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LAYOUT: &str = "aP&Y is expected as its annotation files, `VOCdevkit/VOC2008/JPEGImages` and `ayahoo_test_images` in \
                      one folder; `prescient data get apy` says where they come from";

/// The test classes of the split that Xian et al. proposed.
const PROPOSED: [&str; 12] = [
    "tvmonitor",
    "goat",
    "motorbike",
    "cow",
    "jetski",
    "train",
    "sheep",
    "statue",
    "horse",
    "person",
    "pottedplant",
    "donkey",
];

/// Where aP&Y is, and how it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApySettings {
    /// The folder with annotations and photos, or a `.zip` of it; `apy` below the data root, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// How the attributes are scaled.
    pub scale: Scale,
}

impl Default for ApySettings {
    fn default() -> Self {
        Self { path: None, scale: Scale::UnitL2 }
    }
}

impl DatasetKind for ApySettings {
    const INFO: DatasetInfo = DatasetInfo {
        name: "apy",
        about: "Attribute Pascal and Yahoo: 15,339 objects of 32 classes cut out of photos, 64 attributes",
        needs: "the annotation files, VOC2008 and `ayahoo_test_images` in the folder `path`, else in `apy` below the data \
                root",
        photos: true,
        in_memory: false,
    };

    fn with(options: DatasetOptions) -> Self {
        Self { path: options.path, scale: options.scale.unwrap_or(Self::default().scale) }
    }

    fn open(&self) -> Result<Arc<dyn Dataset>, DataError> {
        Ok(Arc::new(Apy::open(&resolve_or(self.path.as_deref(), "apy"), self)?))
    }

    fn inventory(&self) -> Result<Inventory, Vec<DataError>> {
        check::inventory(&resolve_or(self.path.as_deref(), "apy")).map_err(|error| vec![error])
    }
}

/// Attribute Pascal and Yahoo.
pub struct Apy {
    files: Files,
    catalogue: Catalogue,
    train: Side,
    test: Side,
}

/// The objects of one side: class by class, each in the order of their photos and boxes.
struct Side {
    samples: Vec<Sample>,
    objects: Vec<Object>,
    /// The photo of each object, counted through the side.
    photos: Vec<u64>,
}

impl Apy {
    /// Reads the annotations and finds all photos; none is opened.
    pub fn open(path: &Path, settings: &ApySettings) -> Result<Self, DataError> {
        let files = Files::open(path)?;
        let annotations = Annotations::read(&files)?;
        if let Some(fault) = missing(&files, &annotations).into_iter().next() {
            return Err(fault);
        }
        let (train, test) = sides(&annotations, SPLIT_SEED);
        for (side, objects) in [("training", &train), ("test", &test)] {
            let there: BTreeSet<usize> = objects.iter().map(|object| object.class).collect();
            if let Some(absent) = (0..annotations.classes.len()).find(|class| !there.contains(class)) {
                let expected = format!("{side} objects of `{}`", annotations.classes[absent]);
                return Err(fault(&files, "", &expected, "none", LAYOUT));
            }
        }
        let catalogue = settings.scale.scaled(&annotations.averages(train.iter().copied()));
        let (train, test) = (Side::new(Subset::Train, train), Side::new(Subset::Test, test));
        Ok(Self { files, catalogue, train, test })
    }

    fn object(&self, sample: &Sample) -> &Object {
        &self.side(sample.subset).objects[sample.index as usize]
    }

    fn side(&self, subset: Subset) -> &Side {
        match subset {
            Subset::Train => &self.train,
            Subset::Test => &self.test,
        }
    }
}

/// The class information of the annotation files in a folder, averaged over all objects: who takes it from here has
/// photos and sides of his own.
pub(crate) fn from_annotations(path: &Path) -> Result<Catalogue, DataError> {
    let annotations = Annotations::read(&Files::open(path)?)?;
    Ok(annotations.averages(annotations.objects.iter()))
}

/// Each photo that is annotated and not there.
pub(crate) fn missing(files: &Files, annotations: &Annotations) -> Vec<DataError> {
    let photos: BTreeSet<&str> = annotations.objects.iter().map(|object| object.photo.as_str()).collect();
    let absent = photos.into_iter().filter(|photo| !files.has(photo));
    absent.map(|photo| fault(files, photo, "a photo, as annotated", "none", LAYOUT)).collect()
}

/// The objects of both sides, no photo on both.
pub(crate) fn sides(annotations: &Annotations, seed: u64) -> (Vec<&Object>, Vec<&Object>) {
    let learned = sides::learned(annotations, seed);
    annotations.objects.iter().partition(|object| learned.contains(&object.photo))
}

impl Side {
    fn new(subset: Subset, mut objects: Vec<&Object>) -> Self {
        objects.sort_by_key(|object| (object.class, &object.photo, object.bounds));
        let samples = objects.iter().zip(0..).map(|(object, index)| {
            let class = ClassId(object.class as u32);
            Sample { subset, index, class }
        });
        let names: BTreeSet<&str> = objects.iter().map(|object| object.photo.as_str()).collect();
        let numbers: BTreeMap<&str, u64> = names.into_iter().zip(0..).collect();
        let photos = objects.iter().map(|object| numbers[object.photo.as_str()]).collect();
        Self { samples: samples.collect(), photos, objects: objects.into_iter().cloned().collect() }
    }
}

impl Dataset for Apy {
    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn samples(&self, subset: Subset) -> &[Sample] {
        &self.side(subset).samples
    }

    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        let Object { photo, bounds, .. } = self.object(sample);
        let whole = Image::decode(&self.files.read(photo)?, self.channels(), &self.files.path(photo))?;
        bounds.cut(&whole).ok_or_else(|| outside(&self.files, self.object(sample), &whole))
    }

    /// The photo and the box.
    fn name(&self, sample: &Sample) -> String {
        let Object { photo, bounds, .. } = self.object(sample);
        format!("{photo}:{},{},{},{}", bounds.left, bounds.top, bounds.right, bounds.bottom)
    }

    fn channels(&self) -> Channels {
        Channels::Rgb
    }

    /// The authors'.
    fn normalization(&self) -> Normalization {
        Normalization { mean: [0.3074, 0.2576, 0.2052], std: [0.2272, 0.2147, 0.2105] }
    }

    fn size(&self) -> u32 {
        224
    }

    fn resize(&self) -> u32 {
        256
    }

    /// Objects of one photo belong together.
    fn group(&self, sample: &Sample) -> u64 {
        self.side(sample.subset).photos[sample.index as usize]
    }

    fn order(&self, order: &Order) -> Option<Vec<ClassId>> {
        let names = self.catalogue.names();
        match order {
            Order::Standard => Some(self.catalogue.ids(names)),
            Order::Proposed => Some(self.catalogue.ids(&zero_shot_order(names, &PROPOSED))),
            Order::Listed | Order::Shuffled { .. } | Order::File { .. } => None,
        }
    }
}

/// A box that has nothing of its photo.
pub(crate) fn outside(files: &Files, object: &Object, photo: &Image) -> DataError {
    let bounds = object.bounds;
    let expected =
        format!("a photo with the box {} {} {} {} in it", bounds.left, bounds.top, bounds.right, bounds.bottom);
    let found = format!("one of {} × {} pixels", photo.width, photo.height);
    fault(
        files,
        &object.photo,
        &expected,
        &found,
        "it may be another photo of the same name, or a reduced one: fetch it again",
    )
}
