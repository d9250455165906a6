//! How many images a second come from disk to batches for training: the peer is `peers/data_path.py`.

use crate::serve;
use clap::Args;
use prescient::data::{Augmentation, CachedDataset, Crop, Dataset, Folder, FolderSettings, Pack, Sample, Subset, View};
use prescient::engine::{Batch, Loader, Pass};
use prescient::protocol::Sealed;
use prescient::scenario::{Order, Scenario};
use prescient::seeds::Seeds;
use std::path::PathBuf;
use std::sync::Arc;
use tch::{Device, Kind, Tensor};

/// Read, crop, flip and batch all training images, shuffled.
#[derive(Debug, Args)]
pub(crate) struct DataPath {
    /// A folder or .zip with `train/CLASS/*` and `test/CLASS/*`: every image is decoded, every time unless it is kept
    #[arg(long, value_name = "DIR", required_unless_present = "pack")]
    root: Option<PathBuf>,
    /// A pack made of it
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pack: Option<PathBuf>,
    /// Keep so much of what is decoded, as a run does: every epoch that is measured is a later one then
    #[arg(long, value_name = "MIB", conflicts_with = "pack")]
    keep_mib: Option<u64>,
    #[command(flatten)]
    how: How,
}

/// How images are batched.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct How {
    /// The side of an image after the crop
    #[arg(long, default_value_t = 64)]
    size: u32,
    #[arg(long, default_value_t = 128)]
    batch: usize,
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Make normalized numbers of the bytes, too: a GPU does that itself, a CPU does it here
    #[arg(long)]
    normalize: bool,
}

impl DataPath {
    pub(crate) fn run(self) {
        let dataset: Arc<dyn Dataset> = match (&self.pack, &self.root) {
            (Some(path), _) => Arc::new(Pack::open(path).expect("a pack")),
            (None, Some(path)) => Arc::new(Folder::open(path, &FolderSettings::new(path)).expect("photos")),
            (None, None) => unreachable!("clap asks for one"),
        };
        let dataset: Arc<dyn Dataset> = match self.keep_mib {
            Some(mib) => Arc::new(CachedDataset::new(dataset, mib << 20)),
            None => dataset,
        };
        let mut epochs = Epochs::new(dataset, self.how);
        serve(Device::Cpu, || epochs.round());
    }
}

/// One epoch after another.
pub(crate) struct Epochs {
    loader: Loader,
    samples: Vec<Sample>,
    normalize: bool,
    epoch: u64,
}

impl Epochs {
    /// Of all training images. The first is gone through already: what is found out once is known then.
    pub(crate) fn new(dataset: Arc<dyn Dataset>, how: How) -> Self {
        // The workers are the threads that count.
        tch::set_num_threads(1);
        let split = dataset.catalogue().len().to_string().parse().expect("a split");
        let scenario = Scenario::new(dataset.catalogue().names(), &Order::Listed, &split).expect("a scenario");
        let samples = dataset.samples(Subset::Train).to_vec();
        let sealed = Sealed::new(dataset, scenario);
        let data = Arc::new(sealed.open(&sealed.scenario().task(1), []));
        let augmentation = Augmentation { crop: Crop::Resized { area: 0.08 }, flip: true };
        let view = View { size: how.size, resize: how.size, augmentation };
        let loader = Loader::new(data, view, how.batch, how.workers);
        let mut epochs = Self { loader, samples, normalize: how.normalize, epoch: 0 };
        epochs.round();
        epochs
    }

    /// The next one: how many images it had.
    pub(crate) fn round(&mut self) -> usize {
        self.epoch += 1;
        let batches = self.loader.pass(&self.samples, Pass::Train(Seeds::new(self.epoch)));
        batches.map(|batch| tensor(&batch.expect("readable"), self.normalize).size()[0] as usize).sum()
    }
}

/// The batch as a tensor, and on request as the network takes it; as `src/learner/shown.rs` makes it.
fn tensor(batch: &Batch, normalized: bool) -> Tensor {
    let shape = [batch.slots.len() as i64, batch.channels.count() as i64, batch.size as i64, batch.size as i64];
    let bytes = Tensor::from_slice(&batch.pixels).reshape(shape);
    if !normalized {
        return bytes;
    }
    let [slope, shift] = [0.017, -2.0].map(|value| Tensor::from_slice(&[value as f32; 3]).reshape([1, 3, 1, 1]));
    let mut pixels = bytes.to_kind(Kind::Float);
    pixels *= slope;
    pixels += shift;
    pixels
}
