//! Results go to stdout. A reader that has seen enough (`| head`) is no error; a full disk is one.

pub(super) mod fold;

use prescient::error::{Result, RunError, printable};
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::path::Path;
use terminal_size::{Width, terminal_size_of};

/// Prints a result for people: on a terminal its lines are no longer than the terminal is wide.
pub(super) fn print_text(text: &str) -> Result<()> {
    print(&fitted(text, std::io::stdout()))
}

/// How wide the terminal is that results go to, where it is one.
pub(super) fn width() -> Option<usize> {
    terminal_size_of(std::io::stdout()).map(|(Width(width), _)| width.into())
}

/// Says something beside the result, on stderr.
pub(super) fn tell(text: &str) {
    eprintln!("{}", fitted(printable(text).trim_end(), std::io::stderr()));
}

/// On a terminal that is too narrow for anything the text stays as it is.
fn fitted(text: &str, stream: impl AsFd) -> String {
    match terminal_size_of(stream) {
        Some((Width(width), _)) if width >= 40 => fold::folded(text, width.into()),
        _ => text.to_owned(),
    }
}

/// Prints a result as it is: for programs, or to be pasted.
pub(super) fn print(text: &str) -> Result<()> {
    let text = printable(text);
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(RunError::io(Path::new("standard output"))(error).into())
        }
        _ => Ok(()),
    }
}

/// Prints a document for programs.
pub(super) fn print_json(document: &impl serde::Serialize) -> Result<()> {
    print(&(serde_json::to_string_pretty(document).expect("plain data") + "\n"))
}

/// How something is written that has no other forms.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Form {
    /// How it is written
    #[arg(long, value_enum, default_value = "text")]
    format: Written,

    /// The same as `--format json`
    #[arg(long, hide = true)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
enum Written {
    /// For people
    Text,
    /// For programs
    Json,
}

impl Form {
    pub(crate) fn is_json(self) -> bool {
        self.json || self.format == Written::Json
    }
}
