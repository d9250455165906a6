//! Copies that were altered are found, and distinct images are not called alike. On more data, with the time it takes:
//! `cargo run --release -p prescient-bench -- near-duplicates PATH`.
#![allow(clippy::unwrap_used)]

mod common;

use common::{fashion_mnist, real_data};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType::Triangle;
use image::{DynamicImage, Rgb, RgbImage};
use prescient::data::{
    Channels, Dataset, Files, Image, Mnist, Seen, Subset, Synthetic, SyntheticSettings, Thumbnail, near_duplicates,
};
use std::path::Path;

fn seen(bytes: &[u8], class: usize) -> Seen {
    let image = Image::decode(bytes, Channels::Rgb, Path::new("a photo")).unwrap();
    (Thumbnail::of(&image).expect("no photo is flat"), class)
}

fn jpeg(photo: &DynamicImage, quality: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(photo).unwrap();
    bytes
}

/// So many photos of each class of a side, with the number of their class.
fn photos(side: &str, of_each: usize) -> Option<Vec<(Vec<u8>, usize)>> {
    let files = Files::open(&real_data("animals12")?.join("images.zip")).unwrap();
    let classes = files.entries(side).unwrap();
    let of_class = |(class, folder): (usize, &String)| {
        let names = files.entries(folder).unwrap().into_iter().take(of_each);
        names.map(|name| (files.read(&name).unwrap(), class)).collect::<Vec<_>>()
    };
    Some(classes.iter().enumerate().flat_map(of_class).collect())
}

/// A part of so many tenths of a percent, somewhere: further right and down with `place`.
fn crop(photo: &DynamicImage, thousandths: u32, place: u32) -> DynamicImage {
    let side = (photo.width() * thousandths + 500) / 1000;
    let rest = photo.width() - side + 1;
    photo.crop_imm(place % rest, place / rest % rest, side, side)
}

fn framed(photo: &DynamicImage, frame: u32, colour: [u8; 3]) -> DynamicImage {
    let side = photo.width() + 2 * frame;
    let mut whole = RgbImage::from_pixel(side, side, Rgb(colour));
    image::imageops::overlay(&mut whole, &photo.to_rgb8(), i64::from(frame), i64::from(frame));
    whole.into()
}

type Alter = fn(&DynamicImage, u32) -> DynamicImage;

/// What is done to a photo, before it is packed as a JPEG of quality 75.
const ALTERED: [(&str, Alter); 9] = [
    ("mirrored", |photo, _| photo.fliph()),
    ("a crop of 90 %", |photo, place| crop(photo, 900, place)),
    ("a crop of 95 %", |photo, place| crop(photo, 950, place)),
    ("a crop of 90 %, mirrored", |photo, place| crop(photo, 900, place).fliph()),
    ("a white frame", |photo, place| framed(photo, 2 + place % 5, [255; 3])),
    ("a black frame", |photo, place| framed(photo, 2 + place % 5, [0; 3])),
    ("packed anew", |photo, _| photo.clone()),
    ("half the size", |photo, _| photo.resize_exact(photo.width() / 2, photo.height() / 2, Triangle)),
    ("grey", |photo, _| photo.grayscale().to_rgb8().into()),
];

/// A hundred test photos, each a copy of one of 2,400 training photos: at least 95 of each kind are found, and each as a copy of
/// the right one.
#[test]
fn altered_copies_are_found() {
    let Some(train) = photos("train/", 200) else { return };
    let learned: Vec<Seen> = train.iter().map(|(bytes, class)| seen(bytes, *class)).collect();
    for (what, alter) in ALTERED {
        let copies: Vec<usize> = (0..100).map(|place| place * 24).collect();
        let copy = |&place: &usize| {
            let photo = image::load_from_memory(&train[place].0).unwrap();
            seen(&jpeg(&alter(&photo, place as u32), 75), train[place].1)
        };
        let asked: Vec<Seen> = copies.iter().map(copy).collect();
        let found = near_duplicates(&learned, &asked);
        let right = found.iter().filter(|near| near.train == copies[near.test]);
        let right = right.filter(|near| near.mirrored == what.contains("mirrored")).count();
        println!("{what}: {right} of 100");
        assert!(right >= 95, "{what}: {right} of 100");
    }
}

/// 2,500 distinct photos of twelve animals, every second one to be learned from: at most 1 in 1,000 is called a copy.
#[test]
fn distinct_photos_are_not_called_alike() {
    let Some(photos) = photos("train/", 209) else { return };
    let all: Vec<Seen> = photos[..2500].iter().map(|(bytes, class)| seen(bytes, *class)).collect();
    let [train, test]: [Vec<Seen>; 2] = [0, 1].map(|side| all.iter().skip(side).step_by(2).copied().collect());
    let found = near_duplicates(&train, &test);
    assert!(found.len() <= 1, "{found:?}");
}

/// Images of Fashion-MNIST are more alike than a photo and its crop: at most 1 in 1,000 is called a copy all the same.
#[test]
fn fashion_mnist_is_not_called_alike() {
    let Some(path) = fashion_mnist() else { return };
    let fashion = Mnist::open(&path).unwrap();
    let side = |subset, count| -> Vec<Seen> {
        let samples = fashion.samples(subset).iter().take(count);
        let seen = |sample| Some((Thumbnail::of(&fashion.image(sample).unwrap())?, sample.class.index()));
        samples.filter_map(seen).collect()
    };
    let (train, test) = (side(Subset::Train, 6000), side(Subset::Test, 1000));
    assert!(train.len() > 5990 && test.len() > 990);
    let found = near_duplicates(&train, &test);
    assert!(found.len() <= 1, "{found:?}");
}

/// Drawings of one kind are alike, and few images tell little of the data: four test images of each of six classes against twelve, for
/// all 24 classes and many sixes of them.
#[test]
fn few_drawings_of_one_kind_are_not_called_alike() {
    let drawn = Synthetic::new(&SyntheticSettings { train: 12, test: 4 });
    let side = |subset, classes: &[usize]| -> Vec<Seen> {
        let samples = drawn.samples(subset).iter().filter(|sample| classes.contains(&sample.class.index()));
        samples
            .filter_map(|sample| Some((Thumbnail::of(&drawn.image(sample).unwrap())?, sample.class.index())))
            .collect()
    };
    for (first, step) in [1, 5, 7, 11].into_iter().flat_map(|step| (0..24).map(move |first| (first, step))) {
        let classes: Vec<usize> = (0..6).map(|place| (first + step * place) % 24).collect();
        let found = near_duplicates(&side(Subset::Train, &classes), &side(Subset::Test, &classes));
        assert_eq!(found, [], "classes {classes:?}");
    }
}
