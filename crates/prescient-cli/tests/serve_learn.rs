//! `prescient serve --allow-learn`: who has the token teaches, by program or on the page, and the next answer comes from the new version.
#![allow(clippy::unwrap_used)]

mod browser;
#[path = "../../prescient/tests/common/mod.rs"]
mod common;
mod schema;
mod server;

use browser::Opened;
use prescient::data::{Dataset, Subset, Synthetic, SyntheticSettings};
use prescient::extractor::{ExtractorKind, SmallCnn};
use prescient::learner::Silent;
use prescient::project::{ClassTable, Lesson, Project, Settings};
use serde_json::Value;
use server::Server;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const TOKEN: &str = "a-token-for-tests-0123456789";
const BEARER: (&str, &str) = ("Authorization", "Bearer a-token-for-tests-0123456789");
const CLASSES: [&str; 4] = ["circle", "square", "star", "<b>ring</b>"];

/// Drawing `number` of a class.
fn drawing(class: usize, number: usize) -> Vec<u8> {
    let drawn = Synthetic::new(&SyntheticSettings { train: 12, test: 1 });
    let mut samples = drawn.samples(Subset::Train).iter().filter(|sample| sample.class.index() == class);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.png");
    drawn.image(samples.nth(number).unwrap()).unwrap().write_png(&path).unwrap();
    std::fs::read(path).unwrap()
}

fn lesson(photos: impl Iterator<Item = (usize, usize)>) -> Lesson {
    photos.fold(Lesson::new("test"), |lesson, (class, number)| {
        lesson.with(CLASSES[class], &format!("{class}-{number}.png"), drawing(class, number))
    })
}

/// A project that has learned three of four classes from six drawings each: version 2.
fn shop(at: &Path) -> PathBuf {
    let path = at.join("shop");
    let table = "class,corners,filled\ncircle,0,1\nsquare,4,1\nstar,5,1\n<b>ring</b>,0,0\n";
    let classes = ClassTable::parse(table.as_bytes(), Path::new("classes.csv")).unwrap();
    let settings = Settings { size: 32, ..Settings::new(ExtractorKind::SmallCnn(SmallCnn::default())) };
    let mut project = Project::create(&path, &classes, settings, tch::Device::Cpu).unwrap();
    let learned =
        project.learn(&lesson((0..3).flat_map(|class| (0..6).map(move |number| (class, number)))), &mut Silent);
    assert_eq!(learned.unwrap().version, Some(2));
    path
}

fn start(shop: &Path) -> Server {
    Server::start_with(shop, &["--allow-learn"], &[("PRESCIENT_TOKEN", TOKEN)])
}

/// A shop, and a server for it.
fn served() -> (TempDir, PathBuf, Server) {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path());
    let server = start(&path);
    (folder, path, server)
}

fn photos(shop: &Path, class: &str) -> u64 {
    let project = Project::open(shop).unwrap();
    project.version().class(class).map_or(0, |class| class.photos)
}

#[test]
fn a_photo_of_a_described_class_makes_it_a_seen_one() {
    let (_folder, shop, server) = served();
    let seen = |server: &Server| -> Vec<bool> {
        server.get("/classes").json()["classes"].as_array().unwrap().iter().map(|class| class["seen"] == true).collect()
    };
    assert_eq!(seen(&server).iter().filter(|seen| **seen).count(), 3);
    let learned = server.form(
        "/learn",
        &[BEARER],
        &[("class", CLASSES[3])],
        &[("a.png", &drawing(3, 0)), ("b.png", &drawing(3, 1))],
    );
    assert_eq!(learned.status, 200, "{}", learned.text());
    let learned = learned.json();
    assert_eq!(
        (&learned["model"]["version"], &learned["photos"], &learned["class"]),
        (&3.into(), &2.into(), &CLASSES[3].into())
    );
    // No waiting: who has the answer asks the new version.
    assert_eq!(server.predict(&drawing(3, 2)).json()["model"]["version"], 3);
    assert_eq!(seen(&server), [true; 4]);
    assert_eq!(photos(&shop, CLASSES[3]), 2);
    assert!(server.get("/metrics").text().contains("\nprescient_learned_photos_total 2\n"));
}

/// The photo was learned as a circle; corrected, it leaves that class. Sent again, nothing changes.
#[test]
fn a_correction_moves_the_photo_and_counts_once() {
    let (_folder, shop, server) = served();
    let wrong = drawing(0, 0);
    assert_eq!((photos(&shop, "circle"), photos(&shop, "star")), (6, 6));
    for _ in 0..2 {
        let headers = [BEARER, ("Content-Type", "image/png")];
        let learned = server.request("POST", "/learn?class=Star", &headers, &wrong);
        assert_eq!(learned.status, 200, "{}", learned.text());
        assert_eq!(learned.json()["model"]["version"], 3, "the same again is no version");
        assert_eq!((photos(&shop, "circle"), photos(&shop, "star")), (5, 7));
    }
}

#[test]
fn only_who_has_the_token_teaches() {
    let (_folder, shop, server) = served();
    let photo = drawing(3, 0);
    let send = |headers: &[(&str, &str)]| server.request("POST", "/learn?class=star", headers, &photo);
    send(&[]).assert_problem(401, "needs a token");
    assert_eq!(send(&[]).header("www-authenticate"), Some("Bearer"));
    for wrong in
        ["Bearer wrong", "Bearer a-token-for-tests-012345678", "Bearer a-token-for-tests-01234567890", "Basic YTpi"]
    {
        send(&[("Authorization", wrong)]).assert_problem(401, "not the token");
    }
    send(&[BEARER, ("Origin", "https://evil.example")]).assert_problem(403, "evil.example");
    let long = format!("/learn?class=star&token={TOKEN}");
    server.request("POST", &long, &[], &photo).assert_problem(401, "needs a token");
    assert_eq!(Project::open(&shop).unwrap().version().number, 2, "nothing was learned");
    assert_eq!(server.predict(&photo).status, 200, "others are unharmed");
    assert!(!server.greeting.contains(TOKEN) && !server.told().contains(TOKEN));
}

#[test]
fn what_cannot_be_learned_changes_nothing() {
    let (_folder, shop, server) = served();
    let photo = drawing(3, 0);
    let learn = |class: &str, photo: &[u8]| server.form("/learn", &[BEARER], &[("class", class)], &[("a.png", photo)]);
    learn("circel", &photo).assert_problem(422, "no class `circel`");
    learn("", &photo).assert_problem(400, "expected a class");
    learn("a\tb", &photo).assert_problem(400, "name of a class");
    learn("circle", b"no photo").assert_problem(415, "expected a JPEG");
    learn("circle", &photo[..photo.len() / 2]).assert_problem(422, "does not decode");
    learn("circle", b"").assert_problem(400, "no bytes");
    let files: [(&str, &[u8]); 2] = [("a.png", &photo), ("b.png", b"no photo")];
    server.form("/learn", &[BEARER], &[("class", "circle")], &files).assert_problem(415, "expected a JPEG");
    assert_eq!(Project::open(&shop).unwrap().version().number, 2, "all of it or nothing");
    let added = server.form("/learn?add=true", &[BEARER], &[("class", "hexagon")], &[("a.png", &photo)]);
    assert_eq!((added.status, added.json()["model"]["version"].clone()), (200, 3.into()));
    assert_eq!(photos(&shop, "hexagon"), 1);
}

/// Six at once, one of them wrong: the others are learned, in fewer versions than there were lessons or as many.
#[test]
fn lessons_that_come_together_do_not_disturb_each_other() {
    let (_folder, shop, server) = served();
    let statuses: Vec<(usize, u16)> = std::thread::scope(|scope| {
        let send = |number: usize| {
            let server = &server;
            scope.spawn(move || {
                let class = if number == 3 { "nothing" } else { CLASSES[3] };
                (
                    number,
                    server.form("/learn", &[BEARER], &[("class", class)], &[("a.png", &drawing(3, number))]).status,
                )
            })
        };
        let sent: Vec<_> = (0..6).map(send).collect();
        sent.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(statuses.iter().all(|(number, status)| *status == if *number == 3 { 422 } else { 200 }), "{statuses:?}");
    assert_eq!(photos(&shop, CLASSES[3]), 5);
    let version = Project::open(&shop).unwrap().version().number;
    assert!((3..=7).contains(&version), "{version}");
}

#[test]
fn a_version_that_another_process_makes_takes_over() {
    let (_folder, shop, server) = served();
    let mut elsewhere = Project::open(&shop).unwrap();
    assert_eq!(elsewhere.learn(&lesson([(3, 0), (3, 1)].into_iter()), &mut Silent).unwrap().version, Some(3));
    let begun = Instant::now();
    while server.predict(&drawing(0, 7)).json()["model"]["version"] != 3 {
        assert!(begun.elapsed() < server::LIMIT, "{}", server.told());
        std::thread::sleep(Duration::from_millis(50));
    }
    // And what is taught here then builds on it.
    let learned = server.request("POST", "/learn?class=star", &[BEARER], &drawing(2, 8)).json();
    assert_eq!(learned["model"]["version"], 4);
    assert_eq!((photos(&shop, CLASSES[3]), photos(&shop, "star")), (2, 7));
}

#[test]
fn learning_is_described_where_it_is_on() {
    let (_folder, shop, server) = served();
    let description = server.get("/openapi.json").json();
    let check = |path: &str, response: &server::Response| {
        let kind = response.header("content-type").unwrap();
        schema::assert_described(&description, path, "post", response.status, kind, &response.body);
    };
    check("/learn", &server.form("/learn", &[BEARER], &[("class", "star")], &[("a.png", &drawing(2, 9))]));
    check("/learn", &server.request("POST", "/learn", &[], b""));
    check("/learn", &server.request("POST", "/learn", &[BEARER], b""));
    check("/learn", &server.request("POST", "/learn?class=nothing", &[BEARER], &drawing(2, 9)));
    check("/predict", &server.predict(&drawing(2, 9)));
    drop(server);
    let made_up = Server::start(&shop, &["--allow-learn"]);
    made_up.request("POST", "/learn", &[BEARER], b"").assert_problem(401, "not the token");
    let told = |arguments: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("prescient").unwrap();
        let output = command.arg("serve").arg(&shop).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(told(&["--allow-learn", "--token", "short"]).contains("at least 16"));
}

/// Every `curl` of the guide, as it stands there, with this server's address and a class that this shop has.
#[test]
fn the_curl_examples_of_the_guide_work() {
    if std::process::Command::new("curl").arg("--version").output().is_err() {
        return eprintln!("skipped: there is no curl");
    }
    let (folder, shop, server) = served();
    for (name, number) in [("photo.jpg", 6), ("a.jpg", 7), ("b.jpg", 8)] {
        std::fs::write(folder.path().join(name), drawing(2, number)).unwrap();
    }
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/serve.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let commands: Vec<&str> = guide.lines().filter(|line| line.starts_with("curl ")).collect();
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in commands {
        let command = command.replace("127.0.0.1:8000", &server.address).replace("class=zebra", "class=star");
        let mut shell = std::process::Command::new("sh");
        shell
            .current_dir(folder.path())
            .env("PRESCIENT_TOKEN", TOKEN)
            .args(["-c", &format!("{command} -sS --max-time 60")]);
        let output = shell.output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        let answer: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{command}: {error} {told}"));
        assert!(answer["error"].is_null() && !answer["model"].is_null(), "{command}: {answer}");
    }
    assert_eq!(photos(&shop, "star"), 7);
}

/// Waits until `script` is true.
#[track_caller]
fn wait(page: &Opened, script: &str) {
    let begun = Instant::now();
    while page.ask(script) != true {
        assert!(begun.elapsed() < Duration::from_secs(30), "{script}: {}", page.ask("document.body.innerText"));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Drops files on the page, as a person does from a folder.
fn drop_files(page: &Opened, files: &[(&str, &[u8])]) {
    let list: Vec<Value> = files.iter().map(|(name, bytes)| serde_json::json!([name, bytes])).collect();
    let list = serde_json::to_string(&list).unwrap();
    page.ask(&format!(
        "(() => {{ const transfer = new DataTransfer(); \
         for (const [name, bytes] of {list}) transfer.items.add(new File([new Uint8Array(bytes)], name, {{ type: 'image/png' }})); \
         window.dispatchEvent(new DragEvent('drop', {{ dataTransfer: transfer, cancelable: true, bubbles: true }})); return 1; }})()"
    ));
}

/// What the first card says.
fn card(page: &Opened, part: &str) -> Value {
    page.ask(&format!("document.querySelector('.card {part}').textContent"))
}

#[test]
fn a_person_drops_a_photo_sees_the_answer_corrects_it_and_it_is_learned() {
    let (_folder, shop, server) = served();
    let Some(page) = browser::open(&format!("http://{}/#token={TOKEN}", server.address)) else { return };
    wait(&page, "document.getElementById('version').textContent === 'version 2'");
    assert_eq!(page.ask("location.href"), format!("http://{}/", server.address), "the token is taken off the address");
    let (photo, hostile) = (drawing(3, 0), "<img src=x onerror=alert(1)>.png");
    drop_files(&page, &[(hostile, &photo), ("other.png", &drawing(1, 7)), ("broken.png", b"no photo")]);
    wait(
        &page,
        "document.querySelectorAll('.card').length === 3 && [...document.querySelectorAll('.wait')].every((w) => w.hidden)",
    );

    // What is shown is what a program is told.
    let told = server.predict(&photo).json();
    let best = &told["photos"][0]["predictions"][0];
    assert_eq!(card(&page, "h2"), best["class"]);
    assert_eq!(card(&page, ".kind"), if best["seen"] == true { "seen" } else { "not yet photographed" });
    let percent = format!("{:.1}\u{a0}%", 100.0 * best["probability"].as_f64().unwrap());
    assert_eq!(card(&page, ".best .percent"), percent);
    assert_eq!(card(&page, ".name"), hostile, "names are text");
    let classes = told["photos"][0]["predictions"].as_array().unwrap().len();
    assert_eq!(page.ask("document.querySelectorAll('.card:first-child .chances li').length"), classes - 1);
    let nearest = card(&page, ".nearest");
    assert!(nearest.as_str().unwrap().starts_with("Nearest of the seen classes"), "{nearest}");
    assert_eq!(page.ask("document.querySelector('.card img').naturalWidth > 0"), true, "a thumbnail");
    let problem = page.ask("document.querySelector('.card:last-child .problem').innerText");
    assert!(problem.as_str().unwrap().starts_with("expected a JPEG"), "{problem}");

    // By keyboard: the button, the class, Enter.
    page.ask("(document.querySelector('.card .wrong').focus(), 1)");
    page.tab.press_key("Enter").unwrap();
    wait(&page, "document.activeElement.closest('.correct') !== null");
    page.tab.type_str(CLASSES[3]).unwrap();
    page.tab.press_key("Enter").unwrap();
    wait(&page, "!document.querySelector('.card .done').hidden");
    assert_eq!(card(&page, ".done"), format!("Learned as {} in version 3", CLASSES[3]));
    wait(
        &page,
        "document.querySelector('.card .wait').hidden && document.getElementById('version').textContent === 'version 3'",
    );
    assert_eq!(card(&page, "h2"), server.predict(&photo).json()["photos"][0]["predictions"][0]["class"], "asked again");
    assert_eq!(photos(&shop, CLASSES[3]), 1);
    // The others can be asked again, too.
    wait(&page, "!document.getElementById('again').hidden");
    page.ask("(document.getElementById('again').click(), 1)");
    wait(&page, "document.getElementById('again').hidden");

    let told = page.told.lock().unwrap();
    let own = format!("request: http://{}/", server.address);
    // The browser notes that a photo was refused.
    let fine = |told: &String| {
        told.starts_with(&own)
            || told.starts_with("request: blob:")
            || told.starts_with("request: data:,")
            || told.contains("415")
    };
    assert!(told.iter().all(fine), "{told:?}");
}

/// Without learning there is nothing to correct; with a wrong token the page says so and asks for another.
#[test]
fn the_page_says_what_it_cannot_do() {
    let (_folder, shop, server) = served();
    let Some(page) = browser::open(&format!("http://{}/#token=wrong", server.address)) else { return };
    drop_files(&page, &[("a.png", &drawing(0, 7))]);
    wait(&page, "document.querySelector('.card .wrong')?.hidden === false");
    page.ask("(document.querySelector('.card .wrong').click(), 1)");
    page.tab.type_str("star").unwrap().press_key("Enter").unwrap();
    wait(&page, "!document.querySelector('.card .problem').hidden");
    assert_eq!(card(&page, ".error"), "this is not the token");
    assert_eq!(page.ask("document.activeElement.id"), "token");
    assert_eq!(Project::open(&shop).unwrap().version().number, 2);
    drop((page, server));

    let server = Server::start(&shop, &[]);
    let page = browser::open(&format!("http://{}/", server.address)).unwrap();
    // By the keyboard: the first stop is the files.
    page.tab.press_key("Tab").unwrap();
    assert_eq!(page.ask("document.activeElement.id"), "files");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chosen.png");
    std::fs::write(&file, drawing(0, 7)).unwrap();
    page.tab.find_element("#files").unwrap().set_input_files(&[file.to_str().unwrap()]).unwrap();
    wait(&page, "document.querySelector('.card .answer')?.hidden === false");
    assert_eq!(
        page.ask("document.querySelector('.card .wrong').hidden && document.getElementById('teaching').hidden"),
        true
    );
}
