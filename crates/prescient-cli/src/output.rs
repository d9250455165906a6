//! Results go to stdout. A reader that has seen enough (`| head`) is no error; a full disk is one.

use prescient::error::{Result, RunError, printable};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Prints a result.
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
pub(super) fn print_json(document: &serde_json::Value) -> Result<()> {
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
