//! Several processes with one result: as one process within rounding, an audit that sees what each read, and nobody who waits for
//! a process that is gone.
#![allow(clippy::unwrap_used)]

mod command;
#[path = "../../prescient/tests/common/required.rs"]
mod required;

use command::prescient;
use prescient::experiment::Record;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const CLOSED_FORM: &str = r#"
seed = 1
data = { kind = "synthetic", train = 12, test = 6 }
scenario.split = "12+6+6"
learner.kind = "closed-form"
model.extractor = { kind = "small-cnn", features = 32, width = 8 }
"#;

const GHOST: &str = r#"
seed = 1
data = { kind = "synthetic", train = 24, test = 4 }
scenario.split = "12+6+6"
model.extractor = { kind = "small-cnn", features = 32, width = 8 }
memory.per_class = 5
train = { epochs = 3, batch_size = 32, shards = 4 }
finetune.epochs = 2
complete.epochs = 2
ghosts = { per_class = 20, generator = { kind = "gmmn", epochs = 5, hidden = 32 } }
"#;

/// A folder with the recipe `r.toml`.
fn folder(recipe: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("r.toml"), recipe).unwrap();
    folder
}

fn run(at: &Path, arguments: &[&str]) {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("prescient"));
    // A cache of its own: every run looks at its photos itself.
    let features = tempfile::tempdir().unwrap();
    command.current_dir(at).args(["run", "--device", "cpu"]).args(arguments).env("PRESCIENT_FEATURES", features.path());
    // As many threads in each, for the number of threads changes rounding.
    command.env("OMP_NUM_THREADS", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
}

fn record(run: &Path) -> Record {
    Record::read(&run.join("record.jsonl")).unwrap()
}

/// The same answers, scores and losses within `tolerance`; the same images read in the same stages.
fn assert_same_run(one: &Path, other: &Path, tolerance: f64) {
    let (a, b) = (record(one), record(other));
    let near = |a: f64, b: f64, what: &str| {
        assert!((a - b).abs() <= tolerance * (1.0 + a.abs()), "{what}: {a} and {b} in `{}`", other.display());
    };
    assert_eq!(a.epochs().count(), b.epochs().count());
    for (a, b) in a.epochs().zip(b.epochs()) {
        assert_eq!((a.task, &a.stage, a.epoch, a.terms.len()), (b.task, &b.stage, b.epoch, b.terms.len()));
        a.terms.iter().zip(&b.terms).for_each(|(a, b)| near(*a.1, *b.1, &format!("{} {}", a.0, b.0)));
    }
    assert_eq!(a.evaluations().count(), 3);
    for (a, b) in a.evaluations().zip(b.evaluations()) {
        assert_eq!(a.answers.truth, b.answers.truth);
        let pairs = a.answers.seen.scores.iter().zip(&b.answers.seen.scores);
        pairs.for_each(|(a, b)| near(f64::from(*a), f64::from(*b), "a score"));
        assert_eq!(a.answers.unseen.is_some(), b.answers.unseen.is_some());
    }
    for task in ["01", "02", "03"] {
        let read = |run: &Path| std::fs::read_to_string(run.join("tasks").join(task).join("images.jsonl")).unwrap();
        assert_eq!(read(one), read(other), "task {task}");
    }
    let found = prescient::audit::audit(other, false).unwrap();
    assert_eq!(found.failed(), 0, "{}", found.text());
}

/// Sums of features are added in double precision: what differs is the order, and rounding to single precision at the end.
#[test]
fn two_and_four_processes_learn_in_closed_form_what_one_learns() {
    let folder = folder(CLOSED_FORM);
    let at = folder.path();
    run(at, &["r.toml", "--out", "1"]);
    for count in ["2", "4"] {
        run(at, &["r.toml", "--out", count, "--processes", count]);
        assert_same_run(&at.join("1"), &at.join(count), 1e-4);
    }
}

/// Slopes of shards are added up without rounding, so the order does not matter: the same losses, exemplars and scores.
#[test]
fn two_and_four_processes_train_what_one_trains() {
    let folder = folder(GHOST);
    let at = folder.path();
    run(at, &["r.toml", "--out", "1"]);
    for count in ["2", "4"] {
        run(at, &["r.toml", "--out", count, "--processes", count]);
        assert_same_run(&at.join("1"), &at.join(count), 1e-6);
    }
}

/// Nothing is added to what one process has, and nothing changes.
#[test]
fn a_group_of_one_learns_what_one_learns_alone() {
    for recipe in [CLOSED_FORM, GHOST] {
        let folder = folder(recipe);
        let at = folder.path();
        run(at, &["r.toml", "--out", "1"]);
        run(at, &["r.toml", "--out", "group", "--processes", "1"]);
        assert_same_run(&at.join("1"), &at.join("group"), 0.0);
    }
}

/// On the first GPU alone; none where there is none.
fn run_on_a_gpu(at: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("prescient"));
    let first = std::env::var("CUDA_VISIBLE_DEVICES").unwrap_or_else(|_| "0".to_owned());
    command.current_dir(at).args(["run", "r.toml", "--device", "cuda"]).args(arguments);
    command.env("CUDA_VISIBLE_DEVICES", first.split(',').next().unwrap_or_default());
    let output = command.output().unwrap();
    let said = said(&output);
    if said.contains("there is no CUDA device") {
        required::skip("gpu", &said);
        return None;
    }
    assert!(output.status.success(), "{arguments:?}: {said}");
    Some(said)
}

/// A GPU rounds sums in another order each time: the first epoch agrees closely, the others roughly.
fn assert_similar_losses(one: &Path, other: &Path) {
    let (a, b) = (record(one), record(other));
    assert_eq!(a.epochs().count(), b.epochs().count());
    for (a, b) in a.epochs().zip(b.epochs()) {
        assert_eq!((a.task, &a.stage, a.epoch), (b.task, &b.stage, b.epoch));
        let tolerance = if (a.task, a.stage.as_str(), a.epoch) == (1, "train", 1) { 0.005 } else { 0.15 };
        for (term, value) in &a.terms {
            let apart = (value - b.terms[term]).abs() / value.abs().max(0.01);
            assert!(apart <= tolerance, "{term} {value} and {} in {a:?}", b.terms[term]);
        }
    }
    let found = prescient::audit::audit(other, false).unwrap();
    assert_eq!(found.failed(), 0, "{}", found.text());
}

/// One process adds up through NCCL, within its recordings. Two that share a GPU go through main memory, and say so; nobody
/// complains of a recording.
#[test]
fn processes_with_gpus_say_how_they_add_up() {
    let folder = folder(GHOST);
    let at = folder.path();
    let Some(said) = run_on_a_gpu(at, &["--out", "1"]) else { return };
    assert!(!said.contains("up through"), "{said}");
    for (count, through) in [
        ("1", "1 process adds up through NCCL 2."),
        ("2", "2 processes add up through main memory (processes 0 and 1 share a GPU)"),
    ] {
        let said = run_on_a_gpu(at, &["--out", &format!("group-{count}"), "--processes", count]).unwrap();
        assert_eq!(said.matches(through).count(), 1, "{said}");
        assert!(!said.contains("recorded"), "{said}");
        assert_similar_losses(&at.join("1"), &at.join(format!("group-{count}")));
    }
}

#[test]
fn a_run_goes_on_with_another_number_of_processes() {
    for (recipe, tolerance) in [(CLOSED_FORM, 1e-4), (GHOST, 1e-6)] {
        let folder = folder(recipe);
        let at = folder.path();
        run(at, &["r.toml", "--out", "whole"]);
        run(at, &["r.toml", "--out", "parts", "--stop-after", "1"]);
        run(at, &["--resume", "parts", "--stop-after", "2", "--processes", "2"]);
        run(at, &["--resume", "parts"]);
        assert_same_run(&at.join("whole"), &at.join("parts"), tolerance);
    }
}

/// One process of several, as `torchrun` would start it.
fn process(at: &Path, (rank, count): (usize, usize), port: u16, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("prescient"));
    command.current_dir(at).args(["run", "--device", "cpu"]).args(arguments);
    command.env("RANK", rank.to_string()).env("WORLD_SIZE", count.to_string()).env("OMP_NUM_THREADS", "1");
    command.env("LOCAL_RANK", rank.to_string()).env("LOCAL_WORLD_SIZE", count.to_string());
    command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits for a process, and how long it took.
fn ended(child: Child) -> (Output, Duration) {
    let began = Instant::now();
    (child.wait_with_output().unwrap(), began.elapsed())
}

/// Starts three processes, lets them work, and kills one. Rank 0 keeps what they share, the others do not.
#[test]
fn a_killed_process_ends_the_others_with_an_error() {
    // Long enough to be killed in the middle.
    let folder =
        folder(&GHOST.replace("epochs = 3, batch_size = 32, shards = 4", "epochs = 999, batch_size = 32, shards = 3"));
    for victim in 0..3 {
        let (port, out) = (free_port(), format!("out-{victim}"));
        let start = |rank| process(folder.path(), (rank, 3), port, &["r.toml", "--out", &out, "-v"]).spawn().unwrap();
        let mut children: Vec<Child> = (0..3).map(start).collect();
        // Until the first epoch is told.
        let mut lines = BufReader::new(children[0].stderr.take().unwrap()).lines();
        assert!(lines.by_ref().any(|line| line.unwrap().contains("epoch 1/999")), "it trains");
        std::thread::spawn(move || lines.for_each(drop));
        let mut killed = children.remove(victim);
        killed.kill().unwrap();
        killed.wait().unwrap();
        for child in children {
            let (output, took) = ended(child);
            assert_eq!(output.status.code(), Some(2), "{}", said(&output));
            assert!(took < Duration::from_secs(10), "{took:?}");
            let said = said(&output);
            assert!(said.is_empty() || said.contains("error: "), "{said}");
            assert!(!said.contains("panicked"), "{said}");
        }
    }
}

#[test]
fn a_process_that_never_comes_is_named() {
    let folder = folder(CLOSED_FORM);
    let mut alone = process(folder.path(), (0, 3), free_port(), &["r.toml", "--out", "run"]);
    let (output, took) = ended(alone.env("PRESCIENT_JOIN_SECONDS", "2").spawn().unwrap());
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("processes 1, 2 of 3 did not come within 2 s"), "{}", said(&output));
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert!(!folder.path().join("run").exists());
}

#[test]
fn a_port_in_use_is_named() {
    let folder = folder(CLOSED_FORM);
    let taken = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let (output, _) = ended(process(folder.path(), (0, 2), port, &["r.toml"]).spawn().unwrap());
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains(&format!("port {port} of ")), "{}", said(&output));
    assert!(said(&output).contains("is in use by another program"), "{}", said(&output));
}

/// Each of two processes says what it has and what the other has, before anything is written.
#[test]
fn processes_that_are_about_to_do_different_things_are_refused() {
    let folder = folder(CLOSED_FORM);
    let other = CLOSED_FORM.replace("train = 12", "train = 11");
    std::fs::write(folder.path().join("fewer.toml"), other).unwrap();
    let cases: [(&[&str], &[&str]); 2] = [
        (&["--seed", "2"], &["has `seed` 1, process 1 (`", ") has 2"]),
        (&["--set", "data.train=11"], &["has `data.train` 12, process 1 (`", ") has 11"]),
    ];
    for (more, expected) in cases {
        let port = free_port();
        let start = |rank: usize, more: &[&str]| {
            let arguments = [&["r.toml", "--out", "run"], more].concat();
            process(folder.path(), (rank, 2), port, &arguments).spawn().unwrap()
        };
        for child in [start(0, &[]), start(1, more)] {
            let (output, _) = ended(child);
            assert_eq!(output.status.code(), Some(2));
            let said = said(&output);
            assert!(said.contains("the processes are not about to do the same: process 0 (`"), "{said}");
            assert!(expected.iter().all(|part| said.contains(part)), "{said}");
        }
        assert!(!folder.path().join("run").exists());
    }
}

/// The test stands for process 1, and says that it is of another version, or one of three.
#[test]
fn processes_of_another_version_or_number_are_refused() {
    let folder = folder(CLOSED_FORM);
    let version = env!("CARGO_PKG_VERSION");
    for (card, expected) in [
        (r#"{"version":"9.9.9","count":2,"host":"elsewhere","pid":7}"#.to_owned(), ["the version ", "has 9.9.9"]),
        (format!(r#"{{"version":"{version}","count":3,"host":"elsewhere","pid":7}}"#), ["2 processes", "3 processes"]),
    ] {
        let port = free_port();
        let mut command = process(folder.path(), (0, 2), port, &["r.toml", "--out", "run"]);
        command.env("TORCHELASTIC_RUN_ID", "test").env("TORCHELASTIC_RESTART_COUNT", "0");
        let child = command.spawn().unwrap();
        // Waits until process 0 keeps the store.
        let store = torch_shim::Store::connect("127.0.0.1", port, Duration::from_secs(20)).unwrap();
        store.set("prescient/test/0/here/1", card.as_bytes()).unwrap();
        let (output, _) = ended(child);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("process 0 (`") && said.contains("process 1 (`elsewhere`, pid 7) has "), "{said}");
        assert!(expected.iter().all(|part| said.contains(part)), "{said}");
        assert!(!folder.path().join("run").exists());
    }
}

#[test]
fn a_number_of_processes_that_does_not_divide_the_shards_is_refused() {
    let folder = folder(GHOST);
    let (code, _, said) =
        prescient(&["run", "r.toml", "--out", "run", "--processes", "3", "--device", "cpu"], folder.path());
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("`train.shards` is 4, and 3 processes cannot share 4 shards equally"), "{said}");
    assert!(said.contains("--set train.shards=3"), "{said}");
    assert!(!folder.path().join("run").exists());
}

/// Two machines, on one of which a shard is missing: the last one, so that no gap tells.
#[test]
fn a_shard_that_one_process_lacks_is_refused() {
    let folder = folder(
        &CLOSED_FORM
            .replace(r#"kind = "synthetic", train = 12, test = 6"#, r#"kind = "folder", path = "a""#)
            .replace("12+6+6", "2"),
    );
    for (place, shards) in [("a", 3), ("b", 2)] {
        let at = folder.path().join(place);
        std::fs::create_dir(&at).unwrap();
        (0..shards).for_each(|shard| write_shard(&at.join(format!("train-{shard}.tar")), shard));
        write_shard(&at.join("test-0.tar"), 9);
    }
    let port = free_port();
    let start = |rank: usize, path: &str| {
        let path = format!("data.path={path}");
        process(folder.path(), (rank, 2), port, &["r.toml", "--out", "run", "--set", &path]).spawn().unwrap()
    };
    for child in [start(0, "a"), start(1, "b")] {
        let (output, _) = ended(child);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("has the photos 6 and 2 of them ("), "{said}");
        assert!(said.contains(") has 4 and 2 of them ("), "{said}");
    }
    assert!(!folder.path().join("run").exists());
}

/// A shard with a drawn photo of each of two classes.
fn write_shard(path: &Path, shade: u8) {
    let mut builder = tar::Builder::new(std::fs::File::create(path).unwrap());
    for (place, class) in ["cat", "dog"].iter().enumerate() {
        let mut photo = std::io::Cursor::new(Vec::new());
        let image = image::RgbImage::from_fn(16, 16, |x, y| {
            image::Rgb([(x * 9) as u8, (y * 7) as u8, shade * 20 + place as u8])
        });
        image.write_to(&mut photo, image::ImageFormat::Png).unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_size(photo.get_ref().len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("{class}/{shade}.png"), &photo.get_ref()[..]).unwrap();
    }
    builder.finish().unwrap();
}

#[test]
fn torchrun_starts_it_where_there_is_one() {
    let torchrun = std::env::var_os("TORCHRUN").unwrap_or_else(|| "torchrun".into());
    if Command::new(&torchrun).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        eprintln!("skipped: there is no `torchrun`; TORCHRUN names one");
        return;
    }
    let folder = folder(CLOSED_FORM);
    let at = folder.path();
    run(at, &["r.toml", "--out", "1"]);
    let mut command = Command::new(torchrun);
    command.current_dir(at).args(["--no-python", "--nproc-per-node", "2", "--master-port", &free_port().to_string()]);
    command.arg(assert_cmd::cargo::cargo_bin("prescient")).args(["run", "r.toml", "--out", "2", "--device", "cpu"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_same_run(&at.join("1"), &at.join("2"), 1e-4);
}
