//! The numbers behind `data::near_duplicates`, as `docs/guide/data.md` shows them.

use clap::Args;
use image::DynamicImage;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType::Triangle;
use prescient::data::{Channels, Dataset, Files, Image, Mnist, Seen, Subset, Thumbnail, near_duplicates};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Look for test photos that look like a training photo, then for altered copies of training photos.
#[derive(Debug, Args)]
pub(crate) struct NearDuplicates {
    /// A folder or .zip with `train/CLASS/*` and `test/CLASS/*`, square photos; or a folder with MNIST's or Fashion-MNIST's files
    path: PathBuf,
}

/// A photo's name, its bytes and its class.
type Photo = (String, Vec<u8>, usize);

impl NearDuplicates {
    pub(crate) fn run(self) {
        if let Ok(digits) = Mnist::open(&self.path) {
            return of_digits(&digits);
        }
        let files = Files::open(&self.path).expect("photos");
        let [train, test] = ["train/", "test/"].map(|side| photos(&files, side));
        let began = Instant::now();
        let [learned, asked] = [&train, &test].map(|side| side.par_iter().map(seen).collect::<Vec<Seen>>());
        let hashed = began.elapsed();
        let found = near_duplicates(&learned, &asked);
        println!(
            "{} training and {} test photos: {:.1} s to decode, {:.1} s to compare; {} look alike",
            train.len(),
            test.len(),
            hashed.as_secs_f64(),
            (began.elapsed() - hashed).as_secs_f64(),
            found.len()
        );
        for near in found.iter().take(10) {
            println!("  {} and {}: {near}", test[near.test].0, train[near.train].0);
        }
        for (what, alter) in ALTERED {
            let step = (train.len() / 500).max(1);
            let copies: Vec<usize> = (0..train.len()).step_by(step).collect();
            let altered = copies.par_iter().map(|&place| {
                let photo = image::load_from_memory(&train[place].1).expect("a photo");
                let mut bytes = Vec::new();
                let encoder = JpegEncoder::new_with_quality(&mut bytes, 75);
                alter(&photo, place as u32).write_with_encoder(encoder).expect("a JPEG");
                seen(&(String::new(), bytes, train[place].2))
            });
            let asked: Vec<Seen> = altered.collect();
            let found = near_duplicates(&learned, &asked);
            let right = found.iter().filter(|near| near.train == copies[near.test]).count();
            println!("{what}: {:.1} % of {}", 100.0 * right as f64 / copies.len() as f64, copies.len());
        }
    }
}

type Alter = fn(&DynamicImage, u32) -> DynamicImage;

const ALTERED: [(&str, Alter); 7] = [
    ("packed anew", |photo, _| photo.clone()),
    ("half the size", |photo, _| photo.resize_exact(photo.width() / 2, photo.height() / 2, Triangle)),
    ("grey", |photo, _| photo.grayscale().to_rgb8().into()),
    ("mirrored", |photo, _| photo.fliph()),
    ("a crop of 95 %", |photo, place| crop(photo, 950, place)),
    ("a crop of 90 %", |photo, place| crop(photo, 900, place)),
    ("a frame of 2 to 6 pixels", |photo, place| {
        let frame = 2 + place % 5;
        let side = photo.width() + 2 * frame;
        let mut whole = image::RgbImage::from_pixel(side, side, image::Rgb([255 * (place % 2) as u8; 3]));
        image::imageops::overlay(&mut whole, &photo.to_rgb8(), i64::from(frame), i64::from(frame));
        whole.into()
    }),
];

fn crop(photo: &DynamicImage, thousandths: u32, place: u32) -> DynamicImage {
    let side = (photo.width() * thousandths + 500) / 1000;
    let rest = photo.width() - side + 1;
    photo.crop_imm(place % rest, place / rest % rest, side, side)
}

fn photos(files: &Files, side: &str) -> Vec<Photo> {
    let classes = files.entries(side).expect("classes").into_iter().enumerate();
    let names = classes
        .flat_map(|(class, folder)| files.entries(&folder).expect("photos").into_iter().map(move |name| (name, class)));
    names.map(|(name, class)| (name.clone(), files.read(&name).expect("a photo"), class)).collect()
}

fn seen((name, bytes, class): &Photo) -> Seen {
    let image = Image::decode(bytes, Channels::Rgb, Path::new(name)).expect("a photo");
    (Thumbnail::of(&image).expect("no photo is flat"), *class)
}

/// How many images of the test side look like one of the training side, in sets of several sizes.
fn of_digits(digits: &Mnist) {
    let side = |subset, count: usize| -> Vec<Seen> {
        let samples = digits.samples(subset).iter().take(count);
        let seen = |sample| Some((Thumbnail::of(&digits.image(sample).expect("an image"))?, sample.class.index()));
        samples.filter_map(seen).collect()
    };
    for (learned, asked) in [(1_000, 1_000), (6_000, 1_000), (60_000, 10_000)] {
        let (train, test, began) = (side(Subset::Train, learned), side(Subset::Test, asked), Instant::now());
        let found = near_duplicates(&train, &test).len();
        println!("{learned} and {asked} images: {found} look alike, {:.1} s", began.elapsed().as_secs_f64());
    }
}
