//! How far a point lies outside a shape: the signed distance, negative inside.
//!
//! Only `+ − × ÷ √`, which IEEE 754 defines to the last bit: the same image on every machine.

use crate::data::datasets::synthetic::classes::Shape;

/// A point, or a direction of length one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

impl Point {
    pub(crate) const fn new(x: f32, y: f32) -> Self {
        Self { x, y }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y)
    }

    /// `self + times · direction`.
    pub(crate) fn along(self, direction: Self, times: f32) -> Self {
        Self::new(self.x + direction.x * times, self.y + direction.y * times)
    }

    pub(crate) fn dot(self, other: Self) -> f32 {
        self.x * other.x + self.y * other.y
    }

    pub(crate) fn length(self) -> f32 {
        self.dot(self).sqrt()
    }

    /// As seen by someone who looks along `direction`.
    pub(crate) fn turned(self, direction: Self) -> Self {
        Self::new(self.dot(direction), self.y * direction.x - self.x * direction.y)
    }
}

/// How far `at` lies outside `shape` around the origin. Radius 1 for all of them means about the same area.
pub(crate) fn distance(shape: Shape, at: Point) -> f32 {
    match shape {
        Shape::Circle => at.length() - 1.0,
        Shape::Square => rectangle(at, 0.88, 0.88),
        Shape::Triangle => polygon(at, &TRIANGLE),
        Shape::Cross => rectangle(at, 1.2, 0.42).min(rectangle(at, 0.42, 1.2)),
    }
}

/// The farthest that any shape reaches from the origin.
pub(crate) const REACH: f32 = 1.4;

/// Equilateral, its corners 1.35 from the middle.
const TRIANGLE: [Point; 3] = [Point::new(0.0, -1.35), Point::new(1.169_134, 0.675), Point::new(-1.169_134, 0.675)];

fn rectangle(at: Point, half_width: f32, half_height: f32) -> f32 {
    let (x, y) = (at.x.abs() - half_width, at.y.abs() - half_height);
    Point::new(x.max(0.0), y.max(0.0)).length() + x.max(y).min(0.0)
}

/// How far `at` lies from the line between two points.
pub(crate) fn segment(at: Point, from: Point, to: Point) -> f32 {
    let (edge, offset) = (to.minus(from), at.minus(from));
    let along = (offset.dot(edge) / edge.dot(edge)).clamp(0.0, 1.0);
    offset.along(edge, -along).length()
}

/// The distance to the nearest edge; inside where a ray from `at` crosses the outline an odd number of times.
fn polygon(at: Point, corners: &[Point]) -> f32 {
    let (mut nearest, mut inside) = (f32::INFINITY, false);
    let mut from = corners[corners.len() - 1];
    for &to in corners {
        nearest = nearest.min(segment(at, from, to));
        if (from.y > at.y) != (to.y > at.y) && at.x < (to.x - from.x) * (at.y - from.y) / (to.y - from.y) + from.x {
            inside = !inside;
        }
        from = to;
    }
    if inside { -nearest } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: f32, expected: f32) {
        assert!((found - expected).abs() < 1e-5, "expected {expected}, found {found}");
    }

    #[test]
    fn distances_by_hand() {
        assert_close(distance(Shape::Circle, Point::new(3.0, 4.0)), 4.0);
        assert_close(distance(Shape::Circle, Point::new(0.0, 0.0)), -1.0);
        assert_close(distance(Shape::Square, Point::new(0.0, 1.88)), 1.0);
        // Beyond the corner (0.88, 0.88) by (3, 4).
        assert_close(distance(Shape::Square, Point::new(3.88, 4.88)), 5.0);
        // Below the lower edge, and the middle of a triangle whose inner circle is half its outer one.
        assert_close(distance(Shape::Triangle, Point::new(0.0, 1.675)), 1.0);
        assert_close(distance(Shape::Triangle, Point::new(0.0, 0.0)), -0.675);
        // In the notch between two arms.
        assert_close(distance(Shape::Cross, Point::new(0.92, 0.92)), 0.5);
        assert_close(distance(Shape::Cross, Point::new(1.7, 0.0)), 0.5);
    }

    #[test]
    fn no_shape_reaches_farther_than_said() {
        for &shape in Shape::ALL {
            for step in -100..=100 {
                let part = step as f32 / 100.0 * REACH;
                for corner in [(part, REACH), (part, -REACH), (REACH, part), (-REACH, part)] {
                    let (x, y) = corner;
                    let outward = Point::new(x, y);
                    let edge = Point::new(x / outward.length() * REACH, y / outward.length() * REACH);
                    assert!(distance(shape, edge) > 0.0, "{shape:?} at {edge:?}");
                }
            }
        }
    }

    #[test]
    fn a_quarter_turn_is_exact() {
        let turned = Point::new(1.0, 2.0).turned(Point::new(0.0, 1.0));
        assert_eq!(turned, Point::new(2.0, -1.0));
    }
}
