//! How many times as many images a second come from a pack as from the photos it was made of.

use crate::data_path::{Epochs, How};
use clap::Args;
use prescient::data::datasets::pack;
use prescient::data::{Dataset, Fit, Folder, FolderSettings, Pack};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Photos and their pack take turns, an epoch each.
#[derive(Debug, Args)]
pub(crate) struct PackGain {
    /// A folder or .zip with `train/CLASS/*` and `test/CLASS/*`
    root: PathBuf,
    /// The file to make the pack in; taken away at the end
    #[arg(long, value_name = "FILE", default_value = "target/bench/gain.pack")]
    out: PathBuf,
    /// The shorter side of packed images
    #[arg(long, default_value_t = 256)]
    packed: u32,
    #[arg(long, default_value_t = 9)]
    turns: usize,
    #[command(flatten)]
    how: How,
}

impl PackGain {
    pub(crate) fn run(self) {
        let photos: Arc<dyn Dataset> =
            Arc::new(Folder::open(&self.root, &FolderSettings::new(&self.root)).expect("photos"));
        if let Some(folder) = self.out.parent() {
            std::fs::create_dir_all(folder).expect("a folder for the pack");
        }
        pack(&*photos, &self.out, Fit { size: self.packed, whole: true }, &|_, _| {}).expect("a pack");
        let packed: Arc<dyn Dataset> = Arc::new(Pack::open(&self.out).expect("the pack"));
        let mut contestants = [photos, packed].map(|dataset| Epochs::new(dataset, self.how));
        let mut rates = [Vec::new(), Vec::new()];
        for turn in 0..self.turns {
            // Nobody always goes first.
            for place in [turn % 2, 1 - turn % 2] {
                let began = Instant::now();
                let images = contestants[place].round();
                rates[place].push(images as f64 / began.elapsed().as_secs_f64());
            }
        }
        std::fs::remove_file(&self.out).expect("our own pack");
        let ratios: Vec<f64> = rates[0].iter().zip(&rates[1]).map(|(photos, pack)| pack / photos).collect();
        let [[_, photos, _], [_, pack, _], [least, ratio, most]] =
            [&rates[0], &rates[1], &ratios].map(|numbers| spread(numbers));
        println!(
            "photos {photos:.0} images/s, pack {pack:.0} images/s, ratio {ratio:.2} ({least:.2} to {most:.2}); \
             medians of {} turns",
            self.turns
        );
    }
}

/// The smallest, the middle and the largest.
fn spread(numbers: &[f64]) -> [f64; 3] {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    [sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]]
}
