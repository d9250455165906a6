//! Runs carried out by processes of their own, several at a time.
//!
//! A process a run, because a run that fails or runs out of memory must not take the others along, and because libtorch's
//! settings (deterministic mode, recorded CUDA graphs) are those of a whole process.

use crate::device::DeviceName;
use crate::reproduce::pace::Pace;
use crate::reproduce::plan;
use crate::reproduce::wanted::{State, Wanted};
use crate::{fetch, output};
use clap::ValueEnum;
use prescient::data::Source;
use prescient::disk;
use prescient::error::{DataError, Error, ReproduceError, Result, RunError};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often processes are looked after.
const PAUSE: Duration = Duration::from_millis(100);

/// What is to be done, and what came of it.
pub(super) struct Work<'a> {
    device: DeviceName,
    sets: &'a [String],
    jobs: usize,
    logs: PathBuf,
    queue: VecDeque<(&'a Wanted, State)>,
    /// How many runs were finished before.
    finished: usize,
    /// How many are not finished and stay so.
    left: usize,
    /// The folders of runs that failed.
    failed: BTreeSet<PathBuf>,
    /// Datasets that cannot be opened.
    missing: BTreeSet<String>,
}

/// A process at work on a run. Dropped, it is stopped: what is finished of its run stays.
pub(super) struct Running<'a> {
    pub(super) run: &'a Wanted,
    child: Child,
    /// Where it writes what it says.
    pub(super) log: PathBuf,
    pub(super) began: Instant,
    /// Which of the runs at a time it is, from 0.
    seat: usize,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Both fail where the process is over, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl<'a> Work<'a> {
    pub(super) fn new(device: DeviceName, sets: &'a [String], jobs: usize, out: &Path) -> Self {
        let (queue, failed, missing) = Default::default();
        Self { device, sets, jobs, logs: out.join("logs"), queue, finished: 0, left: 0, failed, missing }
    }

    /// A run is there already.
    pub(super) fn skip(&mut self) {
        self.finished += 1;
    }

    /// A run is not there, and nothing is to be run.
    pub(super) fn leave(&mut self) {
        self.left += 1;
    }

    /// How many are not there because nothing was to be run.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// How many were finished before.
    pub(super) fn finished(&self) -> usize {
        self.finished
    }

    /// A command for each run that is to be done, in order.
    pub(super) fn planned(&self) -> Vec<String> {
        let device = self.device_name();
        self.queue.iter().map(|(run, _)| plan::command(run, self.sets, &device)).collect()
    }

    fn device_name(&self) -> String {
        self.device.to_possible_value().expect("no device is hidden").get_name().to_owned()
    }

    /// A run that is to be begun, or to go on.
    pub(super) fn add(&mut self, run: &'a Wanted, state: State) {
        self.queue.push_back((run, state));
    }

    /// A run that cannot be done, and why.
    pub(super) fn fails(&mut self, run: &Wanted, error: &Error) {
        output::tell(&format!("{} failed\n  {}", run.title(), error.message().trim_end().replace('\n', "\n  ")));
        self.failed.insert(run.folder.clone());
    }

    /// Whether the run failed.
    pub(super) fn failed(&self, run: &Wanted) -> bool {
        self.failed.contains(&run.folder)
    }

    /// How many runs failed.
    pub(super) fn failures(&self) -> usize {
        self.failed.len()
    }

    /// The datasets that are not there.
    pub(super) fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }

    /// Leaves out the runs whose data cannot be opened, and says how to get it.
    pub(super) fn check_data(&mut self) {
        let mut known: BTreeMap<String, bool> = BTreeMap::new();
        let queue = std::mem::take(&mut self.queue);
        for (run, state) in queue {
            let source = &run.recipe.data;
            let name = data_name(source);
            let there = *known.entry(format!("{source:?}")).or_insert_with(|| match source.open() {
                Ok(_) => true,
                Err(error) => {
                    output::tell(&format!("there is no data for {name}\n{}", how_to_get(&name, error)));
                    self.missing.insert(name.clone());
                    false
                }
            });
            if there {
                self.queue.push_back((run, state));
            }
        }
    }

    /// Carries out what is to be done.
    pub(super) fn carry_out(&mut self) -> Result<()> {
        if self.queue.is_empty() {
            return Ok(());
        }
        fs::create_dir_all(&self.logs).map_err(RunError::io(&self.logs))?;
        let mut pace = Pace::new(&self.queue, self.finished, self.jobs);
        let mut running: Vec<Running<'a>> = Vec::new();
        let gpus = self.device.gpus();
        while !running.is_empty() || !self.queue.is_empty() {
            while let Some(seat) = (0..self.jobs).find(|seat| running.iter().all(|other| other.seat != *seat))
                && let Some((run, state)) = self.queue.pop_front()
            {
                running.push(self.start(run, state, seat, &gpus)?);
            }
            std::thread::sleep(PAUSE);
            let mut index = 0;
            while index < running.len() {
                match running[index].child.try_wait() {
                    Ok(None) => index += 1,
                    Ok(Some(status)) => {
                        let over = running.swap_remove(index);
                        pace.ends(&over, status.success());
                        if !status.success() {
                            let message = last_words(&over.log, &status.to_string());
                            let error = ReproduceError::Run { message }.into();
                            pace.aside(|| self.fails(over.run, &error));
                        }
                    }
                    Err(source) => return Err(RunError::io(&running[index].log)(source).into()),
                }
            }
            pace.show(&running);
        }
        Ok(())
    }

    /// On the GPU of its seat, where there are several.
    fn start(&self, run: &'a Wanted, state: State, seat: usize, gpus: &[String]) -> Result<Running<'a>> {
        let log = self.logs.join(format!("{}-seed{}.log", run.name, run.seed));
        let file = File::create(&log).map_err(RunError::io(&log))?;
        let program = std::env::current_exe().map_err(RunError::io(Path::new("prescient")))?;
        let mut command = Command::new(&program);
        command.arg("run").arg("-v");
        match state {
            State::New => {
                command.arg(&run.name).args(["--seed", &run.seed.to_string()]).arg("--out").arg(&run.folder);
                // One dataset, many runs: `prescient data check` is for once.
                command.arg("--no-check").args(self.sets.iter().flat_map(|set| ["--set", set]));
            }
            State::Begun | State::Finished => drop(command.arg("--resume").arg(&run.folder)),
        }
        if gpus.len() > 1 {
            command.env("CUDA_VISIBLE_DEVICES", &gpus[seat % gpus.len()]);
        }
        command.args(["--device", &self.device_name()]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let child = command.spawn().map_err(RunError::io(&program))?;
        Ok(Running { run, child, log, began: Instant::now(), seat })
    }
}

/// What a dataset is called below the data root.
fn data_name(source: &Source) -> String {
    let folder = match source {
        Source::Folder(folder) => folder.path.iter().next(),
        _ => None,
    };
    folder.map_or_else(|| source.name().to_owned(), |folder| folder.to_string_lossy().into_owned())
}

/// What kept the data from being opened, and where it comes from.
fn how_to_get(name: &str, error: DataError) -> String {
    let root = prescient::data::root().join(name);
    let way = match name {
        "awa2" => fetch::awa2_by_hand(&root).hint(),
        "apy" => fetch::apy_by_hand(&root).hint(),
        "mnist" => Some("prescient data get mnist".to_owned()),
        _ => Some(format!("it is expected in {}; `PRESCIENT_DATA` names another place", root.display())),
    };
    let way = way.unwrap_or_default().replace('\n', "\n  ");
    format!("  {}\n  {way}\n", Error::from(error).to_string().replace('\n', "\n  "))
}

/// The error at the end of a log; else its last line, and how the process ended.
fn last_words(log: &Path, status: &str) -> String {
    let text = disk::read(log, disk::RUN).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    match text.rfind("error: ") {
        Some(at) => text[at + "error: ".len()..].trim_end().to_owned(),
        None => {
            let last = text.lines().last().unwrap_or("nothing was said");
            format!("the run ended with {status}; `{}` ends: {last}", log.display())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_run_are_its_error_or_its_last_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        fs::write(&log, " INFO prescient: task 1/4 begins\nerror: `a.csv`, line 3\n\nhint: look\n").expect("written");
        assert_eq!(last_words(&log, "exit status: 2"), "`a.csv`, line 3\n\nhint: look");
        fs::write(&log, "begins\nkilled\n").expect("written");
        assert!(last_words(&log, "signal: 9").starts_with("the run ended with signal: 9; "));
        assert!(last_words(&log, "signal: 9").ends_with(" ends: killed"));
    }
}
