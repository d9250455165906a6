//! `prescient audit`.

use crate::output::{self, Form};
use clap::Args;
use prescient::audit::{audit, audit_split};
use prescient::error::{AuditError, Result};
use std::path::PathBuf;

/// Prove from a run's folder alone that it kept the rules, or judge a split made elsewhere
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient audit runs/mine-seed0                     check a run, and say what gives its numbers
  prescient audit runs/mine-seed0 --near-duplicates   also find test images like training images
  prescient audit --split split.txt                   judge a split: lines `train PATH` and
                                                      `test PATH`, or a CSV with `side,path`

Neither data nor weights are needed: a run names each image that it learned from, kept and was
tested on, by a hash of its pixels. The files of a split are compared by their pixels where they
can be read. Exits with 1 if anything does not hold.")]
pub(super) struct Audit {
    /// The folder of a run
    #[arg(required_unless_present = "split")]
    run: Option<PathBuf>,

    /// Judge the split that this file lists instead
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    split: Option<PathBuf>,

    /// Also look for test images that look like training images
    #[arg(long)]
    near_duplicates: bool,

    #[command(flatten)]
    form: Form,
}

impl Audit {
    pub(super) fn run(self) -> Result<()> {
        match (self.split, self.run) {
            (Some(path), _) => {
                let found = audit_split(&path, self.near_duplicates)?;
                match self.form.is_json() {
                    true => output::print(&(found.to_json() + "\n"))?,
                    false => output::print_text(&found.text())?,
                }
                match found.holds() {
                    true => Ok(()),
                    false => {
                        let (shared, test) = (found.shared() + found.near.len(), found.test);
                        Err(AuditError::Leaks { path, shared, test }.into())
                    }
                }
            }
            (None, run) => {
                let path = run.expect("clap asks for a run unless --split is given");
                let found = audit(&path, self.near_duplicates)?;
                match self.form.is_json() {
                    true => output::print(&(found.to_json() + "\n"))?,
                    false => output::print_text(&found.text())?,
                }
                match found.failed() {
                    0 => Ok(()),
                    failed => Err(AuditError::Fails { path, failed, of: found.checks.len() }.into()),
                }
            }
        }
    }
}
