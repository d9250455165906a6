//! Ghosts beside real features, in the closed form: as the classifier sees both, whitened and from the middle of all classes.

use super::{ClosedFormLearner, fit};
use crate::class::Slot;
use crate::engine::norm::unit_rows;
use crate::engine::with_seed;
use crate::error::LearnError;
use crate::evaluation::Likeness;
use crate::learner::Silent;
use crate::learner::frozen::FrozenFeatures;
use crate::learner::likeness::Real;
use crate::protocol::Usage;
use crate::scenario::Task;
use std::collections::BTreeMap;
use tch::{Device, Kind, Tensor, no_grad};

/// Ghosts of each class.
const GHOSTS: i64 = 200;

/// Every class with test images, after `task`, whose sums must be loaded. A seen class is what photos and description make of it
/// together. None where the base model answers.
pub(super) fn inspect(model: &ClosedFormLearner, task: Task<'_>) -> Result<Option<Vec<Likeness>>, LearnError> {
    let fitted = fit(&model.sums, &model.information, model.settings.target)?;
    if !fitted.guesses() {
        return Ok(None);
    }
    let (scenario, catalogue) = (model.sealed.scenario(), model.sealed.catalogue());
    let data = model.sealed.open(&task, model.memory.samples());
    let mut features = FrozenFeatures::open(&model.network, &model.input)?;
    let eye = (&model.network, &model.input);
    let (rows, _) = features.of(eye, (&data, Usage::Test), data.test(), &mut Silent)?;
    let names: Vec<String> = scenario.order().iter().map(|class| catalogue.name(*class).to_owned()).collect();
    let head = fitted.head(&names);
    no_grad(|| {
        let seen = (rows.to_kind(Kind::Double) - &head.centre).matmul(&head.whiten);
        let seen = unit_rows(&seen.to_kind(Kind::Float));
        let mut places: BTreeMap<Slot, Vec<i64>> = BTreeMap::new();
        for (row, sample) in data.test().iter().enumerate() {
            places.entry(data.slot(sample)).or_default().push(row as i64);
        }
        let of = |rows: Vec<i64>| seen.index_select(0, &Tensor::from_slice(&rows));
        let real = Real::new(places.into_iter().map(|(slot, rows)| (slot, of(rows))).collect());
        let one = |(place, slot): (usize, &Slot)| {
            let mean = head.means.get(slot.index() as i64).to_kind(Kind::Float);
            let shape = [GHOSTS, mean.size()[0]];
            // In whitened space a class is a ball of deviation 1.
            let noise = with_seed(slot.index() as i64, || Tensor::randn(shape, (Kind::Float, Device::Cpu)));
            real.like(place, &unit_rows(&(mean + noise)), (names[slot.index()].clone(), task.seen().contains(*slot)))
        };
        real.slots().iter().enumerate().map(one).collect::<Result<Vec<_>, _>>().map(Some)
    })
}
