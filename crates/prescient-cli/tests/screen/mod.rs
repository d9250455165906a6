//! A command on a terminal of 80 columns: a real pseudo-terminal, and an emulator that says what a person sees on it.

use pty_process::Size;
use pty_process::blocking::{Command, open};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Child;

/// Wide enough for what a person has, tall enough that nothing scrolls away.
const ROWS: u16 = 1000;
pub(crate) const COLUMNS: u16 = 80;

/// What was seen.
pub(crate) struct Screen {
    /// The lines that stay when the command is over.
    pub(crate) text: String,
    pub(crate) code: i32,
    /// Lines that did not fit, at any moment.
    pub(crate) overflowing: Vec<String>,
}

/// Runs a command on a terminal. Once `until` is on the screen, it is sent Ctrl-C.
pub(crate) fn on_a_terminal(
    program: &Path,
    arguments: &[&str],
    at: &Path,
    variables: &[(&str, &str)],
    until: Option<&str>,
) -> Screen {
    let (mut pty, pts) = open().unwrap();
    pty.resize(Size::new(50, COLUMNS)).unwrap();
    let command = Command::new(program).args(arguments).current_dir(at).envs(variables.iter().copied());
    let command = command.env("TERM", "xterm-256color").env_remove("COLUMNS").env_remove("NO_COLOR");
    let mut child: Child = command.spawn(pts).unwrap();
    let mut parser = vt100::Parser::new(ROWS.try_into().unwrap(), COLUMNS.try_into().unwrap(), 0);
    let (mut bytes, mut until, mut overflowing) = ([0; 4096], until, Vec::new());
    // The terminal hangs up when the last process on it is gone.
    while let Ok(count @ 1..) = pty.read(&mut bytes) {
        parser.process(&bytes[..count]);
        let screen = parser.screen();
        if until.is_some_and(|until| screen.contents().contains(until)) {
            pty.write_all(b"\x03").unwrap();
            until = None;
        }
        for row in (0..ROWS).filter(|row| screen.row_wrapped(*row)) {
            let line = screen.rows(0, COLUMNS).nth(row.into()).unwrap();
            if !overflowing.contains(&line) {
                overflowing.push(line);
            }
        }
    }
    let code = child.wait().unwrap().code().unwrap();
    let rows: Vec<String> = parser.screen().rows(0, COLUMNS).map(|row| row.trim_end().to_owned()).collect();
    Screen { text: rows.join("\n").trim_end().to_owned() + "\n", code, overflowing }
}
