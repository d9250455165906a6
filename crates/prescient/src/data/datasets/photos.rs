//! Photos, one file each: what each shows, and on which side it is.

use crate::catalogue::Catalogue;
use crate::class::ClassId;
use crate::data::formats::files::{Files, is_image, is_unread_photo};
use crate::data::{Channels, Image, Sample, Subset};
use crate::error::{CONVERT, DataError};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The names of the images of each class.
pub(crate) type Classes = BTreeMap<String, Vec<String>>;

/// What lies where a dataset should, with all that is wrong with it: opening tells the first fault, a check tells all.
#[derive(Default)]
pub(crate) struct Survey {
    /// To learn from.
    pub(crate) train: Classes,
    /// To be asked about.
    pub(crate) test: Classes,
    /// In the order in which they were come across.
    pub(crate) faults: Vec<DataError>,
}

impl Survey {
    /// The images of both sides, or the first fault.
    pub(crate) fn sides(self) -> Result<(Classes, Classes), DataError> {
        match self.faults.into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok((self.train, self.test)),
        }
    }
}

/// The images in the folder of a class, in order; what should not be there goes to `faults`.
pub(crate) fn images_of_class(files: &Files, folder: &str, layout: &str, faults: &mut Vec<DataError>) -> Vec<String> {
    let entries = files.entries(folder).unwrap_or_else(|error| {
        faults.push(error);
        Vec::new()
    });
    let (images, others): (Vec<String>, Vec<String>) =
        entries.into_iter().partition(|name| !name.ends_with('/') && is_image(name));
    faults.extend(others.iter().map(|name| match name.ends_with('/') {
        true => fault(files, name, "images in the folder of a class", "a folder in it", layout),
        false if is_unread_photo(name) => {
            fault(files, name, "an image", "a photo in a format that is not read", CONVERT)
        }
        false => {
            let hint = "only jpg, jpeg, png, bmp, gif and webp are read: take other files away";
            fault(files, name, "an image", "a file of another kind", hint)
        }
    }));
    images
}

/// The shorter side of each photo whose header can be read, in pixels, with its name.
pub(crate) fn shorter_sides(files: &Files, names: &[String]) -> Vec<(String, u32)> {
    let side = |name: &String| files.dimensions(name).map(|(width, height)| (name.clone(), width.min(height)));
    names.par_iter().filter_map(side).collect()
}

/// A file or folder that is not as it should be.
pub(crate) fn fault(files: &Files, name: &str, expected: &str, found: &str, hint: &str) -> DataError {
    DataError::Malformed {
        path: files.path(name),
        line: None,
        expected: expected.to_owned(),
        found: found.to_owned(),
        hint: hint.to_owned(),
    }
}

/// What all datasets of photos in their field `photos`, with a `catalogue` beside it, have in common.
macro_rules! as_the_photos {
    () => {
        fn catalogue(&self) -> &$crate::catalogue::Catalogue {
            &self.catalogue
        }

        fn samples(&self, subset: $crate::data::Subset) -> &[$crate::data::Sample] {
            self.photos.samples(subset)
        }

        fn image(&self, sample: &$crate::data::Sample) -> Result<$crate::data::Image, $crate::error::DataError> {
            self.photos.image(sample)
        }

        fn name(&self, sample: &$crate::data::Sample) -> String {
            self.photos.name(sample).to_owned()
        }

        fn shelf(&self, sample: &$crate::data::Sample) -> u32 {
            self.photos.shelf(sample)
        }

        fn channels(&self) -> $crate::data::Channels {
            $crate::data::Channels::Rgb
        }
    };
}
pub(crate) use as_the_photos;

/// The photos of both sides.
pub(crate) struct Photos {
    files: Files,
    train: Side,
    test: Side,
}

/// The photos of one side: class by class, each in the order of their names.
struct Side {
    samples: Vec<Sample>,
    /// As in `train/cat/0001.jpg`.
    names: Vec<String>,
}

impl Photos {
    /// The photos of the classes of `catalogue`. A class is on both sides, or it is described and has no photo.
    pub(crate) fn new(files: Files, catalogue: &Catalogue, train: Classes, test: Classes) -> Self {
        let (train, test) = (Side::new(Subset::Train, train, catalogue), Side::new(Subset::Test, test, catalogue));
        Self { files, train, test }
    }

    fn side(&self, subset: Subset) -> &Side {
        match subset {
            Subset::Train => &self.train,
            Subset::Test => &self.test,
        }
    }

    /// Every sample of one side.
    pub(crate) fn samples(&self, subset: Subset) -> &[Sample] {
        &self.side(subset).samples
    }

    /// The file of a sample.
    pub(crate) fn name(&self, sample: &Sample) -> &str {
        &self.side(sample.subset).names[sample.index as usize]
    }

    /// Which shard it lies in.
    pub(crate) fn shelf(&self, sample: &Sample) -> u32 {
        self.files.shelf(self.name(sample))
    }

    /// The shorter side of each training photo.
    pub(crate) fn shorter_sides(&self) -> Vec<(String, u32)> {
        shorter_sides(&self.files, &self.train.names)
    }

    /// Reads one photo, in colour.
    pub(crate) fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        let name = self.name(sample);
        Image::decode(&self.files.read(name)?, Channels::Rgb, &self.files.path(name))
    }
}

impl Side {
    fn new(subset: Subset, mut classes: Classes, catalogue: &Catalogue) -> Self {
        let (mut samples, mut names) = (Vec::new(), Vec::new());
        for (index, class) in catalogue.names().iter().enumerate() {
            let mut files = classes.remove(class).unwrap_or_default();
            files.sort();
            for name in files {
                let place = u32::try_from(samples.len()).expect("fewer than 2³² images");
                samples.push(Sample { subset, index: place, class: ClassId(index as u32) });
                names.push(name);
            }
        }
        assert!(classes.is_empty(), "the sides have been compared with the catalogue");
        Self { samples, names }
    }
}
