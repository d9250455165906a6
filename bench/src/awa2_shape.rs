//! A whole run of the Ghost model on a dataset of AwA2's shape, with fewer epochs, and what that says of the paper's.
//!
//! 50 classes, 29,841 training and 7,481 test images of 224 pixels, 25+5x5, batch 128. To what was measured come the
//! epochs that were left out: of main training each as long as the last two, of the generators each as long as their
//! mean. All other stages are whole.

use super::ends::{ENOUGH, Ends};
use super::made_up::MadeUp;
use clap::Args;
use prescient::engine::Compute;
use prescient::experiment::{Experiment, Recipe};
use prescient::report::ReadRun;
use std::path::Path;
use std::sync::Arc;

/// The paper's epochs of main training.
const PAPER: f64 = 90.0;
/// The paper's epochs of the generator.
const GENERATOR: f64 = 1200.0;

#[derive(Debug, Args)]
pub(super) struct Awa2Shape {
    #[arg(long, default_value = "cuda")]
    device: String,
    /// Epochs of main training, of the paper's 90
    #[arg(long, default_value_t = ENOUGH)]
    epochs: usize,
    /// Epochs of the generator, of the paper's 1,200
    #[arg(long, default_value_t = 60)]
    generator: usize,
    /// Kernels that cuDNN times for each convolution
    #[arg(long, default_value_t = Compute::default().cudnn_benchmark)]
    tune: u8,
    /// Stop after so many tasks
    #[arg(long)]
    tasks: Option<usize>,
    /// Images of 200 to 1,200 pixels either way instead of 224
    #[arg(long)]
    mixed: bool,
    /// A share of the images, to try it out
    #[arg(long, default_value_t = 1.0)]
    share: f64,
}

impl Awa2Shape {
    pub(super) fn run(self) {
        let device = super::device(&self.device);
        let recipe = format!(
            "[data]\nkind = \"synthetic\"\n\
             [images]\ncrop = \"resized 0.08\"\nflip = true\n\
             [scenario]\nsplit = \"25+5x5\"\n\
             [model]\nextractor = {{ kind = \"resnet18\" }}\n\
             [train]\nepochs = {}\nbatch_size = 128\n\
             [ghosts]\nl2_normalize = true\ngenerator = {{ kind = \"gmmn\", epochs = {}, lr = 1e-5 }}\n\
             [calibrate]\nmax_seen_drop = 0.03\n",
            self.epochs, self.generator
        );
        let mut recipe = Recipe::parse(&recipe, Path::new("awa2-shape.toml")).unwrap_or_else(|error| panic!("{error}"));
        recipe.compute.cudnn_benchmark = self.tune;
        let count = |images: f64| (images * self.share) as usize;
        let dataset = MadeUp::new(50, (count(29_841.0), count(7_481.0)), 224);
        let dataset = Arc::new(if self.mixed { dataset.of_mixed_sizes() } else { dataset });
        let out = std::env::temp_dir().join(format!("awa2-shape-{}", std::process::id()));
        let mut ends = Ends::default();
        let run = Experiment::with_dataset(recipe, dataset, device)
            .and_then(|experiment| experiment.run(&out, self.tasks, &mut ends))
            .and_then(|_| ReadRun::read(&out));
        let run = run.unwrap_or_else(|error| panic!("{error}"));
        let (mut measured, mut whole) = (0.0, 0.0);
        for (task, spent) in run.spent.iter().enumerate() {
            let Some(spent) = spent else { continue };
            let epoch = ends.last_two(task + 1);
            let mut left_out = epoch * (PAPER - self.epochs as f64);
            let mut line = format!("task {}: {:.1} s, an epoch {epoch:.2} s:", task + 1, spent.seconds);
            // Calibration first fits a generator of its own, then looks.
            let mut fitted = false;
            for stage in &spent.stages {
                let fits =
                    stage.stage == "generator" || (stage.stage == "calibrate" && !std::mem::replace(&mut fitted, true));
                if fits {
                    left_out += stage.seconds * (GENERATOR / self.generator as f64 - 1.0);
                }
                line += &format!(" {} {:.2}", stage.stage, stage.seconds);
            }
            measured += spent.seconds;
            whole += spent.seconds + left_out;
            let gb = |bytes: Option<u64>| bytes.map_or(f64::NAN, |bytes| bytes as f64 / 1e9);
            println!(
                "{line}; peak {:.2} GB of RAM, {:.2} GB of the GPU",
                gb(spent.peak_ram_bytes),
                gb(spent.peak_vram_bytes)
            );
        }
        println!(
            "measured {measured:.1} s with {} and {} epochs; with the paper's {PAPER} and {GENERATOR}: \
             {whole:.0} s, {:.1} min",
            self.epochs,
            self.generator,
            whole / 60.0
        );
        let _ = std::fs::remove_dir_all(out);
    }
}
