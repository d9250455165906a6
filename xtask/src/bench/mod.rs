//! `cargo xtask bench`: our programs and their peers in turns, and what came of it as a page.
//!
//! A machine is never quiet for long. So nobody runs his rounds in a row: in each turn every contestant runs one, and what
//! is compared are the rounds of one turn. A ratio is the median over turns, beside the smallest and the largest.

mod contest;
mod page;
mod peer;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::Environment;
use crate::error::Error;
use contest::{CPU, Contest, GPU, Outcome};
use peer::Peer;

/// How OpenMP's threads wait. Cargo sets it for our tests; here everybody waits as it does when a user starts it.
const POLICY: &str = "OMP_WAIT_POLICY";

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The contests for a GPU instead of those for a CPU.
    pub(crate) gpu: bool,
    /// Only contests whose name has this in it.
    pub(crate) only: Option<String>,
}

/// Builds our half, runs every contest, and writes the page.
pub(crate) fn bench(environment: &Environment, libtorch: &Path, wish: &Wish) -> Result<(), Error> {
    let mut build = crate::steps::cargo(environment, libtorch);
    build.args(["build", "--release", "--workspace"]);
    crate::steps::run(&mut build, "the build", "cargo build --release --workspace")?;
    let ours = environment.root.join("target/release/prescient-bench");
    let python = environment.variable("PEER_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let turns = environment
        .variable("BENCH_TURNS")
        .and_then(|turns| turns.to_str().and_then(|turns| turns.parse().ok()))
        .unwrap_or(9);
    let contests = if wish.gpu { GPU } else { CPU };
    let wanted = |contest: &&Contest| wish.only.as_ref().is_none_or(|part| contest.name.contains(part.as_str()));
    let made = environment.root.join("target/bench");
    if !wish.gpu && !made.join("features.npy").exists() {
        let mut command = Command::new(&python);
        command.arg(environment.root.join("bench/peers/svm.py")).arg("--write").arg(&made);
        crate::steps::run(&mut command, "the features of the SVM", "python bench/peers/svm.py --write target/bench")?;
    }
    let photos = made.join("photos/train");
    if !wish.gpu && !photos.exists() {
        std::fs::create_dir_all(made.join("photos")).map_err(Error::io("make", &made))?;
        let mut command = Command::new(&python);
        command.arg(environment.root.join("bench/peers/data_path.py")).arg("--root").arg(&photos);
        command.args(["--source", "224", "--write"]);
        crate::steps::run(&mut command, "photos for the data path", "python bench/peers/data_path.py --write")?;
    }
    let mut outcomes = Vec::new();
    for contest in contests.iter().filter(wanted) {
        eprintln!("{}", contest.name);
        let outcome = run(environment, &ours, &python, contest, turns)?;
        for line in page::rows(&outcome) {
            eprintln!("  {line}");
        }
        outcomes.push(outcome);
    }
    let folder = environment.root.join("docs/bench");
    std::fs::create_dir_all(&folder).map_err(Error::io("make", &folder))?;
    let kind = if wish.gpu { "gpu" } else { "cpu" };
    let file = folder.join(format!("{}-{kind}.md", page::today()));
    let command = format!("cargo xtask bench{}", if wish.gpu { " --gpu" } else { "" });
    std::fs::write(&file, page::page(&outcomes, &command, turns, &page::machine(wish.gpu)))
        .map_err(Error::io("write", &file))?;
    eprintln!("written to {}", file.display());
    Ok(())
}

fn run(
    environment: &Environment,
    ours: &Path,
    python: &Path,
    contest: &'static Contest,
    turns: usize,
) -> Result<Outcome, Error> {
    let mut first = Command::new(ours);
    first.args(contest.ours.split_whitespace()).current_dir(&environment.root).env_remove(POLICY);
    let mut contestants = vec![("ours", Peer::start(first)?)];
    let without = environment.variable("BENCH_WITHOUT").and_then(|part| part.to_str());
    for (name, script) in contest.peers.iter().filter(|(name, _)| without.is_none_or(|part| !name.contains(part))) {
        let mut words = script.split_whitespace();
        let mut command = Command::new(python);
        command.arg(environment.root.join("bench/peers").join(words.next().unwrap_or_default()));
        command.args(words).current_dir(&environment.root).env_remove(POLICY);
        match Peer::start(command) {
            Ok(peer) => contestants.push((name, peer)),
            // torch.compile does not work everywhere; the others still do.
            Err(error) => eprintln!("  {name} cannot take part: {error}"),
        }
    }
    let mut rates: Vec<(&'static str, Vec<f64>)> = contestants.iter().map(|(name, _)| (*name, Vec::new())).collect();
    for turn in 0..turns {
        // Nobody always goes first.
        let count = contestants.len();
        for place in (0..count).map(|place| (place + turn) % count) {
            rates[place].1.push(contestants[place].1.round()?);
        }
    }
    Ok(Outcome { contest, rates })
}
