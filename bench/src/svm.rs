//! One plane between the ghosts of a class and all seen features.

use clap::Args;
use prescient::data::formats::npy;
use prescient::ghost::svm::{Rows, SvmSettings, fit};
use std::path::{Path, PathBuf};
use tch::Device;

#[derive(Debug, Args)]
pub(super) struct Svm {
    /// Features, `[rows, width]`, as `.npy`
    #[arg(long)]
    features: PathBuf,
    /// 1 for a positive row, 0 for a negative one, as `.npy`
    #[arg(long)]
    labels: PathBuf,
}

impl Svm {
    pub(super) fn run(self) {
        let read = |path: &Path| {
            let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            npy::read(&bytes, path).unwrap_or_else(|error| panic!("{error}"))
        };
        let (features, labels) = (read(&self.features), read(&self.labels));
        let width = features.shape[1];
        let side = |wanted: f32| -> Vec<f32> {
            let rows = features.values.chunks_exact(width).zip(&labels.values);
            rows.filter(|(_, label)| **label == wanted).flat_map(|(row, _)| row.iter().copied()).collect()
        };
        let (negatives, positives) = (side(0.0), side(1.0));
        super::serve(Device::Cpu, || {
            let plane = fit(Rows::new(&negatives, width), Rows::new(&positives, width), SvmSettings::default());
            assert!(plane.bias.is_finite());
            1
        });
    }
}
