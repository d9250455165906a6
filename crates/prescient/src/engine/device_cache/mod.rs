//! Images that lie on the device: cropped, resized, moved and mirrored there.
//!
//! ```text
//! seen = V · image · Hᵀ
//! ```
//!
//! Each row of `V` and `H` says how much of each pixel goes into one pixel of the view: a triangle around its place in
//! the window, as wide as the reduction asks. That is the definition of `data/transforms`, without rounding to bytes.
//!
//! Photos of any size lie one after the other, each with the place of its first pixel, its width and its height.

mod stock;
mod taps;

use crate::data::transforms::resize::resized;
use crate::data::{Channels, Crop, CropParams, Image, Sample, View};
use crate::engine::batches::numbers;
use crate::engine::{Pass, has_kernels_on};
use crate::error::DataError;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::mpsc;
use stock::Stock;
use tch::{Device, Kind, Tensor, no_grad};

/// So many images are read at a time, while those before them are brought to the device.
const PART: usize = 64;

/// Images on a device.
#[derive(Debug)]
pub struct DeviceCache {
    /// The pixels of one image after the other, row by row: `[pixels, channels]` bytes. Or `[images, bytes]`, numbers of four
    /// bytes.
    pixels: Tensor,
    channels: Channels,
    places: HashMap<Sample, Place>,
    /// As many pixels of an image go into one of the view, down and across.
    taps: (i64, i64),
    view: View,
}

/// Where an image lies.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its first row in the tensor of pixels.
    first: i64,
    width: u32,
    height: u32,
    /// The view's, or the view's size where the image is the middle already.
    resize: u32,
}

/// How the images of a pass are cropped, on the device.
pub(crate) struct Crops {
    /// First row, width and height of each image, `[images, 3]`.
    places: Tensor,
    /// Left, top, width, height, shift right, shift down, mirrored: `[images, 7]`. None of rows of features.
    how: Option<Tensor>,
}

impl Crops {
    /// `count` of them from `from`.
    pub(crate) fn narrow(&self, from: i64, count: i64) -> Self {
        let part = |tensor: &Tensor| tensor.narrow(0, from, count);
        Self { places: part(&self.places), how: self.how.as_ref().map(part) }
    }

    /// The same in tensors of its own.
    pub(crate) fn copy(&self) -> Self {
        Self { places: self.places.copy(), how: self.how.as_ref().map(Tensor::copy) }
    }

    pub(crate) fn tensors(&self) -> Vec<&Tensor> {
        std::iter::once(&self.places).chain(&self.how).collect()
    }
}

/// What of an image crops can need, and the shorter side to scale it to before its middle is cut out.
///
/// Where every crop is of the middle, that is the middle at the view's size: the very bytes that the loader would make. A random
/// window may be anywhere and needs all of the image; made smaller first, it would be another picture
/// (`docs/bench/2026-11-18-processes.md`).
fn needed(view: &View, image: Image) -> (Image, u32) {
    let of_middle = matches!(view.augmentation.crop, Crop::None | Crop::Shift { .. });
    let pays = u64::from(image.width) * u64::from(image.height) > u64::from(view.size) * u64::from(view.size);
    match image.channels {
        Channels::Grey | Channels::Rgb if of_middle && pays => {
            let window = view.eval_crop(image.width, image.height).window;
            (resized(&image, window, (view.size, view.size)), view.size)
        }
        _ => (image, view.resize),
    }
}

/// The thread that reads has ended before its last part, so it has panicked.
struct ReaderEnded;

impl DeviceCache {
    /// Reads `samples` and lays them out on `device`; none where they would take more than half of what is free there.
    pub fn gather(
        samples: &[Sample],
        read: impl Fn(&Sample) -> Result<Image, DataError> + Sync,
        view: View,
        device: Device,
    ) -> Result<Option<Self>, DataError> {
        let (ready, parts) = mpsc::sync_channel(0);
        let image = &|sample: &Sample| Ok(needed(&view, read(sample)?));
        std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                for part in samples.chunks(PART) {
                    let images: Result<Vec<_>, DataError> = part.par_iter().map(image).collect();
                    let is_last = images.is_err();
                    // Nobody takes them any more where they do not fit.
                    if ready.send(images).is_err() || is_last {
                        break;
                    }
                }
            });
            Self::lay_out(samples, parts, view, device).unwrap_or_else(|ReaderEnded| {
                let panicked = reader.join().expect_err("a reader without an error sends every part");
                std::panic::resume_unwind(panicked)
            })
        })
    }

    /// Lays out `samples`, whose images come in `parts`.
    fn lay_out(
        samples: &[Sample],
        parts: mpsc::Receiver<Result<Vec<(Image, u32)>, DataError>>,
        view: View,
        device: Device,
    ) -> Result<Result<Option<Self>, DataError>, ReaderEnded> {
        let mut stock = Stock::new(device);
        let mut places = HashMap::with_capacity(samples.len());
        let (mut kind, mut first, mut widest, mut highest) = (None, 0, 0.0f64, 0.0f64);
        // In parts of one buffer, so that all images lie in memory once: on the device.
        let mut buffer = Vec::new();
        for part in samples.chunks(PART) {
            let images = match parts.recv() {
                Ok(Ok(images)) => images,
                Ok(Err(error)) => return Ok(Err(error)),
                Err(mpsc::RecvError) => return Err(ReaderEnded),
            };
            buffer.clear();
            for (sample, (image, resize)) in part.iter().zip(images) {
                let Image { width, height, channels, pixels } = image;
                // A row of features is one row of the tensor; of an image, a pixel is one.
                let (bytes, rows) = match channels {
                    Channels::Features => (pixels.len(), 1),
                    Channels::Grey | Channels::Rgb => (channels.bytes(), i64::from(width) * i64::from(height)),
                };
                if *kind.get_or_insert((channels, bytes)) != (channels, bytes) {
                    return Ok(Ok(None));
                }
                let window = View { resize, ..view }.eval_crop(width, height).window;
                widest = widest.max(f64::from(width)).max(window.width);
                highest = highest.max(f64::from(height)).max(window.height);
                places.insert(*sample, Place { first, width, height, resize });
                first += rows;
                buffer.extend_from_slice(&pixels);
            }
            if !stock.add(&buffer, places.len(), samples.len()) {
                return Ok(Ok(None));
            }
        }
        let taps = (taps::taps(highest, view.size), taps::taps(widest, view.size));
        Ok(Ok(kind.map(|(channels, bytes)| {
            let pixels = stock.bytes().reshape([-1, bytes as i64]);
            Self { pixels, channels, places, taps, view }
        })))
    }

    /// How `pass` crops `samples`, which come in its order.
    pub(crate) fn crops(&self, samples: &[Sample], pass: Pass) -> Crops {
        let device = self.pixels.device();
        let found: Vec<Place> = samples.iter().map(|sample| self.places[sample]).collect();
        let places: Vec<[i64; 3]> =
            found.iter().map(|place| [place.first, i64::from(place.width), i64::from(place.height)]).collect();
        let view = self.view;
        let how = |(at, place): (usize, &Place)| {
            let view = View { resize: place.resize, ..view };
            let CropParams { window, shift, flip } = pass.crop_params(&view, place.width, place.height, at);
            [window.left, window.top, window.width, window.height, shift.0 as f64, shift.1 as f64, f64::from(flip)]
                .map(|number| number as f32)
        };
        let how = (self.channels != Channels::Features).then(|| {
            let how: Vec<[f32; 7]> = found.par_iter().enumerate().map(how).collect();
            Tensor::from_slice(how.as_flattened()).reshape([-1, 7]).to_device(device)
        });
        let places = Tensor::from_slice(places.as_flattened()).reshape([-1, 3]).to_device(device);
        Crops { places, how }
    }

    /// The crops: `[images, channels, size, size]`, from 0 to 255, or `[images, size]`.
    pub(crate) fn cropped(&self, crops: &Crops) -> Tensor {
        match &crops.how {
            Some(how) => no_grad(|| taps::seen(&self.pixels, &crops.places, how, self.view.size, self.taps)),
            None => numbers(&self.pixels.index_select(0, &crops.places.select(1, 0)), crops.places.size()[0]),
        }
    }

    /// The crops, times `scale` plus `bias` of each channel and in numbers of `kind`, in one pass; none where the device
    /// has no kernel for it, or nothing is to be cropped.
    pub(crate) fn cropped_and_normalized(
        &self,
        crops: &Crops,
        normalize: (&Tensor, &Tensor),
        kind: Kind,
    ) -> Option<Tensor> {
        let how = crops.how.as_ref().filter(|_| has_kernels_on(self.pixels.device()))?;
        Some(no_grad(|| torch_shim::look(&self.pixels, &crops.places, how, normalize, self.view.size, kind)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::ClassId;
    use crate::data::{Augmentation, Subset};
    use crate::seeds::Seeds;

    fn sample(index: u32) -> Sample {
        Sample { subset: Subset::Train, index, class: ClassId(0) }
    }

    /// Rows of numbers lie there as they are, however they are passed over.
    #[test]
    fn rows_of_numbers_are_what_they_were() {
        let samples = [0, 1, 2].map(sample);
        let read = |sample: &Sample| Ok(Image::of_features(&[sample.index as f32, -0.5]));
        let view = View::of_rows(2);
        let cache = DeviceCache::gather(&samples, read, view, Device::Cpu).expect("readable").expect("one length");
        for pass in [Pass::Eval, Pass::Train(Seeds::new(3))] {
            let order = pass.order(&samples);
            let seen = cache.cropped(&cache.crops(&order, pass));
            assert_eq!(seen.size(), [3, 2]);
            let expected: Vec<f32> = order.iter().flat_map(|sample| [sample.index as f32, -0.5]).collect();
            assert_eq!(Vec::<f32>::try_from(seen.flatten(0, -1)).expect("numbers"), expected);
        }
    }

    /// Waves of colour of a size of its own: 300 × 24, 20 × 170, 64 × 64, 33 × 30, and so on.
    fn photo(sample: &Sample, channels: Channels) -> Image {
        let sizes = [(300, 24), (20, 170), (64, 64), (33, 30), (32, 32), (7, 90), (123, 45)];
        let (width, height) = sizes[sample.index as usize % sizes.len()];
        let wave = |x: u32, y: u32, channel: u32| {
            let at = f64::from(x) * 0.13 + f64::from(y) * 0.07 * f64::from(sample.index + 1) + f64::from(channel);
            (127.5 + 127.5 * at.sin()) as u8
        };
        let count = channels.count() as u32;
        let pixels = (0..height).flat_map(|y| (0..width).flat_map(move |x| (0..count).map(move |c| wave(x, y, c))));
        Image { width, height, channels, pixels: pixels.collect() }
    }

    const CROPS: [(Crop, u32, u32); 6] = [
        (Crop::Resized { area: 0.2 }, 32, 32),
        (Crop::Resized { area: 0.08 }, 12, 16),
        (Crop::Shift { pixels: 3 }, 32, 32),
        (Crop::Shift { pixels: 3 }, 20, 24),
        (Crop::None, 20, 24),
        (Crop::None, 64, 64),
    ];

    /// All that a view can ask of photos of many sizes, and of photos of one: what the loader's threads make, in order, and the
    /// cache with its crops.
    fn for_all(mut check: impl FnMut(&str, Vec<u8>, &DeviceCache, &Crops)) {
        for (crop, size, resize) in CROPS {
            for (channels, samples) in [
                (Channels::Rgb, (0..140).map(sample).collect::<Vec<_>>()),
                (Channels::Grey, (0..9).map(sample).collect()),
                (Channels::Rgb, (0..4).map(|index| sample(index * 7 + 2)).collect()),
            ] {
                let view = View { size, resize, augmentation: Augmentation { crop, flip: true } };
                let read = |sample: &Sample| Ok(photo(sample, channels));
                let cache = DeviceCache::gather(&samples, read, view, Device::Cpu).expect("readable").expect("room");
                for pass in [Pass::Train(Seeds::new(3)), Pass::Eval, Pass::EvalMirrored] {
                    let ordered = pass.order(&samples);
                    let mut bytes = Vec::new();
                    for (place, sample) in ordered.iter().enumerate() {
                        let image = photo(sample, channels);
                        view.render(&image, pass.crop_params(&view, image.width, image.height, place), &mut bytes);
                    }
                    let what = format!("{crop:?} {size} {pass:?}, {} photos", samples.len());
                    check(&what, bytes, &cache, &cache.crops(&ordered, pass));
                }
            }
        }
    }

    fn largest(tensor: &Tensor) -> f64 {
        f64::try_from(tensor.abs().max()).expect("one")
    }

    /// What the device cache makes of every pass is what the threads make, up to the rounding of bytes: one grey level at most.
    /// Where all crops are of the middle, it is the same bytes, unless the photo was small and is kept as it is.
    #[test]
    fn cached_images_are_cropped_as_the_loader_crops_them() {
        for_all(|what, bytes, cache, crops| {
            let gap = cache.cropped(crops).flatten(0, -1) - Tensor::from_slice(&bytes).to_kind(Kind::Float);
            let (most, mean) = (largest(&gap), gap.abs().mean(Kind::Float).double_value(&[]));
            assert!(most <= 1.0 && mean < 0.3, "{what}: at most {most}, {mean} on average");
        });
    }

    /// The kernel's own source, run on a CPU, and libtorch's way: the same numbers within rounding of single precision, also
    /// normalized; in bf16 within 2⁻⁸ of them.
    #[test]
    fn the_kernel_sees_what_libtorch_sees() {
        for_all(|what, _, cache, crops| {
            let channels = cache.pixels.size()[1];
            let [scale, bias] = [[0.5f32, 0.25, 2.0], [1.0, -3.0, 0.0]]
                .map(|numbers| Tensor::from_slice(&numbers[..channels as usize]).reshape([1, channels, 1, 1]));
            let expected = cache.cropped(crops) * &scale + &bias;
            let how = crops.how.as_ref().expect("images");
            let look =
                |kind| torch_shim::look(&cache.pixels, &crops.places, how, (&scale, &bias), cache.view.size, kind);
            let gap = largest(&(look(Kind::Float) - &expected));
            assert!(gap < 2e-2, "{what}: {gap}");
            let half = look(Kind::BFloat16).to_kind(Kind::Float);
            let gap = largest(&((half - &expected) / (expected.abs() + 8.0)));
            assert!(gap < 1.0 / 200.0, "{what} in bf16: {gap}");
        });
    }

    /// Of photos of which only the middle is looked at, the middle is kept: 300 photos of 20 × 20 × 3 bytes, or fewer.
    #[test]
    fn no_more_is_kept_than_crops_need() {
        let samples: Vec<Sample> = (0..300).map(sample).collect();
        let kept = |crop, size| {
            let view = View { size, resize: size, augmentation: Augmentation { crop, flip: true } };
            let read = |sample: &Sample| Ok(photo(sample, Channels::Rgb));
            let cache = DeviceCache::gather(&samples, read, view, Device::Cpu).expect("readable").expect("room");
            cache.pixels.numel()
        };
        let all: usize = samples.iter().map(|sample| photo(sample, Channels::Rgb).pixels.len()).sum();
        assert_eq!(kept(Crop::Resized { area: 0.5 }, 20), all);
        assert_eq!(kept(Crop::Shift { pixels: 2 }, 20), 300 * 20 * 20 * 3);
        assert_eq!(kept(Crop::None, 400), all, "smaller photos are kept as they are");
    }
}
