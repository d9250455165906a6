//! Where a run is written: in one process, whoever else takes part.

use crate::error::RunError;
use crate::experiment::events::Events;
use crate::experiment::folder::RunFolder;
use crate::learner::{Event, Observer};
use std::path::PathBuf;

/// The folder of a run, and what TensorBoard reads in it.
pub(super) struct Output<'a> {
    pub(super) folder: &'a mut RunFolder,
    pub(super) events: Events,
}

impl Output<'_> {
    /// Where task `number` is kept while it is half learned.
    pub(super) fn partial(&self, number: usize) -> PathBuf {
        self.folder.partial(number)
    }

    /// Whether all could be written.
    pub(super) fn check(&mut self) -> Result<(), RunError> {
        self.events.check()
    }
}

impl Observer for Output<'_> {
    fn on_event(&mut self, event: &Event<'_>) {
        self.events.on_event(event);
    }
}
