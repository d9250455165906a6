//! Random numbers for drawing, by arithmetic of our own: the same on every machine and with every version of every library.

use crate::data::datasets::synthetic::canvas::{Rgb, colour};
use crate::data::datasets::synthetic::draw::SIDE;
use crate::data::datasets::synthetic::shapes::Point;
use crate::seeds::Stream;
use rand::Rng;

/// Random numbers, each by plain arithmetic from the stream's bits.
pub(super) struct Dice(pub(super) Stream);

impl Dice {
    /// From 0 up to, but without, 1.
    pub(super) fn part(&mut self) -> f32 {
        // 24 bits: as many as an f32 holds.
        (self.0.next_u32() >> 8) as f32 / 16_777_216.0
    }

    pub(super) fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.part()
    }

    /// From `−most` to `most`.
    pub(super) fn around(&mut self, most: f32) -> f32 {
        self.between(-most, most)
    }

    /// A whole number, both ends included.
    pub(super) fn whole(&mut self, (low, high): (usize, usize)) -> usize {
        low + (self.part() * (high - low + 1) as f32) as usize
    }

    pub(super) fn chance(&mut self, of: f32) -> bool {
        self.part() < of
    }

    pub(super) fn point(&mut self, margin: f32) -> Point {
        let far = SIDE as f32 - margin;
        Point::new(self.between(margin, far), self.between(margin, far))
    }

    /// Any direction: a point of the unit disc, pushed out to its rim. Needs no sine, which differs by machine.
    pub(super) fn direction(&mut self) -> Point {
        loop {
            let point = Point::new(self.around(1.0), self.around(1.0));
            let length = point.length();
            if (0.1..=1.0).contains(&length) {
                return Point::new(point.x / length, point.y / length);
            }
        }
    }

    /// About a normal deviate: the sum of four uniform bytes, which has the deviation 2 · √((256² − 1) / 12) = 147.8.
    pub(super) fn noise(&mut self) -> f32 {
        let bytes = self.0.next_u32().to_le_bytes();
        (bytes.iter().map(|&byte| i32::from(byte)).sum::<i32>() - 510) as f32 / 147.8
    }

    pub(super) fn any_colour(&mut self) -> Rgb {
        colour(self.between(0.0, 6.0), self.part(), self.between(0.1, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Seeds;

    fn dice(index: usize) -> Dice {
        Dice(Seeds::new(0).stream("test", index))
    }

    /// Deviation 1 to within 2 %, from 10,000 draws.
    #[test]
    fn noise_has_mean_zero_and_deviation_one() {
        let mut dice = dice(0);
        let draws: Vec<f32> = (0..10_000).map(|_| dice.noise()).collect();
        let mean = draws.iter().sum::<f32>() / 10_000.0;
        let deviation = (draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f32>() / 10_000.0).sqrt();
        assert!(mean.abs() < 0.03, "{mean}");
        assert!((deviation - 1.0).abs() < 0.02, "{deviation}");
    }

    #[test]
    fn directions_have_length_one() {
        let mut dice = dice(1);
        assert!((0..100).all(|_| (dice.direction().length() - 1.0).abs() < 1e-5));
    }

    #[test]
    fn whole_numbers_include_both_ends() {
        let mut dice = dice(2);
        let draws: Vec<usize> = (0..200).map(|_| dice.whole((2, 4))).collect();
        assert!([2, 3, 4].iter().all(|value| draws.contains(value)));
        assert!(draws.iter().all(|draw| (2..=4).contains(draw)));
    }
}
