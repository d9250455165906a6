//! Makes a pack: every image decoded, resized and written, under a temporary name until it is whole.

use crate::data::datasets::pack::header::{self, Entry, Header, MAGIC};
use crate::data::transforms::resize::resized;
use crate::data::{Channels, Dataset, Image, Sample, Subset, Window};
use crate::error::DataError;
use crate::scenario::Order;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// So many images are in memory at once.
const TOGETHER: usize = 512;

/// How images are made to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The shorter side, in pixels. Smaller images stay as they are.
    pub size: u32,
    /// Whether images keep their aspect; else the middle square is cut out.
    pub whole: bool,
}

/// Writes a pack of `dataset` to `out`. `progress` hears how many images of how many are done.
pub fn pack(
    dataset: &dyn Dataset,
    out: &Path,
    fit: Fit,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(), DataError> {
    if dataset.channels() == Channels::Features {
        return Err(DataError::NoImages);
    }
    let name = out.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let made = out.with_file_name(format!("{name}.{}.tmp", std::process::id()));
    let written =
        write(dataset, &made, fit, progress).and_then(|()| std::fs::rename(&made, out).map_err(DataError::io(out)));
    if written.is_err() {
        // What is half done is of no use to anybody.
        let _ = std::fs::remove_file(&made);
    }
    written
}

fn write(
    dataset: &dyn Dataset,
    path: &Path,
    fit: Fit,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(), DataError> {
    let of = dataset.samples(Subset::Train).len() + dataset.samples(Subset::Test).len();
    let mut file = BufWriter::new(File::create(path).map_err(DataError::io(path))?);
    let mut put = |bytes: &[u8]| file.write_all(bytes).map_err(DataError::io(path));
    put(MAGIC)?;
    let mut at = MAGIC.len() as u64;
    let mut done = 0;
    let mut sides = [Vec::new(), Vec::new()];
    for (subset, side) in [Subset::Train, Subset::Test].into_iter().zip(&mut sides) {
        for part in dataset.samples(subset).chunks(TOGETHER) {
            let fitted = |sample: &Sample| dataset.image(sample).map(|image| fitted(&image, fit));
            let images: Vec<Image> = part.par_iter().map(fitted).collect::<Result<_, _>>()?;
            for (sample, Image { width, height, pixels, .. }) in part.iter().zip(images) {
                put(&pixels)?;
                let (name, group, check) = (dataset.name(sample), dataset.group(sample), header::check(&pixels));
                side.push(Entry { name, class: sample.class, width, height, at, group, check });
                at += pixels.len() as u64;
            }
            done += part.len();
            progress(done, of);
        }
    }
    put(&header::tail(&serde_json::to_vec(&header_of(dataset, fit, sides)).expect("plain data")))?;
    let file = file.into_inner().map_err(|error| DataError::io(path)(io::Error::from(error)))?;
    file.sync_all().map_err(DataError::io(path))
}

fn header_of(dataset: &dyn Dataset, fit: Fit, [train, test]: [Vec<Entry>; 2]) -> Header {
    let catalogue = dataset.catalogue();
    // In the dataset's own proportion, but never larger than what is in the pack.
    let resize = dataset.resize().min(fit.size).max(1);
    let size = u64::from(dataset.size()) * u64::from(resize) / u64::from(dataset.resize().max(1));
    Header {
        channels: dataset.channels(),
        normalization: dataset.normalization(),
        size: u32::try_from(size).unwrap_or(resize).clamp(1, resize),
        resize,
        classes: catalogue.names().to_vec(),
        attributes: catalogue.attribute_names().to_vec(),
        rows: catalogue.rows().map(|(_, row)| row.to_vec()).collect(),
        blocks: match catalogue.blocks() {
            [only] if !only.is_words() => Vec::new(),
            several => several.to_vec(),
        },
        standard: dataset.order(&Order::Standard),
        proposed: dataset.order(&Order::Proposed),
        train,
        test,
    }
}

/// The image with its shorter side reduced to the size, and unless it stays whole its middle square.
///
/// The longer side has as many pixels more than the shorter one to its left as to its right, all of the same scale. So the
/// middle of a packed image is what would be cut out of the middle of the photo: the same pixels, to the bit.
fn fitted(image: &Image, fit: Fit) -> Image {
    let (width, height) = (image.width, image.height);
    let shorter = width.min(height);
    if shorter <= fit.size {
        return match fit.whole {
            true => image.clone(),
            false => image.cut((width - shorter) / 2, (height - shorter) / 2, shorter, shorter),
        };
    }
    let scale = f64::from(shorter) / f64::from(fit.size);
    let fitted = |side: u32| match fit.whole {
        true => fit.size + 2 * (f64::from(side - shorter) / scale / 2.0).round() as u32,
        false => fit.size,
    };
    let (across, down) = (fitted(width), fitted(height));
    let window = Window::middle(width, height, (f64::from(across) * scale, f64::from(down) * scale));
    resized(image, window, (across, down))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Augmentation, View};
    use proptest::prelude::*;

    /// 40 × 20 with the shorter side to 10 is 20 × 10, its middle square 10 × 10; to 30 it stays 40 × 20, or 20 × 20.
    #[test]
    fn the_shorter_side_fits() {
        let image = Image { width: 40, height: 20, channels: Channels::Rgb, pixels: vec![9; 40 * 20 * 3].into() };
        let shape = |size, whole| {
            let fitted = fitted(&image, Fit { size, whole });
            assert_eq!(fitted.pixels, vec![9; (fitted.width * fitted.height * 3) as usize]);
            (fitted.width, fitted.height)
        };
        assert_eq!([shape(10, true), shape(10, false)], [(20, 10), (10, 10)]);
        assert_eq!([shape(30, true), shape(30, false)], [(40, 20), (20, 20)]);
    }

    fn scattered(width: u32, height: u32) -> Image {
        let pixels = (0..width * height * 3).map(|at| (at.wrapping_mul(2_654_435_761) >> 23) as u8).collect();
        Image { width, height, channels: Channels::Rgb, pixels }
    }

    proptest! {
        /// A view of the photo and a view of its pack are the same: packed whole or not, all of the shorter side or 7/8.
        #[test]
        fn a_packed_photo_is_cropped_as_the_photo_is(width in 33u32..140, height in 33u32..140, whole: bool, inner: bool) {
            let (photo, size) = (scattered(width, height), if inner { 28 } else { 32 });
            let view = View { size, resize: 32, augmentation: Augmentation::default() };
            let packed = fitted(&photo, Fit { size: 32, whole });
            let [direct, from_pack] = [&photo, &packed].map(|image| {
                let mut out = Vec::new();
                view.render(image, view.eval_crop(image.width, image.height), &mut out);
                out
            });
            let most = direct.iter().zip(&from_pack).map(|(a, b)| a.abs_diff(*b)).max();
            prop_assert!(most <= Some(1), "{most:?}");
            let different = direct.iter().zip(&from_pack).filter(|(a, b)| a != b).count();
            prop_assert!(different * 1000 <= direct.len(), "{different} of {}", direct.len());
        }
    }
}
