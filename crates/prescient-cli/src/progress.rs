//! A progress bar with task, stage, epoch, loss terms and time left. Without a terminal it is silent.

use indicatif::{ProgressBar, ProgressStyle};
use prescient::learner::{Event, Observer};

/// Shows how a run goes on.
pub(super) struct Progress {
    bar: ProgressBar,
    task: String,
}

impl Progress {
    /// On stderr; hidden when that is no terminal.
    pub(super) fn new() -> Self {
        let style = ProgressStyle::with_template("{prefix:>10} {bar:30} {pos}/{len}  {eta:>4} left  {msg}")
            .expect("a template of known keys");
        Self { bar: ProgressBar::new(0).with_style(style), task: String::new() }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::TaskStarted { task, of } => {
                self.task = format!("task {task}/{of}");
                tracing::info!("{} begins", self.task);
            }
            Event::StageStarted { stage, steps } => {
                self.bar.reset();
                self.bar.set_length(*steps as u64);
                self.bar.set_prefix(self.task.clone());
                self.bar.set_message((*stage).to_owned());
            }
            Event::Step => self.bar.inc(1),
            Event::Epoch { stage, epoch, of, lr, terms, .. } => {
                let terms: Vec<String> = terms.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
                let terms = terms.join("  ");
                self.bar.set_message(format!("{stage}, epoch {epoch}/{of}  {terms}"));
                tracing::info!("{} {stage}, epoch {epoch}/{of}, lr {lr:.4}: {terms}", self.task);
            }
            Event::Remembered { exemplars, .. } => {
                let images: usize = exemplars.iter().map(|(_, images)| images.len()).sum();
                tracing::info!("{} keeps {images} images of {} classes", self.task, exemplars.len());
            }
            Event::Imagined { .. } => {}
            Event::Fitted { worth } => {
                let task = &self.task;
                let said = match (&worth.why_not, worth.kappa) {
                    (Some(why_not), _) => format!("no guesses at classes without photos: {why_not}"),
                    (None, Some(kappa)) => format!("a description is worth {kappa:.1} photos"),
                    (None, None) => "classes are known by their photos alone".to_owned(),
                };
                self.bar.suspend(|| tracing::info!("{task}: {said}"));
            }
            Event::Scattered { scatter, .. } => {
                tracing::debug!("{} keeps {} features to be drawn", self.task, scatter.real.len());
            }
            Event::Read { images, .. } => tracing::debug!("{} read {} images", self.task, images.len()),
            Event::Evaluated { answers, .. } => {
                let right =
                    (0..answers.truth.len()).filter(|&image| answers.answer(image) == answers.truth[image]).count();
                let (of, task) = (answers.truth.len(), &self.task);
                self.bar.suspend(|| tracing::info!("{task}: {right} of {of} test images of all classes right"));
            }
        }
    }
}
