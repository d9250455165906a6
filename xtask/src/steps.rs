//! What is run once libtorch is there: the demo, and the checks of CI in their order.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::browser;
use crate::environment::Environment;
use crate::error::Error;
use crate::weights;

/// One check: what it is called, and the command as one would type it.
struct Step {
    name: &'static str,
    variable: Option<(&'static str, &'static str)>,
    cargo: &'static [&'static str],
}

/// Cheap ones first, so that a forgotten `cargo fmt` does not cost a build.
const STEPS: &[Step] = &[
    Step { name: "formatting", variable: None, cargo: &["fmt", "--all", "--check"] },
    Step { name: "clippy", variable: None, cargo: &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"] },
    Step { name: "tests", variable: None, cargo: &["test", "--workspace"] },
    Step {
        name: "documentation",
        variable: Some(("RUSTDOCFLAGS", "-D warnings")),
        cargo: &["doc", "--workspace", "--no-deps"],
    },
];

impl Step {
    /// The line that runs this step without the others.
    fn alone(&self) -> String {
        let cargo = format!("cargo {}", self.cargo.join(" "));
        match self.variable {
            Some((name, value)) => format!("{name}=\"{value}\" {cargo}"),
            None => cargo,
        }
    }
}

/// Builds the program and runs its `demo`.
pub(crate) fn demo(environment: &Environment, libtorch: &Path, args: &[String]) -> Result<(), Error> {
    let mut command = cargo(environment, libtorch);
    command.args(["run", "--release", "--bin", "prescient", "--", "demo"]).args(args);
    let alone = "cargo run --release --bin prescient -- demo";
    run(&mut command, "the demo", alone)
}

/// Runs every step, and stops at the first that fails.
pub(crate) fn test(environment: &Environment, libtorch: &Path) -> Result<(), Error> {
    let mut times = Vec::new();
    for (index, step) in STEPS.iter().enumerate() {
        eprintln!("\n[{}/{}] {}: {}", index + 1, STEPS.len(), step.name, step.alone());
        let start = Instant::now();
        if step.name == "tests" && weights::required(environment) {
            weights::ensure(environment, libtorch);
        }
        let mut command = cargo(environment, libtorch);
        command.args(step.cargo).envs(step.variable);
        run(&mut command, step.name, &step.alone())?;
        let time = start.elapsed();
        eprintln!("[{}/{}] {}: passed in {}", index + 1, STEPS.len(), step.name, seconds(time));
        times.push((step.name, time));
    }
    eprintln!("\n{}", summary(&times));
    eprintln!("{}", data_note(environment));
    eprintln!("{}", browser::note(environment));
    eprintln!("{}", weights::note(environment));
    Ok(())
}

/// Has cargo build torch-sys anew: it is linked otherwise with CUDA than without, but to cargo nothing has changed,
/// for the link's own name is the same.
pub(crate) fn forget_torch_sys(environment: &Environment) {
    // Set where cargo started us. Without it, or if it fails, a stale build is the worst that can happen.
    let Some(cargo) = environment.variable("CARGO") else {
        return;
    };
    for profile in ["dev", "release"] {
        let mut command = environment.command(cargo);
        let _ = command.args(["clean", "--quiet", "--package", "torch-sys", "--profile", profile]).status();
    }
}

/// Data beyond the repository that some tests read: where it is not there, those tests are skipped, and this
/// says so; `PRESCIENT_REQUIRE=data` makes them fail instead.
const DATA: [&str; 4] = ["mnist", "animals12", "awa2", "apy"];

fn data_note(environment: &Environment) -> String {
    let root = match environment.variable("PRESCIENT_DATA") {
        Some(root) => PathBuf::from(root),
        None => environment.root.join("../shared/data"),
    };
    let (found, missing): (Vec<&str>, Vec<&str>) = DATA.iter().partition(|name| root.join(name).exists());
    match missing.as_slice() {
        [] => format!("tests on real data were run: {}", found.join(", ")),
        missing => format!(
            "left out: tests on real data ({}), which is not below `{}`; set PRESCIENT_DATA to run them",
            missing.join(", "),
            root.display()
        ),
    }
}

fn summary(times: &[(&str, Duration)]) -> String {
    let total = times.iter().map(|(_, time)| *time).sum();
    let each: Vec<String> = times.iter().map(|(name, time)| format!("{name} {}", seconds(*time))).collect();
    format!("all {} steps passed in {} ({})", times.len(), seconds(total), each.join(", "))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// A cargo that builds against this libtorch and whose children find it.
pub(crate) fn cargo(environment: &Environment, libtorch: &Path) -> Command {
    let program = environment.variable("CARGO").unwrap_or("cargo".as_ref());
    let mut command = environment.command(program);
    command.env("LIBTORCH", libtorch);
    // Programs carry a run path; the examples in the documentation, which rustdoc links, may not.
    for name in ["LD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"] {
        command.env(name, in_front(&libtorch.join("lib"), environment.variable(name).unwrap_or_default().into()));
    }
    command
}

/// `folder`, then what the variable already listed.
fn in_front(folder: &Path, listed: OsString) -> OsString {
    let mut value = folder.as_os_str().to_owned();
    if !listed.is_empty() {
        value.push(":");
        value.push(listed);
    }
    value
}

pub(crate) fn run(command: &mut Command, step: &'static str, alone: &str) -> Result<(), Error> {
    let program = command.get_program().to_owned();
    let status = command.status().map_err(Error::io("start", Path::new(&program)))?;
    if status.success() {
        return Ok(());
    }
    // A code outside of 1..=255, or a signal, is still a failure.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0).unwrap_or(1);
    Err(Error::Step { step, alone: alone.to_owned(), code })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_can_be_copied_into_a_shell() {
        let lines: Vec<String> = STEPS.iter().map(Step::alone).collect();
        assert_eq!(
            lines,
            [
                "cargo fmt --all --check",
                "cargo clippy --workspace --all-targets -- -D warnings",
                "cargo test --workspace",
                "RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps",
            ]
        );
    }

    #[test]
    fn what_is_left_out_is_said() {
        let folder = std::env::temp_dir().join(format!("xtask-data-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("mnist")).expect("a temporary folder");
        let mut environment = Environment::of_this_process().expect("a temporary folder");
        environment.variables.insert("PRESCIENT_DATA".into(), folder.clone().into());
        assert!(data_note(&environment).starts_with("left out: tests on real data (animals12, awa2, apy)"));
        for name in DATA {
            std::fs::create_dir_all(folder.join(name)).expect("a temporary folder");
        }
        assert_eq!(data_note(&environment), "tests on real data were run: mnist, animals12, awa2, apy");
        std::fs::remove_dir_all(folder).expect("a temporary folder");
    }

    #[test]
    fn the_summary_adds_up() {
        let times = [("formatting", Duration::from_millis(400)), ("tests", Duration::from_millis(2100))];
        assert_eq!(summary(&times), "all 2 steps passed in 2.5 s (formatting 0.4 s, tests 2.1 s)");
    }

    #[test]
    fn the_own_folder_comes_before_what_was_listed() {
        assert_eq!(in_front(Path::new("a/lib"), "b:c".into()), "a/lib:b:c");
        assert_eq!(in_front(Path::new("a/lib"), "".into()), "a/lib");
    }

    #[test]
    fn a_failing_step_keeps_its_exit_code_and_says_how_to_run_it() {
        let mut failing = Command::new("/bin/sh");
        failing.args(["-c", "exit 101"]);
        let error = run(&mut failing, "tests", "cargo test").expect_err("it failed");
        assert_eq!(error.exit_code(), 101);
        assert_eq!(error.to_string(), "tests failed");
        assert_eq!(error.hint(), "to run this step alone: `cargo test`");
    }
}
