//! The numbers behind `PerceptualHash::NEAR`, as `docs/guide/data.md` shows them.

use clap::Args;
use image::codecs::jpeg::JpegEncoder;
use prescient::data::perceptual_hash::PerceptualHash;
use prescient::data::{Channels, Files, Image};
use std::path::{Path, PathBuf};

/// Pack every test photo anew, and look for the training photo nearest to it.
#[derive(Debug, Args)]
pub(crate) struct NearDuplicates {
    /// A folder or .zip with `train/CLASS/*` and `test/CLASS/*`, 64×64 photos
    path: PathBuf,
}

/// Name, perceptual hash and bytes of each photo of one side.
type Side = Vec<(String, PerceptualHash, Vec<u8>)>;

impl NearDuplicates {
    pub(crate) fn run(self) {
        let files = Files::open(&self.path).expect("photos");
        let [train, test] = ["train/", "test/"].map(|side| photos(&files, side));
        for (what, quality, side) in [("quality 75", 75, 64), ("50", 50, 64), ("30", 30, 64), ("half the size", 75, 32)]
        {
            let near = test.iter().filter(|(_, own, bytes)| {
                own.distance(hash(&packed_anew(bytes, quality, side))) <= PerceptualHash::NEAR
            });
            println!("{what}: {:.1} % are near", 100.0 * near.count() as f64 / test.len() as f64);
        }
        let mut nearest: Vec<(u32, &String, &String)> = test
            .iter()
            .filter_map(|(name, own, _)| train.iter().map(|(other, hash, _)| (own.distance(*hash), name, other)).min())
            .collect();
        nearest.sort();
        nearest.iter().take(4).for_each(|(distance, test, train)| println!("{test} and {train}: {distance} of 128"));
    }
}

fn photos(files: &Files, side: &str) -> Side {
    let classes = files.entries(side).expect("classes");
    let names = classes.into_iter().flat_map(|class| files.entries(&class).expect("photos"));
    let read = |name: String| {
        let bytes = files.read(&name).expect("a photo");
        (name, hash(&bytes), bytes)
    };
    names.map(read).collect()
}

fn hash(bytes: &[u8]) -> PerceptualHash {
    PerceptualHash::of(&Image::decode(bytes, Channels::Rgb, Path::new("a photo")).expect("a photo"))
        .expect("no photo is flat")
}

/// The photo as a JPEG of another quality and size.
fn packed_anew(bytes: &[u8], quality: u8, side: u32) -> Vec<u8> {
    let photo = image::load_from_memory(bytes).expect("a photo");
    let photo = photo.resize_exact(side, side, image::imageops::FilterType::Triangle);
    let mut again = Vec::new();
    JpegEncoder::new_with_quality(&mut again, quality).encode_image(&photo).expect("a JPEG");
    again
}
