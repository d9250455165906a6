//! A few months of a shop on real photos, through the command alone: `bench/shop/twelve_months.py` in small. Fifteen animals are
//! known by their attributes, nine have photos in the first month. After each month the shop, one photo in five held out, answers as a
//! project that learned everything at once, and never more than 1.5 points below; it is above one that does not guess in every month that
//! has classes without photos.
#![allow(clippy::unwrap_used)]

mod command;
#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use command::prescient;
use prescient::data::Files;
use serde_json::Value;
use std::path::Path;

/// The first nine have photos in the first month; the last one is added in the third.
const CLASSES: [&str; 16] = [
    "zebra",
    "lion",
    "horse",
    "polar+bear",
    "dalmatian",
    "rabbit",
    "antelope",
    "elephant",
    "gorilla",
    "tiger",
    "leopard",
    "giant+panda",
    "wolf",
    "deer",
    "cow",
    "hippopotamus",
];
const KNOWN: usize = 15;
/// Photos of each class that are tested on.
const TESTED: usize = 10;

struct Shop<'a> {
    at: &'a Path,
    files: Files,
}

impl Shop<'_> {
    fn says(&self, arguments: &[&str]) -> String {
        let (code, out, error) = prescient(arguments, self.at);
        assert_eq!(code, 0, "{arguments:?}: {out}{error}");
        out
    }

    /// Some photos of a class of one side, into `folder/CLASS/`.
    fn deliver(&self, folder: &str, side: &str, class: &str, range: std::ops::Range<usize>) {
        let to = self.at.join(folder).join(class);
        std::fs::create_dir_all(&to).unwrap();
        let mut photos = self.files.entries(&format!("{side}/{class}/")).unwrap();
        photos.sort();
        for photo in &photos[range] {
            let name = Path::new(photo).file_name().unwrap();
            std::fs::write(to.join(name), self.files.read(photo).unwrap()).unwrap();
        }
    }

    /// The attributes of some classes.
    fn table(&self, name: &str, table: &str, classes: &[&str]) {
        let of = |line: &&str| classes.contains(&line.split(',').next().unwrap());
        let rows: Vec<&str> = table.lines().take(1).chain(table.lines().skip(1).filter(of)).collect();
        std::fs::write(self.at.join(name), rows.join("\n") + "\n").unwrap();
    }

    /// The share of right answers on the test photos of `classes`, which are only measured by.
    fn measured(&self, project: &str, classes: &[&str]) -> f64 {
        let _ = std::fs::remove_dir_all(self.at.join("judge"));
        let copied =
            std::process::Command::new("cp").arg("-rl").arg(project).arg("judge").current_dir(self.at).status();
        assert!(copied.unwrap().success());
        let test = format!("test-{}", classes.len());
        classes.iter().for_each(|class| self.deliver(&test, "test", class, 0..TESTED));
        self.says(&["learn", "judge", &test, "--hold-out", "1"]);
        let status: Value = serde_json::from_str(&self.says(&["status", "judge", "--format", "json"])).unwrap();
        let all = &status["tested"]["all"];
        assert_eq!(all["of"].as_u64(), Some((TESTED * classes.len()) as u64));
        100.0 * all["right"].as_f64().unwrap() / all["of"].as_f64().unwrap()
    }
}

#[test]
fn months_of_a_shop() {
    let Some(data) = common::real_data("awa43") else { return };
    if prescient::weights::find("mobilenet-v2").is_err() {
        return common::skip("weights", "`mobilenet-v2` is not here; `prescient weights get mobilenet-v2`");
    }
    let folder = tempfile::tempdir().unwrap();
    let shop = Shop { at: folder.path(), files: Files::open(&data.join("images.zip")).unwrap() };
    let table = std::fs::read_to_string(data.join("attributes.csv")).unwrap();
    shop.table("classes.csv", &table, &CLASSES[..KNOWN]);
    shop.table("more.csv", &table, &CLASSES);
    // At 96 pixels the network is quick.
    shop.says(&["new", "shop", "--classes", "classes.csv", "--size", "96"]);
    shop.says(&["new", "base", "--classes", "classes.csv", "--size", "96", "--no-guesses"]);
    let all_of = |classes: &[&'static str], count: usize| classes.iter().map(|class| (*class, 0..count)).collect();
    let months: [Vec<(&str, std::ops::Range<usize>)>; 3] = [
        all_of(&CLASSES[..9], 12),
        vec![("tiger", 0..1), ("lion", 12..20), ("leopard", 0..6)],
        all_of(&CLASSES[11..], 8),
    ];
    let mut photographed = 0;
    for (place, month) in months.iter().enumerate() {
        let folder = format!("month_{}", place + 1);
        for (class, range) in month {
            shop.deliver(&folder, "train", class, range.clone());
            shop.deliver("everything", "train", class, range.clone());
            photographed += usize::from(range.start == 0);
        }
        let late = place == 2;
        let more: &[&str] = if late { &["--classes", "more.csv"] } else { &[] };
        for project in ["shop", "base"] {
            shop.says(&[&["learn", project, &folder], more].concat());
        }
        let classes = if late { &CLASSES[..] } else { &CLASSES[..KNOWN] };
        let _ = std::fs::remove_dir_all(shop.at.join("again"));
        let table = if late { "more.csv" } else { "classes.csv" };
        shop.says(&["new", "again", "--classes", table, "--size", "96", "--hold-out", "0"]);
        shop.says(&["learn", "again", "everything"]);
        let [ours, base, again] = ["shop", "base", "again"].map(|project| shop.measured(project, classes));
        assert!(ours >= again - 1.5, "month {}: {ours} of {again} with everything at once", place + 1);
        let better = photographed == classes.len() || ours > base;
        assert!(better, "month {}: {ours}, and {base} without guesses", place + 1);
    }
    assert_eq!(photographed, CLASSES.len());
    shop.says(&["forget", "shop", "dalmatian"]);
    let status = shop.says(&["status", "shop"]);
    assert!(status.contains("none: every class has photos") && !status.contains("\ndalmatian"), "{status}");
}
