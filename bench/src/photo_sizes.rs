//! What photos of mixed sizes cost to decode, and what of them a cache would have to keep: all pixels, or those that the smallest
//! random crop needs, so that no crop is enlarged more than from the original.

use super::made_up::mixed_size;
use clap::Args;
use image::RgbImage;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::{FilterType::Triangle, replace, resize};
use prescient::data::{
    Augmentation, Channels, Crop, CropParams, Dataset, Folder, FolderSettings, Image, Sample, Subset, View, Window,
};
use prescient::seeds::Seeds;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Decode photos of mixed sizes on one core, and compare crops of them with crops of smaller copies.
#[derive(Debug, Args)]
pub(crate) struct PhotoSizes {
    /// A folder or .zip with `train/CLASS/*` and `test/CLASS/*`; those measured are tiled with them, so that they have the detail of photos
    root: PathBuf,
    #[arg(long, default_value_t = 100)]
    photos: usize,
    /// The quality of the JPEGs
    #[arg(long, default_value_t = 90)]
    quality: u8,
}

/// Sides of a view, and the smallest part of the area that a crop has.
const VIEWS: [(u32, f64); 4] = [(224, 0.08), (224, 0.5), (96, 0.08), (64, 0.08)];

impl PhotoSizes {
    pub(crate) fn run(self) {
        let photos = self.drawn();
        let began = Instant::now();
        let decoded: Vec<Image> = photos
            .iter()
            .map(|bytes| Image::decode(bytes, Channels::Rgb, Path::new("drawn.jpg")).expect("a photo"))
            .collect();
        let each = began.elapsed().as_secs_f64() / photos.len() as f64;
        let bytes = |of: usize| of as f64 / photos.len() as f64 / 1e6;
        let pixels: usize = decoded.iter().map(|image| image.pixels.len()).sum();
        println!(
            "{} photos, {:.2} MB of JPEG and {:.2} MB of pixels each: {:.2} ms to decode, {:.1} ns a pixel",
            photos.len(),
            bytes(photos.iter().map(Vec::len).sum()),
            bytes(pixels),
            each * 1e3,
            each * 1e9 / (pixels as f64 / 3.0 / photos.len() as f64)
        );
        VIEWS.iter().for_each(|view| compare(&decoded, *view));
    }

    /// JPEGs tiled with the photos of `root`.
    fn drawn(&self) -> Vec<Vec<u8>> {
        let photos = Folder::open(&self.root, &FolderSettings::new(&self.root)).expect("photos");
        let samples = photos.samples(Subset::Train);
        let tile = |sample: &Sample| {
            let Image { width, height, pixels, .. } = photos.image(sample).expect("a photo");
            RgbImage::from_raw(width, height, pixels.to_vec()).expect("pixels in colour")
        };
        let tiles: Vec<RgbImage> = samples.iter().step_by((samples.len() / 500).max(1)).map(tile).collect();
        let mut next = tiles.iter().cycle();
        let mut one = |number: usize| {
            let (width, height) = mixed_size(number as u64);
            let mut photo = RgbImage::new(width, height);
            let (across, down) = next.next().expect("a photo").dimensions();
            for y in (0..height).step_by(down as usize) {
                for x in (0..width).step_by(across as usize) {
                    replace(&mut photo, next.next().expect("a photo"), i64::from(x), i64::from(y));
                }
            }
            let mut bytes = Vec::new();
            let encoder = JpegEncoder::new_with_quality(&mut bytes, self.quality);
            photo.write_with_encoder(encoder).expect("a JPEG");
            bytes
        };
        (0..self.photos).map(&mut one).collect()
    }
}

/// Five random crops of each photo, from all of its pixels and from as few as no crop is enlarged for.
fn compare(photos: &[Image], (size, area): (u32, f64)) {
    let augmentation = Augmentation { crop: Crop::Resized { area }, flip: true };
    let view = View { size, resize: size, augmentation };
    let (mut all, mut kept, mut counts, mut seconds) = (0, 0, vec![0u64; 256], 0.0);
    for (number, photo) in photos.iter().enumerate() {
        let (width, height) = (f64::from(photo.width), f64::from(photo.height));
        // A crop has at least this area, and at most 4 pixels one way where it has 3 the other.
        let smallest = (width * height * area * 0.75).sqrt();
        let factor = (f64::from(size) / smallest).min(1.0);
        let (w, h) = ((width * factor).ceil(), (height * factor).ceil());
        let small = RgbImage::from_raw(photo.width, photo.height, photo.pixels.to_vec()).expect("pixels");
        let small = resize(&small, w as u32, h as u32, Triangle).into_raw();
        let small = Image { width: w as u32, height: h as u32, channels: Channels::Rgb, pixels: small.into() };
        all += photo.pixels.len();
        kept += small.pixels.len();
        for turn in 0..5 {
            let params =
                view.train_crop(photo.width, photo.height, &mut Seeds::new(number as u64).stream("crop", turn));
            let Window { left, top, width: across, height: down } = params.window;
            let (x, y) = (w / width, h / height);
            let window = Window { left: left * x, top: top * y, width: across * x, height: down * y };
            let (mut from_all, mut from_small) = (Vec::new(), Vec::new());
            let began = Instant::now();
            view.render(photo, params, &mut from_all);
            seconds += began.elapsed().as_secs_f64();
            view.render(&small, CropParams { window, ..params }, &mut from_small);
            from_all.iter().zip(&from_small).for_each(|(a, b)| counts[usize::from(a.abs_diff(*b))] += 1);
        }
    }
    let total: u64 = counts.iter().sum();
    let mean = counts.iter().zip(0u64..).map(|(count, apart)| count * apart).sum::<u64>() as f64 / total as f64;
    let mut left = total / 100;
    let most_of_99 = counts.iter().rposition(|count| {
        let past = *count > left;
        left = left.saturating_sub(*count);
        past
    });
    println!(
        "{size} px, crops of {area} of the area or more: {:.2} ms a crop; {:.0} % of the bytes would do; \
         pixels then differ by {mean:.1} of 255, 1 in 100 by more than {}",
        seconds * 1e3 / (photos.len() * 5) as f64,
        100.0 * kept as f64 / all as f64,
        most_of_99.unwrap_or_default()
    );
}
