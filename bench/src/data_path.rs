//! How many images a second come from disk to batches for training: the peer is `peers/data_path.py`.

use crate::serve;
use clap::Args;
use prescient::data::{Augmentation, Crop, Dataset, Folder, FolderSettings, Loader, Pack, Pass, Sealed, Subset, View};
use prescient::scenario::{Order, Scenario};
use prescient::seeds::Seeds;
use std::path::PathBuf;
use std::sync::Arc;
use tch::Device;

/// Read, crop, flip and batch all training images, shuffled.
#[derive(Debug, Args)]
pub(crate) struct DataPath {
    /// A folder or .zip with `train/CLASS/*` and `test/CLASS/*`: every image is decoded, every time
    #[arg(long, value_name = "DIR", required_unless_present = "pack")]
    root: Option<PathBuf>,
    /// A pack made of it
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pack: Option<PathBuf>,
    /// The side of an image after the crop
    #[arg(long, default_value_t = 64)]
    size: u32,
    #[arg(long, default_value_t = 128)]
    batch: usize,
    #[arg(long, default_value_t = 2)]
    workers: usize,
}

impl DataPath {
    pub(crate) fn run(self) {
        let dataset: Arc<dyn Dataset> = match (&self.pack, &self.root) {
            (Some(path), _) => Arc::new(Pack::open(path).expect("a pack")),
            (None, Some(path)) => Arc::new(Folder::open(path, &FolderSettings::new(path)).expect("photos")),
            (None, None) => unreachable!("clap asks for one"),
        };
        let split = dataset.catalogue().len().to_string().parse().expect("a split");
        let scenario = Scenario::new(dataset.catalogue().names(), &Order::Listed, &split).expect("a scenario");
        let samples = dataset.samples(Subset::Train).to_vec();
        let sealed = Sealed::new(dataset, scenario);
        let data = Arc::new(sealed.open(&sealed.scenario().task(1), []));
        let augmentation = Augmentation { crop: Crop::Resized { area: 0.08 }, flip: true };
        let view = View { size: self.size, resize: self.size, augmentation };
        let loader = Loader::new(data, view, self.batch, self.workers);
        let mut epoch = 0;
        let mut round = || {
            epoch += 1;
            let batches = loader.pass(&samples, Pass::Learn(Seeds::new(epoch)));
            batches.map(|batch| batch.expect("readable").slots.len()).sum()
        };
        round();
        serve(Device::Cpu, round);
    }
}
