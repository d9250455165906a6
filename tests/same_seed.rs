//! The same seed, computed differently: steps recorded or not, our kernels or libtorch's, images kept, read anew or from
//! a pack. On a CPU nothing changes but the time. On a GPU sums are rounded in another order, so a first epoch agrees
//! closely and later ones roughly; where there is no GPU, that half says so.
#![allow(clippy::unwrap_used)]

use prescient::data::{Dataset, Fit, Pack, Synthetic, SyntheticSettings, pack};
use prescient::experiment::record::{Epoch, Line};
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::learner::Silent;
use prescient::model::Compute;
use std::path::Path;
use std::sync::Arc;
use tch::Device;

/// Two of three tasks of the Ghost model: a teacher, ghosts and planes take part.
const RECIPE: &str = r#"
    seed = 1
    [data]
    kind = "synthetic"
    [scenario]
    split = "8+8+8"
    [model]
    backbone = { kind = "resnet18", stem = "small", width = 16 }
    [images]
    crop = { kind = "shift", pixels = 3 }
    [train]
    epochs = 3
    batch = 16
    lr = 0.01
    [finetune]
    epochs = 2
    [memory]
    per_class = 5
    [ghosts]
    per_class = 50
    generator = { kind = "gmmn", epochs = 5, lr = 1e-3, hidden = 32 }
    [complete]
    epochs = 2
"#;

fn drawn() -> Synthetic {
    Synthetic::new(&SyntheticSettings { train: 12, test: 4, ..Default::default() })
}

fn run(compute: Compute, dataset: Arc<dyn Dataset>, device: Device) -> Record {
    let recipe = Recipe { compute, ..Recipe::parse(RECIPE, Path::new("same_seed.toml")).unwrap() };
    let folder = tempfile::tempdir().unwrap();
    let experiment = Experiment::with_dataset(recipe, dataset, device).unwrap();
    experiment.run(&folder.path().join("run"), Some(2), &mut Silent).unwrap()
}

/// The run as it comes, and the same run in other ways, each with its name.
fn runs(device: Device) -> (Record, Vec<(&'static str, Record)>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drawn.pack");
    pack(&drawn(), &path, Fit { size: 512, whole: true }, &|_, _| {}).unwrap();
    let usual = Compute::default();
    let as_it_comes = run(usual, Arc::new(drawn()), device);
    let others = vec![
        ("no recordings", run(Compute { graphs: false, ..usual }, Arc::new(drawn()), device)),
        ("no kernels", run(Compute { kernels: false, ..usual }, Arc::new(drawn()), device)),
        ("nothing kept", run(Compute { keep_mib: 0, ..usual }, Arc::new(drawn()), device)),
        ("a pack", run(usual, Arc::new(Pack::open(&path).unwrap()), device)),
    ];
    (as_it_comes, others)
}

fn epochs(record: &Record) -> Vec<&Epoch> {
    let epochs = record.lines.iter().filter_map(|line| match line {
        Line::Epoch(epoch) => Some(epoch),
        _ => None,
    });
    epochs.collect()
}

#[test]
fn on_a_cpu_nothing_changes() {
    let (as_it_comes, others) = runs(Device::Cpu);
    for stage in ["train", "generator", "finetune"] {
        assert!(epochs(&as_it_comes).iter().any(|epoch| epoch.stage == stage), "no epoch of {stage}");
    }
    for (name, other) in others {
        assert!(as_it_comes.lines == other.lines, "{name}: another record");
    }
}

/// Measured on an H200: the first epoch within 0.02 %, the fifth within 0.6 % (`docs/bench/README.md`).
#[test]
fn on_a_gpu_losses_agree() {
    let cuda = torch_shim::open_cuda();
    if !cuda.is_available() {
        eprintln!("left out on a GPU: {cuda}");
        return;
    }
    let (as_it_comes, others) = runs(Device::Cuda(0));
    for (name, other) in others {
        let (ours, theirs) = (epochs(&as_it_comes), epochs(&other));
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_eq!((ours.task, &ours.stage, ours.epoch), (theirs.task, &theirs.stage, theirs.epoch), "{name}");
            let first = (ours.task, ours.stage.as_str(), ours.epoch) == (1, "train", 1);
            let tolerance = if first { 0.005 } else { 0.1 };
            for (term, value) in &ours.terms {
                let apart = (value - theirs.terms[term]).abs() / value.abs().max(0.1);
                assert!(apart <= tolerance, "{name}: {term} {value} and {} in {ours:?}", theirs.terms[term]);
            }
        }
    }
}
