//! `docs/guide/own-photos.md`, followed to the letter: its files are written, its commands run, and they print what it shows.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::process::Command;

/// A fenced block: what stands behind the fence, and what is in it.
struct Block {
    kind: String,
    file: Option<String>,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let parts = page.split("```").skip(1).step_by(2);
    let block = |part: &str| {
        let (head, text) = part.split_once('\n').unwrap();
        let (kind, file) = head.split_once(' ').map_or((head, None), |(kind, file)| (kind, Some(file.to_owned())));
        Block { kind: kind.to_owned(), file, text: text.to_owned() }
    };
    parts.map(block).collect()
}

/// Runs the commands as a person would, the program in the path; none may fail.
fn carry_out(commands: &str, at: &Path) -> String {
    let program = assert_cmd::cargo::cargo_bin("prescient");
    let path = std::env::join_paths(
        std::iter::once(program.parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut shell = Command::new("sh");
    let output = shell.args(["-euc", commands]).current_dir(at).env("PATH", path.unwrap()).output().unwrap();
    let (out, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{commands}\n{out}{error}");
    let beside: Vec<&str> = error.lines().filter(|line| !line.contains(" images to learn from and ")).collect();
    assert_eq!(beside, [""; 0], "a line for each run when not a terminal, and nothing else");
    out
}

/// Whether a line is as the page shows it, where `…` stands for anything.
fn as_shown(line: &str, shown: &str) -> bool {
    let parts: Vec<&str> = shown.split('…').collect();
    let mut rest = line;
    for (index, part) in parts.iter().enumerate() {
        match rest.find(part) {
            Some(at) if index > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    rest.is_empty() || shown.ends_with('…')
}

#[test]
fn the_guide_works_as_written() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/own-photos.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let classes = ["lion", "bison", "ox", "tiger", "zebra", "donkey"];
    common::drawn_photos(&folder.path().join("photos"), &classes, 12, 4);
    common::drawn_features(&folder.path().join("vectors"), &classes, 12, 4);
    for class in classes {
        assert!(page.contains(&format!("photos/train/{class}/…")), "the page lays out `{class}`");
    }
    let (mut out, mut commands, mut shown_lines) = (None, 0, 0);
    for Block { kind, file, text } in blocks(&page) {
        match (kind.as_str(), file) {
            ("sh", _) => {
                commands += text.lines().count();
                out = Some(carry_out(&text, folder.path()));
            }
            ("text", _) => {
                // What stands before the first command is the layout.
                let Some(out) = &out else { continue };
                for shown in text.lines() {
                    shown_lines += 1;
                    assert!(out.lines().any(|line| as_shown(line, shown)), "expected `{shown}` in:\n{out}");
                }
            }
            (_, Some(file)) => std::fs::write(folder.path().join(file), text).unwrap(),
            (other, None) => panic!("what is a reader to do with a block `{other}`?"),
        }
    }
    assert!(commands >= 9 && shown_lines >= 20, "{commands} commands, {shown_lines} lines shown");
}

#[test]
fn dots_stand_for_anything() {
    assert!(as_shown("   1    3        3      12.5", "   1    3        3 …"));
    assert!(as_shown("lion    tiger 0.812  zebra 0.3", "lion    tiger …"));
    assert!(!as_shown("a lion    tiger 0.812", "lion    tiger …"));
    assert!(as_shown("same", "same") && !as_shown("same here", "same"));
}
