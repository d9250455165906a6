//! Our half of the benchmarks. Each work speaks the peers' protocol: it sets itself up, says `ready`, and for each line
//! on stdin runs one round and answers `{"seconds": S, "items": N}`. So a harness can take turns between programs.

mod answer;
mod awa2_shape;
mod data_path;
mod ends;
mod exchange;
mod extract;
mod generator_step;
mod load;
mod made_up;
mod many_classes;
mod mmd;
mod near_duplicates;
mod pack_gain;
mod photo_sizes;
mod processes;
mod read_rows;
mod scaling;
mod svm;
mod timeline;
mod train_step;

use clap::{Parser, Subcommand};
use std::io::{BufRead, Write};
use std::time::Instant;
use tch::Device;

#[derive(Debug, Parser)]
#[command(version, about = "Our half of the benchmarks; see bench/peers for the other half")]
struct Arguments {
    #[command(subcommand)]
    work: Work,
}

#[derive(Debug, Subcommand)]
enum Work {
    /// A training step: an item is an image
    TrainStep(train_step::TrainStep),
    /// Features by a frozen network: an item is an image
    Extract(extract::Extract),
    /// Answers of the closed form to features: an item is an image
    Answer(answer::Answer),
    /// A step of the generator on one class: an item is a step
    GeneratorStep(generator_step::GeneratorStep),
    /// From a file to a batch for training, one epoch a round: an item is an image
    DataPath(data_path::DataPath),
    /// A pack against the photos it was made of: no rounds, prints what it found
    PackGain(pack_gain::PackGain),
    /// What photos of 200 to 1,200 pixels cost to decode and to keep: no rounds, prints what it found
    PhotoSizes(photo_sizes::PhotoSizes),
    /// How well a perceptual hash tells a photo packed anew from another photo: no rounds, prints what it found
    NearDuplicates(near_duplicates::NearDuplicates),
    /// A whole run on a dataset of AwA2's shape with fewer epochs, and what the paper's would take: no rounds
    Awa2Shape(awa2_shape::Awa2Shape),
    /// How cost grows with images, classes and features: no rounds, prints a table
    Scaling(scaling::Scaling),
    /// Who works when, readers, steps and the GPU: no rounds, prints a table and draws it
    Timeline(timeline::Timeline),
    /// The closed form with a million features in ten thousand classes: no rounds, prints what it found
    ManyClasses(many_classes::ManyClasses),
    /// Rows of features through the seal and into the ledger: no rounds, prints what it found
    ReadRows(read_rows::ReadRows),
    /// A run in 1, 2 and 4 processes: no rounds, prints a table and draws it
    Processes(processes::Processes),
    /// A sum over two and four processes: no rounds, prints what it found
    Exchange(exchange::Exchange),
    /// The loss of the generator and its slope: an item is an evaluation
    Mmd(mmd::MmdStep),
    /// Load for a service on this machine: no rounds, prints rate and latencies
    Load(load::Load),
    /// A linear SVM: an item is a fit
    Svm(svm::Svm),
}

fn main() {
    // As the command itself runs.
    torch_shim::tune_process();
    match Arguments::parse().work {
        Work::TrainStep(work) => work.run(),
        Work::Extract(work) => work.run(),
        Work::Answer(work) => work.run(),
        Work::GeneratorStep(work) => work.run(),
        Work::DataPath(work) => work.run(),
        Work::PackGain(work) => work.run(),
        Work::PhotoSizes(work) => work.run(),
        Work::NearDuplicates(work) => work.run(),
        Work::Awa2Shape(work) => work.run(),
        Work::Scaling(work) => work.run(),
        Work::Timeline(work) => work.run(),
        Work::ManyClasses(work) => work.run(),
        Work::ReadRows(work) => work.run(),
        Work::Processes(work) => work.run(),
        Work::Exchange(work) => work.run(),
        Work::Mmd(work) => work.run(),
        Work::Load(work) => work.run(),
        Work::Svm(work) => work.run(),
    }
}

/// `cpu` or `cuda`.
fn device(name: &str) -> Device {
    match name {
        "cuda" => {
            let cuda = torch_shim::open_cuda();
            assert!(cuda.is_available(), "{cuda}");
            Device::Cuda(0)
        }
        _ => Device::Cpu,
    }
}

/// Waits until the device has done all that it was given.
fn synchronize(device: Device) {
    if let Device::Cuda(index) = device {
        tch::Cuda::synchronize(index as i64);
    }
}

/// Runs `round`, which says how many items it went through, once for each line on stdin.
fn serve(device: Device, mut round: impl FnMut() -> usize) {
    synchronize(device);
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        if line.is_err() {
            return;
        }
        synchronize(device);
        let began = Instant::now();
        let items = round();
        synchronize(device);
        println!("{}", serde_json::json!({ "seconds": began.elapsed().as_secs_f64(), "items": items }));
        let _ = std::io::stdout().flush();
    }
}
