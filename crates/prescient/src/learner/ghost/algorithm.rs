//! Algorithm 1 of the paper: one task of the Ghost model.
//!
//! ```text
//!  1  if t = 1 or t = T                                                          Plan::new
//!  2      train f^t and c^t with L^nca and L^distill                             train
//!  3  else
//!  4      train f^t and c^t with L^nca-ghost, L^svm-reg and L^distill            train
//!  5  end if
//!  6  evaluate on all classes                                                    complete, then Evaluator::evaluate
//!  7  if t < T                                                                   Plan::new
//!  8      train g^t with L^MMD on attributes of seen classes                     train_generator
//!  9      generate ghosts of C^{t+2:T} for the next task                         training_ghosts
//! 10  end if
//! ```
//!
//! Each stage is a function: what it needs goes in, what it makes comes out. The plan says which of them run. The paper
//! leaves out what PODNet and UCIR do in every task: imprinting, the balanced fine-tune and the memory. It evaluates on
//! future classes before `g^t` is trained, which is read as: `g^t` first (errata 2, 3). Ghosts of the next task are drawn
//! when it begins, from the same `g^t`.

use super::calibrate::{arrivals, calibrate};
use super::complete::{complete, complete_seen};
use super::finetune::finetune;
use super::generator::{feature_bank, train_generator};
use super::imprint::imprint;
use super::lesson::Lesson;
use super::plan::Complete;
use super::remember::{choose_exemplars, remember};
use super::train::train;
use super::{Answering, GhostLearner};
use crate::error::LearnError;

/// Learns the task of `lesson`; comes back with what answers for all classes.
pub(super) fn learn(model: &mut GhostLearner, lesson: &mut Lesson<'_>) -> Result<Answering, LearnError> {
    let plan = lesson.plan;

    // f^{t−1}, frozen; where f never changes, there is nothing to hold on to.
    let teacher = (plan.train.distill && !model.network.is_frozen()).then(|| model.network.frozen());

    let mut came = Vec::new();
    if let Some(from) = plan.imprint {
        lesson.enter("imprint");
        // What the guesses of the last task were worth.
        came = arrivals(model, lesson)?;
        let proxies = imprint(model, lesson, from)?;
        model.classifier.add(&proxies);
    }

    // Lines 1 to 5, and line 9 of the task before.
    lesson.enter("train");
    let trained = train(model, lesson, teacher.as_ref())?;
    model.ghost_proxies = trained.ghost_proxies;

    lesson.enter(if plan.finetune { "finetune" } else { "remember" });
    let exemplars = choose_exemplars(model, lesson)?;
    if plan.finetune {
        finetune(model, lesson, &exemplars)?;
        lesson.enter("remember");
    }
    remember(model, lesson, exemplars)?;

    // What line 6 is answered with.
    let Some(answering) = plan.complete else { return Ok(Answering::seen(model.classifier.proxies())) };
    lesson.enter("features");
    let bank = feature_bank(model, lesson)?;
    if plan.generator {
        // Line 8.
        lesson.enter("generator");
        train_generator(model, lesson, &bank)?;
    }
    lesson.enter("complete");
    match answering {
        Complete::SeenClasses => Ok(Answering::seen(complete_seen(model, lesson, &bank)?)),
        Complete::AllClasses => {
            let proxies = complete(model, lesson, &bank)?;
            calibrate(model, lesson, &bank, &came, proxies)
        }
    }
}
