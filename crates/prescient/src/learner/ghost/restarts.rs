//! Several starts of the first task, of which the one with the lowest loss is kept.
//!
//! The initial weights decide which classes come to lie beside which. With long features that matters little. With 2-d
//! features later tasks hardly mend a poor order, and its loss gives it away.

use super::imagination::Imagination;
use super::lesson::Lesson;
use super::progress::Open;
use super::train::{STAGE as TRAIN, Trained, train_once};
use super::{GhostLearner, named_tensors};
use crate::classifier::CosineClassifier;
use crate::engine::Changing;
use crate::error::LearnError;
use crate::extractor::Network;
use crate::learner::{Event, Observer};
use tch::{Kind, Tensor};

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
    // Where another process was, there is a best one already, whose tensors are read into this.
    let mut best = if lesson.progress.goes_on() { Some(Start::blank(model, lesson)?) } else { None };
    let open = lesson.progress.begin(STAGE, restarts, &changing(best.as_ref()), lesson.data())?;
    best = best.filter(|_| open.first > 0).map(|best| Start { epochs: told_before(lesson, &open, restarts), ..best });
    for number in open.first..restarts {
        if number > 0 {
            model.seeds = seeds.child("try", number);
        }
        let other = start(model, lesson, number, restarts);
        model.seeds = seeds;
        let other = other?;
        best = best.filter(|best| other.loss() >= best.loss()).or(Some(other));
        lesson.progress.epoch(&open, number + 1, &changing(best.as_ref()), Some(lesson.data()))?;
    }
    let best = best.expect("at least one start");
    (model.network, model.classifier, model.imagination) = (best.network, best.classifier, best.imagination);
    for Epoch { task, stage, epoch, of, lr, ref terms } in best.epochs {
        lesson.observer.on_event(&Event::Epoch { task, stage, epoch, of, lr, terms });
    }
    Ok(best.trained)
}

/// What is kept of the best start so far.
fn changing(best: Option<&Start>) -> Changing {
    let tensors = |best: &Start| {
        let ghosts = ("ghosts.proxies".to_owned(), best.trained.ghost_proxies.shallow_clone());
        named_tensors(&best.network, &best.classifier, &best.imagination).into_iter().chain([ghosts]).collect()
    };
    Changing { left: best.map_or_else(Vec::new, tensors), meanwhile: Vec::new() }
}

/// Tells again what was told of the starts before, and comes back with the epochs of the best of them.
fn told_before(lesson: &mut Lesson<'_>, open: &Open, restarts: usize) -> Vec<Epoch> {
    let task = lesson.number();
    let mut lines = open.told.iter();
    let mut best: Option<Vec<Epoch>> = None;
    for number in 0..open.first {
        let mut told = Told { number, restarts, epochs: Vec::new(), observer: &mut *lesson.observer };
        let over = |epochs: &[Epoch]| epochs.last().is_some_and(|last| last.stage == TRAIN && last.epoch == last.of);
        while !over(&told.epochs)
            && let Some(line) = lines.next()
        {
            line.again(task, &mut told);
        }
        let epochs = told.epochs;
        best = best.filter(|best| loss(&epochs) >= loss(best)).or(Some(epochs));
    }
    best.unwrap_or_default()
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
        progress: lesson.progress.clone(),
        observer: &mut told,
    };
    let trained = train_once(model, &mut attempt, None)?;
    let epochs = told.epochs;
    let (network, classifier, imagination) = model.take_model()?;
    Ok(Start { network, classifier, imagination, trained, epochs })
}

impl Start {
    /// One that is yet to be read.
    fn blank(model: &mut GhostLearner, lesson: &Lesson<'_>) -> Result<Self, LearnError> {
        let (width, device) = (model.network.width() as i64, model.device);
        let zeros = |rows: usize| Tensor::zeros([rows as i64, width], (Kind::Float, device));
        model.reset()?;
        model.classifier.add(&zeros(lesson.task.present().len()));
        let (network, classifier, imagination) = model.take_model()?;
        let ghosts = if lesson.plan.train.ghosts { lesson.task.future().len() } else { 0 };
        let trained = Trained { ghost_proxies: zeros(ghosts) };
        Ok(Self { network, classifier, imagination, trained, epochs: Vec::new() })
    }

    fn loss(&self) -> f64 {
        loss(&self.epochs)
    }
}

/// What was minimized, over the last epoch.
fn loss(epochs: &[Epoch]) -> f64 {
    let trained = epochs.iter().rfind(|epoch| epoch.stage == TRAIN).expect("a training has an epoch");
    trained.terms.iter().map(|(_, value)| value).sum()
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
