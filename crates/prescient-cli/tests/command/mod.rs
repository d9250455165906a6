//! The command, as a person would call it.

use assert_cmd::Command;
use std::path::Path;

/// Exit code, what stands on stdout, what stands on stderr.
pub(crate) fn prescient(arguments: &[&str], at: &Path) -> (i32, String, String) {
    let output = Command::cargo_bin("prescient").unwrap().current_dir(at).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
