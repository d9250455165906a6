//! Algorithm 1 of the paper, as a list: what a task does, in which order.
//!
//! | step | what | when |
//! | --- | --- | --- |
//! | 1 | proxies of the new classes are imprinted from their images under `f^{t−1}` | t ≥ 2 |
//! | 2 | train `f` and `clf`; with ghosts of the future when 1 < t < T, on demand when t = 1 too | all |
//! | 3 | balanced fine-tune of `clf` on the memory, `f` frozen | t ≥ 2 |
//! | 4 | herd exemplars of the new classes with `f^t` | all |
//! | 5 | train `g` on features of all seen classes | t < T |
//! | 6 | draw ghosts of `C^{t+1:T}`, train the complete classifier on real and ghost features, `f` frozen | t < T |
//! | 7 | evaluate on all classes | all |
//!
//! Where this differs from the algorithm as printed: errata 1 to 5.

use crate::class::Slots;
use crate::scenario::Task;
use serde::{Deserialize, Serialize};

/// One stage of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The new classes' proxies start at the mean of their features under `f^{t−1}`.
    Imprint,
    /// Train `f` and `clf`.
    Train {
        /// Whether ghosts of the future take part, and the planes that keep room for them. In the first task `g` learns the
        /// features of a fresh `f` before.
        ghosts: bool,
    },
    /// Train `clf` on as many images of each class, `f` frozen.
    Finetune,
    /// Keep a few images of each new class.
    Remember,
    /// Train `g` on the features of all seen classes.
    TrainGenerator,
    /// Train a classifier for all classes on real features and on ghosts of these slots.
    Complete(Slots),
    /// Ask for the class of every test image, of all classes.
    Evaluate,
}

impl Stage {
    /// What records call it.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Imprint => "imprint",
            Stage::Train { .. } => "train",
            Stage::Finetune => "finetune",
            Stage::Remember => "remember",
            Stage::TrainGenerator => "generator",
            Stage::Complete(_) => "complete",
            Stage::Evaluate => "evaluate",
        }
    }

    /// Whether only a model that imagines the future has this stage.
    pub fn needs_generator(self) -> bool {
        matches!(self, Stage::TrainGenerator | Stage::Complete(_))
    }
}

/// The stages of `task`, in order; where `ghosts_first`, ghosts take part from the first task on.
pub fn plan(task: &Task<'_>, ghosts_first: bool) -> Vec<Stage> {
    let (first, last) = (task.is_first(), task.is_last());
    let stages = [
        (!first, Stage::Imprint),
        // Task 1 has no generator yet, unless one is made for it; the last task has no future left: errata 5.
        (true, Stage::Train { ghosts: (!first || ghosts_first) && !last }),
        (!first, Stage::Finetune),
        (true, Stage::Remember),
        (!last, Stage::TrainGenerator),
        (!last, Stage::Complete(task.future())),
        (true, Stage::Evaluate),
    ];
    stages.into_iter().filter_map(|(wanted, stage)| wanted.then_some(stage)).collect()
}

#[cfg(test)]
mod tests {
    use super::Stage::*;
    use super::*;
    use crate::scenario::{Order, Scenario, Split};

    fn plans(split: &str) -> Vec<Vec<Stage>> {
        plans_with(split, false)
    }

    fn plans_with(split: &str, ghosts_first: bool) -> Vec<Vec<Stage>> {
        let split: Split = split.parse().expect(split);
        let names: Vec<String> = (0..split.classes()).map(|i| i.to_string()).collect();
        let scenario = Scenario::new(&names, &Order::Listed, &split).expect("a scenario");
        scenario.iter().map(|task| plan(&task, ghosts_first)).collect()
    }

    #[test]
    fn three_tasks() {
        let future = |start| Complete(Slots::new(start, 10));
        assert_eq!(
            plans("6+2+2"),
            [
                vec![Train { ghosts: false }, Remember, TrainGenerator, future(6), Evaluate],
                vec![Imprint, Train { ghosts: true }, Finetune, Remember, TrainGenerator, future(8), Evaluate],
                vec![Imprint, Train { ghosts: false }, Finetune, Remember, Evaluate],
            ]
        );
    }

    #[test]
    fn ghosts_can_come_first_and_never_last() {
        let trains = |plans: Vec<Vec<Stage>>| -> Vec<bool> {
            let stages = plans.into_iter().flatten();
            stages.filter_map(|stage| if let Train { ghosts } = stage { Some(ghosts) } else { None }).collect()
        };
        assert_eq!(trains(plans_with("6+2+2", true)), [true, true, false]);
        assert_eq!(trains(plans_with("6+2+2", false)), [false, true, false]);
        assert_eq!(trains(plans_with("10", true)), [false], "one task has no future");
    }

    #[test]
    fn six_tasks() {
        let plans = plans("25+5x5");
        assert_eq!(plans.len(), 6);
        assert_eq!(
            plans[0],
            [Train { ghosts: false }, Remember, TrainGenerator, Complete(Slots::new(25, 50)), Evaluate]
        );
        for (index, start) in [(1, 30), (2, 35), (3, 40), (4, 45)] {
            assert_eq!(
                plans[index],
                [
                    Imprint,
                    Train { ghosts: true },
                    Finetune,
                    Remember,
                    TrainGenerator,
                    Complete(Slots::new(start, 50)),
                    Evaluate
                ]
            );
        }
        assert_eq!(plans[5], [Imprint, Train { ghosts: false }, Finetune, Remember, Evaluate]);
    }

    #[test]
    fn one_task_is_joint_training() {
        assert_eq!(plans("10"), [[Train { ghosts: false }, Remember, Evaluate]]);
    }
}
