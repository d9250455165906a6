//! What happens, as lines of the record and as the files beside it.

use crate::evaluation::Scatter;
use crate::experiment::images;
use crate::experiment::record::{Epoch, Evaluation, Kept, Line};
use crate::learner::{Event, Observer};

/// Turns what happens into lines of the record.
pub(super) struct Recorder {
    classes: usize,
    pub(super) lines: Vec<Line>,
    /// The file that names each image.
    pub(super) images: String,
    /// What is kept to be drawn.
    pub(super) scatter: Scatter,
}

impl Recorder {
    pub(super) fn new(classes: usize) -> Self {
        Self { classes, lines: Vec::new(), images: String::new(), scatter: Scatter::default() }
    }
}

impl Observer for Recorder {
    fn on_event(&mut self, event: &Event<'_>) {
        let line = match *event {
            Event::Epoch { task, stage, epoch, lr, terms, .. } => Line::Epoch(Epoch {
                task,
                stage: stage.to_owned(),
                epoch,
                lr,
                terms: terms.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            }),
            Event::Remembered { task, exemplars } => Line::Memory(Kept { task, exemplars: exemplars.to_vec() }),
            Event::Fitted { worth } => Line::Worth(worth.clone()),
            Event::Calibrated { promise } => Line::Promise(promise.clone()),
            Event::Evaluated { task, answers } => Line::Evaluation(Evaluation {
                task,
                confusion: answers.confusion(self.classes),
                answers: answers.clone(),
            }),
            Event::Read { task, stages, images } => {
                self.images = images::to_jsonl(images);
                Line::Images(images::summary(task, stages, images, &self.images))
            }
            Event::Imagined { ghosts, zones, .. } => {
                (self.scatter.ghosts, self.scatter.zones) = (ghosts.clone(), zones.to_vec());
                return;
            }
            Event::Scattered { scatter, .. } => {
                let Scatter { ghosts, zones, .. } = std::mem::take(&mut self.scatter);
                self.scatter = Scatter { ghosts, zones, ..scatter.clone() };
                return;
            }
            Event::Started { .. } | Event::TaskStarted { .. } | Event::StageStarted { .. } | Event::Step => return,
        };
        self.lines.push(line);
    }
}
