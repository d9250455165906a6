//! Features of images under the present `f`, class by class; and the first proxies made of them.

use super::{Learner, Lesson};
use crate::class::Slot;
use crate::data::{Pass, Sample};
use crate::error::LearnError;
use crate::model::classifier::imprinted;
use std::collections::BTreeMap;
use tch::{Tensor, no_grad};

/// The features of a class, `[images, width]`, and the images they are of.
pub(super) struct ClassFeatures {
    pub(super) samples: Vec<Sample>,
    pub(super) features: Tensor,
}

impl Learner {
    /// The features of `samples`, by class. Images are seen as when tested; batches are large, for nothing is kept.
    pub(super) fn features(
        &self,
        lesson: &Lesson<'_>,
        samples: &[Sample],
        pass: Pass,
    ) -> Result<BTreeMap<Slot, ClassFeatures>, LearnError> {
        let mut by_class: BTreeMap<Slot, (Vec<Sample>, Vec<Tensor>)> = BTreeMap::new();
        for batch in lesson.loader.with_batch_size(super::evaluate::BATCH).pass(samples, pass) {
            let batch = batch?;
            let features = self.network.look(&self.images(&batch)).features;
            for (row, (slot, sample)) in batch.slots.iter().zip(&batch.samples).enumerate() {
                let (samples, rows) = by_class.entry(*slot).or_default();
                samples.push(*sample);
                rows.push(features.get(row as i64));
            }
        }
        let stack =
            |(samples, rows): (Vec<Sample>, Vec<Tensor>)| ClassFeatures { samples, features: Tensor::stack(&rows, 0) };
        Ok(by_class.into_iter().map(|(slot, parts)| (slot, stack(parts))).collect())
    }

    /// Adds proxies for the new classes, made of their images under `f^{t−1}`.
    pub(super) fn imprint(&mut self, lesson: &mut Lesson<'_>) -> Result<(), LearnError> {
        let features = self.features(lesson, &lesson.loader.data().present(), Pass::Look)?;
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
