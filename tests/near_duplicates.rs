//! How well a look tells a photo packed anew from another photo, on real photos.
#![allow(clippy::unwrap_used)]

mod common;

use common::real_data;
use image::codecs::jpeg::JpegEncoder;
use prescient::data::likeness::Look;
use prescient::data::{Files, Image};
use std::path::Path;

/// Name, look and bytes of each photo of one side.
type Side = Vec<(String, Look, Vec<u8>)>;

fn sides(set: &str) -> Option<[Side; 2]> {
    let files = Files::open(&real_data(set)?.join("images.zip")).unwrap();
    Some(["train/", "test/"].map(|side| {
        let names = files.entries(side).unwrap().into_iter().flat_map(|class| files.entries(&class).unwrap());
        let read = names.map(|name| {
            let bytes = files.read(&name).unwrap();
            (name, look(&bytes), bytes)
        });
        read.collect()
    }))
}

fn look(bytes: &[u8]) -> Look {
    Look::of(&Image::decode(bytes, 3, Path::new("a photo")).unwrap()).expect("no photo is flat")
}

/// The photo as a JPEG of another quality and size.
fn packed_anew(bytes: &[u8], quality: u8, side: u32) -> Vec<u8> {
    let photo = image::load_from_memory(bytes).unwrap();
    let photo = photo.resize_exact(side, side, image::imageops::FilterType::Triangle);
    let mut again = Vec::new();
    JpegEncoder::new_with_quality(&mut again, quality).encode_image(&photo).unwrap();
    again
}

/// The share of test photos that are still near when packed anew, and the training photo nearest to a test photo.
fn measure(set: &str) -> Option<([f64; 4], u32)> {
    let [train, test] = sides(set)?;
    let shares = [(75, 64), (50, 64), (30, 64), (75, 32)].map(|(quality, side)| {
        let near =
            test.iter().filter(|(_, own, bytes)| own.distance(look(&packed_anew(bytes, quality, side))) <= Look::NEAR);
        near.count() as f64 / test.len() as f64
    });
    let mut nearest: Vec<(u32, &String, &String)> = test
        .iter()
        .map(|(name, own, _)| train.iter().map(|(other, look, _)| (own.distance(*look), name, other)).min().unwrap())
        .collect();
    nearest.sort();
    println!(
        "{set}: near at quality 75, 50, 30, and at half the size: {shares:?}; nearest others: {:?}",
        &nearest[..4]
    );
    Some((shares, nearest[0].0))
}

#[test]
fn a_photo_packed_anew_is_near_and_another_is_not() {
    let Some((shares, nearest)) = measure("animals12") else { return };
    assert!(shares[0] == 1.0 && shares[1] == 1.0 && shares[2] > 0.99 && shares[3] > 0.9, "{shares:?}");
    assert!(nearest > Look::NEAR, "{nearest}");
}

/// `cargo test --test near_duplicates -- --ignored --nocapture` gives the numbers in `docs/data.md`.
#[test]
#[ignore = "a measurement"]
fn fifty_animals() {
    measure("animals50");
}
