//! A few features of each class after a task: enough to draw where the model puts what it sees and what it imagines.

use crate::class::Slot;

/// Features, `[count, width]`, row after row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// The class of each row.
    pub slots: Vec<Slot>,
    /// The rows, one after the other.
    pub values: Vec<f32>,
}

/// Where a class that has not come is expected: a circle in a plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zone {
    /// The class.
    pub slot: Slot,
    /// The mean of its ghosts.
    pub centre: [f32; 2],
    /// The root mean square of their distances from it.
    pub spread: f32,
}

/// The features that are kept of one task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// The length of a feature.
    pub width: usize,
    /// Of test images, in their order: the same images after every task.
    pub real: Points,
    /// Which test images, as the answers of the task number them.
    pub images: Vec<u32>,
    /// Ghosts: of the future those that the model trained with, of the seen classes others from the same generator. Those of an
    /// oracle, which are features of actual images, have the lengths that `f` gave them, also where their directions trained.
    pub ghosts: Points,
    /// The proxies of the classes that have one, where a feature can be drawn as it is: in a plane.
    pub proxies: Points,
    /// Where the future is expected, in a plane.
    pub zones: Vec<Zone>,
}

impl Points {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Each with its class; `width` is the length of a row.
    pub fn rows(&self, width: usize) -> impl Iterator<Item = (Slot, &[f32])> {
        self.slots.iter().copied().zip(self.values.chunks_exact(width.max(1)))
    }
}

impl Scatter {
    /// What does not fit together, if something does not: of `classes` classes and `images` test images.
    pub fn fault(&self, classes: usize, images: usize) -> Option<&'static str> {
        let points = [&self.real, &self.ghosts, &self.proxies];
        let ragged = points.iter().any(|points| points.values.len() != points.len() * self.width);
        let slots = points.iter().flat_map(|points| &points.slots).chain(self.zones.iter().map(|zone| &zone.slot));
        let endless = points.iter().flat_map(|points| &points.values).any(|value| !value.is_finite());
        let zones = self.zones.iter().flat_map(|zone| [zone.centre[0], zone.centre[1], zone.spread]);
        if ragged || self.images.len() != self.real.len() {
            Some("rows and classes are not as many")
        } else if slots.into_iter().any(|slot| slot.index() >= classes) {
            Some("a class is not one of the run")
        } else if self.images.iter().any(|image| *image as usize >= images) {
            Some("an image is not one of the test images")
        } else if endless || zones.into_iter().any(|value| !value.is_finite()) {
            Some("a feature is not a number")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scatter() -> Scatter {
        Scatter {
            width: 2,
            real: Points { slots: vec![Slot(0), Slot(1)], values: vec![1.0, 2.0, 3.0, 4.0] },
            images: vec![0, 5],
            ..Default::default()
        }
    }

    #[test]
    fn rows_come_with_their_classes() {
        let scatter = scatter();
        let rows: Vec<_> = scatter.real.rows(2).collect();
        assert_eq!(rows, [(Slot(0), &[1.0, 2.0][..]), (Slot(1), &[3.0, 4.0][..])]);
    }

    #[test]
    fn what_does_not_fit_together_is_found() {
        assert_eq!(scatter().fault(2, 6), None);
        assert_eq!(scatter().fault(1, 6), Some("a class is not one of the run"));
        assert_eq!(scatter().fault(2, 5), Some("an image is not one of the test images"));
        let mut short = scatter();
        short.real.values.pop();
        assert_eq!(short.fault(2, 6), Some("rows and classes are not as many"));
        let mut endless = scatter();
        endless.real.values[1] = f32::NAN;
        assert_eq!(endless.fault(2, 6), Some("a feature is not a number"));
    }
}
