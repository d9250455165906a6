//! Several starts of the first task, of which the one with the lowest loss is kept.
//!
//! The initial weights decide which classes come to lie beside which. With long features that matters little. With 2-d
//! features later tasks hardly mend a poor order, and its loss gives it away.

use super::GhostLearner;
use super::imagination::Imagination;
use super::lesson::Lesson;
use super::train::{STAGE as TRAIN, Trained, train_once};
use crate::classifier::CosineClassifier;
use crate::error::LearnError;
use crate::extractor::Network;
use crate::learner::{Event, Observer};

/// What records call the epochs of all starts; those of the one that is kept are the training's.
const STAGE: &str = "restart";

/// One training from initial weights of its own, and the model it made.
struct Start {
    network: Network,
    classifier: CosineClassifier,
    imagination: Imagination,
    trained: Trained,
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

/// Trains `restarts` times, each time from other initial weights and in another order, and keeps the model whose loss over its
/// last epoch is lowest. The first is the training there would be if there were no others.
///
/// A loss that is no number ends a run here as elsewhere: where one start diverges, the rate is too high for all.
pub(super) fn best_of_restarts(
    model: &mut GhostLearner,
    lesson: &mut Lesson<'_>,
    restarts: usize,
) -> Result<Trained, LearnError> {
    let seeds = model.seeds;
    let starts = (0..restarts).map(|number| {
        if number > 0 {
            model.seeds = seeds.child("try", number);
        }
        start(model, lesson, number, restarts)
    });
    let best = starts.reduce(|best, other| {
        let (best, other) = (best?, other?);
        Ok(if other.loss() < best.loss() { other } else { best })
    });
    model.seeds = seeds;
    let best = best.expect("at least one start")?;
    (model.network, model.classifier, model.imagination) = (best.network, best.classifier, best.imagination);
    for Epoch { task, stage, epoch, of, lr, ref terms } in best.epochs {
        lesson.observer.on_event(&Event::Epoch { task, stage, epoch, of, lr, terms });
    }
    Ok(best.trained)
}

/// One of them, from the initial weights of the model's seeds.
fn start(
    model: &mut GhostLearner,
    lesson: &mut Lesson<'_>,
    number: usize,
    restarts: usize,
) -> Result<Start, LearnError> {
    model.reset()?;
    let mut told = Told { number, restarts, epochs: Vec::new(), observer: &mut *lesson.observer };
    let mut attempt = Lesson {
        task: lesson.task,
        plan: lesson.plan,
        batches: lesson.batches.clone(),
        held_out: lesson.held_out.clone(),
        observer: &mut told,
    };
    let trained = train_once(model, &mut attempt, None)?;
    let epochs = told.epochs;
    let (network, classifier, imagination) = model.take_model()?;
    Ok(Start { network, classifier, imagination, trained, epochs })
}

impl Start {
    /// What was minimized, over the last epoch.
    fn loss(&self) -> f64 {
        let trained = self.epochs.iter().rfind(|epoch| epoch.stage == TRAIN).expect("a training has an epoch");
        trained.terms.iter().map(|(_, value)| value).sum()
    }
}

/// Tells of a start as it goes on, and keeps what is to be told of it once it is known to be the one.
struct Told<'a> {
    /// From 0.
    number: usize,
    restarts: usize,
    epochs: Vec<Epoch>,
    observer: &'a mut dyn Observer,
}

impl Observer for Told<'_> {
    fn on_event(&mut self, event: &Event<'_>) {
        let Event::Epoch { task, stage, epoch, of, lr, terms } = *event else {
            return self.observer.on_event(event);
        };
        if stage == TRAIN {
            let (epoch, of) = (self.number * of + epoch, self.restarts * of);
            self.observer.on_event(&Event::Epoch { task, stage: STAGE, epoch, of, lr, terms });
        }
        self.epochs.push(Epoch { task, stage, epoch, of, lr, terms: terms.to_vec() });
    }

    fn stops(&self) -> bool {
        self.observer.stops()
    }
}
