//! Features of images under the present `f`, class by class; and the first proxies made of them.

use super::{GhostLearner, Lesson};
use crate::class::Slot;
use crate::classifier::imprinted;
use crate::data::Sample;
use crate::engine::Pass;
use crate::error::LearnError;
use std::collections::BTreeMap;
use tch::{Tensor, no_grad};

/// The features of a class, `[images, width]`, and the images they are of.
pub(super) struct ClassFeatures {
    pub(super) samples: Vec<Sample>,
    pub(super) features: Tensor,
}

impl GhostLearner {
    /// The features of `samples`, by class. Images are seen as when tested; batches are large, for nothing is kept.
    pub(super) fn features(
        &self,
        lesson: &Lesson<'_>,
        samples: &[Sample],
        pass: Pass,
    ) -> Result<BTreeMap<Slot, ClassFeatures>, LearnError> {
        let mut by_class: BTreeMap<Slot, (Vec<Sample>, Vec<i64>)> = BTreeMap::new();
        let (mut parts, mut row) = (Vec::new(), 0);
        for shown in self.show(&lesson.album, samples, pass, crate::learner::ghost::evaluate::BATCH) {
            let shown = shown?;
            parts.push(self.network.look(&self.images(&shown)).features);
            for (slot, sample) in shown.slots.iter().zip(&shown.samples) {
                let (samples, rows) = by_class.entry(*slot).or_default();
                samples.push(*sample);
                rows.push(row);
                row += 1;
            }
        }
        if parts.is_empty() {
            return Ok(BTreeMap::new());
        }
        let all = Tensor::cat(&parts, 0);
        let of_class = |(samples, rows): (Vec<Sample>, Vec<i64>)| {
            let rows = Tensor::from_slice(&rows).to_device(self.device);
            ClassFeatures { samples, features: all.index_select(0, &rows) }
        };
        Ok(by_class.into_iter().map(|(slot, parts)| (slot, of_class(parts))).collect())
    }

    /// Adds proxies for the new classes: where their ghosts have kept a place, or made of their images under `f^{t−1}`.
    pub(super) fn imprint(&mut self, lesson: &mut Lesson<'_>) -> Result<(), LearnError> {
        let new = lesson.task.present().len() as i64;
        if let Some(promised) = &self.promised {
            self.classifier.add(&promised.narrow(0, 0, new));
            return Ok(());
        }
        let features = self.features(lesson, &lesson.album.loader.data().present(), Pass::Eval)?;
        let existing = self.classifier.proxies();
        let proxies = no_grad(|| {
            let rows: Vec<Tensor> =
                lesson.task.present().iter().map(|slot| imprinted(&features[&slot].features, &existing)).collect();
            Tensor::stack(&rows, 0)
        });
        self.classifier.add(&proxies);
        Ok(())
    }
}
