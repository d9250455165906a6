//! Colours, and the canvas that they are laid on. Edges are smoothed by how far a pixel's middle lies from them.

use crate::data::datasets::synthetic::dice::Dice;
use crate::data::datasets::synthetic::draw::{SIDE, nuisance};
use crate::data::datasets::synthetic::shapes::Point;

pub(super) type Rgb = [f32; 3];

/// Hue in sixths of the colour circle (0 red, 2 green, 4 blue), saturation and brightness from 0 to 1.
pub(super) fn colour(hue: f32, saturation: f32, brightness: f32) -> Rgb {
    [5.0, 3.0, 1.0].map(|offset: f32| {
        let place = (offset + hue + 6.0) % 6.0;
        brightness * (1.0 - saturation * place.min(4.0 - place).clamp(0.0, 1.0))
    })
}

pub(super) fn mix(from: Rgb, to: Rgb, part: f32) -> Rgb {
    [0, 1, 2].map(|channel| from[channel] + (to[channel] - from[channel]) * part)
}

/// How much of a pixel is covered by what is `distance` pixels away from its middle.
pub(super) fn cover(distance: f32) -> f32 {
    (0.5 - distance).clamp(0.0, 1.0)
}

/// The colours of an image while it is drawn.
pub(super) struct Canvas(Vec<Rgb>);

impl Canvas {
    pub(super) fn new(colour: impl Fn(Point) -> Rgb) -> Self {
        Self((0..SIDE * SIDE).map(|index| colour(middle_of(index))).collect())
    }

    /// Lays a colour over each pixel up to `reach` from `middle`; `brush` answers the colour and how much of it.
    pub(super) fn paint(&mut self, middle: Point, reach: f32, brush: impl Fn(Point) -> (Rgb, f32)) {
        let range = |centre: f32| {
            let end = |edge: f32| edge.clamp(0.0, SIDE as f32) as usize;
            end(centre - reach - 1.0)..end(centre + reach + 2.0)
        };
        for y in range(middle.y) {
            for x in range(middle.x) {
                let index = y * SIDE + x;
                let (colour, opacity) = brush(middle_of(index));
                self.0[index] = mix(self.0[index], colour, opacity);
            }
        }
    }

    /// Light, exposure and noise, and then bytes.
    pub(super) fn develop(&self, dice: &mut Dice, out: &mut [u8]) {
        let half = SIDE as f32 / 2.0;
        let (light, slope) = (dice.direction(), dice.around(nuisance::LIGHT) / half);
        let exposure = 1.0 + dice.around(nuisance::EXPOSURE);
        for (index, (colour, bytes)) in self.0.iter().zip(out.chunks_exact_mut(3)).enumerate() {
            let from_middle = middle_of(index).minus(Point::new(half, half));
            let gain = exposure * (1.0 + slope * from_middle.dot(light));
            for (value, byte) in colour.iter().zip(bytes) {
                let value = value * gain + dice.noise() * nuisance::NOISE;
                *byte = (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
            }
        }
    }
}

/// The middle of the `index`-th pixel.
fn middle_of(index: usize) -> Point {
    Point::new((index % SIDE) as f32 + 0.5, (index / SIDE) as f32 + 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_by_hand() {
        assert_eq!(colour(0.0, 1.0, 1.0), [1.0, 0.0, 0.0]);
        assert_eq!(colour(1.0, 1.0, 1.0), [1.0, 1.0, 0.0]);
        assert_eq!(colour(2.0, 0.5, 0.5), [0.25, 0.5, 0.25]);
        assert_eq!(colour(4.0, 1.0, 1.0), [0.0, 0.0, 1.0]);
        assert_eq!(colour(-1.0, 1.0, 1.0), colour(5.0, 1.0, 1.0));
        assert_eq!(colour(3.3, 0.0, 0.5), [0.5; 3]);
    }
}
