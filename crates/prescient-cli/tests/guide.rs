//! `docs/guide/own-photos.md`, `shop.md` and `from-scratch.md`, followed to the letter: their files are written, their commands run, and they
//! print what the pages show.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use prescient::data::Files;
use prescient::evaluation::metrics;
use prescient::experiment::Record;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

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
    shell.args(["-euc", commands]).current_dir(at).env("PATH", path.unwrap());
    let output = shell.env("PRESCIENT_FEATURES", at.join("features")).output().unwrap();
    let (out, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{commands}\n{out}{error}");
    let expected = |line: &&str| {
        line.contains(" images to learn from and ") || line.starts_with("note: ") || line.starts_with("copied ")
    };
    let beside: Vec<&str> = error.lines().filter(|line| !expected(line)).collect();
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

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(name)).unwrap()
}

/// Does in `folder` what a page says, and looks for what it shows; comes back with how many commands and lines those were.
fn follow(page: &str, folder: &Path) -> (usize, usize) {
    let (mut out, mut commands, mut shown_lines) = (None, 0, 0);
    for Block { kind, file, text } in blocks(page) {
        match (kind.as_str(), file) {
            ("sh", _) => {
                commands += text.lines().count();
                out = Some(carry_out(&text, folder));
            }
            ("text", _) => {
                // What stands before the first command is the layout.
                let Some(out) = &out else { continue };
                for shown in text.lines() {
                    shown_lines += 1;
                    assert!(out.lines().any(|line| as_shown(line, shown)), "expected `{shown}` in:\n{out}");
                }
            }
            (_, Some(file)) => std::fs::write(folder.join(file), text).unwrap(),
            (other, None) => panic!("what is a reader to do with a block `{other}`?"),
        }
    }
    (commands, shown_lines)
}

#[test]
fn training_from_scratch_works_as_written() {
    let page = page("from-scratch.md");
    let folder = tempfile::tempdir().unwrap();
    let classes = ["lion", "bison", "ox", "tiger", "zebra", "donkey"];
    common::drawn_photos(&folder.path().join("photos"), &classes, 12, 4);
    common::drawn_features(&folder.path().join("vectors"), &classes, 12, 4);
    for class in classes {
        assert!(page.contains(&format!("photos/train/{class}/…")), "the page lays out `{class}`");
    }
    let (commands, shown_lines) = follow(&page, folder.path());
    assert!(commands >= 9 && shown_lines >= 20, "{commands} commands, {shown_lines} lines shown");
}

/// Six animals of `awa43` as somebody's own photos, 25 of each in a folder, and one more that is new; false where there are none.
fn own_photos(at: &Path, classes: &[&str]) -> bool {
    let Some(data) = common::real_data("awa43") else { return false };
    for weights in ["mobilenet-v2", "minilm"] {
        if prescient::weights::find(weights).is_err() {
            common::skip("weights", &format!("`{weights}` is not here; `prescient weights get {weights}`"));
            return false;
        }
    }
    let files = Files::open(&data.join("images.zip")).unwrap();
    for class in classes {
        let folder = at.join("photos").join(class);
        std::fs::create_dir_all(&folder).unwrap();
        let mut photos = files.entries(&format!("train/{}/", class.replace(' ', "+"))).unwrap();
        photos.sort();
        for photo in &photos[..25] {
            let name = Path::new(photo).file_name().unwrap();
            std::fs::write(folder.join(name), files.read(photo).unwrap()).unwrap();
        }
    }
    let new = files.entries("test/polar+bear/").unwrap();
    std::fs::write(at.join("new.jpg"), files.read(&new[0]).unwrap()).unwrap();
    true
}

/// The whole page in under two minutes on two cores. Sentences do not make the model worse than photos alone, by the mean over
/// tasks on the same test photos; and where ghosts answer, a class without photos is among what can be answered.
#[test]
fn own_photos_work_as_written() {
    let page = page("own-photos.md");
    let folder = tempfile::tempdir().unwrap();
    let classes = ["giant panda", "horse", "leopard", "lion", "polar bear", "zebra"];
    for class in classes {
        assert!(page.contains(&format!("photos/{class}/…")), "the page lays out `{class}`");
    }
    if !own_photos(folder.path(), &classes) {
        return;
    }
    let begun = Instant::now();
    let (commands, shown_lines) = follow(&page, folder.path());
    let took = begun.elapsed().as_secs();
    assert!(commands >= 9 && shown_lines >= 15, "{commands} commands, {shown_lines} lines shown");
    assert!(took < 120, "{took} seconds");
    let record = |name: &str| Record::read(&folder.path().join("runs").join(name).join("record.jsonl")).unwrap();
    let continual = |name: &str| metrics::find("continual").unwrap().value(&record(name).run(), 2).unwrap();
    assert_eq!(record("mine").start.classes, record("base").start.classes, "in the same order");
    assert!(continual("mine") >= continual("base"), "{} of {}", continual("mine"), continual("base"));
    let ghosts = record("mine").worths().filter(|worth| worth.guesses).map(|worth| worth.task).collect::<Vec<_>>();
    assert!(ghosts.contains(&1), "ghosts answer after {ghosts:?}");
    for task in ghosts {
        let answers = carry_out(&format!("prescient predict runs/mine new.jpg --top 6 --task {task}"), folder.path());
        assert_eq!(answers.matches("not yet photographed").count(), 2, "{answers}");
    }
}

/// Photos of animals of `awa43` as a shop gets them, for `shop.md`: of each class a range of the training photos.
fn shop_photos(at: &Path) -> bool {
    let months: &[(&str, &str, std::ops::Range<usize>)] = &[
        ("photos/month_01", "giant panda", 0..12),
        ("photos/month_01", "horse", 0..12),
        ("photos/month_01", "lion", 0..12),
        ("photos/month_01", "zebra", 0..12),
        ("photos/month_02", "leopard", 0..6),
        ("photos/month_02", "polar bear", 0..1),
        ("photos/month_02", "lion", 12..16),
        ("photos/month_03", "horse", 12..14),
        ("photos/month_03", "rabbit", 0..8),
        ("inbox", "zebra", 20..23),
        ("inbox", "rabbit", 20..22),
    ];
    if !own_photos(at, &[]) {
        return false;
    }
    let files = Files::open(&common::real_data("awa43").unwrap().join("images.zip")).unwrap();
    for (folder, class, range) in months {
        let mut photos = files.entries(&format!("train/{}/", class.replace(' ', "+"))).unwrap();
        photos.sort();
        for photo in &photos[range.clone()] {
            let name = Path::new(photo).file_name().unwrap().to_string_lossy().into_owned();
            let to = match *folder {
                "inbox" => at.join("inbox").join(format!("{class}-{name}")),
                month => at.join(month).join(class).join(&name),
            };
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::write(&to, files.read(photo).unwrap()).unwrap();
            // Two horses slipped into the folder of zebras a month before.
            if *folder == "photos/month_03" && *class == "horse" {
                let wrong = at.join("photos/month_02/zebra");
                std::fs::create_dir_all(&wrong).unwrap();
                std::fs::copy(&to, wrong.join(&name)).unwrap();
            }
        }
    }
    true
}

#[test]
fn a_shop_works_as_written() {
    let page = page("shop.md");
    let folder = tempfile::tempdir().unwrap();
    if !shop_photos(folder.path()) {
        return;
    }
    let (commands, shown_lines) = follow(&page, folder.path());
    assert!(commands >= 14 && shown_lines >= 30, "{commands} commands, {shown_lines} lines shown");
}

#[test]
fn dots_stand_for_anything() {
    assert!(as_shown("   1    3        3      12.5", "   1    3        3 …"));
    assert!(as_shown("lion    tiger 0.812  zebra 0.3", "lion    tiger …"));
    assert!(!as_shown("a lion    tiger 0.812", "lion    tiger …"));
    assert!(as_shown("same", "same") && !as_shown("same here", "same"));
}
