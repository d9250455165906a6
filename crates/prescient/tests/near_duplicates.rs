//! How well a perceptual hash tells a photo packed anew from another photo, on real photos. On all of `animals50`:
//! `cargo run --release -p prescient-bench -- near-duplicates PATH`.
#![allow(clippy::unwrap_used)]

mod common;

use common::real_photos;
use image::codecs::jpeg::JpegEncoder;
use prescient::data::perceptual_hash::PerceptualHash;
use prescient::data::{Channels, Image};
use std::path::Path;

fn hash(bytes: &[u8]) -> PerceptualHash {
    PerceptualHash::of(&Image::decode(bytes, Channels::Rgb, Path::new("a photo")).unwrap()).expect("no photo is flat")
}

/// The photo as a JPEG of another quality and size.
fn packed_anew(bytes: &[u8], quality: u8, side: u32) -> Vec<u8> {
    let photo = image::load_from_memory(bytes).unwrap();
    let photo = photo.resize_exact(side, side, image::imageops::FilterType::Triangle);
    let mut again = Vec::new();
    JpegEncoder::new_with_quality(&mut again, quality).encode_image(&photo).unwrap();
    again
}

/// Ten photos of each of twelve animals: each is near to itself packed anew, and to no other.
#[test]
fn a_photo_packed_anew_is_near_and_another_is_not() {
    let Some(photos) = real_photos(120) else { return };
    let hashes: Vec<PerceptualHash> = photos.iter().map(|bytes| hash(bytes)).collect();
    for (quality, side, least) in [(75, 64, 120), (50, 64, 120), (30, 64, 118), (75, 32, 108)] {
        let near = photos
            .iter()
            .zip(&hashes)
            .filter(|(bytes, own)| own.distance(hash(&packed_anew(bytes, quality, side))) <= PerceptualHash::NEAR);
        let near = near.count();
        assert!(near >= least, "quality {quality}, {side} pixels: {near} of 120");
    }
    for (place, own) in hashes.iter().enumerate() {
        let nearest = hashes[..place].iter().map(|other| own.distance(*other)).min();
        assert!(nearest.is_none_or(|nearest| nearest > PerceptualHash::NEAR), "photo {place}: {nearest:?}");
        let near = hashes[..place].iter().find_map(|other| own.nearness(*other));
        assert_eq!(near, None, "photo {place}");
    }
}

/// Training mirrors photos, so a mirrored copy is learned from: all are found, packed anew as well.
#[test]
fn a_mirrored_photo_is_found() {
    let Some(photos) = real_photos(120) else { return };
    let mirrored = |bytes: &[u8]| {
        let photo = image::load_from_memory(bytes).unwrap().fliph();
        let mut again = Vec::new();
        JpegEncoder::new_with_quality(&mut again, 75).encode_image(&photo).unwrap();
        again
    };
    let found =
        photos.iter().filter(|bytes| hash(bytes).nearness(hash(&mirrored(bytes))).is_some_and(|near| near.mirrored));
    let found = found.count();
    assert!(found >= 117, "{found} of 120");
}
