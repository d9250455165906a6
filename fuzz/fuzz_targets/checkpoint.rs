//! A run without digests and with one file changed: predict, report, audit and the next task answer or refuse.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::audit::audit;
use prescient::experiment::Experiment;
use prescient::learner::Silent;
use prescient::report::ReadRun;
use prescient::{Channels, Image, Predictor};
use prescient_fuzz::{folder, made, run, unseal};
use std::path::PathBuf;
use std::sync::OnceLock;
use tch::Device;

/// A run of each learner without digests, and what each file of its last finished task has in it.
struct Whole {
    run: PathBuf,
    record: String,
    files: Vec<(PathBuf, Vec<u8>)>,
}

fn runs() -> &'static [Whole; 2] {
    static RUNS: OnceLock<[Whole; 2]> = OnceLock::new();
    RUNS.get_or_init(|| {
        ["ghost", "closed-form"].map(|learner| {
            let path = folder().join("run");
            run(learner, "6+6+6+6", &path);
            unseal(&path);
            let last =
                std::fs::read_dir(path.join("tasks/02")).expect("a task").map(|entry| entry.expect("a file").path());
            let mut files: Vec<(PathBuf, Vec<u8>)> =
                last.map(|path| (path.clone(), std::fs::read(path).expect("a file"))).collect();
            files.sort();
            Whole { record: std::fs::read_to_string(path.join("record.jsonl")).expect("a record"), files, run: path }
        })
    })
}

fuzz_target!(|input: &[u8]| {
    let [which, input @ ..] = input else { return };
    let Whole { run, record, files } = &runs()[usize::from(which % 2)];
    let (path, whole) = &files[usize::from(which / 2) % files.len()];
    let changed = made(whole, input);
    std::fs::write(path, &changed).expect("a file");
    if path.ends_with("record.jsonl") {
        // The record of a run is that of its tasks.
        let before = record.as_bytes().strip_suffix(whole.as_slice()).expect("the last task comes last");
        std::fs::write(run.join("record.jsonl"), [before, &changed].concat()).expect("a file");
    }
    let image = Image { width: 32, height: 32, channels: Channels::Rgb, pixels: vec![100; 32 * 32 * 3].into() };
    drop(Predictor::load(run).map(|predictor| predictor.predict(&[image])));
    drop(ReadRun::read(run));
    // It takes longer than all the rest, and looks at the images that one of the files names.
    let near = path.ends_with("images.jsonl");
    drop(audit(run, near));
    drop(Experiment::resume(run, Device::Cpu, Some(3), &mut Silent));
    std::fs::write(path, whole).expect("a file");
    std::fs::write(run.join("record.jsonl"), record).expect("a file");
    // What it learned from there is of no use to the next input.
    drop(std::fs::remove_dir_all(run.join("tasks/03")));
    drop(std::fs::remove_file(run.join("tasks/03.part")));
});
