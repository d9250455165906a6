//! A Chromium for the tests of the report page: found, or installed where that takes one command and no question.
//!
//! Tests are skipped without one, and say so; so does `cargo xtask test`, at its end. `PRESCIENT_REQUIRE=browser` makes them
//! fail instead.

use std::path::PathBuf;

use crate::debian;
use crate::environment::Environment;

/// Names it goes by on the path.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome-stable"];
/// The package on Debian.
const PACKAGE: &str = "chromium";

/// The browser that tests will find, where there is one: what `CHROME` names, or the first on the path.
pub(crate) fn found(environment: &Environment) -> Option<PathBuf> {
    let own = environment.variable("CHROME").map(PathBuf::from).filter(|browser| browser.is_file());
    own.or_else(|| NAMES.iter().find_map(|name| environment.program(name)))
}

/// Looks for a browser, and installs one where that is possible. Whether it worked is seen by [`found`].
pub(crate) fn ensure(environment: &Environment) {
    if found(environment).is_none() {
        debian::install(environment, PACKAGE, "the tests of the report page");
    }
}

/// What is to be said at the end.
pub(crate) fn note(environment: &Environment) -> String {
    match found(environment) {
        Some(browser) => format!("tests of the report page were run in {}", browser.display()),
        None => "left out: tests of the report page in a browser; install Chromium (on Debian `sudo apt-get install \
                 chromium`), or set CHROME to run them"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    /// An environment whose path is `folder` alone.
    fn environment(folder: &Path) -> Environment {
        let mut environment = Environment::of_this_process().expect("a root");
        environment.variables.insert("PATH".into(), folder.into());
        environment.variables.remove(std::ffi::OsStr::new("CHROME"));
        environment
    }

    fn program(folder: &Path, name: &str, script: &str) {
        let file = folder.join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a temporary folder");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("our own file");
    }

    #[test]
    fn a_browser_on_the_path_is_taken_and_nothing_installed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        program(folder.path(), "chromium", "exit 0");
        program(folder.path(), "id", "echo 0");
        program(folder.path(), "apt-get", "echo asked > \"$(dirname \"$0\")/asked\"");
        let environment = environment(folder.path());
        ensure(&environment);
        assert!(!folder.path().join("asked").exists());
        assert!(note(&environment).starts_with("tests of the report page were run in"));
    }

    #[test]
    fn root_installs_one_and_others_are_told() {
        for (user, installed) in [("0", true), ("1000", false)] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            program(folder.path(), "id", &format!("echo {user}"));
            let made = folder.path().join("chromium");
            program(folder.path(), "apt-get", &format!("if [ \"$1\" = install ]; then : > '{}'; fi", made.display()));
            let environment = environment(folder.path());
            ensure(&environment);
            assert_eq!(found(&environment).is_some(), installed, "user {user}");
            assert_eq!(note(&environment).starts_with("left out: "), !installed);
        }
    }

    #[test]
    fn an_apt_get_that_fails_is_no_error() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        program(folder.path(), "id", "echo 0");
        program(folder.path(), "apt-get", "exit 100");
        let environment = environment(folder.path());
        ensure(&environment);
        assert!(note(&environment).starts_with("left out: "));
    }
}
