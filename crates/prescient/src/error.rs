//! What can go wrong through no fault of ours, said so that a user can mend it.
//!
//! Lower case, no full stop, literals in backticks, what was expected and what was found. What only a bug can cause is
//! an assertion instead. [`Error::hint`] says what to do next.

mod audit;
mod compare;
mod data;
mod export;
mod learn;
mod processes;
mod project;
mod recipe;
mod reproduce;
mod run;
mod scenario;
mod weights;

pub use audit::AuditError;
pub use compare::CompareError;
pub use data::{CONVERT, DataError};
pub use export::ExportError;
pub use learn::LearnError;
pub use processes::ProcessError;
pub use project::ProjectError;
pub(crate) use recipe::OF_ANOTHER;
pub use recipe::RecipeError;
pub use reproduce::ReproduceError;
pub use run::RunError;
pub use scenario::ScenarioError;
pub use weights::WeightsError;

/// The result of anything a user can make fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that stops a command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was being done when something went wrong.
    #[error("cannot {doing}")]
    While {
        /// As in "read the recipe `a.toml`".
        doing: String,
        /// What went wrong.
        source: Box<Error>,
    },
    /// See [`ScenarioError`].
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// See [`DataError`].
    #[error(transparent)]
    Data(#[from] DataError),
    /// See [`RecipeError`].
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// See [`LearnError`].
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// See [`RunError`].
    #[error(transparent)]
    Run(#[from] RunError),
    /// See [`ProjectError`].
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// See [`ProcessError`].
    #[error(transparent)]
    Processes(#[from] ProcessError),
    /// See [`WeightsError`].
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// See [`AuditError`].
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// See [`CompareError`].
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// See [`ReproduceError`].
    #[error(transparent)]
    Reproduce(#[from] ReproduceError),
    /// See [`ExportError`].
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// Says what was being done when an error came up.
pub trait While<T> {
    /// `doing` completes the sentence "cannot …".
    fn when(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> While<T> for std::result::Result<T, E> {
    fn when(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::While { doing: doing(), source: Box::new(error.into()) })
    }
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::While { source, .. } => source.hint(),
            Error::Scenario(error) => error.hint(),
            Error::Data(error) => error.hint(),
            Error::Recipe(error) => error.hint(),
            Error::Learn(error) => error.hint(),
            Error::Run(error) => error.hint(),
            Error::Project(error) => error.hint(),
            Error::Processes(error) => error.hint(),
            Error::Weights(error) => error.hint(),
            Error::Audit(error) => error.hint(),
            Error::Compare(error) => error.hint(),
            Error::Reproduce(error) => error.hint(),
            Error::Export(error) => error.hint(),
        }
    }

    /// Whether it is only that another process failed, or was lost.
    pub fn is_of_others(&self) -> bool {
        match self {
            Error::While { source, .. } => source.is_of_others(),
            Error::Processes(_) | Error::Learn(LearnError::Processes(_)) => true,
            _ => false,
        }
    }

    /// What the process ends with: 1 where an audit or a gate did its work and the answer is no, 2 where something is to be mended,
    /// 3 where nothing failed but some rows of a table are not there, 130 where somebody stopped it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::While { source, .. } => source.exit_code(),
            Error::Learn(LearnError::Interrupted { .. }) | Error::Project(ProjectError::Interrupted) => 130,
            Error::Project(ProjectError::Dropped { .. }) => 1,
            Error::Audit(AuditError::Fails { .. } | AuditError::Leaks { .. }) => 1,
            Error::Reproduce(ReproduceError::NoData { .. } | ReproduceError::NotRun { .. }) => 3,
            _ => 2,
        }
    }

    /// The error as people read it: what failed, why, and a hint.
    pub fn message(&self) -> String {
        let mut text = format!("error: {self}\n");
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let line = error.to_string();
            // `transparent` wrappers repeat their source.
            if !text.trim_end().ends_with(&line) {
                text.push_str(&format!("  {}\n", line.replace('\n', "\n  ")));
            }
            cause = error.source();
        }
        if let Some(hint) = self.hint() {
            text.push_str(&format!("\nhint: {hint}\n"));
        }
        printable(&text.split_inclusive('\n').map(clipped).collect::<String>())
    }
}

/// A line that people read to its end: what a file has in the place of a number may be as long as the file.
fn clipped(line: &str) -> String {
    const MOST: usize = 1000;
    match line.char_indices().nth(2 * MOST) {
        None => line.to_owned(),
        Some(_) => {
            let (begin, end): (String, String) =
                (line.chars().take(MOST).collect(), line.chars().rev().take(MOST / 4).collect());
            format!("{begin} … {}", end.chars().rev().collect::<String>())
        }
    }
}

/// A text that cannot do anything to a terminal: what a file's name may contain, such as an escape, is spelled out.
pub fn printable(text: &str) -> String {
    let harmless = |c: char| !c.is_control() || c == '\n' || c == '\t';
    text.chars().flat_map(|c| if harmless(c) { vec![c] } else { c.escape_default().collect() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_endless_is_clipped() {
        let path = "é".repeat(1 << 20).into();
        let message = Error::from(DataError::NoPhotos { path }).message();
        let first = message.lines().next().expect("a line");
        assert!(first.chars().count() < 1300 && first.ends_with("é` has no photos"), "{}", first.len());
    }

    #[test]
    fn a_name_does_nothing_to_a_terminal() {
        let path = "a\u{1b}[31mb\u{7}\u{9b}2J.jpg".into();
        let message = Error::from(DataError::NoPhotos { path }).message();
        assert!(message.starts_with("error: `a\\u{1b}[31mb\\u{7}\\u{9b}2J.jpg` has no photos\n"), "{message}");
        assert_eq!(printable("größe\t1\n"), "größe\t1\n");
    }
}
