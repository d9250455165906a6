//! Reports of real runs: from the folder alone, the same bytes again, and a page that works in a real browser.
#![allow(clippy::unwrap_used)]

mod browser;
#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use assert_cmd::Command;
use browser::Opened;
use common::small_recipe;
use headless_chrome::browser::tab::point::Point;
use prescient::evaluation::Scatter;
use prescient::experiment::{Experiment, Recipe, Record, RunFolder};
use prescient::extractor::ExtractorKind;
use prescient::ghost::GeneratorKind;
use prescient::learner::Silent;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use tch::Device;
use tempfile::TempDir;

/// A base and a ghost run with features in a plane, and one with features of 32 numbers: small, once for all tests.
fn runs() -> &'static Path {
    static RUNS: OnceLock<TempDir> = OnceLock::new();
    let folder = RUNS.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let mut base = Recipe { seed: 1, ..small_recipe() };
        let drawn = prescient::data::SyntheticSettings { train: 8, test: 4 };
        base.data = prescient::data::Source::Synthetic(drawn).into();
        base.train.epochs = 1;
        base.finetune.epochs = 1;
        base.complete.epochs = 2;
        base.ghosts.per_class = 20;
        let mut wide = base.clone();
        wide.ghosts.generator = GeneratorKind::Gaussian(Default::default());
        let ExtractorKind::SmallCnn(cnn) = &mut base.model.extractor else { panic!("a small CNN") };
        cnn.features = 2;
        let mut ghost = base.clone();
        ghost.ghosts.generator = GeneratorKind::Gaussian(Default::default());
        for (name, recipe) in [("base", base), ("ghost", ghost), ("wide", wide)] {
            let experiment = Experiment::new(recipe, Device::Cpu).unwrap();
            experiment.run(&folder.path().join(name), None, &mut Silent).unwrap();
        }
        folder
    });
    folder.path()
}

fn record(name: &str) -> Record {
    Record::read(&runs().join(name).join("record.jsonl")).unwrap()
}

fn report(arguments: &[&Path]) -> Command {
    let mut command = Command::cargo_bin("prescient").unwrap();
    command.arg("report").args(arguments);
    command
}

/// The page of `names`, written once more each time it is asked for.
fn page(names: &[&str], out: &Path) -> PathBuf {
    let file = out.join("report.html");
    let runs: Vec<PathBuf> = names.iter().map(|name| runs().join(name)).collect();
    let runs: Vec<&Path> = runs.iter().map(PathBuf::as_path).collect();
    report(&runs).arg("--html").arg(&file).assert().success();
    file
}

/// All files of a folder below, copied.
fn copy(from: &Path, to: &Path) {
    common::copy_files(from, to);
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

#[test]
fn the_same_folder_gives_the_same_page_and_figures() {
    let out = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| out.path().join(name));
    for place in [&one, &two] {
        std::fs::create_dir(place).unwrap();
        page(&["base", "wide"], place);
        report(&[&runs().join("wide")]).arg("--figures").arg(place).assert().success();
    }
    let names = |place: &Path| {
        let mut names: Vec<_> = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&one), names(&two));
    assert!(names(&one).iter().any(|name| name == "wide-task-1-map-unseen.svg"), "{:?}", names(&one));
    for name in names(&one) {
        let same = std::fs::read(one.join(&name)).unwrap() == std::fs::read(two.join(&name)).unwrap();
        assert!(same, "{name:?} is another the second time");
    }
}

#[test]
fn a_report_needs_neither_weights_nor_features() {
    let out = tempfile::tempdir().unwrap();
    let old = out.path().join("old");
    copy(&runs().join("ghost"), &old);
    for task in ["01", "02", "03"] {
        for file in ["weights.safetensors", "memory.json", "images.jsonl", "features.safetensors", "telemetry.json"] {
            std::fs::remove_file(old.join("tasks").join(task).join(file)).unwrap();
        }
    }
    let file = out.path().join("old.html");
    report(&[&old]).arg("--html").arg(&file).assert().success();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("kept no features") && text.contains("Who is taken for whom"));
}

#[test]
fn damaged_features_are_told_as_such_and_leave_no_page() {
    let out = tempfile::tempdir().unwrap();
    let damaged = out.path().join("damaged");
    copy(&runs().join("ghost"), &damaged);
    std::fs::write(damaged.join("tasks/02/features.safetensors"), b"half").unwrap();
    let file = out.path().join("report.html");
    let told = report(&[&damaged]).arg("--html").arg(&file).assert().code(2);
    let told = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
    assert!(told.contains("tasks/02/features.safetensors") && told.contains("hint:"), "{told}");
    assert!(!file.exists());
    let told = report(&[&runs().join("ghost")]).arg("--html").arg(&damaged).assert().code(2);
    assert!(String::from_utf8_lossy(&told.get_output().stderr).contains("is a folder; expected a file"));
}

/// 24 classes, 4 test images each, so all are kept; ghosts while something is still to come.
#[test]
fn a_run_keeps_the_same_images_of_each_class_and_ghosts_of_what_is_to_come() {
    let record = record("ghost");
    let folder = RunFolder::open(&runs().join("ghost")).unwrap();
    let scatters: Vec<Scatter> = (1..=3).map(|task| folder.scatter(&record, task).unwrap().unwrap()).collect();
    for (scatter, (seen, evaluation)) in scatters.iter().zip([12, 18, 24].into_iter().zip(record.evaluations())) {
        assert_eq!(scatter.images, scatters[0].images);
        let of = |slot: u32| scatter.real.slots.iter().filter(|other| other.0 == slot).count();
        assert!((0..24).all(|slot| of(slot) == 4));
        let truth = scatter.images.iter().map(|image| evaluation.answers.truth[*image as usize]);
        assert_eq!(truth.collect::<Vec<_>>(), scatter.real.slots);
        let zones: Vec<usize> = scatter.zones.iter().map(|zone| zone.slot.index()).collect();
        assert_eq!(zones, (seen..24).collect::<Vec<_>>());
        let imagined: BTreeSet<usize> = scatter.ghosts.slots.iter().map(|slot| slot.index()).collect();
        assert_eq!(imagined.len(), if seen < 24 { 24 } else { 0 });
        assert_eq!(scatter.proxies.len(), 24);
    }
}

/// The ray nearest in direction is the answer: what is drawn is what gave the record's answers.
#[test]
fn the_plane_that_is_drawn_gives_the_answers_of_the_record() {
    let record = record("base");
    let folder = RunFolder::open(&runs().join("base")).unwrap();
    for (task, evaluation) in (1..=3).zip(record.evaluations()) {
        let scatter = folder.scatter(&record, task).unwrap().unwrap();
        for ((_, feature), image) in scatter.real.rows(2).zip(&scatter.images) {
            let cosine = |proxy: &[f32]| {
                let dot = f64::from(feature[0]) * f64::from(proxy[0]) + f64::from(feature[1]) * f64::from(proxy[1]);
                dot / f64::from(proxy[0]).hypot(f64::from(proxy[1]))
            };
            let nearest = scatter.proxies.rows(2).max_by(|a, b| cosine(a.1).total_cmp(&cosine(b.1))).unwrap().0;
            assert_eq!(nearest, evaluation.answers.answer(*image as usize), "task {task}, image {image}");
        }
    }
}

/// Opens a file from disk; says so and answers none where there is no browser.
fn open(file: &Path) -> Option<Opened> {
    browser::open(&format!("file://{}", file.display()))
}

impl Opened {
    /// What the page says where one points at the middle of the first such element that can be seen.
    fn hover(&self, selector: &str) -> String {
        let at = self.ask(&format!(
            "(() => {{ const element = [...document.querySelectorAll({selector:?})].find((e) => e.getClientRects().length); \
             element.scrollIntoView({{ block: 'center' }}); const box = element.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        let point = Point { x: at[0].as_f64().unwrap(), y: at[1].as_f64().unwrap() };
        // Scrolling puts the last word away, and the event of it may come late.
        for _ in 0..50 {
            self.tab.move_mouse_to_point(Point { x: point.x + 1.0, y: point.y }).unwrap();
            self.tab.move_mouse_to_point(point).unwrap();
            let said =
                self.ask("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent");
            if said != "" {
                return said.as_str().unwrap().to_owned();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        String::new()
    }

    /// The names of the figures of tasks that can be seen.
    fn seen(&self) -> Vec<String> {
        let names = self.ask(
            "[...document.querySelectorAll('figure[data-task]')].filter((f) => f.getClientRects().length).map((f) => f.dataset.name)",
        );
        names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn the_page_opens_from_disk_and_its_slider_moves_the_figures() {
    let out = tempfile::tempdir().unwrap();
    let file = page(&["base", "ghost", "wide"], out.path());
    let Some(opened) = open(&file) else { return };
    let tasks = |task: usize| -> bool {
        let seen = opened.seen();
        seen.len() >= 9 && seen.iter().all(|name| name.contains(&format!("-task-{task}-")))
    };
    assert!(tasks(3), "the last task first: {:?}", opened.seen());
    opened.ask("(document.getElementById('task').focus(), 1)");
    opened.tab.press_key("ArrowLeft").unwrap();
    assert!(tasks(2), "{:?}", opened.seen());
    assert_eq!(opened.ask("document.getElementById('task-name').textContent"), "2 of 3 · 18 classes have come");
    opened.tab.press_key("Home").unwrap();
    assert!(tasks(1), "{:?}", opened.seen());
    let whats: Vec<String> = opened.seen().into_iter().filter(|name| name.starts_with("ghost")).collect();
    let expected = ["space", "confusion", "classes", "reliability"].map(|what| format!("ghost-task-1-{what}"));
    assert_eq!(whats, expected);

    let before = opened.ask("getComputedStyle(document.documentElement).backgroundColor");
    opened.ask("(document.getElementById('theme').click(), 1)");
    assert_ne!(opened.ask("getComputedStyle(document.documentElement).backgroundColor"), before, "night and day");

    let told = opened.told.lock().unwrap();
    let page = format!("request: file://{}", file.display());
    assert!(told.iter().all(|told| *told == page), "{told:?}");
    assert!(told.contains(&page), "requests are listened to");
}

#[test]
fn hovering_tells_what_the_record_says() {
    let out = tempfile::tempdir().unwrap();
    let file = page(&["base", "ghost", "wide"], out.path());
    let Some(opened) = open(&file) else { return };
    let record = record("ghost");
    let run = record.run();
    let classes = &record.start.classes;
    let rows = run.tasks[2].confusion.dense();
    let (shown, answered) = (0..24)
        .flat_map(|shown| (0..24).map(move |answered| (shown, answered)))
        .find(|(shown, answered)| shown != answered && rows[*shown][*answered] > 0)
        .unwrap();
    let said = opened.hover(&format!("[data-name=ghost-task-3-confusion] [data-cell='{shown},{answered}']"));
    let count = rows[shown][answered];
    assert_eq!(said, format!("{} taken for {}: {count} of 4", classes[shown], classes[answered]));

    let accuracy = prescient::evaluation::metrics::find("accuracy").unwrap().value(&run, 2).unwrap();
    let said = opened.hover("[data-name=accuracy-all] [data-tip^='ghost, task 2']");
    assert_eq!(said, format!("ghost, task 2: {:.1} %", 100.0 * accuracy));

    // A past class with a right answer: the bar of one without has no height to point at.
    let past = (0..18).find(|&class| rows[class][class] > 0).expect("a past class that is known at times");
    let (right, name) = (rows[past][past], &classes[past]);
    let said = opened.hover(&format!("[data-name=ghost-task-3-classes] [data-tip^='{name} (']"));
    assert_eq!(said, format!("{name} (past): {right} of 4 right, {:.1} %", 25.0 * f64::from(right)));

    // Points overlap, so the one on top answers: it must be one of the kept images with what was answered for it.
    let said = opened.hover("[data-name=wide-task-3-map-seen] [data-point]");
    assert!(classes.iter().any(|class| said.starts_with(&format!("{class} ("))) && said.contains("answered"), "{said}");
}

/// A class may be called anything: the name is told as it is, and nothing in it is run.
#[test]
fn a_hostile_name_is_text_in_a_browser_too() {
    let out = tempfile::tempdir().unwrap();
    let run = out.path().join("run");
    copy(&runs().join("ghost"), &run);
    let hostile = "</script><img src=x onerror=\"hacked=1\">'\"&amp;";
    let file = run.join("record.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let (start, rest) = text.split_once('\n').unwrap();
    let mut start: serde_json::Value = serde_json::from_str(start).unwrap();
    start["classes"][23] = hostile.into();
    // As an early version wrote it: without digests, so that nobody notices.
    start["format"] = 1.into();
    let is_digest = |line: &&str| line.starts_with("{\"line\":\"digests\"");
    let rest: String = rest.lines().filter(|line| !is_digest(line)).map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, format!("{start}\n{rest}")).unwrap();
    let page = out.path().join("report.html");
    report(&[&run]).arg("--html").arg(&page).assert().success();
    let Some(opened) = open(&page) else { return };
    let rows = record("ghost").run().tasks[2].confusion.dense()[23].clone();
    let answered = rows.iter().position(|count| *count > 0).unwrap();
    let said = opened.hover(&format!("[data-name=run-task-3-confusion] [data-cell='23,{answered}']"));
    assert!(said.starts_with(hostile), "{said}");
    assert_eq!(opened.ask("[typeof hacked, document.images.length]"), serde_json::json!(["undefined", 0]));
    let told = opened.told.lock().unwrap();
    assert_eq!(told.len(), 1, "the page itself alone: {told:?}");
}

/// Saving is caught on its way to the disk: blobs and the names they would get.
#[test]
fn figures_and_numbers_can_be_saved() {
    let out = tempfile::tempdir().unwrap();
    let file = page(&["ghost"], out.path());
    let Some(opened) = open(&file) else { return };
    opened.ask(
        "(() => { window.saved = []; URL.createObjectURL = (blob) => { window.saved.push(blob); return '#'; }; \
         HTMLAnchorElement.prototype.click = function () { window.saved.at(-1).file = this.download; }; return 1; })()",
    );
    let saved = |button: &str, count: usize| {
        opened.ask(&format!("(document.querySelector({button:?}).click(), 1)"));
        for _ in 0..200 {
            if opened.ask("window.saved.filter((blob) => blob.file).length") == count {
                return opened.ask("window.saved.at(-1).text().then((text) => [window.saved.at(-1).file, text])");
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        panic!("`{button}` saves nothing");
    };
    let svg = saved("[data-name=accuracy-all] [data-save=svg]", 1);
    assert_eq!(svg[0], "accuracy-all.svg");
    let text = svg[1].as_str().unwrap();
    assert!(text.starts_with("<svg") && !text.contains("var(--"), "a file needs no page around it");
    let png = saved("[data-name=accuracy-all] [data-save=png]", 2);
    assert_eq!(png[0], "accuracy-all.png");
    assert!(png[1].as_str().unwrap().contains("PNG"));
    let csv = saved("[data-name=accuracy-all] [data-save=csv]", 3);
    assert!(csv[1].as_str().unwrap().starts_with("run,task,classes seen,accuracy %,deviation\nghost,1,12,"), "{csv}");
    let numbers = saved("#numbers", 4);
    let accuracy = prescient::evaluation::metrics::find("accuracy").unwrap().value(&record("ghost").run(), 3).unwrap();
    let line = format!("\nghost,ghost,1,3,accuracy,{accuracy},");
    assert!(numbers[1].as_str().unwrap().contains(&line), "{line} is not in {numbers}");
}

#[test]
fn the_keyboard_reaches_every_control_and_shows_where_it_is() {
    let out = tempfile::tempdir().unwrap();
    let file = page(&["ghost"], out.path());
    let Some(opened) = open(&file) else { return };
    let controls = opened.ask(
        "(() => { const all = [...document.querySelectorAll('a[href],button,input,summary,[tabindex]')]; \
         const seen = all.filter((e) => e.checkVisibility()); seen.forEach((e, i) => { e.dataset.control = i; }); \
         return seen.length; })()",
    );
    let controls = controls.as_u64().unwrap() as usize;
    assert!(controls > 30, "{controls} controls");
    let mut reached = vec![false; controls];
    for _ in 0..controls + 2 {
        opened.tab.press_key("Tab").unwrap();
        let at = opened.ask(
            "(() => { const e = document.activeElement; const style = getComputedStyle(e); \
             return [Number(e.dataset.control ?? -1), style.outlineStyle, parseFloat(style.outlineWidth)]; })()",
        );
        if let Some(control) = at[0].as_u64() {
            reached[control as usize] = true;
            assert!(at[1] != "none" && at[2].as_f64().unwrap() >= 2.0, "control {control} does not show: {at}");
        }
    }
    let missed: Vec<usize> = (0..controls).filter(|control| !reached[*control]).collect();
    assert!(missed.is_empty(), "not reached: {missed:?}");
}

/// Runs of the closed form with one, three and all photos of new classes, described and not.
fn few_runs(at: &Path) -> Vec<PathBuf> {
    let data = at.join("data");
    common::described_features(&data, 12, 5);
    let mut runs = Vec::new();
    for described in [true, false] {
        for shots in [Some(1), Some(3), None] {
            let out = at.join(format!("few-{}-{}", if described { "ghosts" } else { "base" }, shots.unwrap_or(0)));
            common::run(common::described_recipe(&data, described, shots), &out);
            runs.push(out);
        }
    }
    runs
}

/// Runs that differ in their photos make a figure of its own, and the closed form says what descriptions are worth: as text, as JSON, on
/// the page and as files.
#[test]
fn few_photos_and_what_descriptions_are_worth() {
    let out = tempfile::tempdir().unwrap();
    let runs = few_runs(out.path());
    let paths: Vec<&Path> = runs.iter().map(PathBuf::as_path).collect();
    let record = Record::read(&runs[0].join("record.jsonl")).unwrap();
    let accuracy = prescient::evaluation::metrics::find("accuracy").unwrap().value(&record.run(), 2).unwrap();
    let worth = record.worths().next().unwrap();

    let text = report(&paths[..1]).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    let row = format!("1  attributes.csv  {:.1}", worth.kappa.unwrap());
    assert!(text.contains("what descriptions are worth") && text.contains(&row), "{row} in {text}");
    let json = report(&paths).args(["--format", "json"]).output().unwrap().stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["runs"].as_array().unwrap().len(), 6);
    assert_eq!(json["runs"][0]["final"], accuracy);
    assert_eq!(json["runs"][0]["tasks"][0]["kappa"], worth.kappa.unwrap());
    assert_eq!(json["runs"][0]["tasks"][0]["worth"]["sources"][0]["source"], "attributes.csv");
    assert_eq!(json["runs"][3]["tasks"][0]["worth"]["guesses"], false);

    let (file, figures) = (out.path().join("few.html"), out.path().join("figures"));
    report(&paths).arg("--html").arg(&file).arg("--figures").arg(&figures).assert().success();
    assert!(std::fs::read_to_string(figures.join("few-photos.svg")).unwrap().contains("photos of each new class"));
    let Some(opened) = open(&file) else { return };
    assert_eq!(opened.ask("document.querySelectorAll('#few circle[data-tip]').length"), 6);
    let said = opened.hover("#few [data-tip^='with ghosts, photos of each new class: 1:']");
    assert_eq!(said, format!("with ghosts, photos of each new class: 1: {:.1} %", 100.0 * accuracy));
    let worths = opened.ask("[...document.querySelectorAll('#worth .column')].map((part) => part.textContent)");
    assert_eq!(worths.as_array().unwrap().len(), 4, "those that nothing describes together");
    assert!(worths[0].as_str().unwrap().contains("attributes.csv"), "{worths}");
    assert!(worths[3].as_str().unwrap().contains("the base model answers"), "{worths}");
    // One count of photos alone is no figure.
    report(&paths[..1]).arg("--html").arg(&file).assert().success();
    assert!(!std::fs::read_to_string(&file).unwrap().contains("id=\"few\""));
}
