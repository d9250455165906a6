//! A task half learned, `tasks/02.part`, with one of its three parts changed and digests that fit: the run goes on or refuses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::experiment::Experiment;
use prescient::learner::{Event, Observer, Silent};
use prescient_fuzz::{experiment, folder, made, unseal};
use std::path::PathBuf;
use std::sync::OnceLock;
use tch::Device;

/// Stops in the second epoch of a stage of the second task.
struct StopsIn {
    stage: &'static str,
    task: usize,
    epochs: usize,
}

impl Observer for StopsIn {
    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::TaskStarted { task, .. } => self.task = *task,
            Event::Epoch { stage, .. } if *stage == self.stage && self.task == 2 => self.epochs += 1,
            _ => {}
        }
    }

    fn stops(&self) -> bool {
        self.epochs > 0
    }
}

/// A run without digests that was stopped, and the parts of the file that it left.
struct Stopped {
    run: PathBuf,
    record: String,
    words: String,
    pages: Vec<u8>,
    tensors: Vec<u8>,
}

fn runs() -> &'static [Stopped; 2] {
    static RUNS: OnceLock<[Stopped; 2]> = OnceLock::new();
    RUNS.get_or_init(|| {
        ["train", "complete"].map(|stage| {
            let run = folder().join("run");
            let mut observer = StopsIn { stage, task: 0, epochs: 0 };
            experiment("ghost", "2+2+20").run(&run, Some(2), &mut observer).expect_err("it is stopped");
            unseal(&run);
            let bytes = std::fs::read(run.join("tasks/02.part")).expect("a task half learned");
            let end = bytes.windows(3).position(|part| part == b"\n}\n").expect("words") + 3;
            let words = String::from_utf8(bytes[..end].to_vec()).expect("JSON");
            // Its own digest is its last field, and need not be there.
            let words = format!("{}\n}}\n", &words[..words.find(",\n  \"digest\": \"").expect("a digest")]);
            let pages = number(&words, "\"pages\": ").parse().expect("a length");
            let (pages, tensors) = bytes[end..].split_at(pages);
            let record = std::fs::read_to_string(run.join("record.jsonl")).expect("a record");
            Stopped { run, record, words, pages: pages.to_vec(), tensors: tensors.to_vec() }
        })
    })
}

fn number<'a>(words: &'a str, field: &str) -> &'a str {
    let from = words.find(field).expect("a field") + field.len();
    words[from..].split([',', '\n']).next().expect("its value")
}

/// The words with the length of the pages and the digest of what follows, as they are now.
fn fitting(words: &str, pages: usize, rest: &[u8]) -> String {
    let words =
        words.replacen(&format!("\"pages\": {}", number(words, "\"pages\": ")), &format!("\"pages\": {pages}"), 1);
    let digest = format!("\"rest\": \"{}\"", blake3::hash(rest).to_hex());
    words.replacen(&format!("\"rest\": {}", number(&words, "\"rest\": ")), &digest, 1)
}

fuzz_target!(|input: &[u8]| {
    let [which, input @ ..] = input else { return };
    let Stopped { run, record, words, pages, tensors } = &runs()[usize::from(which % 2)];
    let bytes = match which / 2 % 3 {
        0 => [made(words.as_bytes(), input), pages.clone(), tensors.clone()].concat(),
        part => {
            let (pages, tensors) = match part {
                1 => (made(pages, input), tensors.clone()),
                _ => (pages.clone(), made(tensors, input)),
            };
            let rest = [&pages[..], &tensors].concat();
            [fitting(words, pages.len(), &rest).into_bytes(), rest].concat()
        }
    };
    std::fs::write(run.join("tasks/02.part"), bytes).expect("a file");
    drop(Experiment::resume(run, Device::Cpu, Some(2), &mut Silent));
    // What it learned from there is of no use to the next input.
    drop(std::fs::remove_dir_all(run.join("tasks/02")));
    std::fs::write(run.join("record.jsonl"), record).expect("a file");
});
