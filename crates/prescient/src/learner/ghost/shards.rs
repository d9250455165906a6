//! A training step in shards: the same result in one process as in several.
//!
//! ```text
//!  batch of b images ─► S shards by place, each with BatchNorm's statistics of its own ─► ∇_s, weighted by b_s / b
//!                                                     process p has S/N of them             │
//!  θ ◄── optimizer ◄── clipping ◄── Σ_s (one sum over all processes: slopes, statistics, terms) ◄┘
//! ```
//!
//! What a step is depends on `S`, which the recipe says, and not on the number `N` of processes. Running statistics move to the
//! mean of what the shards would move them to. A batch that is too small for two images in each shard has fewer shards.
//!
//! A recorded step reads nothing back. Which parameters have a slope in any process is then known from the steps before, of as many
//! images: a recording does the same every time.

use super::GhostLearner;
use super::stopping::Stopping;
use crate::engine::{DeviceBatch, Processes, Sgd, Values};
use crate::error::ProcessError;
use crate::loss::Terms;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use tch::{Device, Kind, Tensor, no_grad};

/// Terms of a loss, at most: processes without a shard of a batch do not know how many there are.
const MOST_TERMS: usize = 8;

/// How batches are dealt out.
pub(super) struct Shards {
    processes: Processes,
    shards: usize,
    /// Who wishes to stop.
    pub(super) stopping: Stopping,
    /// Which parameters have a slope in any process, by the images of a batch.
    sloped: RefCell<BTreeMap<usize, Vec<bool>>>,
}

impl Shards {
    /// `shards` is a multiple of the number of processes.
    pub(super) fn new(processes: Processes, shards: usize, device: Device) -> Self {
        assert!(shards.is_multiple_of(processes.count()), "checked before a run begins");
        Self { processes, shards, stopping: Stopping::new(device), sloped: RefCell::default() }
    }

    /// Whether a step can be recorded.
    pub(super) fn can_be_recorded(&self) -> bool {
        self.is_one() || self.processes.sums_can_be_recorded()
    }

    /// Whether something worked in all processes that take steps together.
    pub(super) fn all(&self, worked: bool) -> Result<bool, ProcessError> {
        if self.is_one() { Ok(worked) } else { self.processes.all(worked) }
    }

    /// Whether there is nothing to deal out.
    pub(super) fn is_one(&self) -> bool {
        self.shards == 1
    }

    /// The places of this process's images in each batch, of all images of a pass. A piece may be empty.
    pub(super) fn pieces(&self, images: usize, batch_size: usize) -> Vec<Range<usize>> {
        let own = self.own();
        let piece = |start: usize| {
            let size = batch_size.min(images - start);
            start + self.places(size, own.start).start..start + self.places(size, own.end).start
        };
        (0..images).step_by(batch_size).map(piece).collect()
    }

    /// The shards of this process.
    fn own(&self) -> Range<usize> {
        let each = self.shards / self.processes.count();
        self.processes.rank() * each..(self.processes.rank() + 1) * each
    }

    /// How many shards a batch of so many images has: BatchNorm has no variance of a single value.
    fn used(&self, images: usize) -> usize {
        self.shards.min(images / 2).max(1)
    }

    /// The places of a shard in a batch of so many images; of ghosts in a batch of so many, likewise.
    fn places(&self, images: usize, shard: usize) -> Range<usize> {
        cut(images, self.used(images), shard)
    }

    /// Takes a step on a batch of `images` images, of which `batch` has those of this process, or has it recorded. Comes back with
    /// the terms of the loss over the whole batch.
    pub(super) fn step(
        &self,
        (model, sgd): (&GhostLearner, &Sgd),
        batch: &DeviceBatch<'_>,
        (images, recording): (usize, bool),
        terms: impl Fn(&GhostLearner, &DeviceBatch<'_>) -> Terms,
    ) -> Result<Values, ProcessError> {
        let statistics = model.network.statistics();
        let before: Vec<Tensor> = statistics.iter().map(Tensor::copy).collect();
        let mut sums = Sums::new(sgd.parameters(), &statistics, self.stopping.asked());
        // Also where this process has no shard: a recording must not write to slopes of a step before, which others free.
        sgd.clear();
        let (mut names, used, start) = (Vec::new(), self.used(images), self.places(images, self.own().start).start);
        for shard in self.own().filter(|shard| *shard < used) {
            let places = self.places(images, shard);
            let share = places.len() as f64 / images as f64;
            let ghosts = batch.ghosts.as_ref().map(|ghosts| at_least_one(ghosts, used, shard));
            let piece = batch.part(places.start - start..places.end - start, ghosts);
            statistics.iter().zip(&before).for_each(|(now, before)| copy(now, before));
            sgd.clear();
            let terms = terms(model, &piece);
            (terms.total() * share).backward();
            names = terms.names();
            sums.add(sgd.parameters(), &statistics, &(terms.values() * share));
        }
        self.processes.sum(&sums.flat)?;
        let mut sloped = self.sloped.borrow_mut();
        if recording {
            self.stopping.keep(&sums.stops());
        } else {
            let (any, stops) = sums.flags(sgd.parameters().len());
            self.stopping.hear(stops);
            sloped.insert(images, any);
        }
        let sloped = sloped.get(&images).expect("a step as it comes was taken before");
        let values = sums.put((sgd.parameters(), sloped), &statistics, used);
        sgd.apply();
        Ok(Values { names, values })
    }
}

/// All that a step adds up, as one row of numbers: slopes, statistics, terms, which parameters have a slope, and whether somebody
/// wants to stop.
///
/// In double precision. Numbers of single precision then add up without rounding, in any order, and are rounded once: so the sum is
/// the same to the last bit however the shards are dealt out.
struct Sums {
    flat: Tensor,
    /// Where the terms begin.
    terms: i64,
}

impl Sums {
    /// Of nothing yet but the wish to stop, `[1]`.
    fn new(parameters: &[Tensor], statistics: &[Tensor], stops: &Tensor) -> Self {
        let terms: usize = parameters.iter().chain(statistics).map(Tensor::numel).sum();
        let length = terms + MOST_TERMS + parameters.len() + 1;
        let flat = Tensor::zeros([length as i64], (Kind::Double, parameters[0].device()));
        let sums = Self { flat, terms: terms as i64 };
        copy(&sums.stops(), stops);
        sums
    }

    /// How many want to stop, `[1]`.
    fn stops(&self) -> Tensor {
        self.flat.narrow(0, self.flat.numel() as i64 - 1, 1)
    }

    /// Adds a shard: what the parameters have as slopes, and what it moved the statistics to.
    fn add(&mut self, parameters: &[Tensor], statistics: &[Tensor], terms: &Tensor) {
        no_grad(|| {
            let none =
                |parameter: &Tensor| Tensor::zeros([parameter.numel() as i64], (Kind::Float, parameter.device()));
            let slope = |parameter: &Tensor| match parameter.grad() {
                slope if slope.defined() => slope.flatten(0, -1),
                _ => none(parameter),
            };
            let statistics = statistics.iter().map(|tensor| tensor.detach().flatten(0, -1));
            let all: Vec<Tensor> = parameters.iter().map(slope).chain(statistics).collect();
            let mut first = self.flat.narrow(0, 0, self.terms);
            first += Tensor::cat(&all, 0).to_kind(Kind::Double);
            let mut of_terms = self.flat.narrow(0, self.terms, terms.size()[0]);
            of_terms += terms.to_kind(Kind::Double);
            for (place, _) in parameters.iter().enumerate().filter(|(_, parameter)| parameter.grad().defined()) {
                let flag = self.terms + MOST_TERMS as i64 + place as i64;
                let _ = self.flat.narrow(0, flag, 1).fill_(1.0);
            }
        });
    }

    /// Which of so many parameters have a slope in any process, and whether somebody wants to stop: read back.
    fn flags(&self, parameters: usize) -> (Vec<bool>, bool) {
        let flags = self.flat.narrow(0, self.terms + MOST_TERMS as i64, parameters as i64 + 1);
        let flags = Vec::<f64>::try_from(flags.to_device(Device::Cpu)).expect("numbers that were just added up");
        let sloped = flags[..parameters].iter().map(|flag| *flag != 0.0).collect();
        (sloped, flags[parameters] > 0.0)
    }

    /// Puts the sums where they belong: slopes to the parameters that are to have one, and to the statistics the mean over
    /// `shards`. Comes back with the terms.
    fn put(&self, (parameters, sloped): (&[Tensor], &[bool]), statistics: &[Tensor], shards: usize) -> Tensor {
        let mut at = 0;
        let mut next = |like: &Tensor| {
            at += like.numel() as i64;
            self.flat.narrow(0, at - like.numel() as i64, like.numel() as i64).view_as(like)
        };
        for (parameter, sloped) in parameters.iter().zip(sloped) {
            let sum = next(parameter);
            if !sloped {
                continue;
            }
            if !parameter.grad().defined() {
                // A slope of zeros, for there is no other way to give a parameter one.
                (parameter * 0.0).sum(Kind::Float).backward();
            }
            copy(&parameter.grad(), &sum);
        }
        statistics.iter().for_each(|tensor| copy(tensor, &(next(tensor) / shards as f64)));
        self.flat.narrow(0, self.terms, MOST_TERMS as i64).to_kind(Kind::Float)
    }
}

fn copy(to: &Tensor, from: &Tensor) {
    no_grad(|| to.shallow_clone().copy_(from));
}

/// Part `number` of `count` of so many things; nothing of those beyond.
fn cut(things: usize, count: usize, number: usize) -> Range<usize> {
    let at = |number: usize| things * number.min(count) / count;
    at(number)..at(number + 1)
}

/// A shard's part of the ghosts of a batch; one at least.
fn at_least_one(ghosts: &Tensor, count: usize, shard: usize) -> Tensor {
    let Range { start, end } = cut(ghosts.size()[0] as usize, count, shard);
    let start = start.min(ghosts.size()[0] as usize - 1);
    ghosts.narrow(0, start as i64, end.max(start + 1) as i64 - start as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten images in four shards: 2, 3, 2, 3. Five are enough for two shards, of 2 and 3; three for one.
    #[test]
    fn shards_by_hand() {
        let shards = Shards::new(Processes::alone(), 4, Device::Cpu);
        let of = |images: usize| (0..4).map(|shard| shards.places(images, shard)).collect::<Vec<_>>();
        assert_eq!(of(10), [0..2, 2..5, 5..7, 7..10]);
        assert_eq!(of(5), [0..2, 2..5, 5..5, 5..5]);
        assert_eq!(of(3), [0..3, 3..3, 3..3, 3..3]);
        assert_eq!(shards.pieces(13, 10), [0..10, 10..13]);
    }

    #[test]
    fn every_shard_has_a_ghost() {
        let ghosts = Tensor::from_slice(&[7i64, 8, 9]);
        let of = |shard| Vec::<i64>::try_from(at_least_one(&ghosts, 4, shard)).expect("numbers");
        assert_eq!([of(0), of(1), of(2), of(3)], [vec![7], vec![7], vec![8], vec![9]]);
        assert_eq!(Vec::<i64>::try_from(at_least_one(&ghosts, 1, 0)).expect("numbers"), [7, 8, 9]);
    }
}
