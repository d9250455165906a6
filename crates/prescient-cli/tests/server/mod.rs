//! A real server process on this machine, and a client that can be rude.
#![allow(dead_code, reason = "each test uses some of it")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Nothing in these tests may take longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// `prescient serve MODEL …` at a free port; killed when dropped.
pub(crate) struct Server {
    process: Child,
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
    /// The line that it began with.
    pub(crate) greeting: String,
    told: Arc<Mutex<String>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// A problem with this status: it says what is wrong and what to do.
    #[track_caller]
    pub(crate) fn assert_problem(&self, status: u16, part: &str) {
        assert_eq!(self.status, status, "{}", self.text());
        let told = self.json();
        let (error, hint) = (told["error"].as_str().unwrap(), told["hint"].as_str().unwrap());
        assert!(error.contains(part), "expected `{part}`: {told}");
        assert!(!hint.is_empty(), "{told}");
        assert_eq!(told.as_object().unwrap().len(), 2, "{told}");
    }
}

impl Server {
    pub(crate) fn start(model: &Path, arguments: &[&str]) -> Self {
        Self::start_with(model, arguments, &[])
    }

    pub(crate) fn start_with(model: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("prescient"));
        command.args(["serve", "--device", "cpu", "--port", "0"]).arg(model).args(arguments);
        command.env_remove("PRESCIENT_TOKEN").envs(variables.iter().copied());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let told: Arc<Mutex<String>> = Arc::default();
        let (noted, mut stderr) = (told.clone(), BufReader::new(process.stderr.take().unwrap()));
        std::thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).is_ok_and(|read| read > 0) {
                noted.lock().unwrap().push_str(&std::mem::take(&mut line));
            }
        });
        let mut greeting = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut greeting).unwrap();
        let address = greeting.split("http://").nth(1).and_then(|rest| rest.split('/').next()).map(String::from);
        let address = address.unwrap_or_else(|| {
            let _ = process.kill();
            std::thread::sleep(Duration::from_millis(100));
            panic!("it does not start: `{greeting}` {}", told.lock().unwrap());
        });
        Self { process, address, greeting, told }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it has said on stderr so far.
    pub(crate) fn told(&self) -> String {
        self.told.lock().unwrap().clone()
    }

    /// The most memory that it ever had, in MiB.
    pub(crate) fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self, signal: &str) -> ExitStatus {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.wait()
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < LIMIT, "it does not stop");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        stream
    }

    /// One request on a connection of its own.
    #[track_caller]
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.send(method, path, headers, body).unwrap()
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<Response> {
        let mut stream = self.connect();
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        read(&mut stream)
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[], b"")
    }

    /// One photo as the body.
    #[track_caller]
    pub(crate) fn predict(&self, photo: &[u8]) -> Response {
        self.request("POST", "/predict", &[("Content-Type", "application/octet-stream")], photo)
    }

    /// The files of a form, each with its name, and fields of text.
    #[track_caller]
    pub(crate) fn form(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        fields: &[(&str, &str)],
        files: &[(&str, &[u8])],
    ) -> Response {
        let (kind, body) = form(fields, files);
        let headers: Vec<(&str, &str)> = headers.iter().copied().chain([("Content-Type", kind.as_str())]).collect();
        self.request("POST", path, &headers, &body)
    }
}

/// A form as a browser sends it: its content type and its body.
pub(crate) fn form(fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> (String, Vec<u8>) {
    let mut body = Vec::new();
    for (name, value) in fields {
        let head = format!("--XyZ\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(head.as_bytes());
    }
    for (name, bytes) in files {
        let head = format!("--XyZ\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"{name}\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--XyZ--\r\n");
    ("multipart/form-data; boundary=XyZ".to_owned(), body)
}

/// Reads one answer; the server closes the connection after it, or says how long it is.
pub(crate) fn read(stream: &mut TcpStream) -> std::io::Result<Response> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err(std::io::Error::other(format!("the connection ended after `{head}`")));
        }
    }
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let mut response = Response { status: status.unwrap(), head, body: Vec::new() };
    match response.header("content-length").map(|length| length.parse::<u64>().unwrap()) {
        Some(length) => reader.take(length).read_to_end(&mut response.body)?,
        None => reader.read_to_end(&mut response.body)?,
    };
    Ok(response)
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
