//! Keeps a few features of each class while the test images are answered, so that a run can be drawn later without its
//! model, its data or a GPU.
//!
//! The features are computed anyway, so this costs a copy of some rows. Nothing is drawn from a stream that learning
//! uses, so a run gives the same record with it as without.

use crate::class::Slot;
use crate::engine::norm::{norm, unit_rows};
use crate::error::LearnError;
use crate::evaluation::{Points, Zone};
use crate::protocol::TaskData;
use crate::seeds::Seeds;
use rand::seq::index;
use std::collections::BTreeMap;
use std::ops::Range;
use tch::{Device, Kind, Tensor, no_grad};

/// At most so many real features a task, and as many ghosts: 4 MB where a feature has 512 numbers.
const MOST: usize = 1_000;
/// More of a class say nothing that these do not.
const MOST_OF_A_CLASS: usize = 100;
/// Fewer show no shape.
const LEAST_OF_A_CLASS: usize = 5;

/// What is collected while the test images go by.
pub(super) struct Collector {
    /// Which test images, in order.
    pub(super) images: Vec<u32>,
    pub(super) slots: Vec<Slot>,
    pub(super) values: Vec<f32>,
    /// How many of `images` have gone by.
    taken: usize,
    /// How many test images have gone by.
    seen: usize,
}

/// How many features are kept of each of so many classes.
pub(super) fn per_class(classes: usize) -> usize {
    (MOST / classes.max(1)).clamp(LEAST_OF_A_CLASS, MOST_OF_A_CLASS)
}

impl Collector {
    /// Chooses test images, as many of each class; the same after every task, so that one can watch them move.
    pub(super) fn new(data: &TaskData, seeds: Seeds) -> Self {
        let mut by_class: BTreeMap<Slot, Vec<u32>> = BTreeMap::new();
        for (image, sample) in data.test().iter().enumerate() {
            by_class.entry(data.slot(sample)).or_default().push(image as u32);
        }
        let (count, seeds) = (per_class(by_class.len()), seeds.child("scatter", 0));
        let mut images: Vec<u32> = Vec::new();
        for (slot, of_class) in &by_class {
            let mut stream = seeds.stream("class", slot.index());
            let picked = index::sample(&mut stream, of_class.len(), count.min(of_class.len()));
            images.extend(picked.into_iter().map(|place| of_class[place]));
        }
        images.sort_unstable();
        Self { images, slots: Vec::new(), values: Vec::new(), taken: 0, seen: 0 }
    }

    /// The same for the test images from `start` on.
    pub(super) fn from(mut self, start: usize) -> Self {
        self.taken = self.images.partition_point(|image| (*image as usize) < start);
        self.seen = start;
        self
    }

    /// Takes what was chosen from the next batch: its `features`, `[batch, width]`, and slots.
    pub(super) fn take(&mut self, features: &Tensor, slots: &[Slot]) -> Result<(), LearnError> {
        let Range { start, end } = self.seen..self.seen + slots.len();
        let here = self.images[self.taken..].iter().take_while(|image| (**image as usize) < end);
        let rows: Vec<i64> = here.map(|image| i64::from(*image) - start as i64).collect();
        if !rows.is_empty() {
            let picked = features.index_select(0, &Tensor::from_slice(&rows).to_device(features.device()));
            self.values.extend(plain(&picked)?);
            self.slots.extend(rows.iter().map(|row| slots[*row as usize]));
        }
        (self.taken, self.seen) = (self.taken + rows.len(), end);
        Ok(())
    }
}

/// Rows of length 1: what ghosts are measured by where `g` learns from directions.
pub(super) fn unit(points: Points, width: usize) -> Points {
    let rows = Tensor::from_slice(&points.values).reshape([-1, width as i64]);
    let values = Vec::<f32>::try_from(unit_rows(&rows).flatten(0, -1)).expect("numbers that were just there");
    Points { values, ..points }
}

/// The circle around the ghosts of a class, `[ghosts, 2]`.
pub(super) fn zone(slot: Slot, ghosts: &Tensor) -> Result<Zone, LearnError> {
    no_grad(|| {
        let mean = ghosts.mean_dim([0i64].as_slice(), true, Kind::Float);
        let spread = norm(&(ghosts - &mean)).square().mean(Kind::Float).sqrt();
        let centre = plain(&mean)?;
        Ok(Zone { slot, centre: [centre[0], centre[1]], spread: f64::try_from(spread)? as f32 })
    })
}

/// Rows as plain numbers, one after the other.
pub(super) fn plain(rows: &Tensor) -> Result<Vec<f32>, LearnError> {
    Ok(Vec::<f32>::try_from(rows.detach().to_device(Device::Cpu).to_kind(Kind::Float).flatten(0, -1))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_classes_show_many_points_and_many_classes_few() {
        assert_eq!([2, 10, 24, 50, 1_000].map(per_class), [100, 100, 41, 20, 5]);
    }

    /// Images 1 and 2 of the first batch, 0 of the second: rows are taken where they go by, whatever the batches.
    #[test]
    fn what_was_chosen_is_taken_from_any_batches() {
        let features = Tensor::from_slice(&[0.0f32, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]).reshape([4, 2]);
        let slots = [0, 0, 1, 1].map(Slot);
        for size in [1, 2, 3, 4] {
            let mut collector =
                Collector { images: vec![1, 2, 3], slots: Vec::new(), values: Vec::new(), taken: 0, seen: 0 };
            for start in (0..4).step_by(size) {
                let count = size.min(4 - start);
                let batch = features.narrow(0, start as i64, count as i64);
                collector.take(&batch, &slots[start..start + count]).expect("plain numbers");
            }
            assert_eq!(collector.values, [1.0, 1.5, 2.0, 2.5, 3.0, 3.5], "batches of {size}");
            assert_eq!(collector.slots, [0, 1, 1].map(Slot));
        }
    }

    /// Around (1, 1), at distances 1, 1, 2, 2: the mean of the squares is 10 / 4.
    #[test]
    fn a_zone_by_hand() {
        let ghosts = Tensor::from_slice(&[0.0f32, 1.0, 2.0, 1.0, 1.0, 3.0, 1.0, -1.0]).reshape([4, 2]);
        let zone = zone(Slot(7), &ghosts).expect("plain numbers");
        assert_eq!((zone.slot, zone.centre), (Slot(7), [1.0, 1.0]));
        assert!((f64::from(zone.spread) - 2.5f64.sqrt()).abs() < 1e-6);
    }
}
