//! What each verb shows off a terminal, on a terminal of 80 columns, and with `--format json`: kept word for word, so that a change is
//! seen in review. What differs from one machine or moment to the next stands as `#`.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;
mod screen;
mod small_shop;

use regex::{Captures, Regex};
use screen::on_a_terminal;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const CLASSES: [&str; 6] = ["lion", "bison", "ox", "tiger", "zebra", "donkey"];
const TABLE: &str = "class,stripes,horns,hooves\n\
    lion,0,0,0\nbison,0,1,1\nox,0,1,1\ntiger,1,0,0\nzebra,1,0,1\ndonkey,0,0,1\n";

const DATA: &str = r#"
seed = 1
data = { kind = "folder", path = "photos", attributes = ["classes.csv"] }
scenario.split = "2+2+2"
model.extractor = { kind = "small-cnn", features = 16, width = 4 }
"#;

const TRAINED: &str = r#"
train = { epochs = 1, batch_size = 32 }
finetune.epochs = 1
complete.epochs = 1
memory.per_class = 2
"#;

/// Commands in the order in which they are called, each in the folder that the ones before leave, and how each ends. Those with
/// `JSON` behind them have `--format json` as well.
const COMMANDS: &[(&str, &str, i32)] = &[
    ("list JSON", "list", 0),
    ("list keys JSON", "list --keys", 0),
    ("list recipe JSON", "list --recipe demo-base", 0),
    ("classes JSON", "classes classes.csv", 0),
    ("weights list JSON", "weights list", 0),
    ("weights check JSON", "weights check", 0),
    ("weights get", "weights get mobilenet-v2 --from http://127.0.0.1:9/models", 2),
    ("data list JSON", "data list", 0),
    ("data get", "data get awa2 --out awa2", 2),
    ("data check JSON", "data check folder photos --attributes classes.csv", 0),
    ("data check wrong JSON", "data check folder wrong", 2),
    ("data check fix", "data check folder wrong --fix", 2),
    ("data pack", "data pack folder photos --attributes classes.csv --out photos.pack --size 32", 0),
    ("data show", "data show folder --path photos --attributes classes.csv --out sheets", 0),
    ("run wrong", "run base.toml --set data.path='wrong' --device cpu", 2),
    ("run", "run ghost.toml --device cpu --out runs/ghost", 0),
    ("run closed", "run closed.toml --device cpu --out runs/closed", 0),
    ("run stopped", "run base.toml --device cpu --out runs/base --stop-after 1", 0),
    ("run resumed", "run --resume runs/base --device cpu", 0),
    ("report JSON", "report runs/ghost", 0),
    ("report two", "report runs/base runs/ghost", 0),
    ("report page", "report runs/ghost --html page.html", 0),
    ("compare JSON", "compare runs/base runs/ghost", 0),
    ("audit JSON", "audit runs/ghost --near-duplicates", 0),
    ("audit split JSON", "audit --split split.txt", 1),
    ("inspect JSON", "inspect runs/ghost --device cpu", 0),
    ("predict run JSON", "predict runs/closed new --top 1 --device cpu", 0),
    ("export", "export runs/ghost --to safetensors --out exported", 0),
    ("reproduce", "reproduce mnist --no-run --seeds 1 --out runs/all", 3),
    ("cache JSON", "cache", 0),
    ("cache check JSON", "cache check", 0),
    ("cache clear JSON", "cache clear", 0),
    ("new", "new other --classes classes.csv --device cpu", 2),
    ("learn", "learn shop month_01 --device cpu", 0),
    ("learn more", "learn shop month_02 --device cpu", 0),
    ("learn again", "learn shop month_02 --device cpu", 0),
    ("status JSON", "status shop", 0),
    ("plan JSON", "plan shop", 0),
    ("diff JSON", "diff shop@2 shop", 0),
    ("predict JSON", "predict shop new --abstain-below 50 --top 2 --device cpu", 0),
    ("rename", "rename shop ox cattle --device cpu", 0),
    ("forget", "forget shop tiger bison --device cpu", 0),
    ("rollback", "rollback shop 3 --device cpu", 0),
];

/// Commands that go on until Ctrl-C, and what they have said by then.
const UNTIL_STOPPED: &[(&str, &str, &str, i32)] = &[
    ("serve", "serve shop --port 0 --device cpu", "serving `shop`", 0),
    ("learn watch", "learn shop inbox --watch --device cpu", "watching", 0),
    ("demo stopped", "demo --device cpu", "24 classes in 4 tasks", 130),
];

/// Whose help is looked at on a terminal, too; `help.rs` keeps it.
const VERBS: [&str; 16] = [
    "run",
    "predict",
    "serve",
    "export",
    "plan",
    "diff",
    "rollback",
    "learn",
    "new",
    "report",
    "compare",
    "reproduce",
    "audit",
    "inspect",
    "data pack",
    "weights get",
];

/// A folder with photos, a table of their classes, recipes, and a project that has learned nothing yet.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        common::drawn_photos(&place.path("photos"), &CLASSES, 12, 4);
        place.write("classes.csv", TABLE);
        // Of which nothing is learned; whoever runs it is told.
        place.copy("photos/train/lion/0.png", "photos/val/lion/0.png");
        place.write("base.toml", &[DATA, TRAINED].concat());
        let ghosts = "ghosts = { per_class = 20, generator = { kind = \"gaussian\" } }\n";
        place.write("ghost.toml", &[DATA, TRAINED, ghosts].concat());
        place.write("closed.toml", &[DATA, "learner.kind = \"closed-form\"\n"].concat());
        // One photo is cut short, one is on both sides, and one lies where no class is.
        common::drawn_photos(&place.path("wrong"), &CLASSES[..2], 6, 2);
        place.copy("photos/train/ox/0.png", "wrong/train/0.png");
        place.copy("wrong/train/lion/0.png", "wrong/test/lion/0.png");
        let whole = std::fs::read(place.path("wrong/train/bison/1.png")).unwrap();
        std::fs::write(place.path("wrong/train/bison/1.png"), &whole[..whole.len() / 2]).unwrap();
        place.write(
            "split.txt",
            "train photos/train/ox/0.png\ntrain photos/train/ox/1.png\ntest photos/train/ox/1.png\n",
        );
        place.copy("photos/train/lion/3.png", "new/a.png");
        place.copy("photos/train/bison/3.png", "new/b.png");
        std::fs::create_dir_all(place.path("inbox")).unwrap();

        small_shop::create(place.path("shop"), TABLE);
        for (month, class, range) in small_shop::MONTHS {
            for number in range {
                place.copy(&format!("photos/train/{class}/{number}.png"), &format!("{month}/{class}/{number}.png"));
            }
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn copy(&self, from: &str, to: &str) {
        std::fs::create_dir_all(self.path(to).parent().unwrap()).unwrap();
        std::fs::copy(self.path(from), self.path(to)).unwrap();
    }

    /// A command that is not on a terminal; it is sent Ctrl-C once it has said `until`.
    fn off_a_terminal(&self, arguments: &[&str], until: Option<&str>) -> (i32, String, String) {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.0.path()).envs(VARIABLES).env("CLICOLOR_FORCE", "0");
        let files = ["stdout", "stderr"].map(|name| self.path(name));
        let [out, error] = files.each_ref().map(|path| std::fs::File::create(path).unwrap());
        let mut child = command.stdin(Stdio::null()).stdout(out).stderr(error).spawn().unwrap();
        let said = || files.each_ref().map(|path| std::fs::read_to_string(path).unwrap());
        if let Some(until) = until {
            while child.try_wait().unwrap().is_none() && !said().concat().contains(until) {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        }
        let code = child.wait().unwrap().code().unwrap();
        let [out, error] = said();
        (code, out, error)
    }
}

/// Nothing of this machine: no features of other runs, no weights, no data.
const VARIABLES: [(&str, &str); 3] =
    [("PRESCIENT_FEATURES", "features"), ("PRESCIENT_WEIGHTS", "weights"), ("PRESCIENT_DATA", "data")];

fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin("prescient")
}

/// Words of a command line; quotes are taken away as a shell does.
fn words(line: &str) -> Vec<String> {
    line.split(' ').map(|word| word.replace('\'', "")).collect()
}

/// What differs from one machine or moment to the next, as `#`. A number keeps its place in its column.
fn masked(text: &str) -> String {
    let patterns = [
        (r"127\.0\.0\.1(:\d+)?", "HOST"),
        (r"==\d[\d.]+", "==#"),
        (r"\b[0-9a-f]{16,}\b", "#"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "####-##-## ##:## UTC"),
        (r"\d+ of \d+\b", "# of #"),
        (r"\d+(\.\d+)? (B|kB|KB|MB|GB|MiB|GiB)\b", "# $2"),
        (r"\d+°", "##°"),
    ];
    let text = patterns
        .iter()
        .fold(text.to_owned(), |text, (pattern, by)| Regex::new(pattern).unwrap().replace_all(&text, *by).into_owned());
    // A number and its error are one cell: how many digits either has differs from machine to machine.
    let pair = Regex::new(r" *[-+−]?\d+\.\d ± \d+\.\d\b").unwrap();
    let mask = |found: &Captures<'_>| format!("{:>width$}", "#.# ± #.#", width = found[0].chars().count());
    let text = pair.replace_all(&text, mask).into_owned();
    let decimal = Regex::new(r"( *)([-+−]?)(\d+)\.(\d+)").unwrap();
    let mask = |found: &Captures<'_>| {
        let width = found[0].chars().count() - found[1].chars().count().min(1);
        let gap = if found[1].is_empty() { "" } else { " " };
        format!("{gap}{:>width$}", format!("#.{}", "#".repeat(found[4].len())))
    };
    let text = decimal.replace_all(&text, mask).into_owned();
    // Not those that are part of a sentence: 90 % and 95 %.
    let percent = Regex::new(r"( *)(\d+) %").unwrap();
    let mask = |found: &Captures<'_>| match &found[2] {
        "90" | "95" => found[0].to_owned(),
        _ => format!("{:>width$} %", "#", width = found[0].chars().count() - 2),
    };
    percent.replace_all(&text, mask).into_owned()
}

/// Without what Ctrl-C leaves on a screen, which depends on the moment: a bar or its like, and `^C`.
fn without_bars(text: &str) -> String {
    let is_bar = |line: &&str| line.contains(['░', '█']) || line.starts_with(|letter| ('⠀'..='⣿').contains(&letter));
    let lines = text.lines().filter(|line| !is_bar(line)).map(|line| line.replace("^C", ""));
    lines.filter(|line| !line.is_empty() || text.contains("\n\n")).map(|line| line + "\n").collect()
}

/// A document without what differs, and of long lists only how they begin.
fn abridged(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => "#.#".into(),
        // A time.
        Value::Number(number) if number.as_u64() > Some(1_000_000_000) => "#".into(),
        Value::String(text) => masked(&text).into(),
        Value::Array(values) => {
            let more = values.len().saturating_sub(2);
            let first: Vec<Value> = values.into_iter().take(if more > 1 { 2 } else { 3 }).map(abridged).collect();
            let more = (more > 1).then(|| format!("… {more} more").into());
            first.into_iter().chain(more).collect()
        }
        Value::Object(fields) => {
            // The size of a project on the disk: its files have numbers as text.
            let of_files = fields.contains_key("unshared");
            let size = |key: &str| of_files && ["bytes", "unshared"].contains(&key);
            let shown = |(key, value): (String, Value)| match size(&key) {
                true => (key, "#".into()),
                false => (key, abridged(value)),
            };
            fields.into_iter().map(shown).collect()
        }
        other => other,
    }
}

/// Standard output, and below a line what stood on standard error.
fn both(out: &str, error: &str) -> String {
    if error.is_empty() { masked(out) } else { format!("{}--- stderr\n{}", masked(out), masked(error)) }
}

fn snapshot(name: &str, way: &str, command: &str, text: &str) {
    let name = format!("{} {way}", name.trim_end_matches(" JSON")).replace(' ', "-");
    insta::with_settings!({ description => format!("prescient {command}"), omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn each_verb_off_a_terminal_and_as_json() {
    let place = Place::new();
    for (name, line, expected) in COMMANDS {
        if name.ends_with(" JSON") {
            let mut words = words(line);
            words.extend(["--format", "json"].map(String::from));
            let (code, out, error) = place.off_a_terminal(&words.iter().map(String::as_str).collect::<Vec<_>>(), None);
            assert_eq!(code, *expected, "{line} --format json: {out}{error}");
            let documents: Vec<Value> = match name.contains("predict") {
                true => out.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
                false => vec![serde_json::from_str(&out).unwrap_or_else(|_| panic!("{line}: {out}"))],
            };
            let documents: Vec<String> = documents.into_iter().map(|one| format!("{:#}\n", abridged(one))).collect();
            // A verdict stays an error.
            snapshot(name, "json", &format!("{line} --format json"), &both(&documents.concat(), &error));
        }
        // What JSON cleared is cleared.
        let words = words(line);
        let (code, out, error) = place.off_a_terminal(&words.iter().map(String::as_str).collect::<Vec<_>>(), None);
        assert_eq!(code, *expected, "{line}: {out}{error}");
        assert!(!format!("{out}{error}").contains('\u{1b}'), "{line}: {out}{error}");
        snapshot(name, "piped", line, &both(&out, &error));
    }
    for (name, line, until, expected) in UNTIL_STOPPED {
        let words = words(line);
        let (code, out, error) =
            place.off_a_terminal(&words.iter().map(String::as_str).collect::<Vec<_>>(), Some(until));
        assert_eq!(code, *expected, "{line}: {out}{error}");
        snapshot(name, "piped", line, &both(&out, &error));
    }
}

#[test]
fn each_verb_on_a_terminal_of_80_columns() {
    let place = Place::new();
    let finished = COMMANDS.iter().map(|(name, line, code)| (*name, *line, None, *code));
    let stopped = UNTIL_STOPPED.iter().map(|(name, line, until, code)| (*name, *line, Some(*until), *code));
    let mut too_long = Vec::new();
    for (name, line, until, expected) in finished.chain(stopped) {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let seen = on_a_terminal(&program(), &words, place.0.path(), &VARIABLES, until);
        assert_eq!(seen.code, expected, "{line}: {}", seen.text);
        // A recipe is there to be pasted, and `^C` is the terminal's.
        if name != "list recipe JSON" && until.is_none() {
            too_long.extend(seen.overflowing.iter().map(|over| format!("{line}: {over}")));
        }
        snapshot(name, "terminal", line, &masked(&without_bars(&seen.text)));
    }
    for verb in VERBS {
        let words: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let seen = on_a_terminal(&program(), &words, place.0.path(), &VARIABLES, None);
        assert_eq!(seen.code, 0, "{verb} --help: {}", seen.text);
        // clap does not break it.
        let lines = seen.overflowing.iter().filter(|over| !over.starts_with("Usage: "));
        too_long.extend(lines.map(|over| format!("{verb} --help: {over}")));
    }
    assert!(too_long.is_empty(), "lines that do not fit:\n{}", too_long.join("\n"));
}
