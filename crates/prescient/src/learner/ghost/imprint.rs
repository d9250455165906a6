//! Where the proxies of new classes start.

use super::GhostLearner;
use super::lesson::{Lesson, features};
use super::plan::Imprint;
use crate::classifier::imprinted;
use crate::engine::Pass;
use crate::error::LearnError;
use tch::{Tensor, no_grad};

/// Proxies for the classes of the task, `[new, width]`: in the mean direction of their images under `f^{t−1}`, or where
/// their ghosts have kept a place.
pub(super) fn imprint(model: &GhostLearner, lesson: &Lesson<'_>, from: Imprint) -> Result<Tensor, LearnError> {
    let new = lesson.task.present();
    match from {
        // The classes to arrive next come first.
        Imprint::FromGhosts => Ok(model.ghost_proxies.narrow(0, 0, new.len() as i64)),
        Imprint::FromImages => {
            let by_class = features(model, lesson, &lesson.present(), Pass::Eval)?;
            let existing = model.classifier.proxies();
            Ok(no_grad(|| {
                let rows: Vec<Tensor> =
                    new.iter().map(|slot| imprinted(&by_class[&slot].features, &existing)).collect();
                Tensor::stack(&rows, 0)
            }))
        }
    }
}
