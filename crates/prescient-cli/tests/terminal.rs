//! What each verb prints, off a terminal, on a terminal of 80 columns, and as JSON: snapshots, so that a change is seen in review.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use common::drawn_photos;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

const RECIPE: &str = r#"
seed = 1
data = { kind = "folder", path = "photos", attributes = ["classes.csv"] }
scenario.split = "3+2"
images.size = 16
model.extractor = { kind = "small-cnn", features = 8, width = 4 }
memory.per_class = 2
train = { epochs = 2, batch_size = 8 }
finetune.epochs = 1
complete.epochs = 1
ghosts = { per_class = 5, generator = { kind = "gaussian" } }
"#;

/// Drawings of five things, class information, two recipes, and a finished run of each.
static PLACE: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    drawn_photos(&folder.path().join("photos"), &["ant", "bee", "cat", "dog", "eel"], 6, 2);
    let table = "class,legs,wings,fur\nant,6,0,0\nbee,6,4,1\ncat,4,0,5\ndog,4,0,5\neel,0,0,0\n";
    std::fs::write(folder.path().join("classes.csv"), table).unwrap();
    std::fs::write(folder.path().join("r.toml"), RECIPE).unwrap();
    for (out, set) in [("base", "ghosts.generator.kind=none"), ("ghost", "seed=1")] {
        let done = prescient(folder.path(), &["run", "r.toml", "--out", out, "--set", set, "--device", "cpu"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    folder
});

fn command(at: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(at).env("PRESCIENT_FEATURES", "features").env("PRESCIENT_WEIGHTS", "weights");
    command.env("PRESCIENT_DATA", "data").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("TERM", "xterm");
    command.stdin(Stdio::null());
    command
}

fn prescient(at: &Path, arguments: &[&str]) -> Output {
    let program = assert_cmd::cargo::cargo_bin("prescient");
    command(at, program.to_str().unwrap()).args(arguments).output().unwrap()
}

/// What a person sees on a terminal of 80 columns; none where there is no `script` to make one.
fn on_a_terminal(at: &Path, arguments: &[&str]) -> Option<String> {
    let program = assert_cmd::cargo::cargo_bin("prescient");
    let line = format!("stty cols 80 rows 40; {} {}", program.display(), arguments.join(" "));
    let output = command(at, "script").args(["-qec", &line, "/dev/null"]).output();
    match output {
        Ok(output) => Some(String::from_utf8(output.stdout).unwrap()),
        Err(error) => {
            eprintln!("skipped: `script` makes terminals, and is not here: {error}");
            None
        }
    }
}

/// The last thing that stood on each line of a terminal, without colours.
fn seen(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        let code = &rest[at + 1..];
        let end = code.find(|c: char| c.is_ascii_alphabetic()).map_or(code.len(), |end| end + 1);
        rest = &code[end..];
    }
    plain.push_str(rest);
    let last = |line: &str| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default().trim_end().to_owned();
    plain.lines().map(last).collect::<Vec<_>>().join("\n") + "\n"
}

/// Without what is another on each machine: digests and the program's version.
fn same_everywhere(text: &str) -> String {
    let mut words = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_digest =
            word.len() >= 12 && word.chars().all(|c| c.is_ascii_hexdigit()) && word.chars().any(|c| c.is_ascii_digit());
        words.push_str(&if is_digest { part.replacen(word, "DIGEST", 1) } else { part.to_owned() });
    }
    words
}

/// Of what tells learned numbers, which are others on another processor, the lines without any; of tables the head.
fn without_numbers(name: &str, text: &str) -> String {
    let learned = ["report", "compare", "audit", "inspect", "predict", "run"].contains(&name);
    let is_kept = |line: &&str| !learned || !line.contains(|c: char| c.is_ascii_digit());
    let lines: Vec<&str> = text.lines().filter(is_kept).map(str::trim_end).collect();
    let end = lines.iter().position(|line| line.starts_with('─')).filter(|_| ["compare", "inspect"].contains(&name));
    same_everywhere(&(lines[..end.unwrap_or(lines.len())].join("\n") + "\n"))
}

/// Each verb with what it is asked, and a name for its snapshot.
const VERBS: [(&str, &[&str]); 12] = [
    ("report", &["report", "base", "ghost"]),
    ("compare", &["compare", "base", "ghost"]),
    ("audit", &["audit", "ghost", "--near-duplicates"]),
    ("inspect", &["inspect", "ghost", "--device", "cpu"]),
    ("predict", &["predict", "ghost", "photos/test/ant", "photos/test/eel", "--device", "cpu"]),
    ("classes", &["classes", "classes.csv"]),
    ("data-check", &["data", "check", "folder", "photos", "--attributes", "classes.csv"]),
    ("data-list", &["data", "list"]),
    ("weights-list", &["weights", "list"]),
    ("cache", &["cache"]),
    ("list", &["list"]),
    ("reproduce", &["reproduce", "table3", "--no-run", "--out", "tables", "--device", "cpu"]),
];

#[test]
fn off_a_terminal() {
    let at = PLACE.path();
    for (name, arguments) in VERBS {
        let output = prescient(at, arguments);
        let (out, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(!out.contains('\u{1b}') && !said.contains('\u{1b}'), "{name}: no colours off a terminal");
        assert!(!said.contains("panicked"), "{name}: {said}");
        let code = output.status.code().unwrap();
        let told = format!("{}\nstderr:\n{said}\nexit code {code}\n", without_numbers(name, &out));
        insta::assert_snapshot!(format!("off-{name}"), told);
    }
}

#[test]
fn on_a_terminal_of_80_columns() {
    let at = PLACE.path();
    for (name, arguments) in VERBS {
        let Some(shown) = on_a_terminal(at, arguments) else { return };
        insta::assert_snapshot!(format!("terminal-{name}"), without_numbers(name, &seen(&shown)));
    }
    // The bar of a run is one line that is drawn again and again, never wider than the terminal; nothing of it stays.
    let Some(shown) = on_a_terminal(at, &["run", "r.toml", "--out", "shown", "--device", "cpu"]) else { return };
    assert!(shown.contains("task 1/2") || shown.contains("task 1"), "{shown}");
    for line in shown.split(['\r', '\n']) {
        let width = seen(line).trim_end().chars().count();
        assert!(width <= 80 || line.contains(" images to learn from and "), "{width} columns: {line:?}");
    }
    insta::assert_snapshot!("terminal-run", without_numbers("run", &seen(&shown)));
}

#[test]
fn as_json() {
    let at = PLACE.path();
    let formats: [(&str, &[&str]); 6] = [
        ("report", &["--format", "json"]),
        ("audit", &["--format", "json"]),
        ("inspect", &["--format", "json"]),
        ("predict", &["--format", "json"]),
        ("classes", &["--format", "json"]),
        ("data-check", &["--format", "json"]),
    ];
    for (name, format) in formats {
        let &(_, arguments) = VERBS.iter().find(|(verb, _)| *verb == name).unwrap();
        let output = prescient(at, &[arguments, format].concat());
        let out = String::from_utf8(output.stdout).unwrap();
        // Answers are a document each, a line each.
        let out = if name == "predict" { out.lines().next().unwrap_or_default().to_owned() } else { out };
        let read: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{name}: {error}\n{out}"));
        insta::assert_snapshot!(format!("json-{name}"), keys(&read, 0));
    }
}

/// The shape of a document: its keys, and the kinds of their values; of a list its first element.
fn keys(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{indent}{name}:\n{}", keys(value, depth + 1));
            fields.iter().map(field).collect()
        }
        Value::Array(all) => match all.first() {
            Some(first) => format!("{indent}a list of\n{}", keys(first, depth + 1)),
            None => format!("{indent}an empty list\n"),
        },
        Value::String(_) => format!("{indent}text\n"),
        Value::Number(_) => format!("{indent}number\n"),
        Value::Bool(_) => format!("{indent}true or false\n"),
        Value::Null => format!("{indent}nothing\n"),
    }
}
