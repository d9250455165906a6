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
        // The last task has no future left (errata 5), unless classes are described that no task brings. An oracle needs images.
        let (first, last) = match ghosts.reads_the_future() {
            true => (task.is_first(), task.is_last()),
            false => (task.is_first(), task.future().is_empty()),
        };
        // Task 1 has no generator yet, unless one is made for it.
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

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use crate::data::{Normalization, View};
    use crate::loss::LossSettings;
    use crate::memory::MemorySettings;

    const NORMALIZATION: Normalization = Normalization { mean: [0.5; 3], std: [0.25; 3] };

    /// The base model: everything at the paper's values, no ghosts.
    pub(in crate::learner::ghost) fn base() -> LearnSettings {
        LearnSettings {
            model: Default::default(),
            loss: LossSettings::default(),
            train: Default::default(),
            finetune: Default::default(),
            memory: MemorySettings::default(),
            ghosts: GhostSettings::default(),
            complete: Default::default(),
            calibrate: Default::default(),
            view: View { size: 32, resize: 32, augmentation: Default::default() },
            normalization: NORMALIZATION,
            compute: Default::default(),
            threads: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::base;
    use super::*;
    use crate::scenario::{Order, Scenario};

    /// The Ghost model at the paper's values.
    fn ghost() -> LearnSettings {
        let generator = GeneratorKind::Gmmn(Default::default());
        LearnSettings { ghosts: GhostSettings { generator, ..Default::default() }, ..base() }
    }

    /// The plan of each task of `split`.
    fn plans(split: &str, settings: &LearnSettings) -> Vec<Plan> {
        let split: crate::scenario::Split = split.parse().expect("a split");
        let names: Vec<String> = (0..split.classes()).map(|class| format!("class {class}")).collect();
        let scenario = Scenario::new(&names, &Order::Listed, &split).expect("a scenario");
        scenario.iter().map(|task| Plan::new(&task, settings)).collect()
    }

    fn stages(split: &str, settings: &LearnSettings) -> Vec<String> {
        plans(split, settings).iter().map(|plan| plan.stages().join(" ")).collect()
    }

    /// In which tasks of `split` ghosts take part in the main training.
    fn with_ghosts(split: &str, settings: &LearnSettings) -> Vec<bool> {
        plans(split, settings).iter().map(|plan| plan.train.ghosts).collect()
    }

    #[test]
    fn three_tasks() {
        let first = "train remember features generator complete";
        let second = "imprint train finetune remember features generator complete";
        let third = "imprint train finetune remember";
        assert_eq!(stages("4+2+2", &ghost()), [first, second, third]);
        let plans = plans("4+2+2", &ghost());
        assert_eq!(plans.iter().map(|plan| plan.train.distill).collect::<Vec<_>>(), [false, true, true]);
        assert_eq!(with_ghosts("4+2+2", &ghost()), [false, true, false]);
        let complete = [Some(Complete::AllClasses), Some(Complete::AllClasses), None];
        assert_eq!(plans.iter().map(|plan| plan.complete).collect::<Vec<_>>(), complete);
        let imprint = [None, Some(Imprint::FromImages), Some(Imprint::FromImages)];
        assert_eq!(plans.iter().map(|plan| plan.imprint).collect::<Vec<_>>(), imprint);
    }

    /// The paper's 25+5×5: ghosts in tasks 2 to 5, a generator in tasks 1 to 5, one training each.
    #[test]
    fn six_tasks() {
        let plans = plans("25+5x5", &ghost());
        assert_eq!(with_ghosts("25+5x5", &ghost()), [false, true, true, true, true, false]);
        let generator: Vec<bool> = plans.iter().map(|plan| plan.generator).collect();
        assert_eq!(generator, [true, true, true, true, true, false]);
        assert!(plans.iter().all(|plan| plan.train.restarts == 1));
    }

    #[test]
    fn one_task_is_joint_training() {
        for settings in [base(), ghost()] {
            assert_eq!(stages("10", &settings), ["train remember"]);
            assert_eq!(with_ghosts("10", &settings), [false]);
        }
    }

    #[test]
    fn ghosts_can_come_first_and_never_last() {
        let mut settings = ghost();
        settings.ghosts.refresh_epochs = 3;
        assert_eq!(with_ghosts("4+2+2+2", &settings), [true, true, true, false]);
        assert_eq!(with_ghosts("10", &settings), [false], "the first task is also the last");
    }

    #[test]
    fn the_base_model_imagines_nothing() {
        let later = "imprint train finetune remember";
        assert_eq!(stages("4+2+2", &base()), ["train remember", later, later]);
        assert_eq!(with_ghosts("4+2+2", &base()), [false; 3]);
    }

    /// The control trains its seen proxies as the Ghost model does, without ghosts; with a generator too it is one.
    #[test]
    fn the_control_completes_seen_classes_alone() {
        for mut settings in [base(), ghost()] {
            settings.complete.seen_only = true;
            let complete: Vec<_> = plans("4+2+2", &settings).iter().map(|plan| plan.complete).collect();
            assert_eq!(complete, [Some(Complete::SeenClasses), Some(Complete::SeenClasses), None]);
        }
        let mut control = base();
        control.complete.seen_only = true;
        let second = "imprint train finetune remember features complete";
        assert_eq!(stages("4+2+2", &control)[1], second, "nothing is generated");
    }

    /// Classes of task 2 have ghost proxies only where ghosts came first; those of task 3 have them anyway.
    #[test]
    fn new_classes_can_start_from_their_ghosts() {
        let imprint = |settings: &LearnSettings| -> Vec<Option<Imprint>> {
            plans("4+2+2", settings).iter().map(|plan| plan.imprint).collect()
        };
        let mut settings = ghost();
        settings.ghosts.init_from_ghosts = true;
        assert_eq!(imprint(&settings), [None, Some(Imprint::FromImages), Some(Imprint::FromGhosts)]);
        settings.ghosts.refresh_epochs = 1;
        assert_eq!(imprint(&settings), [None, Some(Imprint::FromGhosts), Some(Imprint::FromGhosts)]);
        settings.ghosts.generator = GeneratorKind::None;
        assert_eq!(imprint(&settings), [None, Some(Imprint::FromImages), Some(Imprint::FromImages)]);
    }

    #[test]
    fn there_is_nothing_to_balance_without_a_memory() {
        let mut settings = ghost();
        settings.memory.per_class = 0;
        assert!(plans("4+2+2", &settings).iter().all(|plan| !plan.finetune));
        let mut settings = ghost();
        settings.finetune.epochs = 0;
        assert!(plans("4+2+2", &settings).iter().all(|plan| !plan.finetune));
    }

    #[test]
    fn only_the_first_task_restarts_and_actual_images_need_no_generator() {
        let mut settings = ghost();
        settings.train.restarts = 5;
        let restarts: Vec<usize> = plans("4+2+2", &settings).iter().map(|plan| plan.train.restarts).collect();
        assert_eq!(restarts, [5, 1, 1]);
        settings.ghosts.generator = GeneratorKind::Real;
        assert!(plans("4+2+2", &settings).iter().all(|plan| !plan.generator));
        assert_eq!(with_ghosts("4+2+2", &settings), [false, true, false]);
        settings.loss.distillation = DistillationKind::None;
        assert!(plans("4+2+2", &settings).iter().all(|plan| !plan.train.distill));
    }
}
