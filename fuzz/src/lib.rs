//! What the targets share: inputs that begin as a good file, and a small run whose files are the good ones.

use prescient::Experiment;
use prescient::data::{Fit, Synthetic, SyntheticSettings, pack};
use prescient::learner::Silent;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tch::Device;

/// A file made by the fuzzer: from nothing where the first byte is odd, else `whole` with a change for every five bytes. So a
/// format with lengths, nested fields and offsets is left in its depth and not in its first bytes alone.
pub fn made(whole: &[u8], input: &[u8]) -> Vec<u8> {
    let Some((&first, rest)) = input.split_first() else { return whole.to_vec() };
    if first % 2 == 1 {
        return rest.to_vec();
    }
    let mut bytes = whole.to_vec();
    let (changes, _) = rest.as_chunks::<5>();
    for &[kind, high, low, count, value] in changes.iter().take(64) {
        if bytes.is_empty() {
            break;
        }
        // From the beginning or from the end: headers are in front, directories of archives behind.
        let place = usize::from(u16::from_be_bytes([high, low])) % bytes.len();
        let at = if kind & 8 == 0 { place } else { bytes.len() - 1 - place };
        let end = (at + usize::from(count)).min(bytes.len());
        match kind % 6 {
            0 => bytes[at] = value,
            1 => bytes[at] ^= 1 << (value % 8),
            2 => bytes.insert(at, value),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            // A digit more in a number, wherever one begins.
            _ => {
                let digit = bytes[at..].iter().position(u8::is_ascii_digit).map(|place| at + place);
                digit.into_iter().for_each(|at| bytes.insert(at, b'0' + value % 10));
            }
        }
    }
    bytes
}

/// A folder that outlives this function and not the machine: libFuzzer ends a process by killing it.
pub fn folder() -> PathBuf {
    tempfile::tempdir().expect("a folder").keep()
}

/// A run in seconds: the first two tasks of those that `split` names.
pub fn run(learner: &str, split: &str, at: &Path) {
    experiment(learner, split).run(at, Some(2), &mut Silent).expect("a run");
}

/// A small experiment on drawn images.
pub fn experiment(learner: &str, split: &str) -> Experiment {
    let text = format!(
        r#"
        data = {{ kind = "pack", path = {:?} }}
        scenario.split = "{split}"
        model.extractor = {{ kind = "small-cnn", features = 4, width = 2 }}
        learner.kind = "{learner}"
        {}
        "#,
        drawings(),
        match learner {
            "ghost" =>
                "train = { epochs = 2, batch_size = 32 }\nfinetune.epochs = 1\ncomplete.epochs = 2\n\
                 ghosts = { per_class = 4, generator = { kind = \"gaussian\" } }",
            _ => "",
        }
    );
    let recipe = text.parse().expect("a recipe");
    Experiment::new(recipe, Device::Cpu).expect("an experiment")
}

/// Drawn images in a pack: a run opens its data anew for each input, and drawing takes longer than all the rest.
fn drawings() -> &'static PathBuf {
    static PACK: OnceLock<PathBuf> = OnceLock::new();
    PACK.get_or_init(|| {
        let path = folder().join("drawings.pack");
        let drawn = Synthetic::new(&SyntheticSettings { train: 4, test: 1 });
        pack(&drawn, &path, Fit { size: 32, whole: false }, &|_, _| {}).expect("a pack");
        path
    })
}

/// Takes the digests out of a run, as early versions left theirs: so a changed file is not refused for its digest alone.
pub fn unseal(run: &Path) {
    rewrite(&run.join("record.jsonl"), without_digests);
    for task in std::fs::read_dir(run.join("tasks")).expect("tasks") {
        let task = task.expect("a task").path();
        // A task half learned is a file.
        if !task.is_dir() {
            continue;
        }
        rewrite(&task.join("record.jsonl"), without_digests);
        for name in ["predictor.json", "telemetry.json"] {
            // Those of other files, where it has any, and then its own are its last fields.
            rewrite(&task.join(name), |text| {
                let fields = [",\n  \"files\": {", ",\n  \"digest\": \""].into_iter();
                let end = fields.filter_map(|field| text.find(field)).min().expect("a digest");
                format!("{}\n}}\n", &text[..end])
            });
        }
    }
}

/// The text of a record as early versions wrote it.
pub fn without_digests(record: &str) -> String {
    let lines = record.lines().filter(|line| !line.contains(r#""line":"digests""#));
    lines.map(|line| line.replacen("\"format\":2", "\"format\":1", 1) + "\n").collect()
}

fn rewrite(path: &Path, change: impl Fn(&str) -> String) {
    let text = std::fs::read_to_string(path).expect("a file of the run");
    std::fs::write(path, change(&text)).expect("a file of the run");
}
