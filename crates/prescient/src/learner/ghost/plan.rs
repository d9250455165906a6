//! What a task does, decided before it begins. Nothing else decides whether a stage runs.
//!
//! | stage | what | when |
//! | --- | --- | --- |
//! | imprint | proxies of the new classes start from their images under `f^{t−1}`, or from their ghosts | t ≥ 2 |
//! | train | `f` and `clf`; distillation when t ≥ 2; with ghosts of the future when 1 < t < T, on demand when t = 1 too | all |
//! | finetune | `clf` on as many images of each class, `f` frozen | t ≥ 2, with a memory |
//! | remember | herd exemplars of the new classes with `f^t` | all |
//! | features | of all seen classes under `f^t` | t < T, with ghosts or as a control |
//! | generator | train `g` on features of all seen classes | t < T, with ghosts |
//! | complete | a classifier for all classes on real features and ghosts, `f` frozen; for the seen ones as a control | as features |
//!
//! Then all classes are evaluated. Where this differs from Algorithm 1 as printed: errata 1 to 5.

use super::settings::{GhostSettings, LearnSettings};
use crate::ghost::GeneratorKind;
use crate::loss::DistillationKind;
use crate::scenario::Task;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where proxies of the new classes start, for a classifier that has some already.
    pub imprint: Option<Imprint>,
    /// The main training.
    pub train: Training,
    /// Whether the classifier is fine-tuned on as many images of each class.
    pub finetune: bool,
    /// Whether `g` is trained.
    pub generator: bool,
    /// The classifier that answers, where it is not the one that was trained.
    pub complete: Option<Complete>,
}

/// Where the proxies of new classes start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imprint {
    /// At the mean of their features under `f^{t−1}`.
    FromImages,
    /// At the proxies that their ghosts trained in the task before.
    FromGhosts,
}

/// The main training of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Training {
    /// Whether `f^{t−1}` is a teacher.
    pub distill: bool,
    /// Whether ghosts of the future take part (Eq. 4), and the planes that keep room for them (Eq. 5).
    pub ghosts: bool,
    /// How often it is done from new initial weights; the best is kept.
    pub restarts: usize,
}

/// A classifier that is trained once `f` is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complete {
    /// For all classes, on real features and ghosts.
    AllClasses,
    /// For seen classes alone: the control of the base model.
    SeenClasses,
}

impl Plan {
    /// The plan of `task`.
    pub fn new(task: &Task<'_>, settings: &LearnSettings) -> Self {
        let LearnSettings { train, finetune, memory, ghosts, complete, loss, .. } = settings;
        let (first, last) = (task.is_first(), task.is_last());
        // Task 1 has no generator yet, unless one is made for it; the last task has no future left: errata 5.
        let with_ghosts = |number: usize| ghosts.enabled() && (number > 1 || ghosts.refresh_epochs > 0);
        Self {
            imprint: (!first).then(|| match ghosts.init_from_ghosts && with_ghosts(task.number() - 1) {
                true => Imprint::FromGhosts,
                false => Imprint::FromImages,
            }),
            train: Training {
                distill: !first && loss.distillation != DistillationKind::None,
                ghosts: with_ghosts(task.number()) && !last,
                restarts: if first { train.restarts } else { 1 },
            },
            finetune: !first && finetune.epochs > 0 && memory.per_class > 0,
            generator: !last && trainable(ghosts),
            complete: match (last, ghosts.enabled(), complete.seen_only) {
                (true, _, _) | (false, false, false) => None,
                (false, true, false) => Some(Complete::AllClasses),
                (false, _, true) => Some(Complete::SeenClasses),
            },
        }
    }

    /// The names of its stages, in order, as records have them.
    pub fn stages(&self) -> Vec<&'static str> {
        let stages = [
            (self.imprint.is_some(), "imprint"),
            (true, "train"),
            (self.finetune, "finetune"),
            (true, "remember"),
            (self.complete.is_some(), "features"),
            (self.generator, "generator"),
            (self.complete.is_some(), "complete"),
        ];
        stages.into_iter().filter_map(|(runs, name)| runs.then_some(name)).collect()
    }
}

/// Whether there is a generator to train: features of actual images need none.
fn trainable(ghosts: &GhostSettings) -> bool {
    ghosts.enabled() && ghosts.generator != GeneratorKind::Real
}
