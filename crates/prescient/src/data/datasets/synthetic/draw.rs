//! Draws one image of a class: background, clutter, objects, what hides them, light, noise.
//!
//! Numbers come from the stream in a fixed order, so that an image is the same on every machine.

use crate::data::datasets::synthetic::canvas::{Canvas, Rgb, colour, cover, mix};
use crate::data::datasets::synthetic::classes::{Background, Class, Colour, Count, Size, Texture};
use crate::data::datasets::synthetic::dice::Dice;
use crate::data::datasets::synthetic::shapes::{Point, REACH, distance, segment};
use crate::seeds::Stream;

/// The side of an image, in pixels.
pub(crate) const SIDE: usize = 32;
/// The bytes of an image.
pub(crate) const BYTES: usize = SIDE * SIDE * 3;

/// The radius of a small object, in pixels.
const SMALL: f32 = 4.3;
/// The radius of a large one.
const LARGE: f32 = 7.0;

/// How much of everything that says nothing of the class. Lengths are in pixels, colours go from 0 to 1.
pub(super) mod nuisance {
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
