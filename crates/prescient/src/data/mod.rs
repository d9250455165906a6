//! Images and what is known of their classes. Plain bytes: no tensors here.

mod cache;
pub mod check;
pub mod datasets;
pub mod formats;
mod image;
mod near_duplicates;
pub mod perceptual_hash;
pub mod sheet;
mod source;
pub(crate) mod thumbnail;
pub mod transforms;
mod untrusted;

pub use cache::{CachedDataset, memory_for_images};
pub use datasets::{
    Apy, ApySettings, Awa2, Awa2Settings, Features, FeaturesSettings, Fit, Folder, FolderSettings, Matrix, Mnist,
    MnistSettings, Pack, PackSettings, Synthetic, SyntheticSettings, framed, pack,
};
pub use formats::{Files, Idx, is_image, is_unread_photo};
pub use image::{Channels, Image};
pub use near_duplicates::{NearDuplicate, Seen, near_duplicates};
pub use source::{DATASET_NAMES, DATASETS, DatasetInfo, DatasetOptions, Source, resolve, root};
pub(crate) use source::{DatasetKind, resolve_or};
pub use thumbnail::Thumbnail;
pub use transforms::{Augmentation, Crop, CropParams, Normalization, View, Window};
pub use untrusted::{Refused, Untrusted};

use crate::catalogue::Catalogue;
use crate::class::ClassId;
use crate::error::DataError;
use crate::scenario::Order;
use serde::{Deserialize, Serialize};

/// The two sides of a dataset, which never share an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subset {
    /// To learn from.
    Train,
    /// To be asked about.
    Test,
}

/// One image of a dataset, not yet read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sample {
    /// Which side it is on.
    pub subset: Subset,
    /// Where it stands among the samples of its side.
    pub index: u32,
    /// What it shows.
    pub class: ClassId,
}

/// Images with their classes.
pub trait Dataset: Send + Sync {
    /// What is known of every class.
    fn catalogue(&self) -> &Catalogue;

    /// Every sample of one side; `samples(side)[i].index == i`.
    fn samples(&self, subset: Subset) -> &[Sample];

    /// Reads one image.
    fn image(&self, sample: &Sample) -> Result<Image, DataError>;

    /// What people call the image: its path, or what comes closest.
    fn name(&self, sample: &Sample) -> String;

    /// What the pixels of its images are made of.
    fn channels(&self) -> Channels;

    /// Mean and deviation of its pixels, as its literature uses them.
    fn normalization(&self) -> Normalization;

    /// The side of the square that a model takes of its images, in pixels, unless a recipe says otherwise; the length of
    /// its rows of features.
    fn size(&self) -> u32;

    /// The shorter side to which its test images are scaled before a square of [`size`](Self::size) is cut out of the middle.
    fn resize(&self) -> u32 {
        self.size()
    }

    /// Which samples of its side belong together, by a number that they share: objects of one photo must not be learned
    /// from and tested on. Each is alone unless the dataset says otherwise.
    fn group(&self, sample: &Sample) -> u64 {
        u64::from(sample.index)
    }

    /// Which file of several it lies in, from 0: processes that split the work each read files of their own.
    fn shelf(&self, _sample: &Sample) -> u32 {
        0
    }

    /// The classes in an order that its literature has a name for, if it knows that order.
    fn order(&self, _order: &Order) -> Option<Vec<ClassId>> {
        None
    }

    /// A hash of all that it holds, where names say too little and all of it is at hand anyway.
    fn digest(&self) -> Option<blake3::Hash> {
        None
    }
}

/// What a dataset around another one in its field `dataset` takes from it as it is.
macro_rules! as_the_dataset {
    () => {
        fn catalogue(&self) -> &$crate::catalogue::Catalogue {
            self.dataset.catalogue()
        }

        fn channels(&self) -> $crate::data::Channels {
            self.dataset.channels()
        }

        fn normalization(&self) -> $crate::data::Normalization {
            self.dataset.normalization()
        }

        fn size(&self) -> u32 {
            self.dataset.size()
        }

        fn resize(&self) -> u32 {
            self.dataset.resize()
        }

        fn order(&self, order: &$crate::scenario::Order) -> Option<Vec<$crate::class::ClassId>> {
            self.dataset.order(order)
        }

        fn digest(&self) -> Option<blake3::Hash> {
            self.dataset.digest()
        }
    };
    // The same where it has the other one's images under other numbers: `$origin` finds the other one's.
    ($origin:ident) => {
        $crate::data::as_the_dataset!();

        fn image(&self, sample: &$crate::data::Sample) -> Result<$crate::data::Image, $crate::error::DataError> {
            self.dataset.image(self.$origin(sample))
        }

        fn name(&self, sample: &$crate::data::Sample) -> String {
            self.dataset.name(self.$origin(sample))
        }

        fn group(&self, sample: &$crate::data::Sample) -> u64 {
            self.dataset.group(self.$origin(sample))
        }

        fn shelf(&self, sample: &$crate::data::Sample) -> u32 {
            self.dataset.shelf(self.$origin(sample))
        }
    };
}
pub(crate) use as_the_dataset;

/// A hash of what a dataset holds: classes, attributes, and every sample's name and class. It opens no image, so it is
/// quick enough to be taken at every start.
pub fn fingerprint(dataset: &dyn Dataset) -> String {
    let mut hasher = blake3::Hasher::new();
    let catalogue = dataset.catalogue();
    for name in catalogue.names().iter().chain(catalogue.attribute_names()) {
        hasher.update(name.as_bytes()).update(&[0]);
    }
    let numbers: Vec<_> = catalogue.blocks().iter().filter(|block| block.digest.is_none()).collect();
    for (_, row) in catalogue.rows() {
        for value in numbers.iter().flat_map(|block| &row[block.columns.clone()]) {
            hasher.update(&value.to_le_bytes());
        }
    }
    // What was computed from words is known by the words: another processor may round the numbers differently.
    for digest in catalogue.blocks().iter().filter_map(|block| block.digest.as_ref()) {
        hasher.update(digest.as_bytes());
    }
    for subset in [Subset::Train, Subset::Test] {
        for sample in dataset.samples(subset) {
            hasher.update(dataset.name(sample).as_bytes());
            // In two bytes where they fit: the fingerprints of early runs hold.
            match u16::try_from(sample.class.0) {
                Ok(class) => hasher.update(&class.to_le_bytes()),
                Err(_) => hasher.update(&sample.class.0.to_le_bytes()),
            };
        }
    }
    if let Some(digest) = dataset.digest() {
        hasher.update(digest.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// A hash of which images a dataset holds and of what each shows: the same whatever is known of the classes, and in whatever
/// order they come.
pub fn image_fingerprint(dataset: &dyn Dataset) -> String {
    let names = dataset.catalogue().names();
    let mut hasher = blake3::Hasher::new();
    for subset in [Subset::Train, Subset::Test] {
        let told = |sample: &Sample| format!("{}\0{}\0", names[sample.class.index()], dataset.name(sample));
        let mut samples: Vec<String> = dataset.samples(subset).iter().map(told).collect();
        samples.sort_unstable();
        hasher.update(samples.concat().as_bytes()).update(&[1]);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
