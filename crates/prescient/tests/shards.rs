//! Training in shards, by a process that is alone and by one in a group of one: the same run. On a GPU also with steps as they come
//! and recorded, where the group adds up through NCCL within the recording; where there is no GPU, this half is skipped and says so.
#![allow(clippy::unwrap_used)]

#[path = "common/required.rs"]
mod required;

use prescient::engine::{Compute, Place, Processes, processes::Times};
use prescient::experiment::record::Line;
use prescient::experiment::{Experiment, Recipe, Record};
use prescient::learner::{Event, Observer};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;
use tch::Device;

/// 8 classes of 24 images a task: twelve steps an epoch in the first.
const RECIPE: &str = r#"
    seed = 1
    data = { kind = "synthetic", train = 24, test = 4 }
    scenario.split = "8+8+8"
    model.extractor = { kind = "resnet18", width = 16 }
    memory.per_class = 5
    train = { epochs = 3, batch_size = 16, lr = 0.01, shards = 4 }
    finetune.epochs = 2
    complete.epochs = 2
    ghosts = { per_class = 20, generator = { kind = "gmmn", epochs = 5, hidden = 32 } }
"#;

/// A process in a group of one, as `torchrun` starts it.
fn in_a_group() -> Processes {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let [join, silence, wait] = [60, 6, 600].map(Duration::from_secs);
    let place = Place {
        rank: 0,
        count: 1,
        local_rank: 0,
        local_count: 1,
        host: "127.0.0.1".to_owned(),
        port,
        kept_elsewhere: false,
        attempt: "test".to_owned(),
        times: Times { join, silence, wait },
    };
    let ends = Box::new(|lost: &prescient::error::ProcessError| {
        eprintln!("{lost}");
        torch_shim::leave(1);
    });
    Processes::join(place, Some(ends)).unwrap()
}

/// What was told of a run, and when it is to stop.
#[derive(Default)]
struct Told {
    summary: String,
    steps: usize,
    stops_after: Option<usize>,
}

impl Observer for Told {
    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { summary } => self.summary = (*summary).to_owned(),
            Event::Step => self.steps += 1,
            _ => {}
        }
    }

    fn stops(&self) -> bool {
        self.stops_after.is_some_and(|after| self.steps >= after)
    }
}

fn experiment(processes: &Processes, cuda_graphs: bool, device: Device) -> Experiment {
    let compute = Compute { cuda_graphs, ..Compute::default() };
    let recipe = Recipe { compute, ..Recipe::parse(RECIPE, Path::new("shards.toml")).unwrap() };
    Experiment::new(recipe, device).unwrap().among(processes.clone()).unwrap()
}

/// The first tasks, two on a GPU, and what was told of them.
fn run(processes: &Processes, cuda_graphs: bool, device: Device) -> (Record, Told) {
    let (folder, mut told) = (tempfile::tempdir().unwrap(), Told::default());
    let (experiment, last) = (experiment(processes, cuda_graphs, device), if device.is_cuda() { 2 } else { 1 });
    let record = experiment.run(&folder.path().join("run"), Some(last), &mut told).unwrap();
    (record, told)
}

/// How many steps are taken where it is wished to stop after four.
fn steps_of_a_stopped_run(processes: &Processes, cuda_graphs: bool, device: Device) -> usize {
    let (folder, mut told) = (tempfile::tempdir().unwrap(), Told { stops_after: Some(4), ..Told::default() });
    let done = experiment(processes, cuda_graphs, device).run(&folder.path().join("run"), None, &mut told);
    assert_eq!(done.unwrap_err().exit_code(), 130);
    told.steps
}

/// One test: a GPU must be opened before anything else of torch is used, and while it records nobody may draw numbers.
#[test]
fn a_group_of_one_trains_what_one_trains_alone() {
    let cuda = torch_shim::open_cuda();
    match cuda.is_available() {
        true => on_a_gpu(Device::Cuda(0)),
        false => required::skip("gpu", &cuda.to_string()),
    }
    let (alone, group) = (Processes::alone(), in_a_group());
    let [(one, _), (other, told)] = [&alone, &group].map(|processes| run(processes, true, Device::Cpu));
    // Digests are also of times.
    let lines = |record: &Record| -> Vec<Line> {
        record.lines.iter().filter(|line| !matches!(line, Line::Digests(_))).cloned().collect()
    };
    assert!(lines(&one) == lines(&other), "another record");
    assert!(told.summary.contains("on the CPU") && !told.summary.contains("up through"), "{}", told.summary);
    assert_eq!(steps_of_a_stopped_run(&group, true, Device::Cpu), 5, "the fifth step hears of it");
    group.part_ways().unwrap();
}

/// Sums are rounded in another order: the first epoch agrees closely, later ones roughly.
fn on_a_gpu(device: Device) {
    let (alone, group) = (Processes::alone(), in_a_group());
    let (one, told) = run(&alone, false, device);
    assert!(!told.summary.contains("up through"), "{}", told.summary);
    for (name, processes, recorded) in
        [("alone, recorded", &alone, true), ("NCCL", &group, false), ("NCCL, recorded", &group, true)]
    {
        let (other, told) = run(processes, recorded, device);
        let through = told.summary.contains("1 process adds up through NCCL 2.");
        assert_eq!(through, processes.exchange().is_some(), "{name}: {}", told.summary);
        assert_eq!(one.epochs().count(), other.epochs().count(), "{name}");
        for (ours, theirs) in one.epochs().zip(other.epochs()) {
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
    // The fourth step is the first that is recorded; of recorded ones the eighth is asked. So the recording worked.
    for (processes, recorded, steps) in [(&alone, false, 5), (&alone, true, 8), (&group, false, 5), (&group, true, 8)] {
        assert_eq!(steps_of_a_stopped_run(processes, recorded, device), steps, "recorded: {recorded}");
    }
    group.part_ways().unwrap();
}
