//! Images that lie on the device: cropped, resized, moved and mirrored there.
//!
//! ```text
//! seen = V · image · Hᵀ
//! ```
//!
//! Each row of `V` and `H` says how much of each pixel goes into one pixel of the view: a triangle around its place in
//! the window, as wide as the reduction asks. That is the definition of `data/transforms`, without rounding to bytes.

use crate::data::{Channels, CropParams, Image, Sample, View};
use crate::engine::batches::numbers;
use crate::engine::{Pass, has_kernels_on};
use crate::error::DataError;
use rayon::prelude::*;
use std::collections::HashMap;
use tch::{Device, IndexOp, Kind, Tensor, no_grad};

/// Beyond so many bytes, images are brought to the device batch by batch.
const MOST: usize = 4 << 30;

/// So many images are read and brought to the device at a time.
const PART: usize = 512;

/// Whether so many bytes leave half of what is free, which training needs; a CPU does not tell.
fn leaves_room(bytes: u64, free: Option<u64>) -> bool {
    free.is_none_or(|free| bytes <= free / 2)
}

/// Images of one size on a device.
#[derive(Debug)]
pub struct DeviceCache {
    /// `[images, channels, height, width]` bytes, or `[images, width]` numbers.
    pixels: Tensor,
    /// Where each image lies.
    rows: HashMap<Sample, i64>,
    width: u32,
    height: u32,
    view: View,
}

/// How the images of a pass are cropped, on the device.
pub(crate) struct Crops {
    /// Which image each is, `[images]`.
    rows: Tensor,
    /// Left, top, width, height, shift right, shift down, mirrored: `[images, 7]`. None where the view is the image.
    how: Option<Tensor>,
    /// Where all images are seen as they are, but mirrored.
    mirrored: bool,
}

impl Crops {
    /// `count` of them from `from`.
    pub(crate) fn narrow(&self, from: i64, count: i64) -> Self {
        let part = |tensor: &Tensor| tensor.narrow(0, from, count);
        Self { rows: part(&self.rows), how: self.how.as_ref().map(part), mirrored: self.mirrored }
    }

    /// The same in tensors of its own.
    pub(crate) fn copy(&self) -> Self {
        Self { rows: self.rows.copy(), how: self.how.as_ref().map(Tensor::copy), mirrored: self.mirrored }
    }

    pub(crate) fn tensors(&self) -> Vec<&Tensor> {
        std::iter::once(&self.rows).chain(&self.how).collect()
    }
}

impl DeviceCache {
    /// Reads `samples` and lays them out on `device`; none where they differ in size or are too many.
    pub fn gather(
        samples: &[Sample],
        read: impl Fn(&Sample) -> Result<Image, DataError> + Sync,
        view: View,
        device: Device,
    ) -> Result<Option<Self>, DataError> {
        let Some(first) = samples.first() else { return Ok(None) };
        let Image { width, height, channels, pixels } = read(first)?;
        let bytes = pixels.len().saturating_mul(samples.len());
        if bytes > MOST || !leaves_room(bytes as u64, torch_shim::about_gpu(device).map(|gpu| gpu.free_bytes)) {
            return Ok(None);
        }
        let same = |image: &Image| (image.width, image.height, image.channels) == (width, height, channels);
        let one = |(sample, place): (&Sample, &mut [u8])| {
            let image = read(sample)?;
            let fits = same(&image);
            if fits {
                place.copy_from_slice(&image.pixels);
            }
            Ok(fits)
        };
        let (length, all) = (pixels.len(), samples.len() as i64);
        let room = || match channels {
            Channels::Features => Tensor::empty([all, i64::from(width)], (Kind::Float, device)),
            Channels::Grey | Channels::Rgb => {
                let shape = [all, channels.count() as i64, i64::from(height), i64::from(width)];
                Tensor::empty(shape, (Kind::Uint8, device))
            }
        };
        // Made once the first part has fitted: photos of many sizes are found out by then.
        let mut cache: Option<Tensor> = None;
        // In parts of one buffer, so that all images lie in memory once: on the device.
        let mut buffer = vec![0; length * samples.len().min(PART)];
        for (number, part) in samples.chunks(PART).enumerate() {
            let places = &mut buffer[..length * part.len()];
            let fits: Vec<bool> =
                part.par_iter().zip(places.par_chunks_exact_mut(length)).map(one).collect::<Result<_, DataError>>()?;
            if !fits.into_iter().all(|fits| fits) {
                return Ok(None);
            }
            let (count, bytes) = (part.len() as i64, torch_shim::upload(places, device));
            let images = match channels {
                Channels::Features => numbers(&bytes, count),
                Channels::Grey | Channels::Rgb => {
                    let shape = [count, i64::from(height), i64::from(width), channels.count() as i64];
                    bytes.reshape(shape).permute([0, 3, 1, 2])
                }
            };
            cache.get_or_insert_with(room).narrow(0, (number * PART) as i64, count).copy_(&images);
        }
        let rows = samples.iter().enumerate().map(|(row, sample)| (*sample, row as i64)).collect();
        Ok(cache.map(|pixels| Self { pixels, rows, width, height, view }))
    }

    /// How `pass` crops `samples`, which come in its order.
    pub(crate) fn crops(&self, samples: &[Sample], pass: Pass, view: View) -> Crops {
        let device = self.pixels.device();
        let rows: Vec<i64> = samples.iter().map(|sample| self.rows[sample]).collect();
        let rows = Tensor::from_slice(&rows).to_device(device);
        let look = view.eval_crop(self.width, self.height);
        let whole = (self.width, self.height) == (view.size, view.size) && look.window.width == f64::from(view.size);
        let numbers_lie_here = self.pixels.dim() == 2;
        let numbers = |crop: CropParams| {
            let CropParams { window, shift, flip } = crop;
            [window.left, window.top, window.width, window.height, shift.0 as f64, shift.1 as f64, f64::from(flip)]
                .map(|number| number as f32)
        };
        let how = match pass {
            Pass::Eval | Pass::EvalMirrored if whole => None,
            // Rows of features are not cropped.
            _ if numbers_lie_here => None,
            _ => {
                let (width, height) = (self.width, self.height);
                let places = (0..samples.len()).into_par_iter();
                let how: Vec<[f32; 7]> =
                    places.map(|place| numbers(pass.crop_params(&view, width, height, place))).collect();
                Some(Tensor::from_slice(how.as_flattened()).reshape([-1, 7]).to_device(device))
            }
        };
        Crops { rows, how, mirrored: matches!(pass, Pass::EvalMirrored) }
    }

    /// The crops: `[images, channels, size, size]`, from 0 to 255, or `[images, size]`.
    pub(crate) fn cropped(&self, crops: &Crops) -> Tensor {
        let images = self.pixels.index_select(0, &crops.rows).to_kind(Kind::Float);
        match &crops.how {
            None if crops.mirrored => images.flip([3i64]),
            None => images,
            Some(how) => no_grad(|| self.seen(&images, how)),
        }
    }

    /// The crops, times `scale` plus `bias` of each channel and in numbers of `kind`, in one pass; none where the device
    /// has no kernel for it, or nothing is to be cropped or moved.
    pub(crate) fn cropped_and_normalized(
        &self,
        crops: &Crops,
        normalize: (&Tensor, &Tensor),
        kind: Kind,
    ) -> Option<Tensor> {
        let how = crops.how.as_ref().filter(|_| has_kernels_on(self.pixels.device()))?;
        Some(no_grad(|| torch_shim::look(&self.pixels, &crops.rows, how, normalize, self.view.size, kind)))
    }

    fn seen(&self, images: &Tensor, how: &Tensor) -> Tensor {
        let column = |at: i64| how.i((.., at..=at));
        let still = column(6) * 0.0;
        let (across, down) = (i64::from(self.width), i64::from(self.height));
        let horizontal = self.weights(&column(0), &column(2), &column(4), &column(6), across);
        let vertical = self.weights(&column(1), &column(3), &column(5), &still, down);
        let narrowed = images.matmul(&horizontal.transpose(1, 2).unsqueeze(1));
        vertical.unsqueeze(1).matmul(&narrowed)
    }

    /// How much of each of `pixels` pixels goes into each pixel of the view along one side: `[batch, size, pixels]`.
    /// All other arguments are `[batch, 1]`.
    fn weights(&self, start: &Tensor, extent: &Tensor, shift: &Tensor, flip: &Tensor, pixels: i64) -> Tensor {
        let size = i64::from(self.view.size);
        let options = (Kind::Float, start.device());
        let out = Tensor::arange(size, options).unsqueeze(0);
        // Mirrored, then moved: where in the still view a pixel comes from.
        let from = &out + flip * (-&out * 2.0 + (size - 1) as f64) - shift;
        let inside = from.ge(0.0).logical_and(&from.lt(size as f64)).to_kind(Kind::Float);
        let scale = extent / size as f64;
        let center = start + (from + 0.5) * &scale;
        let reach = scale.clamp_min(1.0).unsqueeze(2);
        let places = (Tensor::arange(pixels, options) + 0.5).reshape([1, 1, -1]);
        let weights = (-((places - center.unsqueeze(2)).abs() / reach) + 1.0).clamp_min(0.0);
        let sums = weights.sum_dim_intlist([2i64].as_slice(), true, None::<Kind>).clamp_min(1e-6);
        weights / sums * inside.unsqueeze(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Augmentation, Crop, Dataset, Subset, Synthetic, SyntheticSettings};
    use crate::engine::Loader;
    use crate::protocol::Sealed;
    use crate::scenario::{Order, Scenario};
    use crate::seeds::Seeds;
    use std::sync::Arc;

    /// Images of 4 GiB beside 8 GiB that are free, and beside a little less.
    #[test]
    fn images_leave_half_of_a_gpu_to_training() {
        assert!(leaves_room(4 << 30, Some(8 << 30)) && leaves_room(4 << 30, None));
        assert!(!leaves_room(4 << 30, Some((8 << 30) - 2)));
    }

    /// Rows of numbers lie there as they are, however they are passed over.
    #[test]
    fn rows_of_numbers_are_what_they_were() {
        let sample = |index| Sample { subset: Subset::Train, index, class: crate::class::ClassId(0) };
        let samples = [0, 1, 2].map(sample);
        let read = |sample: &Sample| Ok(Image::of_features(&[sample.index as f32, -0.5]));
        let view = View::of_rows(2);
        let cache = DeviceCache::gather(&samples, read, view, Device::Cpu).expect("readable").expect("one length");
        for pass in [Pass::Eval, Pass::Train(Seeds::new(3))] {
            let order = pass.order(&samples);
            let seen = cache.cropped(&cache.crops(&order, pass, view));
            assert_eq!(seen.size(), [3, 2]);
            let expected: Vec<f32> = order.iter().flat_map(|sample| [sample.index as f32, -0.5]).collect();
            assert_eq!(Vec::<f32>::try_from(seen.flatten(0, -1)).expect("numbers"), expected);
        }
    }

    /// What the device cache makes of every pass is what the threads make, up to the rounding of bytes: one grey level at most.
    #[test]
    fn cached_images_are_cropped_as_the_loader_crops_them() {
        let dataset = Arc::new(Synthetic::new(&SyntheticSettings { train: 2, test: 1 }));
        let split = "24".parse().expect("a split");
        let scenario = Scenario::new(dataset.catalogue().names(), &Order::Listed, &split).expect("a scenario");
        let samples = dataset.samples(Subset::Train).to_vec();
        let sealed = Sealed::new(dataset, scenario);
        let data = Arc::new(sealed.open(&sealed.scenario().task(1), []));
        for (crop, size, resize) in [
            (Crop::Resized { area: 0.2 }, 32, 32),
            (Crop::Resized { area: 0.2 }, 12, 16),
            (Crop::Shift { pixels: 3 }, 32, 32),
            (Crop::None, 20, 24),
        ] {
            let view = View { size, resize, augmentation: Augmentation { crop, flip: true } };
            let loader = Loader::new(data.clone(), view, samples.len(), 1);
            let read = |sample: &Sample| data.training_image(sample);
            let cache = DeviceCache::gather(&samples, read, view, Device::Cpu).expect("readable").expect("one size");
            for pass in [Pass::Train(Seeds::new(3)), Pass::Eval, Pass::EvalMirrored] {
                let batch = loader.pass(&samples, pass).next().expect("a batch").expect("readable");
                let crops = cache.crops(&pass.order(&samples), pass, view);
                let found = cache.cropped(&crops).flatten(0, -1);
                let gap = (found - Tensor::from_slice(&batch.pixels).to_kind(Kind::Float)).abs();
                let (most, mean) = (gap.max(), gap.mean(Kind::Float));
                let (most, mean) = (f64::try_from(most).expect("one"), f64::try_from(mean).expect("one"));
                assert!(most <= 1.0 && mean < 0.3, "{crop:?} {pass:?}: at most {most}, {mean} on average");
            }
        }
    }
}
