//! What a model answered, and what that says about it. No tensors, no model: everything comes from the answers.

mod abstain;
mod confusion;
mod likeness;
pub mod metrics;
mod promise;
mod reliability;
mod scatter;
pub mod statistics;
mod trade;
mod worth;

pub use abstain::{Abstain, Weighed};
pub use confusion::Confusion;
pub use likeness::{Inspection, Likeness};
pub use metrics::{METRICS, Metric};
pub use promise::Promise;
pub use reliability::{BINS, Bin, Reliability, Statement};
pub use scatter::{Points, Scatter, Zone};
pub use trade::{Trade, harmonic};
pub use worth::{Misleading, SourceWorth, Worth};

use crate::class::{Slot, Slots};
use serde::{Deserialize, Serialize};

/// The best of some classes for each test image, with its score.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Best {
    /// The class.
    pub slots: Vec<Slot>,
    /// Its similarity, `ŷ / η`.
    pub scores: Vec<f32>,
}

/// The answers for all test images after a task.
///
/// Scores are kept, not just the winner, so that any trade between seen and unseen classes can be judged later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// What each image shows.
    pub truth: Vec<Slot>,
    /// The best seen class.
    pub seen: Best,
    /// The best unseen class, for a model that guesses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Best>,
    /// What calibration takes off the scores of seen classes, for the best harmonic mean. Chosen without test data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<f32>,
    /// What the model itself takes off them when it answers. Chosen without test data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_offset: Option<f32>,
    /// How probable the model finds what it says. Records of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<Probabilities>,
}

/// How probable a model finds what it says of each test image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probabilities {
    /// Its answer.
    pub answer: Vec<f32>,
    /// That the class is one without photos: the sum over those, for a model that guesses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<f32>,
}

impl Probabilities {
    /// Whether they are probabilities of so many images.
    pub(crate) fn fit(&self, images: usize) -> bool {
        let mut all = self.answer.iter().chain(&self.unseen);
        let counts = self.answer.len() == images && (self.unseen.is_empty() || self.unseen.len() == images);
        // A sum of many may be a little more than 1.
        counts && all.all(|probability| (0.0..=1.001).contains(probability))
    }
}

impl Answers {
    /// The model's answer for image `index`: all classes compete.
    pub fn answer(&self, index: usize) -> Slot {
        self.answer_with(self.own_offset.unwrap_or(0.0), index)
    }

    /// The answer once `offset` is taken off the scores of seen classes.
    pub fn answer_with(&self, offset: f32, index: usize) -> Slot {
        match &self.unseen {
            Some(unseen) if unseen.scores[index] > self.seen.scores[index] - offset => unseen.slots[index],
            _ => self.seen.slots[index],
        }
    }

    /// Answers with the calibration for the harmonic mean, counted by class, where there is one.
    pub fn calibrated(&self, classes: usize) -> Option<Confusion> {
        self.offset.map(|offset| self.counted(classes, offset))
    }

    /// Answers without any calibration, counted by class, for a model that guesses.
    pub fn uncalibrated(&self, classes: usize) -> Option<Confusion> {
        self.unseen.as_ref().map(|_| self.counted(classes, 0.0))
    }

    /// The model's answers, counted by class.
    pub fn confusion(&self, classes: usize) -> Confusion {
        self.counted(classes, self.own_offset.unwrap_or(0.0))
    }

    /// That each answer is right, where probabilities are known.
    pub fn confidences(&self) -> Option<Vec<Statement>> {
        let is_right = |index: usize| self.answer(index) == self.truth[index];
        let stated = |(index, probability): (usize, &f32)| (f64::from(*probability), is_right(index));
        self.probabilities.as_ref().map(|all| all.answer.iter().enumerate().map(stated).collect())
    }

    /// That each image shows a class without photos, for a model that guesses.
    pub fn novelties(&self, is_seen: impl Fn(Slot) -> bool) -> Option<Vec<Statement>> {
        let all = self.probabilities.as_ref().filter(|all| !all.unseen.is_empty())?;
        let stated = |(probability, truth): (&f32, &Slot)| (f64::from(*probability), !is_seen(*truth));
        Some(all.unseen.iter().zip(&self.truth).map(stated).collect())
    }

    fn counted(&self, classes: usize, offset: f32) -> Confusion {
        let mut confusion = Confusion::new(classes);
        for (index, truth) in self.truth.iter().enumerate() {
            confusion.count(*truth, self.answer_with(offset, index));
        }
        confusion
    }
}

/// What one task left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// `C^t`.
    pub present: Slots,
    /// Its confusion over all classes.
    pub confusion: Confusion,
    /// The answers behind it, with scores.
    pub answers: Answers,
}

/// A run as metrics see it: what each finished task left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// All classes that arrive: those with images.
    pub classes: usize,
    /// Task by task.
    pub tasks: Vec<Judged>,
}

impl Run {
    /// `C^{1:t}` of task `t`, from 1.
    pub fn seen(&self, task: usize) -> Slots {
        Slots::new(0, self.tasks[task - 1].present.range().end)
    }

    /// `C^{1:t−1}`.
    pub fn past(&self, task: usize) -> Slots {
        Slots::new(0, self.tasks[task - 1].present.range().start)
    }

    /// `C^{t+1:T}`.
    pub fn unseen(&self, task: usize) -> Slots {
        Slots::new(self.tasks[task - 1].present.range().end, self.classes)
    }

    /// The same run with no offset on the scores of seen classes.
    pub fn without_offset(&self) -> Self {
        let mut run = self.clone();
        for task in &mut run.tasks {
            if let Some(confusion) = task.answers.uncalibrated(self.classes) {
                task.confusion = confusion;
            }
            task.answers.own_offset = None;
            task.answers.probabilities = None;
        }
        run
    }

    /// Whether the model takes an offset off the scores of seen classes after some task.
    pub fn has_offset(&self) -> bool {
        self.tasks.iter().any(|task| task.answers.own_offset.is_some_and(|offset| offset != 0.0))
    }

    /// All classes.
    pub fn all(&self) -> Slots {
        Slots::new(0, self.classes)
    }

    /// `R[after][of]`: the accuracy on the classes of task `of` after task `after`, all classes competing.
    pub fn grid(&self, after: usize, of: usize) -> Option<f64> {
        self.tasks[after - 1].confusion.accuracy(self.tasks[of - 1].present)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record may be made by anybody: one probability too many was read beyond the answers.
    #[test]
    fn probabilities_are_as_many_as_images() {
        let fit =
            |answer: &[f32], unseen: &[f32]| Probabilities { answer: answer.to_vec(), unseen: unseen.to_vec() }.fit(2);
        assert!(fit(&[0.5, 1.0], &[]) && fit(&[0.0, 0.2], &[0.1, 1.000_1]));
        assert!(!fit(&[0.5, 0.5, 0.5], &[]) && !fit(&[0.5], &[]) && !fit(&[0.5, 0.5], &[0.5]));
        assert!(!fit(&[0.5, f32::NAN], &[]) && !fit(&[0.5, -0.1], &[]) && !fit(&[0.5, 7.0], &[]));
    }

    /// Three images. Without the unseen scores image 1 goes to seen slot 1; with them to slot 2, which is right.
    #[test]
    fn all_classes_compete() {
        let seen = Best { slots: vec![Slot(0), Slot(1), Slot(1)], scores: vec![0.9, 0.2, 0.4] };
        let unseen = Best { slots: vec![Slot(2), Slot(2), Slot(2)], scores: vec![0.1, 0.3, 0.4] };
        let truth = vec![Slot(0), Slot(2), Slot(1)];
        let guessing = Answers { truth: truth.clone(), seen: seen.clone(), unseen: Some(unseen), ..Default::default() };
        let blind = Answers { truth, seen, ..Default::default() };
        assert_eq!(guessing.confusion(3).accuracy(Slots::new(0, 3)), Some(1.0));
        assert_eq!(blind.confusion(3).accuracy(Slots::new(0, 3)), Some(2.0 / 3.0));
        assert_eq!(blind.confusion(3).accuracy(Slots::new(2, 3)), Some(0.0));
    }

    /// Without an offset image 2, of slot 1, goes to seen slot 1; with 0.1 off the seen scores to slot 2.
    #[test]
    fn a_model_may_take_something_off_seen_scores() {
        let seen = Best { slots: vec![Slot(1)], scores: vec![0.4] };
        let unseen = Some(Best { slots: vec![Slot(2)], scores: vec![0.35] });
        let plain = Answers { truth: vec![Slot(1)], seen, unseen, ..Default::default() };
        let leaning = Answers { own_offset: Some(0.1), ..plain.clone() };
        assert_eq!((plain.answer(0), leaning.answer(0)), (Slot(1), Slot(2)));
        assert_eq!(leaning.uncalibrated(3), Some(plain.confusion(3)));
        assert_eq!(leaning.calibrated(3), None);
    }
}
