//! A finished run with one file changed and the digests made to fit: resume, predict, report and audit answer or refuse.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::audit::audit;
use prescient::experiment::Experiment;
use prescient::learner::Silent;
use prescient::report::ReadRun;
use prescient::{Channels, Image, Predictor};
use prescient_fuzz::{folder, made, reseal, run};
use std::path::PathBuf;
use std::sync::OnceLock;
use tch::Device;

/// A run of each learner, and what each file of its last task has in it.
struct Whole {
    run: PathBuf,
    record: Vec<u8>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

fn runs() -> &'static [Whole; 2] {
    static RUNS: OnceLock<[Whole; 2]> = OnceLock::new();
    RUNS.get_or_init(|| {
        ["ghost", "closed-form"].map(|learner| {
            let path = folder().join("run");
            run(learner, &path);
            let last =
                std::fs::read_dir(path.join("tasks/02")).expect("a task").map(|entry| entry.expect("a file").path());
            let mut files: Vec<(PathBuf, Vec<u8>)> =
                last.map(|path| (path.clone(), std::fs::read(path).expect("a file"))).collect();
            files.sort();
            Whole { record: std::fs::read(path.join("record.jsonl")).expect("a record"), files, run: path }
        })
    })
}

fuzz_target!(|input: &[u8]| {
    let [which, input @ ..] = input else { return };
    let Whole { run, record, files } = &runs()[usize::from(which % 2)];
    let (path, whole) = &files[usize::from(which / 2) % files.len()];
    std::fs::write(path, made(whole, input)).expect("a file");
    let image = Image { width: 32, height: 32, channels: Channels::Rgb, pixels: vec![100; 32 * 32 * 3].into() };
    drop(Predictor::load(run).map(|predictor| predictor.predict(&[image])));
    reseal(run);
    drop(ReadRun::read(run));
    drop(audit(run, true));
    drop(Experiment::resume(run, Device::Cpu, None, &mut Silent));
    std::fs::write(path, whole).expect("a file");
    std::fs::write(run.join("record.jsonl"), record).expect("a file");
});
