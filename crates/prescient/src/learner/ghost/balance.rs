//! The balanced fine-tune: `clf` alone, on as many images of each class, `f` frozen.
//!
//! The main training sees hundreds of images of each new class and a handful of each old one, so its proxies lean
//! towards the new. BatchNorm's statistics stay as they are (the authors' code lets them drift: errata 12).

use super::train::Epochs;
use super::{FinetuneSettings, GhostLearner, Lesson, TrainSettings};
use crate::data::Sample;
use crate::engine::{Schedule, Sgd};
use crate::error::LearnError;
use crate::loss::Terms;
use tch::Tensor;

impl GhostLearner {
    /// Fine-tunes the proxies of all seen classes.
    pub(super) fn finetune(&mut self, lesson: &mut Lesson<'_>) -> Result<(), LearnError> {
        let FinetuneSettings { epochs, lr } = self.settings.finetune;
        // Without a memory there is nothing of the past to balance with.
        if epochs == 0 || !self.memory.covers(lesson.task.past()) {
            return Ok(());
        }
        let new = self.exemplars(lesson)?.samples();
        let samples: Vec<Sample> = lesson.album.loader.data().memory().into_iter().chain(new).collect();

        let proxies = self.classifier.blocks().iter().map(Tensor::shallow_clone);
        let sgd = Sgd::new(proxies, TrainSettings::MOMENTUM, self.settings.train.weight_decay);
        let stage = Epochs { name: "finetune", epochs, lr, schedule: Schedule::Constant, ghosts: false };
        self.epochs(stage, lesson, &samples, &sgd, |learner, _, shown| {
            let features = learner.network.look(&learner.images(shown)).features;
            let similarities = learner.classifier.similarities(&features);
            let scale = learner.classifier.scale().detach();
            let mut terms = Terms::default();
            let classification = &learner.settings.loss.classification;
            terms.push("nca", classification.loss(&similarities, &scale, &shown.targets));
            terms
        })
    }
}
