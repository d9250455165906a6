//! `prescient report`.

use crate::error::Result;
use crate::experiment::{Record, RunFolder};
use clap::Args;
use std::path::PathBuf;

/// Show what a run found, from its folder alone
#[derive(Debug, Args)]
pub(super) struct Report {
    /// The folder of a run
    run: PathBuf,
}

impl Report {
    pub(super) fn run(self) -> Result<()> {
        let record = Record::read(&RunFolder::open(&self.run)?.record())?;
        super::output::print(&crate::report::text(&record))
    }
}
