//! The same seed, computed differently: steps recorded or not, our kernels or libtorch's, images kept, read anew or from
//! a pack. On a CPU nothing changes but the time; recordings and kernels must not matter there at all. On a GPU sums are
//! rounded in another order, so a first epoch agrees closely and later ones roughly; where there is no GPU, this
//! half is skipped and says so.
#![allow(clippy::unwrap_used)]

#[path = "common/required.rs"]
mod required;

use prescient::data::datasets::pack;
use prescient::data::{CachedDataset, Dataset, Fit, Pack, Synthetic, SyntheticSettings};
use prescient::engine::{Compute, has_stem};
use prescient::experiment::record::{Epoch, Line};
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::learner::Silent;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use tch::{Device, Kind, Tensor};

/// Two of three tasks of the Ghost model: a teacher, ghosts and planes take part, from the first task on and made anew after every
/// epoch.
const RECIPE: &str = r#"
    seed = 1
    [data]
    kind = "synthetic"
    [scenario]
    split = "8+8+8"
    [model]
    extractor = { kind = "resnet18", width = 16 }
    [images]
    crop = "shift 3"
    [train]
    epochs = 3
    batch_size = 16
    lr = 0.01
    [finetune]
    epochs = 2
    [memory]
    per_class = 5
    [ghosts]
    per_class = 50
    refresh_epochs = 1
    generator = { kind = "gmmn", epochs = 5, lr = 1e-3, hidden = 32 }
    [complete]
    epochs = 2
"#;

fn drawn() -> Synthetic {
    Synthetic::new(&SyntheticSettings { train: 12, test: 4 })
}

fn run(compute: Compute, dataset: Arc<dyn Dataset>, device: Device) -> Record {
    run_keeping(2 << 30, compute, dataset, device)
}

/// With room for so many bytes of decoded images.
fn run_keeping(bytes: u64, compute: Compute, dataset: Arc<dyn Dataset>, device: Device) -> Record {
    let dataset = Arc::new(CachedDataset::new(dataset, bytes));
    // On a GPU the first convolution is to be ours, with all that follows it.
    let recipe = if device.is_cuda() { RECIPE.replace("width = 16", "width = 64") } else { RECIPE.to_owned() };
    let recipe = Recipe { compute, ..Recipe::parse(&recipe, Path::new("same_seed.toml")).unwrap() };
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
        ("no recordings", run(Compute { cuda_graphs: false, ..usual }, Arc::new(drawn()), device)),
        ("no kernels", run(Compute { fused_kernels: false, ..usual }, Arc::new(drawn()), device)),
        ("nothing kept", run_keeping(0, usual, Arc::new(drawn()), device)),
        ("a pack", run(usual, Arc::new(Pack::open(&path).unwrap()), device)),
    ];
    (as_it_comes, others)
}

fn epochs(record: &Record) -> Vec<&Epoch> {
    record.epochs().collect()
}

/// One test: a GPU must be opened before anything else of torch is used, and while it records nobody may draw numbers.
#[test]
fn however_it_is_computed_the_same_seed_gives_the_same_run() {
    let cuda = torch_shim::open_cuda();
    match cuda.is_available() {
        true => losses_agree(Device::Cuda(0)),
        false => required::skip("gpu", &cuda.to_string()),
    }
    let (as_it_comes, others) = runs(Device::Cpu);
    let all: BTreeSet<&str> = epochs(&as_it_comes).iter().map(|epoch| epoch.stage.as_str()).collect();
    for stage in ["train", "refresh", "generator", "complete", "finetune"] {
        assert!(all.contains(stage), "no epoch of {stage} among {all:?}");
    }
    let terms = |epoch: &&Epoch| epoch.terms.contains_key("svm-reg") && epoch.terms.contains_key("pod");
    assert!(epochs(&as_it_comes).iter().any(terms), "no planes and no teacher took part");
    for (name, other) in others {
        // Digests are also of the first line, which has the settings.
        let told = |record: &Record| -> Vec<Line> {
            record.lines.iter().filter(|line| !matches!(line, Line::Digests(_))).cloned().collect()
        };
        assert!(told(&as_it_comes) == told(&other), "{name}: another record");
    }
}

fn losses_agree(device: Device) {
    let like = |size: [i64; 4]| torch_shim::channels_last(&Tensor::zeros(size, (Kind::BFloat16, device)));
    assert!(has_stem(&like([16, 3, 32, 32]), &like([64, 3, 3, 3])), "the first convolution takes part");
    let (as_it_comes, others) = runs(device);
    for (name, other) in others {
        let (ours, theirs) = (epochs(&as_it_comes), epochs(&other));
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_eq!((ours.task, &ours.stage, ours.epoch), (theirs.task, &theirs.stage, theirs.epoch), "{name}");
            assert!(ours.terms.keys().eq(theirs.terms.keys()), "{name}: other terms in {ours:?}");
            let first = (ours.task, ours.stage.as_str(), ours.epoch) == (1, "train", 1);
            let tolerance = if first { 0.005 } else { 0.1 };
            for (term, value) in &ours.terms {
                let apart = (value - theirs.terms[term]).abs() / value.abs().max(0.01);
                assert!(apart <= tolerance, "{name}: {term} {value} and {} in {ours:?}", theirs.terms[term]);
            }
        }
    }
}
