//! One task while it is learned: its plan, its images, and who is told about it.

use super::GhostLearner;
use super::held_out::HeldOut;
use super::plan::Plan;
use super::progress::{Open, Progress};
use crate::class::Slot;
use crate::data::Sample;
use crate::engine::{Changing, Pass, TaskBatches, pieces};
use crate::error::LearnError;
use crate::learner::{Event, Observer};
use crate::predictor::BATCH_SIZE;
use crate::protocol::TaskData;
use crate::scenario::Task;
use std::collections::BTreeMap;
use std::rc::Rc;
use tch::{Kind, Tensor};

/// One task while it is learned.
pub(super) struct Lesson<'a> {
    pub(super) task: Task<'a>,
    pub(super) plan: Plan,
    pub(super) batches: Rc<TaskBatches>,
    pub(super) held_out: Rc<HeldOut>,
    pub(super) progress: Progress,
    pub(super) observer: &'a mut dyn Observer,
}

/// The features of a class, `[images, width]`, and the images they are of.
pub(super) struct ClassFeatures {
    pub(super) samples: Vec<Sample>,
    pub(super) features: Tensor,
}

impl Lesson<'_> {
    /// The number of the task, from 1.
    pub(super) fn number(&self) -> usize {
        self.task.number()
    }

    /// A stage of the plan begins.
    pub(super) fn enter(&self, stage: &'static str) {
        self.data().enter(stage);
    }

    /// What the task may read.
    pub(super) fn data(&self) -> &TaskData {
        self.batches.data()
    }

    /// The images of new classes that train.
    pub(super) fn present(&self) -> Vec<Sample> {
        self.training(self.data().present())
    }

    /// The exemplars that train.
    pub(super) fn memory(&self) -> Vec<Sample> {
        self.training(self.data().memory())
    }

    /// What trains: images of new classes, and the memory.
    pub(super) fn readable(&self) -> Vec<Sample> {
        [self.present(), self.memory()].concat()
    }

    /// What trains nothing, of new classes and of the memory.
    pub(super) fn held_out(&self) -> Vec<Sample> {
        let all = self.data().present().into_iter().chain(self.data().memory());
        all.filter(|sample| self.held_out.contains(sample)).collect()
    }

    /// Those of `samples` that train.
    pub(super) fn training(&self, samples: Vec<Sample>) -> Vec<Sample> {
        samples.into_iter().filter(|sample| !self.held_out.contains(sample)).collect()
    }

    /// Tells that a stage begins, or goes on where another has come between.
    pub(super) fn start(&mut self, stage: &'static str, steps: usize) {
        self.observer.on_event(&Event::StageStarted { stage, steps });
    }

    /// A stage of `of` epochs begins, or goes on where another process was; then what was told of it is told again.
    pub(super) fn begin(&mut self, stage: &'static str, of: usize, changing: &Changing) -> Result<Open, LearnError> {
        let open = self.progress.begin(stage, of, changing, self.batches.data())?;
        open.told.iter().for_each(|told| told.again(self.task.number(), self.observer));
        Ok(open)
    }

    /// Tells of an epoch.
    pub(super) fn tell(&mut self, event: &Event<'_>) {
        self.progress.note(event);
        self.observer.on_event(event);
    }
}

/// The features of `samples` under the present `f`, by class. Each process computes those of some batches. Batches are large, for nothing is kept for gradients.
pub(super) fn features(
    model: &GhostLearner,
    lesson: &Lesson<'_>,
    samples: &[Sample],
    pass: Pass,
) -> Result<BTreeMap<Slot, ClassFeatures>, LearnError> {
    let own = pieces(model.processes.part(samples.len(), BATCH_SIZE), BATCH_SIZE);
    let mut parts = vec![Tensor::zeros([0, model.network.width() as i64], (Kind::Float, model.device))];
    for batch in lesson.batches.pieces(samples, pass, own) {
        parts.push(model.network.forward_eval(&batch?.images(model.network.image_kind())).features);
    }
    let all = model.processes.gather_rows(&Tensor::cat(&parts, 0))?;
    let mut by_class: BTreeMap<Slot, (Vec<Sample>, Vec<i64>)> = BTreeMap::new();
    for (row, sample) in pass.order(samples).into_iter().enumerate() {
        let (samples, rows) = by_class.entry(lesson.data().slot(&sample)).or_default();
        samples.push(sample);
        rows.push(row as i64);
    }
    let of_class = |(samples, rows): (Vec<Sample>, Vec<i64>)| {
        let rows = Tensor::from_slice(&rows).to_device(model.device);
        ClassFeatures { samples, features: all.index_select(0, &rows) }
    };
    Ok(by_class.into_iter().map(|(slot, parts)| (slot, of_class(parts))).collect())
}
