//! Fetching data: MNIST from its mirrors, and where to get by hand what cannot be fetched.

mod download;

pub use download::{Fetched, Progress, fetch};

use prescient::error::DataError;
use std::path::Path;

/// A file on a mirror, and how to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Its name below the mirror's address.
    pub name: &'static str,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, as `sha256sum` writes it, or how it begins where no more is published.
    pub sha256: &'static str,
}

/// MNIST's four files.
pub const MNIST: [Remote; 4] = [
    Remote {
        name: "train-images-idx3-ubyte.gz",
        bytes: 9_912_422,
        sha256: "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    },
    Remote {
        name: "train-labels-idx1-ubyte.gz",
        bytes: 28_881,
        sha256: "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    },
    Remote {
        name: "t10k-images-idx3-ubyte.gz",
        bytes: 1_648_877,
        sha256: "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    },
    Remote {
        name: "t10k-labels-idx1-ubyte.gz",
        bytes: 4_542,
        sha256: "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    },
];

/// Who has them.
pub const MNIST_MIRRORS: [&str; 2] =
    ["https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist"];

/// How to get AwA2 into `folder`.
pub fn awa2_by_hand(folder: &Path) -> DataError {
    let at = folder.display();
    DataError::ByHand {
        dataset: "awa2",
        reason: "its archive has 13 GB, and its photos have licences of their own to read first",
        steps: format!(
            "1. fetch AwA2-data.zip from https://cvml.ista.ac.at/AwA2/\n\
             2. unzip AwA2-data.zip -d {at}      (or leave it packed, and name the .zip as `path`)\n\
             3. prescient data check awa2 {at}"
        ),
    }
}

/// How to get aP&Y into `folder`.
pub fn apy_by_hand(folder: &Path) -> DataError {
    let at = folder.display();
    DataError::ByHand {
        dataset: "apy",
        reason: "it lies in three archives in two places",
        steps: format!(
            "1. fetch the annotations (attribute_data) and the Yahoo photos (ayahoo_test_images) from\n   \
             https://vision.cs.uiuc.edu/attributes/\n\
             2. fetch the photos of Pascal VOC 2008 (VOCtrainval_14-Jul-2008.tar) from\n   \
             http://host.robots.ox.ac.uk/pascal/VOC/voc2008/\n\
             3. unpack all three in {at}\n\
             4. prescient data check apy {at}"
        ),
    }
}
