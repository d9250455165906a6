//! The verbs of a project: a folder that learns from photos as they arrive.

pub(super) mod diff;
pub(super) mod forget;
pub(super) mod learn;
pub(super) mod new;
pub(super) mod plan;
pub(super) mod rename;
pub(super) mod rollback;
pub(super) mod status;
mod text;
mod watch;

use crate::device::DeviceName;
use clap::{Args, ValueEnum};
use prescient::Project;
use prescient::error::Result;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a change is made, and how.
#[derive(Debug, Args)]
struct Change {
    /// The folder of the project
    project: PathBuf,

    /// Wait so long for another command that is changing the project
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,

    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceName,
}

impl Change {
    fn open(&self) -> Result<Project> {
        let project = Project::open_on(&self.project, self.device.open()?)?;
        Ok(project.waiting(Duration::from_secs(self.wait)))
    }
}

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For the terminal
    Text,
    /// For programs
    Json,
}

/// The name of a path as it was given.
fn name(path: &Path) -> String {
    path.display().to_string()
}
