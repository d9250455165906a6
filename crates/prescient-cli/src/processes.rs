//! A run in several processes: started here (`--processes N`), or by `torchrun` or `srun`, which say so in the environment.

use crate::{interrupt, output};
use prescient::engine::{Place, Processes};
use prescient::error::{Error, ProcessError, Result, RunError};
use prescient::learner::{Event, Observer};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use torch_shim::Store;

/// Where processes of one machine meet.
const HERE: &str = "127.0.0.1";
/// After one has failed, the others end by themselves within this time; who has not is ended.
const GRACE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(50);

/// How many processes are to be started here, of so many that were asked for: none where somebody else has started this one.
pub(super) fn to_start(asked: Option<u32>) -> Result<Option<usize>> {
    let (Some(asked), place) = (asked, Place::from_environment()?) else { return Ok(None) };
    match place {
        None => Ok(Some(asked as usize)),
        Some(place) if place.count == asked as usize => Ok(None),
        Some(place) => Err(ProcessError::Variable {
            name: "WORLD_SIZE".to_owned(),
            expected: format!("{asked}, as `--processes` says"),
            found: place.count.to_string(),
        }
        .into()),
    }
}

/// Meets the other processes, where there are some. One that is lost later ends this one too, whatever it is doing.
pub(super) fn join() -> Result<Processes> {
    match Place::from_environment()? {
        None => Ok(Processes::alone()),
        Some(place) => Ok(Processes::join(place, Some(Box::new(|lost| leave(&lost.clone().into()))))?),
    }
}

/// The GPU of this process, where it has one of its own.
pub(super) fn local_rank() -> usize {
    Place::from_environment().ok().flatten().map_or(0, |place| place.local_rank)
}

/// Parts from the others once the work is `done`, or tells them that it failed.
pub(super) fn part<T>(processes: &Processes, done: Result<T>) -> Result<T> {
    if processes.count() == 1 {
        return done;
    }
    match done {
        Ok(value) => processes.part_ways().map(|()| value).map_err(Error::from),
        // All have agreed to stop.
        Err(error) if error.exit_code() == 130 => {
            let _ = processes.part_ways();
            match processes.leads() {
                true => Err(error),
                // One of them says it.
                false => torch_shim::leave(error.exit_code()),
            }
        }
        Err(error) => {
            if !error.is_of_others() {
                processes.fail(&error.to_string());
            }
            leave(&error)
        }
    }
}

/// Ends the process with an error. Not by returning: a group whose peers are gone may wait for ever when it is tidied up.
fn leave(error: &Error) -> ! {
    static LEAVING: AtomicBool = AtomicBool::new(false);
    if LEAVING.swap(true, Ordering::SeqCst) {
        // Another thread is telling already.
        std::thread::sleep(GRACE);
    }
    output::tell(&error.message());
    torch_shim::leave(error.exit_code())
}

/// Whoever does not show anything.
pub(super) struct Helper;

impl Helper {
    pub(super) fn new() -> Self {
        interrupt::watch();
        Self
    }
}

impl Observer for Helper {
    fn on_event(&mut self, _: &Event<'_>) {}

    fn stops(&self) -> bool {
        interrupt::asked()
    }
}

/// Starts this very command `count` times, and ends as the processes do.
pub(super) fn launch(count: usize) -> Result<()> {
    interrupt::watch();
    let timeout = Duration::from_secs(60);
    let store = Store::serve(HERE, 0, timeout).map_err(|error| ProcessError::StoreGone {
        host: HERE.to_owned(),
        port: 0,
        reason: error.message().to_owned(),
    })?;
    let program = std::env::current_exe().map_err(RunError::io(Path::new("prescient")))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (cores / count).max(1).to_string();
    let mut children = Vec::new();
    for rank in 0..count {
        let mut command = Command::new(&program);
        command.args(without_processes(std::env::args_os().skip(1)));
        let variables = [
            ("RANK", rank.to_string()),
            ("WORLD_SIZE", count.to_string()),
            ("LOCAL_RANK", rank.to_string()),
            ("LOCAL_WORLD_SIZE", count.to_string()),
            ("MASTER_ADDR", HERE.to_owned()),
            ("MASTER_PORT", store.port().to_string()),
            ("TORCHELASTIC_USE_AGENT_STORE", "True".to_owned()),
            ("TORCHELASTIC_RUN_ID", std::process::id().to_string()),
        ];
        command.envs(variables);
        for name in ["OMP_NUM_THREADS", "RAYON_NUM_THREADS"] {
            if count > 1 && std::env::var_os(name).is_none() {
                command.env(name, &threads);
            }
        }
        // Of its own group: a terminal asks this process alone to stop, and it passes that on.
        command.stdin(Stdio::null()).process_group(0);
        if rank > 0 {
            command.stdout(Stdio::null());
        }
        children.push(command.spawn().map_err(RunError::io(&program))?);
    }
    let code = wait(&mut children);
    drop(store);
    match code {
        0 => Ok(()),
        // What went wrong was said by whom it happened to.
        code => std::process::exit(code),
    }
}

/// The exit code of the first that fails, or 0.
fn wait(children: &mut [Child]) -> i32 {
    let (mut failed, mut told) = (None, false);
    loop {
        let mut running = 0;
        for (rank, child) in children.iter_mut().enumerate() {
            match child.try_wait() {
                Ok(None) => running += 1,
                Ok(Some(status)) if !status.success() && failed.is_none() => {
                    if status.code().is_none() {
                        eprintln!("process {rank} (pid {}) was ended: {status}", child.id());
                    }
                    failed = Some((status.code().unwrap_or(2), Instant::now()));
                }
                _ => {}
            }
        }
        if running == 0 {
            return failed.map_or(0, |(code, _)| code);
        }
        if failed.is_some_and(|(_, since)| since.elapsed() > GRACE) {
            children.iter_mut().for_each(|child| drop(child.kill()));
        }
        if interrupt::asked() && !told {
            told = true;
            for child in children.iter() {
                let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// The arguments without `--processes N`.
fn without_processes(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--processes") => drop(arguments.next()),
            Some(text) if text.starts_with("--processes=") => {}
            _ => kept.push(argument),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_started_without_being_told_to_start_others() {
        let kept = |text: &str| {
            let kept = without_processes(text.split(' ').map(OsString::from));
            kept.into_iter().map(|part| part.into_string().expect("plain text")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(kept("run a.toml --processes 4 --seed 1"), "run a.toml --seed 1");
        assert_eq!(kept("run --processes=4 --resume runs/a"), "run --resume runs/a");
    }
}
