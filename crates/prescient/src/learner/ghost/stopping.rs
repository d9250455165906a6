//! The wish to stop, as a number that is added up with the slopes: so all processes stop after the same step.
//!
//! A step as it comes reads the sum at once. A recorded one reads nothing: sums stay on the device, where they add up, and all
//! processes read them after the same steps.

use std::cell::Cell;
use tch::{Device, Kind, Tensor, no_grad};

/// So many recorded steps are taken between two looks: a look waits for the device.
const EVERY: usize = 8;

/// The wish to stop.
pub(super) struct Stopping {
    /// 1 where this process wishes it, `[1]`; where a recording reads it.
    asked: Tensor,
    /// The same on this side.
    asks: Cell<bool>,
    /// The wishes of recorded steps, `[1]`.
    told: Tensor,
    /// What a step as it came has read.
    heard: Cell<Option<bool>>,
}

impl Stopping {
    pub(super) fn new(device: Device) -> Self {
        let zero = || Tensor::zeros([1], (Kind::Double, device));
        Self { asked: zero(), asks: Cell::new(false), told: zero(), heard: Cell::new(None) }
    }

    /// Says whether this process wishes it, before a step.
    pub(super) fn ask(&self, stops: bool) {
        if self.asks.replace(stops) != stops {
            let _ = self.asked.shallow_clone().fill_(f64::from(u8::from(stops)));
        }
    }

    /// The number to be added up, `[1]`.
    pub(super) fn asked(&self) -> &Tensor {
        &self.asked
    }

    /// Takes the sum of a step as it comes.
    pub(super) fn hear(&self, stops: bool) {
        self.heard.set(Some(stops));
    }

    /// Adds the sum of a recorded step, which stays on the device.
    pub(super) fn keep(&self, sum: &Tensor) {
        no_grad(|| {
            let _ = self.told.shallow_clone().g_add_(sum);
        });
    }

    /// Whether any process wished to stop, as far as can be said after step `number` of an epoch, from 0; all of it is said after
    /// the `last`.
    pub(super) fn stops(&self, number: usize, last: bool) -> bool {
        let heard = self.heard.take();
        let looks = last || heard.is_none() && (number + 1).is_multiple_of(EVERY);
        heard == Some(true) || looks && self.told.double_value(&[0]) > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wish in recorded step 3 is seen after step 8, or after the last one; that of a step as it comes at once.
    #[test]
    fn recorded_steps_are_asked_now_and_then() {
        let stopping = Stopping::new(Device::Cpu);
        stopping.hear(true);
        assert!(stopping.stops(0, false));
        stopping.hear(false);
        assert!(!stopping.stops(1, false));
        for number in 2..8 {
            stopping.ask(number == 3);
            stopping.keep(stopping.asked());
            assert_eq!(stopping.stops(number, false), number == 7);
        }
        // A last batch that is shorter is taken as it comes, and hides nothing.
        stopping.hear(false);
        assert!(!stopping.stops(8, false));
        stopping.hear(false);
        assert!(stopping.stops(9, true));
    }
}
