//! Whether a run kept the rules: proved from its folder alone, without data and without the model.
//!
//! | check | what must hold |
//! | --- | --- |
//! | `files` | what lies in the folder is what the record says |
//! | `sides` | no image, by its pixels, was learned from in any task and tested on |
//! | `memory` | at most `s` images of each class are kept, each of them an image that its task learned from |
//! | `time` | no class was learned from before its time, and of past classes only the memory |
//! | `test data` | test images were read by evaluations alone, each the last stage of its task |
//! | `answers` | every test image is answered for, and the answers give the accuracies that a report shows |
//!
//! An audit believes the ledger that the run wrote: it finds mistakes, leaks and careless edits. Who forges all of it
//! consistently is found out by running the recipe again, for the same seed gives the same bytes.

mod answers;
mod evidence;
mod files;
mod memory;
mod sides;
mod split;
mod test_data;
mod text;
mod time;

pub use split::{SplitAudit, audit_split};

use crate::error::Result;
use evidence::Evidence;
use serde::Serialize;
use std::path::Path;

/// What an audit found.
#[derive(Clone, Debug, Serialize)]
pub struct Audit {
    /// What gives the run's numbers.
    pub about: About,
    /// Check by check.
    pub checks: Vec<Check>,
}

/// What gives the run's numbers.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// The version of the program.
    pub version: String,
    /// The seed.
    pub seed: u32,
    /// Where it ran.
    pub device: String,
    /// A hash of what the dataset holds.
    pub data: String,
    /// How many tasks are finished.
    pub finished: usize,
    /// How many classes arrive with each task.
    pub tasks: Vec<usize>,
    /// Why its numbers are no result, where they are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
    /// That its extractor was pretrained, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pretrained: Option<String>,
    /// The BLAKE3 digest of the recipe.
    pub recipe_digest: String,
    /// The recipe, nothing left open.
    pub recipe: String,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// What holds, or what does not.
    pub says: String,
    /// What speaks against it.
    pub against: Vec<String>,
}

impl Check {
    /// A check that holds if nothing speaks against it; `says` is what holds, `else_says` what does not.
    fn new(name: &'static str, says: String, else_says: &str, against: Vec<String>) -> Self {
        let holds = against.is_empty();
        Self { name, holds, says: if holds { says } else { else_says.to_owned() }, against }
    }
}

impl Audit {
    /// How many checks do not hold.
    pub fn failed(&self) -> usize {
        self.checks.iter().filter(|check| !check.holds).count()
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data")
    }

    /// As text: a line a check, what speaks against it below, then what gives the numbers.
    pub fn text(&self) -> String {
        text::audit(self)
    }
}

/// Audits the run in the folder `run`; `near` also looks for test images that look like training images.
pub fn audit(run: &Path, near: bool) -> Result<Audit> {
    let evidence = Evidence::read(run)?;
    let start = &evidence.record.start;
    let about = About {
        version: start.version.clone(),
        seed: start.seed,
        device: start.device.clone(),
        data: start.data.clone(),
        finished: evidence.tasks.len(),
        tasks: start.tasks.clone(),
        stamp: start.stamp(),
        pretrained: start.pretrained(),
        recipe_digest: crate::disk::digest(start.recipe.as_bytes()),
        recipe: start.recipe.clone(),
    };
    let checks = vec![
        files::check(&evidence),
        sides::check(&evidence, near),
        memory::check(&evidence),
        time::check(&evidence),
        test_data::check(&evidence),
        answers::check(&evidence),
    ];
    Ok(Audit { about, checks })
}
