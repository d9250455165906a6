//! How images reach the network: as normalized tensors with their slots, batch by batch.
//!
//! Two ways lead there. Worker threads crop and resize on the CPU and the device takes the bytes over; or the images lie
//! on the device already, in a [`DeviceCache`], and are cropped there. Both choose the same crops.

use crate::class::Slot;
use crate::data::{Channels, Normalization, Sample, View};
use crate::engine::device_cache::{Crops, DeviceCache};
use crate::engine::loader::pieces;
use crate::engine::{Batch, Loader, Pass};
use crate::error::LearnError;
use crate::protocol::{TaskData, Usage};
use std::ops::Range;
use std::sync::Arc;
use tch::{Device, Kind, Tensor};

/// What is done to images before the network sees them: cropped and resized to a square, then normalized.
#[derive(Debug)]
pub struct Preprocessing {
    view: View,
    device: Device,
    /// Feature rows are taken as they are.
    rows: bool,
    /// What pixels are multiplied by, `[1, channels, 1, 1]`.
    scale: Tensor,
    /// What is added then.
    bias: Tensor,
}

impl Clone for Preprocessing {
    fn clone(&self) -> Self {
        Self { scale: self.scale.shallow_clone(), bias: self.bias.shallow_clone(), ..*self }
    }
}

impl Preprocessing {
    /// For images of `channels`, of which the network sees squares of the `view`'s size.
    pub fn new(view: View, normalization: Normalization, channels: Channels, device: Device) -> Self {
        let Normalization { mean, std } = normalization;
        let plane = |of: &dyn Fn(usize) -> f64| {
            let values: Vec<f64> = (0..channels.count()).map(of).collect();
            Tensor::from_slice(&values).to_kind(Kind::Float).reshape([1, -1, 1, 1]).to_device(device)
        };
        Self {
            view,
            device,
            rows: channels == Channels::Features,
            scale: plane(&|channel| 1.0 / (255.0 * std[channel])),
            bias: plane(&|channel| -mean[channel] / std[channel]),
        }
    }

    /// How images are cropped and resized.
    pub fn view(&self) -> View {
        self.view
    }

    /// A digest of what pixels are multiplied by and added to.
    pub fn digest(&self) -> Result<String, LearnError> {
        let numbers =
            [&self.scale, &self.bias].map(|tensor| Vec::<f32>::try_from(tensor.to_device(Device::Cpu).view([-1])));
        let [scale, bias] = numbers;
        let bytes: Vec<u8> = scale?.into_iter().chain(bias?).flat_map(f32::to_le_bytes).collect();
        Ok(blake3::hash(&bytes).to_hex()[..16].to_owned())
    }

    /// Where tensors lie.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Bytes of `count` images that are cropped already, brought to the device: `[count, channels, size, size]`, or
    /// `[count, size]` numbers.
    pub fn upload(&self, bytes: &[u8], count: usize) -> Tensor {
        let (bytes, count) = (Tensor::from_slice(bytes).to_device(self.device), count as i64);
        let size = i64::from(self.view.size);
        match self.rows {
            true => bytes.reshape([count, size * 4]).view_dtype(Kind::Float),
            false => bytes.reshape([count, self.scale.size()[1], size, size]),
        }
    }

    /// Pixels from 0 to 255, normalized; feature rows as they are.
    pub fn normalize(&self, pixels: Tensor) -> Tensor {
        let mut pixels = pixels.to_kind(Kind::Float);
        if !self.rows {
            // In place: a fresh tensor of this size costs more than the sum.
            pixels *= &self.scale;
            pixels += &self.bias;
        }
        pixels
    }
}

/// The images of one task, in batches on the device.
pub struct TaskBatches {
    loader: Loader,
    input: Preprocessing,
    /// The images to learn from, where they fit on the device.
    cache: Option<DeviceCache>,
}

/// A batch on the device.
pub struct DeviceBatch<'a> {
    /// Their slots, `[batch]`.
    pub targets: Tensor,
    /// Which ghosts go with them, `[ghosts]`, where some do.
    pub ghosts: Option<Tensor>,
    /// The slots as plain numbers.
    pub slots: Vec<Slot>,
    /// Which images they are.
    pub samples: Vec<Sample>,
    pixels: Pixels<'a>,
    input: Preprocessing,
}

enum Pixels<'a> {
    /// Cropped by the loader, `[batch, channels, size, size]` bytes, or `[batch, size]` numbers.
    Bytes(Tensor),
    /// To be cropped on the device.
    Cached(&'a DeviceCache, Crops),
}

impl DeviceBatch<'_> {
    /// What the network takes: `[batch, channels, size, size]`, normalized, or `[batch, size]` as it is. Bytes become
    /// numbers on the device, of `kind` where a fused kernel makes them.
    pub fn images(&self, kind: Kind) -> Tensor {
        match &self.pixels {
            Pixels::Bytes(bytes) => self.input.normalize(bytes.to_kind(Kind::Float)),
            Pixels::Cached(cache, crops) => cache
                .cropped_and_normalized(crops, (&self.input.scale, &self.input.bias), kind)
                .unwrap_or_else(|| self.input.normalize(cache.cropped(crops))),
        }
    }

    /// All tensors that a step reads and that change from one batch to the next.
    pub fn tensors(&self) -> Vec<&Tensor> {
        let pixels = match &self.pixels {
            Pixels::Bytes(bytes) => vec![bytes],
            Pixels::Cached(_, crops) => crops.tensors(),
        };
        pixels.into_iter().chain([&self.targets]).chain(&self.ghosts).collect()
    }

    /// Some of its images, with some ghosts.
    pub(crate) fn part(&self, places: Range<usize>, ghosts: Option<Tensor>) -> Self {
        let (start, count) = (places.start as i64, places.len() as i64);
        Self {
            targets: self.targets.narrow(0, start, count),
            ghosts,
            slots: self.slots[places.clone()].to_vec(),
            samples: self.samples[places].to_vec(),
            pixels: match &self.pixels {
                Pixels::Bytes(bytes) => Pixels::Bytes(bytes.narrow(0, start, count)),
                Pixels::Cached(cache, crops) => Pixels::Cached(cache, crops.narrow(start, count)),
            },
            input: self.input.clone(),
        }
    }

    /// The same batch in tensors of its own.
    pub fn copy(&self) -> Self {
        Self {
            targets: self.targets.copy(),
            ghosts: self.ghosts.as_ref().map(Tensor::copy),
            slots: self.slots.clone(),
            samples: self.samples.clone(),
            pixels: match &self.pixels {
                Pixels::Bytes(bytes) => Pixels::Bytes(bytes.copy()),
                Pixels::Cached(cache, crops) => Pixels::Cached(cache, crops.copy()),
            },
            input: self.input.clone(),
        }
    }
}

/// A batch of test images. A type of its own: no training step takes it.
pub struct DeviceTestBatch<'a>(DeviceBatch<'a>);

impl<'a> DeviceTestBatch<'a> {
    /// To be answered.
    pub fn batch(&self) -> &DeviceBatch<'a> {
        &self.0
    }
}

/// Batch after batch.
type Batches<'a, T> = Box<dyn Iterator<Item = Result<T, LearnError>> + 'a>;

impl TaskBatches {
    /// The images that `data` lets a task read. Where the device is a GPU and they fit, those to learn from are laid out
    /// on it.
    pub fn new(
        data: Arc<TaskData>,
        input: Preprocessing,
        batch_size: usize,
        threads: usize,
    ) -> Result<Self, LearnError> {
        let readable: Vec<Sample> =
            data.present().into_iter().chain(data.memory()).chain(data.future_of_an_oracle()).collect();
        let cache = match input.device.is_cuda() {
            true => DeviceCache::gather(&readable, |sample| data.training_image(sample), input.view, input.device)?,
            false => None,
        };
        let loader = Loader::new(data, input.view, batch_size, threads);
        Ok(Self { loader, input, cache })
    }

    /// The same without images to learn from: to be tested alone.
    pub fn for_test(data: Arc<TaskData>, input: Preprocessing, batch_size: usize, threads: usize) -> Self {
        Self { loader: Loader::new(data, input.view, batch_size, threads), input, cache: None }
    }

    /// What the task may read.
    pub fn data(&self) -> &TaskData {
        self.loader.data()
    }

    /// One pass over `samples`, all of which the task must be allowed to learn from.
    /// What it gives outlives the pass: a captured step keeps a batch.
    pub fn pass<'s, 'a: 's>(
        &'a self,
        samples: &[Sample],
        pass: Pass,
        batch_size: usize,
    ) -> Batches<'s, DeviceBatch<'a>> {
        self.pieces(samples, pass, pieces(0..samples.len(), batch_size))
    }

    /// A part of it: a batch of each of the `pieces`, places in the order in which the whole pass would go.
    pub fn pieces<'s, 'a: 's>(
        &'a self,
        samples: &[Sample],
        pass: Pass,
        pieces: Vec<Range<usize>>,
    ) -> Batches<'s, DeviceBatch<'a>> {
        match &self.cache {
            Some(cache) => {
                let ordered = pass.order(samples);
                pieces.iter().for_each(|piece| self.data().use_again(Usage::Learn, &ordered[piece.clone()]));
                self.cached(cache, ordered, pass, pieces)
            }
            None => {
                let batches = self.loader.pieces(samples, pass, pieces);
                Box::new(batches.map(|batch| Ok(self.on_device(&batch?))))
            }
        }
    }

    /// One pass over `part` of the test images of all classes, in order; `cache` has them where they fit on the device.
    pub fn test<'a>(
        &'a self,
        cache: Option<&'a DeviceCache>,
        batch_size: usize,
        part: Range<usize>,
    ) -> Batches<'a, DeviceTestBatch<'a>> {
        match cache {
            Some(cache) => {
                let test = self.data().test().to_vec();
                self.data().use_again(Usage::Test, &test[part.clone()]);
                let batches = self.cached(cache, test, Pass::Eval, pieces(part, batch_size));
                Box::new(batches.map(|batch| batch.map(DeviceTestBatch)))
            }
            None => {
                let batches = self.loader.with_batch_size(batch_size).test_part(part);
                Box::new(batches.map(|batch| Ok(DeviceTestBatch(self.on_device(batch?.batch())))))
            }
        }
    }

    fn cached<'a>(
        &self,
        cache: &'a DeviceCache,
        samples: Vec<Sample>,
        pass: Pass,
        pieces: Vec<Range<usize>>,
    ) -> Batches<'a, DeviceBatch<'a>> {
        let slots: Vec<Slot> = samples.iter().map(|sample| self.data().slot(sample)).collect();
        let targets = self.targets(&slots);
        let crops = cache.crops(&samples, pass);
        let input = self.input.clone();
        Box::new(pieces.into_iter().map(move |Range { start, end }| {
            let (from, count) = (start as i64, (end - start) as i64);
            Ok(DeviceBatch {
                targets: targets.narrow(0, from, count),
                ghosts: None,
                slots: slots[start..end].to_vec(),
                samples: samples[start..end].to_vec(),
                pixels: Pixels::Cached(cache, crops.narrow(from, count)),
                input: input.clone(),
            })
        }))
    }

    /// A batch that worker threads have made ready.
    fn on_device(&self, batch: &Batch) -> DeviceBatch<'static> {
        DeviceBatch {
            targets: self.targets(&batch.slots),
            ghosts: None,
            slots: batch.slots.clone(),
            samples: batch.samples.clone(),
            pixels: Pixels::Bytes(self.input.upload(&batch.pixels, batch.slots.len())),
            input: self.input.clone(),
        }
    }

    /// The slots as a tensor, `[batch]`.
    fn targets(&self, slots: &[Slot]) -> Tensor {
        let slots: Vec<i64> = slots.iter().map(|slot| slot.index() as i64).collect();
        Tensor::from_slice(&slots).to_device(self.input.device)
    }
}

/// The bytes of `count` feature rows, as numbers: `[count, size]`.
pub(crate) fn numbers(bytes: &Tensor, count: i64) -> Tensor {
    bytes.reshape([count, -1]).view_dtype(Kind::Float)
}
