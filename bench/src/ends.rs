//! How long an epoch of main training takes, once it runs as it will go on.

use prescient::learner::{Event, Observer};
use std::time::Instant;

/// So many epochs are enough to see it: a short last batch comes once an epoch, and its fourth is recorded.
pub(super) const ENOUGH: usize = 6;

/// When epochs of main training ended, by task.
#[derive(Default)]
pub(super) struct Ends(Vec<(usize, Instant)>);

impl Observer for Ends {
    fn on_event(&mut self, event: &Event<'_>) {
        if let Event::Epoch { stage: "train", task, .. } = event {
            self.0.push((*task, Instant::now()));
        }
    }
}

impl Ends {
    /// The mean of the last two epochs of a task, in seconds: by then all steps are recorded.
    pub(super) fn last_two(&self, task: usize) -> f64 {
        let ends: Vec<Instant> = self.0.iter().filter(|(of, _)| *of == task).map(|(_, end)| *end).collect();
        assert!(ends.len() >= ENOUGH, "at least {ENOUGH} epochs, for the first ones record");
        (ends[ends.len() - 1] - ends[ends.len() - 3]).as_secs_f64() / 2.0
    }
}
