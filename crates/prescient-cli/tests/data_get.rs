//! `prescient data get`, from mirrors that the tests stand up themselves.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use assert_cmd::Command;
use common::real_data;
use prescient::error::DataError;
use prescient_cli::fetch::{Fetched, MNIST, Remote, fetch};
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// How a mirror misbehaves.
#[derive(Clone, Copy, Default)]
struct Manners {
    /// Hangs up after so many bytes of each answer.
    hangs_up_after: Option<usize>,
    /// Always sends the whole file.
    knows_no_parts: bool,
    /// Answers every request with this status.
    status: Option<u16>,
}

/// A mirror on this machine. It serves as long as the test runs, and remembers where each request wanted to begin.
struct Mirror {
    address: String,
    beginnings: Arc<Mutex<Vec<usize>>>,
}

impl Mirror {
    fn new(file: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static, manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/files", listener.local_addr().unwrap());
        let beginnings = Arc::new(Mutex::new(Vec::new()));
        let heard = beginnings.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &file, manners, &heard);
            }
        });
        Self { address, beginnings }
    }

    fn of_bytes(bytes: &[u8], manners: Manners) -> Self {
        let bytes = bytes.to_vec();
        Self::new(move |_| Some(bytes.clone()), manners)
    }
}

fn answer(mut stream: TcpStream, file: &dyn Fn(&str) -> Option<Vec<u8>>, manners: Manners, heard: &Mutex<Vec<usize>>) {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let request: Vec<String> = lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
    let Some(path) = request.first().and_then(|line| line.split_whitespace().nth(1)) else { return };
    let range = request.iter().find_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(String::from));
    let begin: usize = range.and_then(|range| range.trim_end_matches('-').parse().ok()).unwrap_or(0);
    heard.lock().unwrap().push(begin);
    let bytes = file(path.rsplit('/').next().unwrap());
    let (status, body) = match (manners.status, &bytes) {
        (Some(status), _) => (status.to_string(), &[][..]),
        (None, None) => ("404".to_owned(), &[][..]),
        (None, Some(bytes)) if manners.knows_no_parts => ("200".to_owned(), &bytes[..]),
        (None, Some(bytes)) => ("206".to_owned(), &bytes[begin..]),
    };
    let whole = bytes.as_ref().map_or(0, Vec::len);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} so\r\nContent-Length: {length}\r\nContent-Range: bytes {begin}-{}/{whole}\r\n\
         Connection: close\r\n\r\n",
        whole.saturating_sub(1)
    );
    let body = &body[..manners.hangs_up_after.unwrap_or(length).min(length)];
    // Whoever asked may have gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

fn contents() -> Vec<u8> {
    (0..300_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn remote(bytes: &[u8]) -> Remote {
    let sha256: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Remote { name: "digits.gz", bytes: bytes.len() as u64, sha256: sha256.leak() }
}

fn get(mirrors: &[&Mirror], folder: &Path) -> Result<Fetched, DataError> {
    let mirrors: Vec<String> = mirrors.iter().map(|mirror| mirror.address.clone()).collect();
    fetch(&remote(&contents()), &mirrors, folder, &mut |_| ())
}

#[test]
fn a_file_comes_whole_and_is_not_fetched_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mirror = Mirror::of_bytes(&contents(), Manners::default());
    let below = folder.path().join("new/mnist");
    assert_eq!(get(&[&mirror], &below).unwrap(), Fetched::Now);
    assert_eq!(std::fs::read(below.join("digits.gz")).unwrap(), contents());
    assert!(!below.join("digits.gz.part").exists());
    assert_eq!(get(&[&mirror], &below).unwrap(), Fetched::Already);
    assert_eq!(*mirror.beginnings.lock().unwrap(), [0]);
}

/// A mirror that hangs up after 100,000 of 300,000 bytes, asked twice: 200,000 are there, and the next one begins there.
#[test]
fn a_fetch_that_was_cut_off_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let rude = Mirror::of_bytes(&contents(), Manners { hangs_up_after: Some(100_000), ..Default::default() });
    let error = get(&[&rude], folder.path()).unwrap_err();
    assert!(matches!(error, DataError::Fetch { .. }), "{error}");
    assert!(error.hint().unwrap().contains("run it again to go on"));
    assert_eq!(*rude.beginnings.lock().unwrap(), [0, 100_000]);
    assert_eq!(std::fs::metadata(folder.path().join("digits.gz.part")).unwrap().len(), 200_000);

    let kind = Mirror::of_bytes(&contents(), Manners::default());
    assert_eq!(get(&[&kind], folder.path()).unwrap(), Fetched::Now);
    assert_eq!(*kind.beginnings.lock().unwrap(), [200_000]);
    assert_eq!(std::fs::read(folder.path().join("digits.gz")).unwrap(), contents());
}

#[test]
fn a_mirror_that_knows_no_parts_begins_at_the_beginning() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("digits.gz.part"), &contents()[..5000]).unwrap();
    let mirror = Mirror::of_bytes(&contents(), Manners { knows_no_parts: true, ..Default::default() });
    assert_eq!(get(&[&mirror], folder.path()).unwrap(), Fetched::Now);
    assert_eq!(std::fs::read(folder.path().join("digits.gz")).unwrap(), contents());
}

#[test]
fn another_mirror_helps() {
    let folder = tempfile::tempdir().unwrap();
    let closed = Mirror::of_bytes(&contents(), Manners { status: Some(503), ..Default::default() });
    let good = Mirror::of_bytes(&contents(), Manners::default());
    assert_eq!(get(&[&closed, &good], folder.path()).unwrap(), Fetched::Now);
    let error = get(&[&closed], &folder.path().join("other")).unwrap_err().to_string();
    assert!(error.ends_with("it answers with status 503"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path().join("other")).unwrap().count(), 0, "nothing came, so nothing stays");
}

/// As long, but not the same: nothing of it is kept, and the file never gets its name.
#[test]
fn a_wrong_checksum_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = contents();
    other[17] ^= 1;
    let mirror = Mirror::of_bytes(&other, Manners::default());
    let error = get(&[&mirror], folder.path()).unwrap_err().to_string();
    assert!(error.contains("expected the SHA-256") && error.contains(remote(&contents()).sha256), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // A damaged file that is there already is fetched again.
    std::fs::write(folder.path().join("digits.gz"), "damaged").unwrap();
    let good = Mirror::of_bytes(&contents(), Manners::default());
    assert_eq!(get(&[&good], folder.path()).unwrap(), Fetched::Now);
}

#[test]
fn a_longer_or_shorter_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for other in [[contents(), vec![1]].concat(), contents()[..299_999].to_vec()] {
        let mirror = Mirror::of_bytes(&other, Manners { knows_no_parts: true, ..Default::default() });
        let error = get(&[&mirror], folder.path()).unwrap_err().to_string();
        assert!(error.contains("expected 300000 bytes, found"), "{error}");
    }
}

#[test]
fn the_command_fetches_mnist() {
    let Some(digits) = real_data("mnist") else { return };
    for Remote { name, bytes, .. } in MNIST {
        assert_eq!(std::fs::metadata(digits.join(name)).unwrap().len(), bytes);
    }
    let mirror = Mirror::new(move |name| std::fs::read(digits.join(name)).ok(), Manners::default());
    let folder = tempfile::tempdir().unwrap();
    let get = || {
        let mut command = Command::cargo_bin("prescient").unwrap();
        command.current_dir(folder.path()).env("PRESCIENT_DATA", folder.path());
        command.args(["data", "get", "mnist", "--from", &mirror.address]).output().unwrap()
    };
    let output = get();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.starts_with("4 of four files of MNIST fetched to "), "{out}");
    assert!(prescient::data::Mnist::open(&folder.path().join("mnist")).is_ok());
    let again = String::from_utf8(get().stdout).unwrap();
    assert!(again.starts_with("all four files of MNIST are in "), "{again}");
}

#[test]
fn what_cannot_be_fetched_says_where_it_is() {
    for (dataset, places) in [
        ("awa2", &["https://cvml.ista.ac.at/AwA2/", "AwA2-data.zip", "prescient data check awa2"][..]),
        ("apy", &["https://vision.cs.uiuc.edu/attributes/", "VOC", "ayahoo_test_images", "prescient data check apy"]),
    ] {
        let output = Command::cargo_bin("prescient").unwrap().args(["data", "get", dataset]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "what was not fetched is no success");
        for place in places {
            assert!(error.contains(place), "expected `{place}` in:\n{error}");
        }
    }
}

#[test]
fn nobody_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::cargo_bin("prescient").unwrap();
    let address = format!("http://127.0.0.1:{port}/mnist");
    let output =
        command.current_dir(folder.path()).args(["data", "get", "mnist", "--out", "digits", "--from", &address]);
    let output = output.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains("error: cannot fetch `mnist`") && error.contains(&address) && error.contains("hint: "),
        "{error}"
    );
}
