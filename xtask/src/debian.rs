//! Packages of Debian that tests can use: installed where we are root and have apt-get, so where that takes one command and no
//! question. Tests can do without, so nothing here is an error.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::environment::Environment;

/// Where the package of Fashion-MNIST puts its files; tests of near duplicates read them there.
const FASHION_MNIST: (&str, &str) = ("dataset-fashion-mnist", "/usr/share/datasets/fashion-mnist");

/// Installs `package`, which is for what `why` says.
pub(crate) fn install(environment: &Environment, package: &str, why: &str) {
    if !is_root(environment) {
        return;
    }
    let Some(apt) = environment.program("apt-get") else { return };
    eprintln!("set-up: installing `{package}` with apt-get, for {why}");
    let run = |arguments: &[&str]| {
        let mut command = environment.command(&apt);
        quiet(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    // The lists of a fresh machine are empty; those of an old one may name a version that is gone.
    if !run(&["update", "-qq"]) || !run(&["install", "-y", "-qq", "--no-install-recommends", package]) {
        eprintln!("set-up: apt-get could not install `{package}`");
    }
}

/// Installs Fashion-MNIST where it is not there.
pub(crate) fn ensure_fashion_mnist(environment: &Environment) {
    let (package, place) = FASHION_MNIST;
    if !Path::new(place).exists() {
        install(environment, package, "the tests of near duplicates");
    }
}

fn is_root(environment: &Environment) -> bool {
    let Some(id) = environment.program("id") else { return false };
    let answer = environment.command(id).arg("-u").stdin(Stdio::null()).output();
    answer.is_ok_and(|answer| answer.stdout.trim_ascii() == b"0")
}

/// Whether a command succeeds; what it says goes to stderr, for stdout belongs to what is run afterwards.
fn quiet(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}
