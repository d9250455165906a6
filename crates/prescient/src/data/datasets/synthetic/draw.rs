//! Draws one image of a class: background, clutter, objects, what hides them, light, noise.
//!
//! Edges are smoothed by how far a pixel's middle lies from them. Numbers come from the stream in a fixed order, by
//! arithmetic of our own, so that an image is the same on every machine and with every version of every library.

use crate::data::datasets::synthetic::classes::{Background, Class, Colour, Count, Size, Texture};
use crate::data::datasets::synthetic::shapes::{Point, REACH, distance, segment};
use crate::seeds::Stream;
use rand::Rng;

/// The side of an image, in pixels.
pub(crate) const SIDE: usize = 32;
/// The bytes of an image.
pub(crate) const BYTES: usize = SIDE * SIDE * 3;

/// The radius of a small object, in pixels.
const SMALL: f32 = 4.3;
/// The radius of a large one.
const LARGE: f32 = 7.0;

/// How much of everything that says nothing of the class. Lengths are in pixels, colours go from 0 to 1.
mod nuisance {
    /// An object's radius varies by this part of it, up or down.
    pub(crate) const SIZE: f32 = 0.12;
    /// How far an object may leave the image, as a part of its radius.
    pub(crate) const OUTSIDE: f32 = 0.15;
    /// How far two objects may overlap, as a part of their radius.
    pub(crate) const OVERLAP: f32 = 0.1;
    /// Hue, in sixths of the colour circle (from red to yellow is one), up or down.
    pub(crate) const HUE: f32 = 0.2;
    /// The least saturation of an object; the most is 1.
    pub(crate) const SATURATION: f32 = 0.6;
    /// The least brightness of an object; the most is 1.
    pub(crate) const BRIGHTNESS: f32 = 0.65;
    /// The most saturation of the background.
    pub(crate) const TINT: f32 = 0.25;
    /// The light differs by this much, up or down, from the middle to the border.
    pub(crate) const LIGHT: f32 = 0.35;
    /// The whole image is brighter or darker by this much.
    pub(crate) const EXPOSURE: f32 = 0.2;
    /// Specks and strokes: at least, at most.
    pub(crate) const CLUTTER: (usize, usize) = (3, 9);
    /// The max_norm stroke.
    pub(crate) const STROKE: f32 = 6.0;
    /// How often a bar hides part of an object.
    pub(crate) const OCCLUSION: f32 = 0.4;
    /// The width of the bar: at least, at most.
    pub(crate) const BAR: (f32, f32) = (2.0, 4.0);
    /// The deviation of the noise of each channel of each pixel.
    pub(crate) const NOISE: f32 = 0.07;
}

type Rgb = [f32; 3];

/// Draws one image of `class` into `out`: 32×32 pixels, red, green and blue side by side.
pub(crate) fn draw(class: &Class, stream: Stream, out: &mut [u8]) {
    let mut dice = Dice(stream);
    let mut canvas = Canvas::new(background(class.background, &mut dice));

    for _ in 0..dice.whole(nuisance::CLUTTER) {
        clutter(&mut canvas, &mut dice);
    }
    let objects = objects(class, &mut dice);
    let paint = Paint::new(class, &mut dice);
    for object in &objects {
        canvas.paint(object.middle, object.radius * REACH, |at| paint.at(class, object, at));
    }
    if dice.chance(nuisance::OCCLUSION) {
        occlude(&mut canvas, &objects, &mut dice);
    }
    canvas.develop(&mut dice, out);
}

/// Random numbers, each by plain arithmetic from the stream's bits.
struct Dice(Stream);

impl Dice {
    /// From 0 up to, but without, 1.
    fn part(&mut self) -> f32 {
        // 24 bits: as many as an f32 holds.
        (self.0.next_u32() >> 8) as f32 / 16_777_216.0
    }

    fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.part()
    }

    /// From `−most` to `most`.
    fn around(&mut self, most: f32) -> f32 {
        self.between(-most, most)
    }

    /// A whole number, both ends included.
    fn whole(&mut self, (low, high): (usize, usize)) -> usize {
        low + (self.part() * (high - low + 1) as f32) as usize
    }

    fn chance(&mut self, of: f32) -> bool {
        self.part() < of
    }

    fn point(&mut self, margin: f32) -> Point {
        let far = SIDE as f32 - margin;
        Point::new(self.between(margin, far), self.between(margin, far))
    }

    /// Any direction: a point of the unit disc, pushed out to its rim. Needs no sine, which differs by machine.
    fn direction(&mut self) -> Point {
        loop {
            let point = Point::new(self.around(1.0), self.around(1.0));
            let length = point.length();
            if (0.1..=1.0).contains(&length) {
                return Point::new(point.x / length, point.y / length);
            }
        }
    }

    /// About a normal deviate: the sum of four uniform bytes, which has the deviation 2 · √((256² − 1) / 12) = 147.8.
    fn noise(&mut self) -> f32 {
        let bytes = self.0.next_u32().to_le_bytes();
        (bytes.iter().map(|&byte| i32::from(byte)).sum::<i32>() - 510) as f32 / 147.8
    }

    fn any_colour(&mut self) -> Rgb {
        colour(self.between(0.0, 6.0), self.part(), self.between(0.1, 1.0))
    }
}

/// Hue in sixths of the colour circle (0 red, 2 green, 4 blue), saturation and brightness from 0 to 1.
fn colour(hue: f32, saturation: f32, brightness: f32) -> Rgb {
    [5.0, 3.0, 1.0].map(|offset: f32| {
        let place = (offset + hue + 6.0) % 6.0;
        brightness * (1.0 - saturation * place.min(4.0 - place).clamp(0.0, 1.0))
    })
}

fn mix(from: Rgb, to: Rgb, part: f32) -> Rgb {
    [0, 1, 2].map(|channel| from[channel] + (to[channel] - from[channel]) * part)
}

/// How much of a pixel is covered by what is `distance` pixels away from its middle.
fn cover(distance: f32) -> f32 {
    (0.5 - distance).clamp(0.0, 1.0)
}

/// The colours of an image while it is drawn.
struct Canvas(Vec<Rgb>);

impl Canvas {
    fn new(colour: impl Fn(Point) -> Rgb) -> Self {
        Self((0..SIDE * SIDE).map(|index| colour(middle_of(index))).collect())
    }

    /// Lays a colour over each pixel up to `reach` from `middle`; `brush` answers the colour and how much of it.
    fn paint(&mut self, middle: Point, reach: f32, brush: impl Fn(Point) -> (Rgb, f32)) {
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
    fn develop(&self, dice: &mut Dice, out: &mut [u8]) {
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

fn background(kind: Background, dice: &mut Dice) -> impl Fn(Point) -> Rgb + use<> {
    let (hue, saturation) = (dice.between(0.0, 6.0), dice.between(0.0, nuisance::TINT));
    let (dark, light) = (dice.between(0.05, 0.22), dice.between(0.75, 0.95));
    let direction = dice.direction();
    let half = SIDE as f32 / 2.0;
    move |at| {
        let part = match kind {
            Background::Dark => 0.0,
            Background::Light => 1.0,
            Background::Gradient => {
                let from_middle = at.minus(Point::new(half, half));
                (0.5 + from_middle.dot(direction) / (1.8 * half)).clamp(0.0, 1.0)
            }
        };
        colour(hue, saturation, dark + (light - dark) * part)
    }
}

/// A speck or a stroke of any colour: much smaller than an object.
fn clutter(canvas: &mut Canvas, dice: &mut Dice) {
    let (from, direction) = (dice.point(0.0), dice.direction());
    let length = if dice.chance(0.4) { 0.1 } else { dice.between(2.0, nuisance::STROKE) };
    let to = from.along(direction, length);
    let (half, opacity, colour) = (dice.between(0.4, 1.0), dice.between(0.5, 1.0), dice.any_colour());
    canvas.paint(from, length + half, |at| (colour, opacity * cover(segment(at, from, to) - half)));
}

/// A bar of any colour across part of one object.
fn occlude(canvas: &mut Canvas, objects: &[Object], dice: &mut Dice) {
    let hidden = &objects[dice.whole((0, objects.len() - 1))];
    let across = dice.direction();
    let (half, colour) = (dice.between(nuisance::BAR.0, nuisance::BAR.1) / 2.0, dice.any_colour());
    // Off the middle, so that most of the object stays to be seen.
    let offset = hidden.radius * dice.between(0.5, 0.9);
    let length = hidden.radius * dice.between(0.9, 1.4);
    let middle = hidden.middle.along(across, offset);
    let lengthwise = Point::new(-across.y, across.x);
    let (from, to) = (middle.along(lengthwise, -length), middle.along(lengthwise, length));
    canvas.paint(middle, length + half, |at| (colour, cover(segment(at, from, to) - half)));
}

/// Where one object of an image lies.
struct Object {
    middle: Point,
    radius: f32,
    turn: Point,
}

/// As many objects as the class has, next to each other.
fn objects(class: &Class, dice: &mut Dice) -> Vec<Object> {
    let count = match class.count {
        Count::One => 1,
        Count::Two => 2,
        Count::Three => 3,
    };
    let size = match class.size {
        Size::Small => SMALL,
        Size::Large => LARGE,
    };
    // All of one image are about the same size.
    let size = size * (1.0 + dice.around(nuisance::SIZE));
    let mut best: (f32, Vec<Point>) = (f32::NEG_INFINITY, Vec::new());
    // The first of many layouts where all have room, else the one with the most.
    for _ in 0..400 {
        let layout: Vec<Point> = (0..count).map(|_| dice.point(size * (1.0 - nuisance::OUTSIDE))).collect();
        let room = room(&layout);
        if room > best.0 {
            best = (room, layout);
        }
        if room >= 2.0 * size * (1.0 - nuisance::OVERLAP) {
            break;
        }
    }
    best.1.into_iter().map(|middle| Object { middle, radius: size, turn: dice.direction() }).collect()
}

/// The distance between the two points that are nearest to each other.
fn room(layout: &[Point]) -> f32 {
    let mut least = f32::INFINITY;
    for (index, a) in layout.iter().enumerate() {
        for b in &layout[index + 1..] {
            least = least.min(a.minus(*b).length());
        }
    }
    least
}

/// The colours of an object.
struct Paint {
    base: Rgb,
    /// Of the stripes or dots.
    ink: Rgb,
    phase: Point,
}

impl Paint {
    fn new(class: &Class, dice: &mut Dice) -> Self {
        let hue = match class.colour {
            Colour::Red => 0.0,
            Colour::Yellow => 1.0,
            Colour::Green => 2.1,
            Colour::Blue => 3.75,
        };
        let hue = hue + dice.around(nuisance::HUE);
        let base = colour(hue, dice.between(nuisance::SATURATION, 1.0), dice.between(nuisance::BRIGHTNESS, 1.0));
        let ink = if dice.chance(0.5) { [0.97; 3] } else { mix(base, [0.0; 3], 0.75) };
        Self { base, ink, phase: Point::new(dice.around(0.5), dice.around(0.5)) }
    }

    /// The colour of an object at a place, and how much of it.
    fn at(&self, class: &Class, object: &Object, at: Point) -> (Rgb, f32) {
        let own = at.minus(object.middle).turned(object.turn);
        let scaled = Point::new(own.x / object.radius, own.y / object.radius);
        let opacity = cover(distance(class.shape, scaled) * object.radius);
        if opacity == 0.0 {
            return (self.base, 0.0);
        }
        // Coarser on large objects, and never too fine to be seen.
        let period = 2.2 + 0.38 * object.radius;
        let to_nearest = |along: f32, phase: f32| {
            let place = along / period + phase;
            (place - place.round()) * period
        };
        let inked = match class.texture {
            Texture::Solid => 0.0,
            Texture::Striped => cover(to_nearest(own.x, self.phase.x).abs() - 0.25 * period),
            Texture::Dotted => {
                let nearest = Point::new(to_nearest(own.x, self.phase.x), to_nearest(own.y, self.phase.y));
                cover(nearest.length() - 0.31 * period)
            }
        };
        (mix(self.base, self.ink, inked), opacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Seeds;

    fn dice(index: usize) -> Dice {
        Dice(Seeds::new(0).stream("test", index))
    }

    #[test]
    fn colours_by_hand() {
        assert_eq!(colour(0.0, 1.0, 1.0), [1.0, 0.0, 0.0]);
        assert_eq!(colour(1.0, 1.0, 1.0), [1.0, 1.0, 0.0]);
        assert_eq!(colour(2.0, 0.5, 0.5), [0.25, 0.5, 0.25]);
        assert_eq!(colour(4.0, 1.0, 1.0), [0.0, 0.0, 1.0]);
        assert_eq!(colour(-1.0, 1.0, 1.0), colour(5.0, 1.0, 1.0));
        assert_eq!(colour(3.3, 0.0, 0.5), [0.5; 3]);
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

    /// Two objects that lie on each other would be seen as one.
    #[test]
    fn objects_can_be_counted() {
        for (index, class) in crate::data::datasets::synthetic::classes::CLASSES.iter().enumerate() {
            for round in 0..50 {
                let objects = objects(class, &mut dice(100 * index + round));
                let layout: Vec<Point> = objects.iter().map(|object| object.middle).collect();
                assert!(room(&layout) > 1.5 * objects[0].radius, "{class:?}, round {round}: {}", room(&layout));
            }
        }
    }

    #[test]
    fn a_solid_object_has_one_colour() {
        let class = crate::data::datasets::synthetic::classes::CLASSES[3];
        assert_eq!(class.texture, Texture::Solid);
        let paint = Paint::new(&class, &mut dice(3));
        let object = Object { middle: Point::new(16.0, 16.0), radius: 7.0, turn: Point::new(1.0, 0.0) };
        for at in [Point::new(16.0, 16.0), Point::new(18.3, 14.1)] {
            assert_eq!(paint.at(&class, &object, at), (paint.base, 1.0));
        }
        assert_eq!(paint.at(&class, &object, Point::new(30.0, 16.0)).1, 0.0);
    }
}
