//! A program that runs one round when asked, and says how long it took.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::error::Error;

/// A contestant, set up and waiting.
pub(super) struct Peer {
    name: String,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts it and waits until it says `ready`.
    pub(super) fn start(mut command: Command) -> Result<Self, Error> {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let name: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let name = name.join(" ");
        let failed = |reason: String| Error::Peer { command: name.clone(), reason };
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| failed(error.to_string()))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no stdin or stdout".to_owned()));
        };
        let mut peer = Self { name: name.clone(), child, to, from: BufReader::new(from) };
        let said = peer.line()?;
        match said.as_str() {
            "ready" => Ok(peer),
            other => Err(failed(format!("expected `ready`, found `{other}`"))),
        }
    }

    /// Runs one round: its items per second.
    pub(super) fn round(&mut self) -> Result<f64, Error> {
        let failed = |name: &str, reason: String| Error::Peer { command: name.to_owned(), reason };
        self.to
            .write_all(b"\n")
            .and_then(|()| self.to.flush())
            .map_err(|error| failed(&self.name, error.to_string()))?;
        let line = self.line()?;
        rate(&line).ok_or_else(|| failed(&self.name, format!("expected seconds and items, found `{line}`")))
    }

    fn line(&mut self) -> Result<String, Error> {
        let mut line = String::new();
        match self.from.read_line(&mut line) {
            Ok(count) if count > 0 => Ok(line.trim().to_owned()),
            Ok(_) => Err(Error::Peer { command: self.name.clone(), reason: "it ended early".to_owned() }),
            Err(error) => Err(Error::Peer { command: self.name.clone(), reason: error.to_string() }),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Items per second of `{"seconds": 0.5, "items": 10}`. Two numbers do not need a parser of JSON.
fn rate(line: &str) -> Option<f64> {
    let number = |key: &str| -> Option<f64> {
        let rest = &line[line.find(&format!("\"{key}\""))? + key.len() + 2..];
        let rest = rest.trim_start().strip_prefix(':')?.trim_start();
        rest[..rest.find([',', '}'])?].trim().parse().ok()
    };
    let (seconds, items) = (number("seconds")?, number("items")?);
    (seconds > 0.0).then(|| items / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_read() {
        assert_eq!(rate("{\"seconds\": 0.5, \"items\": 10}"), Some(20.0));
        assert_eq!(rate("{\"items\":10,\"seconds\":4e-1}"), Some(25.0));
        assert_eq!(rate("{\"items\": 10}"), None);
        assert_eq!(rate("out of memory"), None);
    }

    /// A shell that speaks the protocol.
    #[test]
    fn a_peer_runs_when_asked() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo ready; while read line; do echo '{\"seconds\": 2, \"items\": 6}'; done"]);
        let mut peer = Peer::start(command).expect("it says ready");
        assert_eq!(peer.round().expect("a round"), 3.0);
        assert_eq!(peer.round().expect("a round"), 3.0);
    }

    #[test]
    fn a_peer_that_fails_is_named() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 3"]);
        let error = Peer::start(command).err().expect("it ends").to_string();
        assert!(error.contains("sh -c exit 3") && error.contains("ended early"), "{error}");
    }
}
