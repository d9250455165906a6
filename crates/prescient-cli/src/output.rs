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
