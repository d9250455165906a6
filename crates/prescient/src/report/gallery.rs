//! All figures of some runs: those over all of them, and for each kind of run those of one run, task by task.

use crate::report::figure::{
    Figure, accuracy, classes, confusion, difference, few, losses, map, reliability, space, times,
};
use crate::report::runs::{Kind, ReadRun};
use rayon::prelude::*;

/// All figures of some runs.
#[derive(Debug)]
pub struct Gallery<'a> {
    /// The kinds of runs.
    pub kinds: Vec<Kind<'a>>,
    /// Over all runs.
    pub overview: Vec<Figure>,
    /// Over runs that differ in the photos of new classes.
    pub few: Option<Figure>,
    /// Of each kind, in their order.
    pub details: Vec<Detail>,
}

/// The figures of the run that stands for a kind.
#[derive(Debug)]
pub struct Detail {
    /// By task, from the first.
    pub frames: Vec<Vec<(Aspect, Figure)>>,
    /// Of the whole run.
    pub whole: Vec<Figure>,
}

/// What a figure of a task is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// The plane of features.
    Space,
    /// Features of seen classes.
    Seen,
    /// Features of unseen classes.
    Unseen,
    /// Who was taken for whom.
    Confusion,
    /// Class by class.
    Classes,
    /// What probabilities promise.
    Reliability,
}

impl Aspect {
    /// All, in the order in which they are shown.
    pub const ALL: [Aspect; 6] =
        [Aspect::Space, Aspect::Seen, Aspect::Unseen, Aspect::Confusion, Aspect::Classes, Aspect::Reliability];

    /// As a heading.
    pub fn heading(self) -> &'static str {
        match self {
            Aspect::Space => "The feature space",
            Aspect::Seen => "Features of seen classes",
            Aspect::Unseen => "Features of classes still to come",
            Aspect::Confusion => "Who is taken for whom",
            Aspect::Classes => "Class by class",
            Aspect::Reliability => "What probabilities promise",
        }
    }
}

impl<'a> Gallery<'a> {
    /// Draws everything; `step` is told of each task that is drawn.
    pub fn new(runs: &'a [ReadRun], step: &(dyn Fn() + Sync)) -> Self {
        let kinds = Kind::among(runs);
        let mut overview = accuracy::accuracies(&kinds);
        let few = few::few(runs);
        // Runs that differ in their photos are compared by that figure.
        if few.is_none() {
            overview.extend(difference::differences(&kinds));
        }
        let details = kinds.iter().map(|kind| Detail::new(kind, step)).collect();
        Self { kinds, overview, few, details }
    }

    /// Every figure as it is written to a file, the picture of all planes included.
    pub fn files(&self) -> Vec<Figure> {
        let frames = self.details.iter().flat_map(|detail| detail.frames.iter().flatten().map(|(_, figure)| figure));
        let whole = self.details.iter().flat_map(|detail| &detail.whole);
        self.overview
            .iter()
            .chain(&self.few)
            .chain(frames)
            .chain(whole)
            .cloned()
            .chain(space::strip(&self.kinds))
            .collect()
    }
}

impl Detail {
    fn new(kind: &Kind<'_>, step: &(dyn Fn() + Sync)) -> Self {
        let (name, run) = (kind.name.as_str(), kind.first());
        let frame = |task: usize| {
            let figures = frame(name, run, task);
            step();
            figures
        };
        Self {
            frames: (1..=run.finished()).into_par_iter().map(frame).collect(),
            whole: losses::losses(name, run).into_iter().chain(times::times(name, run)).collect(),
        }
    }
}

/// The figures of one task. A plane is drawn as it is; what has more dimensions is mapped.
fn frame(name: &str, run: &ReadRun, task: usize) -> Vec<(Aspect, Figure)> {
    let mut figures = Vec::new();
    match space::space(name, run, task) {
        Some(figure) => figures.push((Aspect::Space, figure)),
        None => figures.extend(map::maps(name, run, task).into_iter().map(|figure| {
            let aspect = if figure.name.ends_with("-unseen") { Aspect::Unseen } else { Aspect::Seen };
            (aspect, figure)
        })),
    }
    if run.run.tasks[task - 1].confusion.is_square() {
        figures.push((Aspect::Confusion, confusion::confusion(name, run, task)));
    }
    figures.push((Aspect::Classes, classes::classes(name, run, task)));
    figures.extend(reliability::reliability(name, run, task).map(|figure| (Aspect::Reliability, figure)));
    figures
}
