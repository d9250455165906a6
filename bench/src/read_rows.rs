//! Rows of features as a task reads them, through the seal and into the ledger, and nothing else: what the closed form's stage
//! `extract` would take if adding up took nothing.

use clap::Args;
use prescient::data::{FeaturesSettings, Source};
use prescient::protocol::Sealed;
use prescient::scenario::{Order, Scenario, Split};
use rayon::prelude::*;
use std::path::PathBuf;
use std::time::Instant;

/// Rows read together, as the closed form does.
const CHUNK: usize = 64;

#[derive(Debug, Args)]
pub(super) struct ReadRows {
    /// A folder that `bench/many_rows.py` wrote
    folder: PathBuf,
    /// How often all are read
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

impl ReadRows {
    pub(super) fn run(self) {
        let source = Source::Features(FeaturesSettings::new(&self.folder));
        let dataset = source.open().expect("features that were drawn");
        let split: Split = dataset.catalogue().len().to_string().parse().expect("one task");
        let scenario = Scenario::new(dataset.catalogue().names(), &Order::Listed, &split).expect("a scenario");
        for _ in 0..self.rounds {
            // Its ledger is empty: a row that is known already is not digested again.
            let sealed = Sealed::new(dataset.clone(), scenario.clone());
            let data = sealed.open(&sealed.scenario().task(1), []);
            let present = data.present_by_shelf();
            let began = Instant::now();
            for samples in present.chunks(CHUNK) {
                samples.par_iter().for_each(|sample| drop(data.training_image(sample).expect("a row")));
            }
            println!("{} rows read in {:.2} s", present.len(), began.elapsed().as_secs_f64());
        }
    }
}
