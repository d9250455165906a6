//! Pages of help that fit the terminal. clap breaks lines that are too long; here sentences become one line each paragraph, so that
//! they are broken once, and examples go on below their last column.

use crate::output::fold::folded;
use clap::Command;
use terminal_size::{Width, terminal_size};

/// clap's own limit.
const WIDEST: usize = 100;

/// The command with what stands below each page of help as wide as the terminal.
pub(super) fn fitted(command: Command) -> Command {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let columns = columns.or_else(|| terminal_size().map(|(Width(width), _)| width.into()));
    below(command, columns.unwrap_or(WIDEST).clamp(40, WIDEST))
}

fn below(command: Command, width: usize) -> Command {
    // Sentences are left to clap.
    let line = |line: &str| if line.starts_with(' ') { folded(line, width) } else { line.to_owned() };
    let text = command.get_after_help().map(|text| joined(&text.to_string()));
    let text = text.map(|text| text.lines().map(line).collect::<Vec<_>>().join("\n"));
    let command = match text {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.mut_subcommands(|inner| below(inner, width))
}

/// Lines of a paragraph in one. What is indented, and the heading above it, stays as it is.
fn joined(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let goes_on = |before: &String| !before.is_empty() && !before.starts_with(' ') && !before.ends_with(':');
        match lines.last_mut().filter(|before| goes_on(before)) {
            Some(before) if !line.is_empty() && !line.starts_with(' ') => before.push_str(&format!(" {line}")),
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_one_line_and_examples_stay() {
        let text = "Examples:\n  prescient one\n  prescient two\n\nIt does\nthis.\n\nAnd\nthat.";
        assert_eq!(joined(text), "Examples:\n  prescient one\n  prescient two\n\nIt does this.\n\nAnd that.");
    }
}
