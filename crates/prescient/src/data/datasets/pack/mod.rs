//! A pack: the images of a dataset decoded, resized and stored side by side in one file that is mapped into memory.
//!
//! Decoding a JPEG takes longer than anything else that happens to an image on its way to the model. A pack does it once.
//! Names, classes, sides and attributes are those of the dataset, so a run on the pack is a run on the dataset.

mod header;
mod write;

pub use header::framed;
pub use write::{Fit, pack};

use crate::catalogue::Catalogue;
use crate::class::ClassId;
use crate::data::{
    Channels, Dataset, DatasetInfo, DatasetKind, DatasetOptions, Image, Normalization, Sample, Subset, resolve,
};
use crate::error::DataError;
use crate::scenario::Order;
use bytes::Bytes;
use header::{Entry, Header};
use mapped::Mapped;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the pack is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackSettings {
    /// The file.
    pub path: PathBuf,
}

impl DatasetKind for PackSettings {
    const INFO: DatasetInfo = DatasetInfo {
        name: "pack",
        about: "photos of any of these, decoded and resized once: loads at memory speed",
        needs: "the file `path`, which `prescient data pack` writes",
        photos: true,
        in_memory: true,
    };

    fn with(options: DatasetOptions) -> Self {
        Self { path: options.path.unwrap_or_default() }
    }

    fn open(&self) -> Result<Arc<dyn Dataset>, DataError> {
        Ok(Arc::new(Pack::open(&resolve(&self.path))?))
    }
}

/// A pack, open.
pub struct Pack {
    path: PathBuf,
    bytes: Bytes,
    header: Header,
    catalogue: Catalogue,
    train: Side,
    test: Side,
}

/// One side.
struct Side {
    samples: Vec<Sample>,
    /// Whether the pixels of each image have been compared with their check: once is enough.
    checked: Vec<AtomicBool>,
}

impl Side {
    fn new(subset: Subset, entries: &[Entry]) -> Self {
        let samples = entries.iter().zip(0..).map(|(entry, index)| Sample { subset, index, class: entry.class });
        Self { samples: samples.collect(), checked: entries.iter().map(|_| AtomicBool::new(false)).collect() }
    }
}

impl Pack {
    /// Maps a pack and reads all but its pixels.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        Self::read(Bytes::from_owner(Mapped::open(path).map_err(DataError::io(path))?), path)
    }

    /// The same for bytes that are in memory; `path` is named in errors.
    pub fn from_bytes(bytes: Vec<u8>, path: &Path) -> Result<Self, DataError> {
        Self::read(bytes.into(), path)
    }

    fn read(bytes: Bytes, path: &Path) -> Result<Self, DataError> {
        let (header, catalogue) = header::read(&bytes, path)?;
        let (train, test) = (Side::new(Subset::Train, &header.train), Side::new(Subset::Test, &header.test));
        Ok(Self { path: path.to_owned(), bytes, header, catalogue, train, test })
    }

    fn side(&self, subset: Subset) -> (&Side, &[Entry]) {
        match subset {
            Subset::Train => (&self.train, &self.header.train),
            Subset::Test => (&self.test, &self.header.test),
        }
    }
}

impl Dataset for Pack {
    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn samples(&self, subset: Subset) -> &[Sample] {
        &self.side(subset).0.samples
    }

    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        let (side, entries) = self.side(sample.subset);
        let (entry, checked) = (&entries[sample.index as usize], &side.checked[sample.index as usize]);
        let (channels, at) = (self.header.channels, entry.at as usize);
        let bytes = entry.bytes(channels).expect("the header was checked");
        let pixels = self.bytes.slice(at..at + bytes);
        if !checked.load(Ordering::Relaxed) {
            if header::check(&pixels) != entry.check {
                return Err(DataError::Malformed {
                    path: self.path.join(&entry.name),
                    line: None,
                    expected: "the pixels that were packed".to_owned(),
                    found: "others".to_owned(),
                    hint: "the pack is damaged: make it again with `prescient data pack`".to_owned(),
                });
            }
            checked.store(true, Ordering::Relaxed);
        }
        Ok(Image { width: entry.width, height: entry.height, channels, pixels })
    }

    fn name(&self, sample: &Sample) -> String {
        self.side(sample.subset).1[sample.index as usize].name.clone()
    }

    fn channels(&self) -> Channels {
        self.header.channels
    }

    fn normalization(&self) -> Normalization {
        self.header.normalization
    }

    fn size(&self) -> u32 {
        self.header.size
    }

    fn resize(&self) -> u32 {
        self.header.resize
    }

    /// As in the dataset that was packed.
    fn group(&self, sample: &Sample) -> u64 {
        self.side(sample.subset).1[sample.index as usize].group
    }

    fn order(&self, order: &Order) -> Option<Vec<ClassId>> {
        match order {
            Order::Standard => self.header.standard.clone(),
            Order::Proposed => self.header.proposed.clone(),
            Order::Listed | Order::Shuffled { .. } | Order::File { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Synthetic, SyntheticSettings, fingerprint};

    fn drawn() -> Synthetic {
        Synthetic::new(&SyntheticSettings { train: 2, test: 1 })
    }

    fn packed(fit: Fit) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("drawn.pack");
        pack(&drawn(), &path, fit, &|_, _| {}).expect("a pack");
        (folder, path)
    }

    #[test]
    fn a_pack_is_the_dataset_it_was_made_from() {
        let (_folder, path) = packed(Fit { size: 32, whole: false });
        let (drawn, pack) = (drawn(), Pack::open(&path).expect("a pack"));
        assert_eq!(fingerprint(&pack), fingerprint(&drawn));
        assert_eq!(pack.catalogue(), drawn.catalogue());
        assert_eq!((pack.size(), pack.channels(), pack.normalization()), (32, Channels::Rgb, drawn.normalization()));
        for subset in [Subset::Train, Subset::Test] {
            assert_eq!(pack.samples(subset), drawn.samples(subset));
            for sample in pack.samples(subset) {
                assert_eq!(pack.image(sample).expect("pixels"), drawn.image(sample).expect("drawn"));
            }
        }
        let names = std::fs::read_dir(path.parent().expect("a folder")).expect("a folder").count();
        assert_eq!(names, 1, "nothing else is left behind");
    }

    #[test]
    fn a_smaller_pack_is_used_in_its_own_size() {
        let (_folder, path) = packed(Fit { size: 16, whole: false });
        let pack = Pack::open(&path).expect("a pack");
        let image = pack.image(&pack.samples(Subset::Test)[3]).expect("pixels");
        assert_eq!((pack.size(), pack.resize(), image.width, image.height), (16, 16, 16, 16));
    }

    #[test]
    fn what_is_no_pack_is_told() {
        let (_folder, path) = packed(Fit { size: 16, whole: false });
        let whole = std::fs::read(&path).expect("bytes");
        let says =
            |bytes: &[u8]| Pack::from_bytes(bytes.to_vec(), Path::new("a.pack")).err().expect("a fault").to_string();
        assert_eq!(says(b""), "`a.pack`: expected a pack of `prescient data pack`, found another beginning");
        for end in [16, 30, whole.len() / 2, whole.len() - 1] {
            let text = says(&whole[..end]);
            assert_eq!(text, "`a.pack`: expected a whole pack, found one whose end is missing or damaged", "{end}");
        }
    }

    #[test]
    fn damaged_pixels_are_told_by_image() {
        let (_folder, path) = packed(Fit { size: 16, whole: false });
        let mut bytes = std::fs::read(&path).expect("bytes");
        bytes[20] ^= 1;
        let pack = Pack::from_bytes(bytes, Path::new("a.pack")).expect("its header is whole");
        let [first, second] = [0, 1].map(|index| pack.samples(Subset::Train)[index]);
        let text = pack.image(&first).expect_err("damage").to_string();
        assert!(text.starts_with("`a.pack/") && text.ends_with("expected the pixels that were packed, found others"));
        assert!(pack.image(&second).is_ok());
    }

    /// Whatever the bytes are: an answer, no panic.
    #[test]
    fn damage_anywhere_is_no_crash() {
        let (_folder, path) = packed(Fit { size: 8, whole: true });
        let whole = std::fs::read(&path).expect("bytes");
        for at in (0..whole.len()).step_by(101).chain(whole.len() - 60..whole.len()) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            if let Ok(pack) = Pack::from_bytes(bytes, Path::new("a.pack")) {
                pack.samples(Subset::Train).iter().for_each(|sample| drop(pack.image(sample)));
            }
        }
    }

    /// A header that was made by hand, with a digest that is right: each number in it is asked for.
    #[test]
    fn a_header_that_lies_is_told() {
        let good = serde_json::json!({
            "channels": "grey", "normalization": { "mean": [0, 0, 0], "std": [1, 1, 1] }, "size": 1, "resize": 1,
            "classes": ["a"], "attributes": ["x"], "rows": [[1.5]], "standard": null, "proposed": [0],
            "train": [{ "name": "1", "class": 0, "width": 2, "height": 1, "at": 16, "group": 0, "check": 0 }],
            "test": [{ "name": "2", "class": 0, "width": 1, "height": 1, "at": 17, "group": 0, "check": 0 }],
        });
        let open = |header: &serde_json::Value| {
            Pack::from_bytes(framed(&[7, 8], header.to_string().as_bytes()), Path::new("a.pack"))
        };
        assert!(open(&good).is_ok());
        let huge = u64::MAX;
        for (at, value) in [
            ("/channels", serde_json::json!("features")),
            ("/normalization/std/1", serde_json::json!(0)),
            ("/size", serde_json::json!(2)),
            ("/classes", serde_json::json!(["a", "b"])),
            ("/rows/0", serde_json::json!([])),
            ("/proposed/0", serde_json::json!(1)),
            ("/train/0/class", serde_json::json!(1)),
            ("/train/0/width", serde_json::json!(3)),
            ("/train/0/height", serde_json::json!(0)),
            ("/test/0/at", serde_json::json!(18)),
            ("/test/0/at", serde_json::json!(huge)),
            ("/test/0/at", serde_json::json!(3)),
            ("/test", serde_json::json!([])),
        ] {
            let mut header = good.clone();
            *header.pointer_mut(at).expect("a place in the header") = value.clone();
            assert!(open(&header).is_err(), "{at} = {value}");
        }
    }
}
