//! Several beginnings of the first task, of which the one with the lowest loss goes on.
//!
//! The first weights decide which classes come to lie beside which. In a wide feature space that matters little. In a plane
//! later tasks hardly mend a poor order, and its loss gives it away.

use super::imagine::Ghosts;
use super::train::STAGE as TRAIN;
use super::{GhostLearner, Lesson};
use crate::classifier::CosineClassifier;
use crate::error::LearnError;
use crate::extractor::Network;
use crate::ghost::Generator;
use crate::learner::observer::{Event, Observer};
use crate::seeds::Seeds;

/// What records call the epochs of all tries; those of the one that is kept are the training's.
const STAGE: &str = "try";

/// What a try leaves beside a model.
struct Try {
    ghosts: Option<Ghosts>,
    epochs: Vec<Epoch>,
}

/// What was told of an epoch.
struct Epoch {
    task: usize,
    stage: &'static str,
    epoch: usize,
    of: usize,
    lr: f64,
    terms: Vec<(&'static str, f64)>,
}

/// What a try makes.
struct Model {
    network: Network,
    classifier: CosineClassifier,
    generator: Option<Box<dyn Generator>>,
}

impl GhostLearner {
    /// Trains `train.tries` times, each time from other first weights and in another order, and goes on with the model whose
    /// loss over its last epoch is lowest. The first try is the training there would be if there were no others.
    ///
    /// A loss that is no number ends a run here as elsewhere: where one try diverges, the rate is too high for all.
    pub(super) fn train_tries(&mut self, lesson: &mut Lesson<'_>, ghosts: bool) -> Result<(), LearnError> {
        let seeds = self.seeds;
        let best = self.best_of_tries(lesson, ghosts);
        self.seeds = seeds;
        let best = best?;
        lesson.ghosts = best.ghosts;
        for Epoch { task, stage, epoch, of, lr, ref terms } in best.epochs {
            lesson.observer.notice(&Event::Epoch { task, stage, epoch, of, lr, terms });
        }
        Ok(())
    }

    /// Draws from other seeds each time, and leaves the last ones behind.
    fn best_of_tries(&mut self, lesson: &mut Lesson<'_>, ghosts: bool) -> Result<Try, LearnError> {
        let seeds = self.seeds;
        let mut best = self.tried(lesson, 0, ghosts)?;
        for number in 1..self.settings.train.restarts {
            let model = self.start_over(seeds.child(STAGE, number));
            let other = self.tried(lesson, number, ghosts)?;
            match other.loss() < best.loss() {
                true => best = other,
                false => self.take_up(model),
            }
        }
        Ok(best)
    }

    fn tried(&mut self, lesson: &mut Lesson<'_>, number: usize, ghosts: bool) -> Result<Try, LearnError> {
        let tries = self.settings.train.restarts;
        let mut told = Told { number, tries, epochs: Vec::new(), observer: &mut *lesson.observer };
        let mut attempt = Lesson::new(lesson.task, lesson.album.clone(), None, &mut told);
        self.train_once(&mut attempt, ghosts)?;
        Ok(Try { ghosts: attempt.ghosts.take(), epochs: told.epochs })
    }

    /// Knows nothing again, and draws from `seeds` what comes next. Answers with what it knew.
    fn start_over(&mut self, seeds: Seeds) -> Model {
        let (network, classifier) = Self::beginning(&self.settings, &self.sealed, seeds, self.device);
        self.seeds = seeds;
        Model {
            network: std::mem::replace(&mut self.network, network),
            classifier: std::mem::replace(&mut self.classifier, classifier),
            generator: self.generator.take(),
        }
    }

    fn take_up(&mut self, model: Model) {
        Model { network: self.network, classifier: self.classifier, generator: self.generator } = model;
    }
}

impl Try {
    /// What was minimized, over the last epoch.
    fn loss(&self) -> f64 {
        let trained = self.epochs.iter().rfind(|epoch| epoch.stage == TRAIN).expect("a training has an epoch");
        trained.terms.iter().map(|(_, value)| value).sum()
    }
}

/// Tells of a try as it goes on, and keeps what is to be told of it once it is known to be the one.
struct Told<'a> {
    /// From 0.
    number: usize,
    tries: usize,
    epochs: Vec<Epoch>,
    observer: &'a mut dyn Observer,
}

impl Observer for Told<'_> {
    fn notice(&mut self, event: &Event<'_>) {
        let Event::Epoch { task, stage, epoch, of, lr, terms } = *event else {
            return self.observer.notice(event);
        };
        if stage == TRAIN {
            let (epoch, of) = (self.number * of + epoch, self.tries * of);
            self.observer.notice(&Event::Epoch { task, stage: STAGE, epoch, of, lr, terms });
        }
        self.epochs.push(Epoch { task, stage, epoch, of, lr, terms: terms.to_vec() });
    }
}
