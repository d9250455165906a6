//! MNIST, or any other set of 28×28 grey images of ten classes in the same four files.

use crate::catalogue::Catalogue;
use crate::class::ClassId;
use crate::data::check::{Finding, Inventory, Kind};
use crate::data::formats::idx::{Idx, malformed};
use crate::data::{
    Channels, Dataset, DatasetInfo, DatasetKind, DatasetOptions, Image, Normalization, Sample, Subset, resolve_or,
};
use crate::disk;
use crate::error::DataError;
use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The side of an image, in pixels.
const SIDE: usize = 28;
/// The bytes of an image.
const BYTES: usize = SIDE * SIDE;
const CLASSES: u8 = 10;

/// Where MNIST is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MnistSettings {
    /// The folder with the four files; `mnist` below the data root, if left out.
    pub path: Option<PathBuf>,
}

impl MnistSettings {
    fn folder(&self) -> PathBuf {
        resolve_or(self.path.as_deref(), "mnist")
    }
}

impl DatasetKind for MnistSettings {
    const INFO: DatasetInfo = DatasetInfo {
        name: "mnist",
        about: "handwritten digits, 28×28, without attributes",
        needs: "the four idx files, gzipped or not, in the folder `path`, else in `mnist` below the data root",
        photos: false,
        in_memory: true,
    };

    fn with(options: DatasetOptions) -> Self {
        Self { path: options.path }
    }

    fn open(&self) -> Result<Arc<dyn Dataset>, DataError> {
        Ok(Arc::new(Mnist::open(&self.folder())?))
    }

    /// All images, against the numbers that were published.
    fn inventory(&self) -> Result<Inventory, Vec<DataError>> {
        let folder = self.folder();
        let dataset = Arc::new(Mnist::open(&folder).map_err(|_| Mnist::faults(&folder))?);
        let mut inventory = Inventory::of_dataset(dataset.clone());
        for (subset, name, expected) in
            [(Subset::Train, "train-images-idx3-ubyte", 60_000), (Subset::Test, "t10k-images-idx3-ubyte", 10_000)]
        {
            let found = dataset.samples(subset).len();
            if found != expected {
                let error = DataError::Malformed {
                    path: folder.join(name),
                    line: None,
                    expected: format!("{expected} images"),
                    found: found.to_string(),
                    hint: "it may be a part of MNIST, or another set: `prescient data get mnist` fetches the whole"
                        .to_owned(),
                };
                inventory.findings.push(Finding::fault(Kind::Count, &error));
            }
        }
        Ok(inventory)
    }
}

/// The digits, all in memory.
pub struct Mnist {
    catalogue: Catalogue,
    train: Side,
    test: Side,
}

struct Side {
    samples: Vec<Sample>,
    pixels: Bytes,
}

impl Mnist {
    /// Reads the four files, `train-images-idx3-ubyte` and so on, as they are or with `.gz`.
    pub fn open(folder: &Path) -> Result<Self, DataError> {
        Ok(Self {
            catalogue: Catalogue::bare((0..CLASSES).map(|digit| digit.to_string()).collect()),
            train: Side::read(folder, "train", Subset::Train)?,
            test: Side::read(folder, "t10k", Subset::Test)?,
        })
    }

    /// What is wrong with each of the four files; what is wrong between two of them is told if each is fine.
    pub(crate) fn faults(folder: &Path) -> Vec<DataError> {
        let files = [("train-images-idx3-ubyte", 2051, 3), ("train-labels-idx1-ubyte", 2049, 1)];
        let test_files = [("t10k-images-idx3-ubyte", 2051, 3), ("t10k-labels-idx1-ubyte", 2049, 1)];
        let of_file = files.into_iter().chain(test_files).filter_map(|(name, magic, dimensions)| {
            contents(folder, name).and_then(|(path, bytes)| Idx::parse(bytes, magic, dimensions, &path)).err()
        });
        let faults: Vec<DataError> = of_file.collect();
        if faults.is_empty() { Self::open(folder).err().into_iter().collect() } else { faults }
    }

    fn side(&self, subset: Subset) -> &Side {
        match subset {
            Subset::Train => &self.train,
            Subset::Test => &self.test,
        }
    }
}

impl Side {
    fn read(folder: &Path, prefix: &str, subset: Subset) -> Result<Self, DataError> {
        let (path, bytes) = contents(folder, &format!("{prefix}-images-idx3-ubyte"))?;
        let images = Idx::parse(bytes, 2051, 3, &path)?;
        if images.dimensions[1..] != [SIDE, SIDE] {
            let found = format!("{} × {}", images.dimensions[1], images.dimensions[2]);
            return Err(malformed(&path, format!("images of {SIDE} × {SIDE} pixels"), found));
        }
        let (path, bytes) = contents(folder, &format!("{prefix}-labels-idx1-ubyte"))?;
        let labels = Idx::parse(bytes, 2049, 1, &path)?;
        let (count, labelled) = (images.dimensions[0], labels.dimensions[0]);
        if count != labelled {
            let expected = format!("a label for each of {count} images");
            return Err(malformed(&path, expected, format!("{labelled} labels")));
        }
        if let Some(index) = labels.values.iter().position(|&label| label >= CLASSES) {
            let found = format!("{} as label {index}", labels.values[index]);
            return Err(malformed(&path, "labels from 0 to 9".to_owned(), found));
        }
        let samples = labels.values.iter().zip(0..).map(|(&label, index)| Sample {
            subset,
            index,
            class: ClassId(u32::from(label)),
        });
        Ok(Self { samples: samples.collect(), pixels: images.values.into() })
    }
}

/// The file `name`, or else `name.gz`, unpacked.
fn contents(folder: &Path, name: &str) -> Result<(PathBuf, Vec<u8>), DataError> {
    let plain = folder.join(name);
    match disk::read(&plain, disk::IMAGE) {
        Ok(bytes) => return Ok((plain, bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(DataError::io(&plain)(error)),
    }
    let packed = folder.join(format!("{name}.gz"));
    let (file, length) = disk::open(&packed).map_err(DataError::io(&packed))?;
    let most = disk::unpacked(length, disk::IMAGE);
    let mut bytes = Vec::new();
    match MultiGzDecoder::new(io::BufReader::new(file)).take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok((packed, bytes)),
        Err(error) => {
            Err(malformed(&packed, "a whole gzip file".to_owned(), format!("one that does not unpack: {error}")))
        }
    }
}

impl Dataset for Mnist {
    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn samples(&self, subset: Subset) -> &[Sample] {
        &self.side(subset).samples
    }

    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        let from = sample.index as usize * BYTES;
        let pixels = self.side(sample.subset).pixels.slice(from..from + BYTES);
        Ok(Image { width: SIDE as u32, height: SIDE as u32, channels: Channels::Grey, pixels })
    }

    fn name(&self, sample: &Sample) -> String {
        let side = match sample.subset {
            Subset::Train => "train",
            Subset::Test => "test",
        };
        format!("{side}/{:05}", sample.index)
    }

    fn channels(&self) -> Channels {
        Channels::Grey
    }

    fn normalization(&self) -> Normalization {
        Normalization { mean: [0.1307; 3], std: [0.3081; 3] }
    }

    fn size(&self) -> u32 {
        SIDE as u32
    }
}

#[cfg(test)]
mod tests;
