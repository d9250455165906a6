//! `prescient serve` against a real process on this machine: answers as recorded, what is wrong has the right status, and memory stays bounded.
#![allow(clippy::unwrap_used)]

mod browser;
#[path = "../../prescient/tests/common/mod.rs"]
mod common;
mod schema;
mod server;

use common::small_recipe;
use prescient::data::{Dataset, Source, Subset, Synthetic, SyntheticSettings};
use prescient::experiment::Record;
use prescient::ghost::GeneratorKind;
use serde_json::Value;
use server::{Server, form, read};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, Weak};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const DRAWN: SyntheticSettings = SyntheticSettings { train: 6, test: 2 };

/// A finished run with ghosts, made once: three tasks, 24 classes, 12 + 6 + 6.
static RUN: LazyLock<(TempDir, Record)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let mut recipe = small_recipe();
    recipe.data = Source::Synthetic(DRAWN).into();
    recipe.train.epochs = 1;
    recipe.finetune.epochs = 1;
    recipe.complete.epochs = 1;
    recipe.ghosts.per_class = 10;
    recipe.ghosts.generator = GeneratorKind::Gaussian(Default::default());
    let record = common::run(recipe, &folder.path().join("run"));
    (folder, record)
});

/// One server for all tests that do not change it, as long as one of them runs.
fn shared() -> Arc<Server> {
    static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap();
    shared.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Server::start(&run_folder(), &[]));
        *shared = Arc::downgrade(&server);
        server
    })
}

fn run_folder() -> PathBuf {
    RUN.0.path().join("run")
}

/// Test image `index` as a PNG.
fn photo(index: usize) -> Vec<u8> {
    let drawn = Synthetic::new(&DRAWN);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("photo.png");
    drawn.image(&drawn.samples(Subset::Test)[index]).unwrap().write_png(&path).unwrap();
    std::fs::read(path).unwrap()
}

/// The class that the run recorded as its answer for test image `index` after `task`.
fn recorded(task: usize, index: usize) -> &'static str {
    let record = &RUN.1;
    let answers = &record.evaluations().nth(task - 1).unwrap().answers;
    &record.start.classes[answers.answer(index).index()]
}

fn best(answers: &Value, photo: usize) -> &Value {
    &answers["photos"][photo]["predictions"][0]["class"]
}

#[test]
fn one_photo_and_many_have_the_recorded_answers() {
    let server = shared();
    let one = server.predict(&photo(0));
    assert_eq!(one.status, 200, "{}", one.text());
    let one = one.json();
    assert_eq!((best(&one, 0), &one["model"]["version"]), (&recorded(3, 0).into(), &3.into()));
    let photos: Vec<(String, Vec<u8>)> = (0..48).map(|index| (format!("{index}.png"), photo(index))).collect();
    let files: Vec<(&str, &[u8])> = photos.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let many = server.form("/predict?top=24", &[], &[], &files).json();
    for index in 0..48 {
        let answer = &many["photos"][index];
        assert_eq!(answer["photo"], format!("{index}.png"), "the order is kept");
        assert_eq!(best(&many, index), recorded(3, index), "photo {index}");
        let sum: f64 =
            answer["predictions"].as_array().unwrap().iter().map(|one| one["probability"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-4, "all classes compete: {sum}");
    }
}

/// After the first task 12 classes are seen and 12 are not yet photographed.
#[test]
fn answers_say_what_is_seen_and_name_the_nearest_of_both_kinds() {
    let server = Server::start(&run_folder(), &["--task", "1"]);
    assert!(
        server
            .greeting
            .starts_with("serving `run` version 1 (12 classes with photos, 12 described) at http://127.0.0.1:"),
        "{}",
        server.greeting
    );
    let classes = server.get("/classes").json();
    let seen: Vec<bool> = classes["classes"].as_array().unwrap().iter().map(|class| class["seen"] == true).collect();
    assert_eq!(seen, (0..24).map(|class| class < 12).collect::<Vec<_>>());
    let answers = server.request("POST", "/predict?top=24", &[("Content-Type", "image/png")], &photo(0)).json();
    let answer = &answers["photos"][0];
    for (kind, is_seen) in [("seen", true), ("described", false)] {
        let nearest = answer["nearest"][kind].as_array().unwrap();
        let all = answer["predictions"].as_array().unwrap().iter().filter(|one| one["seen"] == is_seen);
        assert_eq!(nearest.iter().collect::<Vec<_>>(), all.take(3).collect::<Vec<_>>());
    }
    assert_eq!(best(&answers, 0), recorded(1, 0));
}

/// The page shows for each photo what a program is told: the best class, whether it is seen, and the nearest of both kinds.
#[test]
fn the_page_marks_what_is_not_yet_photographed() {
    let server = Server::start(&run_folder(), &["--task", "1"]);
    let Some(page) = browser::open(&format!("http://{}/", server.address)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..24).map(|index| folder.path().join(format!("{index:02}.png"))).collect();
    paths.iter().enumerate().for_each(|(index, path)| std::fs::write(path, photo(2 * index)).unwrap());
    let names: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    page.tab.find_element("#files").unwrap().set_input_files(&names).unwrap();
    let begun = Instant::now();
    while page.ask("document.querySelectorAll('.answer:not([hidden])').length") != 24 {
        assert!(begun.elapsed() < server::LIMIT, "{}", page.ask("document.body.innerText"));
        std::thread::sleep(Duration::from_millis(50));
    }
    let shown = page.ask(
        "[...document.querySelectorAll('.card')].map((card) => ['h2', '.kind', '.nearest'].map((part) => card.querySelector(part).textContent))",
    );
    for index in 0..24 {
        let told = server.predict(&photo(2 * index)).json();
        let (answer, shown) = (&told["photos"][0], &shown[index]);
        let kind = if answer["predictions"][0]["seen"] == true { "seen" } else { "not yet photographed" };
        assert_eq!((&shown[0], &shown[1]), (best(&told, 0), &kind.into()), "photo {index}");
        let nearest = shown[2].as_str().unwrap();
        assert!(nearest.contains("Nearest of those not yet photographed"), "{nearest}");
        for one in ["seen", "described"].iter().flat_map(|kind| answer["nearest"][kind].as_array().unwrap()) {
            assert!(nearest.contains(one["class"].as_str().unwrap()), "{one} in {nearest}");
        }
    }
}

/// Every path and method of the description is there, nothing else is, and what comes back is as it says.
#[test]
fn the_description_is_what_is_served() {
    let server = shared();
    let description = server.get("/openapi.json").json();
    let paths = description["paths"].as_object().unwrap();
    assert_eq!(paths.keys().collect::<Vec<_>>(), ["/", "/classes", "/health", "/metrics", "/openapi.json", "/predict"]);
    let check = |path: &str, method: &str, response: &server::Response| {
        schema::assert_described(
            &description,
            path,
            method,
            response.status,
            response.header("content-type").unwrap(),
            &response.body,
        );
    };
    for (path, operations) in paths {
        for method in ["get", "post", "put", "delete", "patch"] {
            let response = server.request(&method.to_uppercase(), path, &[], b"");
            match operations.get(method) {
                Some(_) => check(path, method, &response),
                None => response.assert_problem(405, "method"),
            }
        }
    }
    check("/predict", "post", &server.predict(&photo(0)));
    check("/predict", "post", &server.form("/predict", &[], &[], &[("a.png", &photo(0)), ("b.png", b"no photo")]));
    check("/predict", "post", &server.predict(b"no photo"));
    let allow = server.get("/predict");
    assert_eq!(allow.header("allow"), Some("POST"));
    for path in ["/nothing", "/predict/", "/learn/x", "/..%2f..%2fetc/passwd", "/page.html"] {
        server.get(path).assert_problem(404, "nothing at this path");
    }
    // Not described, for it is off: it says so.
    server.request("POST", "/learn", &[], b"").assert_problem(403, "does not learn");
}

#[test]
fn what_is_no_photo_has_the_right_status() {
    let server = shared();
    let whole = photo(0);
    server.predict(b"").assert_problem(400, "found no bytes");
    server.predict(b"GIF is what this is not").assert_problem(415, "expected a JPEG");
    server.predict(&whole[..whole.len() / 2]).assert_problem(422, "does not decode");
    server.request("POST", "/predict", &[("Content-Type", "text/plain")], &whole).assert_problem(415, "text/plain");
    server
        .request("POST", "/predict", &[("Content-Type", "application/json")], b"{}")
        .assert_problem(415, "application/json");
    server.request("POST", "/predict?top=0", &[], &whole).assert_problem(400, "top");
    server.request("POST", "/predict?topp=1", &[], &whole).assert_problem(400, "topp");
    let number = server.request("POST", "/predict?top=abc", &[], &whole);
    number.assert_problem(400, "the parameters behind `?` cannot be read: top: ");
    server.form("/predict", &[], &[("class", "x")], &[]).assert_problem(400, "found none");
    server.form("/predict", &[], &[], &[("empty.png", b"")]).assert_problem(400, "found no bytes");
    server.request("POST", "/predict", &[("Content-Type", "multipart/form-data")], b"").assert_problem(400, "boundary");
    let cut = form(&[], &[("a.png", &whole)]);
    server
        .request("POST", "/predict", &[("Content-Type", &cut.0)], &cut.1[..100])
        .assert_problem(400, "the form cannot be read");
    let many: Vec<(&str, &[u8])> = (0..65).map(|_| ("a.png", whole.as_slice())).collect();
    server.form("/predict", &[], &[], &many).assert_problem(413, "too many photos");
    assert_eq!(server.predict(&whole).status, 200, "others are unharmed");
}

/// A JPEG that has lost its end would decode to grey.
#[test]
fn half_a_jpeg_is_refused() {
    let server = shared();
    let mut jpeg = Vec::new();
    let image = image::RgbImage::from_fn(200, 200, |x, y| image::Rgb([x as u8, y as u8, (x * y) as u8]));
    image.write_with_encoder(image::codecs::jpeg::JpegEncoder::new(&mut jpeg)).unwrap();
    assert_eq!(server.predict(&jpeg).status, 200);
    server.predict(&jpeg[..jpeg.len() / 2]).assert_problem(422, "cut short");
}

#[test]
fn one_bad_photo_does_not_keep_the_others_from_their_answers() {
    let server = shared();
    let answers =
        server.form("/predict", &[], &[], &[("a.png", &photo(0)), ("bad.jpg", b"no photo"), ("c.png", &photo(1))]);
    assert_eq!(answers.status, 200, "{}", answers.text());
    let answers = answers.json();
    assert_eq!([best(&answers, 0), best(&answers, 2)], [recorded(3, 0), recorded(3, 1)]);
    assert_eq!(answers["photos"][1]["photo"], "bad.jpg");
    assert!(answers["photos"][1]["error"].as_str().unwrap().contains("expected a JPEG"), "{answers}");
    server.form("/predict", &[], &[], &[("a.jpg", b"no"), ("b.jpg", b"photo")]).assert_problem(415, "expected a JPEG");
}

/// A PNG of one colour, `width` × `height`: a hundred megapixels are 98 KB of zeros, deflated.
fn bomb(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = image::codecs::png::PngEncoder::new(&mut bytes);
    let pixels = vec![0; (width * height) as usize];
    image::ImageEncoder::write_image(encoder, &pixels, width, height, image::ExtendedColorType::L8).unwrap();
    bytes
}

/// The header of a JPEG of so many pixels, with nothing behind it but an end.
fn hollow_jpeg(side: u16) -> Vec<u8> {
    let [high, low] = side.to_be_bytes();
    let mut bytes = vec![0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, high, low, high, low, 3];
    bytes.extend([1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0]);
    bytes.extend([0xff, 0xda, 0, 12, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0, 0xff, 0xd9]);
    bytes
}

/// Ten at a time, of 100 megapixels each: 3 GB if they were decoded. Each is refused by its header.
#[test]
fn a_hundred_megapixels_are_refused_and_take_no_memory() {
    let server = Server::start(&run_folder(), &[]);
    assert_eq!(server.predict(&photo(0)).status, 200);
    let before = server.peak();
    let bombs = [bomb(10_000, 10_000), hollow_jpeg(10_000), hollow_jpeg(65_535)];
    std::thread::scope(|scope| {
        for at in 0..10 {
            let (server, bombs) = (&server, &bombs);
            scope.spawn(move || server.predict(&bombs[at % 3]).assert_problem(413, "megapixels"));
        }
    });
    assert_eq!(server.predict(&photo(0)).status, 200, "others are unharmed");
    let grown = server.peak() - before;
    assert!(grown < 64, "{grown} MiB more");
}

/// Twelve megapixels are 12 MB in grey and 36 MB in colour. Eight at a time would be 384 MB; two are decoded at a time.
#[test]
fn large_photos_are_decoded_a_few_at_a_time() {
    let server = Server::start(&run_folder(), &["--max-pixels", "12", "--timeout", "120"]);
    assert_eq!(server.predict(&photo(0)).status, 200);
    let before = server.peak();
    let large = bomb(4_000, 3_000);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(server.predict(&large).status, 200));
        }
    });
    let grown = server.peak() - before;
    assert!(grown < 200, "{grown} MiB more");
    server.predict(&bomb(4_000, 3_001)).assert_problem(413, "at most 12.0 megapixels");
}

#[test]
fn a_body_beyond_the_limit_is_refused_before_it_is_read() {
    let server = Server::start(&run_folder(), &["--max-body", "1"]);
    let body = vec![7; 3 << 20];
    server.predict(&body).assert_problem(413, "at most 1.0 MiB");
    // A body of unknown length is counted as it comes.
    let mut stream = server.connect();
    write!(stream, "POST /predict HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n", server.address).unwrap();
    for _ in 0..3 {
        write!(stream, "{:x}\r\n", 1 << 20).unwrap();
        stream.write_all(&body[..1 << 20]).unwrap();
        stream.write_all(b"\r\n").unwrap();
    }
    read(&mut stream).unwrap().assert_problem(413, "at most 1.0 MiB");
    let files = [("a.png", &body[..])];
    let (kind, form) = form(&[], &files);
    server.request("POST", "/predict", &[("Content-Type", &kind)], &form).assert_problem(413, "at most 1.0 MiB");
    assert_eq!(server.predict(&photo(0)).status, 200, "others are unharmed");
}

/// One byte, then nothing: told after a second, while others are answered.
#[test]
fn a_slow_client_is_told_and_keeps_nobody_waiting() {
    let server = Server::start(&run_folder(), &["--timeout", "1"]);
    let photo = photo(0);
    let mut slow: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = server.connect();
            write!(stream, "POST /predict HTTP/1.1\r\nHost: {}\r\nContent-Length: 30000000\r\n\r\nx", server.address)
                .unwrap();
            stream
        })
        .collect();
    let begun = Instant::now();
    assert_eq!(server.predict(&photo).status, 200, "others are unharmed");
    assert!(begun.elapsed() < Duration::from_secs(1), "nobody waits for the slow: {:?}", begun.elapsed());
    for stream in &mut slow {
        read(stream).unwrap().assert_problem(408, "within 1 s");
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn sixty_four_clients_at_once_are_answered_together() {
    let server = Server::start(&run_folder(), &[]);
    let photos: Vec<Vec<u8>> = (0..8).map(photo).collect();
    std::thread::scope(|scope| {
        for client in 0..64 {
            let (server, photos) = (&server, &photos);
            scope.spawn(move || {
                for round in 0..8 {
                    let index = (client + round) % 8;
                    let answers = server.predict(&photos[index]);
                    assert_eq!(answers.status, 200, "{}", answers.text());
                    assert_eq!(best(&answers.json(), 0), recorded(3, index), "each gets its own answer");
                }
            });
        }
    });
    let metrics = server.get("/metrics").text();
    let value = |name: &str| -> u64 {
        let line = metrics
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")))
            .unwrap_or_else(|| panic!("{name} in {metrics}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(value("prescient_requests_total{method=\"POST\",path=\"/predict\",status=\"200\"}"), 64 * 8);
    assert_eq!(value("prescient_batch_photos_sum"), 64 * 8);
    assert!(value("prescient_batch_photos_count") < 64 * 8, "some were computed together: {metrics}");
    assert_eq!(value("prescient_photos_waiting"), 0);
    assert_eq!(value("prescient_requests_in_flight"), 1, "the one that asks");
}

#[test]
fn pages_elsewhere_and_foreign_names_are_refused() {
    let server = shared();
    let (photo, address) = (photo(0), server.address.as_str());
    let own = format!("http://{address}");
    assert_eq!(server.request("POST", "/predict", &[("Origin", &own)], &photo).status, 200);
    server
        .request("POST", "/predict", &[("Origin", "https://evil.example")], &photo)
        .assert_problem(403, "evil.example");
    server.request("GET", "/classes", &[("Host", "evil.example")], b"").assert_problem(421, "evil.example");
    let answer = server.request("OPTIONS", "/predict", &[("Access-Control-Request-Method", "POST")], b"");
    assert!(!answer.head.to_lowercase().contains("access-control-allow"), "{}", answer.head);
}

#[test]
fn every_answer_has_the_headers_that_protect_it() {
    let server = shared();
    for path in ["/", "/health", "/nothing"] {
        let response = server.get(path);
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"), "{path}");
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; ") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
    }
}

/// All files of a folder below, copied.
fn copy(from: &Path, to: &Path) {
    common::copy_files(from, to);
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Eight clients ask all the time while the second task is finished. Each answer is that of the version that it names.
#[test]
fn a_version_that_is_published_meanwhile_drops_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let (all, run) = (run_folder(), folder.path().join("shop"));
    copy(&all.join("tasks/01"), &run.join("tasks/01"));
    let server = Server::start(&run, &[]);
    let photos: Vec<Vec<u8>> = (0..8).map(photo).collect();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8usize)
            .map(|index| {
                let (server, photos, done) = (&server, &photos, &done);
                scope.spawn(move || {
                    let mut versions = Vec::new();
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        let answers = server.predict(&photos[index]);
                        assert_eq!(answers.status, 200, "{}", answers.text());
                        let answers = answers.json();
                        let version = answers["model"]["version"].as_u64().unwrap();
                        assert_eq!(best(&answers, 0), recorded(version as usize, index), "version {version}");
                        versions.push(version);
                    }
                    versions
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        copy(&all.join("tasks/02"), &folder.path().join("02"));
        std::fs::rename(folder.path().join("02"), run.join("tasks/02")).unwrap();
        let begun = Instant::now();
        while server.get("/health").json()["model"]["version"] != 2 {
            assert!(begun.elapsed() < server::LIMIT, "it is not reloaded: {}", server.told());
            std::thread::sleep(Duration::from_millis(50));
        }
        std::thread::sleep(Duration::from_millis(300));
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        for client in clients {
            let versions = client.join().unwrap();
            assert!(
                versions.is_sorted() && versions.first() == Some(&1) && versions.last() == Some(&2),
                "{versions:?}"
            );
        }
    });
    assert!(server.get("/metrics").text().contains("\nprescient_reloads_total 1\n"));
}

#[test]
fn a_version_that_cannot_be_loaded_leaves_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let (all, run) = (run_folder(), folder.path().join("shop"));
    copy(&all.join("tasks/01"), &run.join("tasks/01"));
    let server = Server::start(&run, &[]);
    copy(&all.join("tasks/02"), &folder.path().join("02"));
    std::fs::write(folder.path().join("02/predictor.safetensors"), b"half").unwrap();
    std::fs::rename(folder.path().join("02"), run.join("tasks/02")).unwrap();
    let begun = Instant::now();
    let health = loop {
        let health = server.get("/health").json();
        if !health["reload_error"].is_null() {
            break health;
        }
        assert!(begun.elapsed() < server::LIMIT, "{health}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(health["reload_error"].as_str().unwrap().contains("predictor.safetensors"), "{health}");
    let answers = server.predict(&photo(0)).json();
    assert_eq!((best(&answers, 0), &answers["model"]["version"]), (&recorded(1, 0).into(), &1.into()));
    assert!(server.told().contains("the one before still answers"), "{}", server.told());
}

/// A request whose body is on its way when the signal comes is still answered.
#[test]
fn a_signal_lets_requests_finish_and_ends_the_process() {
    for signal in ["-INT", "-TERM"] {
        let mut server = Server::start(&run_folder(), &[]);
        let photo = photo(0);
        let mut stream = server.connect();
        write!(stream, "POST /predict HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n", server.address, photo.len())
            .unwrap();
        stream.write_all(&photo[..10]).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let finish = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            stream.write_all(&photo[10..]).unwrap();
            read(&mut stream).unwrap()
        });
        assert!(server.stop(signal).success(), "{signal}");
        let answers = finish.join().unwrap();
        assert_eq!((answers.status, best(&answers.json(), 0)), (200, &recorded(3, 0).into()), "{signal}");
    }
}

#[test]
fn what_cannot_be_served_is_said_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str]| {
        let output = assert_cmd::Command::cargo_bin("prescient")
            .unwrap()
            .current_dir(folder.path())
            .arg("serve")
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(told(&["."]).contains("is not a run"));
    let run = run_folder();
    let run = run.to_str().unwrap();
    assert!(told(&[run, "--task", "4"]).contains("task 4 of this run is not finished"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    assert!(told(&[run, "--port", &port]).contains(&format!("127.0.0.1:{port}")));
}
