//! When two images are the same, and a fast guess at which may show the same.
//!
//! The same: all their pixels agree, whatever their files are called and whatever else is written in them. A guess: they get
//! darker at the same places (a "difference hash" of 128 bits), as a whole, or a part of nine tenths of one and the whole of the
//! other, as they are or mirrored. That survives another size, another compression, a crop and a little more light.

use crate::data::Image;
use crate::data::thumbnail::{Part, Thumbnail};

/// Cells across and down; each is compared with its neighbour on the right and the one below.
const CELLS: usize = 8;
/// The side of the parts that are compared.
const NINE_TENTHS: f32 = 0.9;
/// So many images are guessed at.
const CANDIDATES: usize = 8;

/// A hash of all pixels: two images have the same one if and only if they are the same.
pub fn content(image: &Image) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(&image.width.to_le_bytes())
        .update(&image.height.to_le_bytes())
        .update(&[image.channels.bytes() as u8]);
    hasher.update(&image.pixels).finalize()
}

/// How one image lies on another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub(super) part: Part,
    /// Whether the part is one of the training image, and the test image is whole; or the other way round.
    pub(super) of_train: bool,
    pub(super) mirrored: bool,
}

/// The parts of nine tenths: in the middle and in the corners.
fn parts() -> [Part; 5] {
    let rest = 1.0 - NINE_TENTHS;
    let middle = [(0.5, 0.5), (0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)];
    middle.map(|(left, top)| Part { left: left * rest, top: top * rest, side: NINE_TENTHS })
}

/// Where a thumbnail gets darker: 64 bits from left to right, 64 from top to bottom.
fn hash(thumbnail: &Thumbnail, part: Part) -> u128 {
    let cells: [[f32; CELLS + 1]; CELLS + 1] = thumbnail.sampled(part);
    let mut bits = 0;
    for y in 0..CELLS {
        for x in 0..CELLS {
            for neighbour in [cells[y][x + 1], cells[y + 1][x]] {
                bits = bits << 1 | u128::from(cells[y][x] > neighbour);
            }
        }
    }
    bits
}

/// The hashes of an image: as a whole, and of its parts.
pub(super) struct Hashes {
    whole: u128,
    parts: [u128; 5],
}

impl Hashes {
    pub(super) fn of(thumbnail: &Thumbnail) -> Self {
        Self { whole: hash(thumbnail, Part::WHOLE), parts: parts().map(|part| hash(thumbnail, part)) }
    }

    /// The smallest distance to another, and in which way: as wholes, or a part of this one or of the other.
    fn distance(&self, other: &Self) -> (u32, usize) {
        let mut best = ((self.whole ^ other.whole).count_ones(), 0);
        for place in 0..5 {
            let of_other = (self.whole ^ other.parts[place]).count_ones();
            let of_own = (self.parts[place] ^ other.whole).count_ones();
            best = best.min((of_other, 1 + place)).min((of_own, 6 + place));
        }
        best
    }
}

/// A test image, as it is and mirrored.
pub(super) struct Query([Hashes; 2]);

impl Query {
    pub(super) fn of(thumbnail: &Thumbnail) -> Self {
        Self([Hashes::of(thumbnail), Hashes::of(&thumbnail.mirrored())])
    }

    /// The training images with the nearest hashes, among those that are allowed, and how each fits best.
    pub(super) fn nearest(&self, train: &[Hashes], may: &(dyn Fn(usize) -> bool + Sync)) -> Vec<(usize, Fit)> {
        let mut best: Vec<(u32, usize, usize, bool)> = Vec::with_capacity(CANDIDATES + 1);
        for (place, hashes) in train.iter().enumerate() {
            let [as_it_is, mirrored] = [0, 1].map(|turned| self.0[turned].distance(hashes));
            let (distance, way) = as_it_is.min(mirrored);
            let worst = best.last().map_or(u32::MAX, |(distance, ..)| *distance);
            if (best.len() < CANDIDATES || distance < worst) && may(place) {
                let at = best.partition_point(|(before, ..)| *before <= distance);
                best.insert(at, (distance, place, way, mirrored < as_it_is));
                best.truncate(CANDIDATES);
            }
        }
        let fit = |(_, place, way, mirrored): (u32, usize, usize, bool)| {
            let part = if way == 0 { Part::WHOLE } else { parts()[(way - 1) % 5] };
            (place, Fit { part, of_train: way < 6, mirrored })
        };
        best.into_iter().map(fit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::thumbnail::tests::picture;

    #[test]
    fn one_pixel_makes_another_image() {
        let image = picture(32, 0);
        assert_eq!(content(&image), content(&image.clone()));
        let mut pixels = image.pixels.to_vec();
        pixels[100] ^= 1;
        let other = Image { pixels: pixels.into(), ..image.clone() };
        assert_ne!(content(&image), content(&other));
        let turned = Image { width: 16, height: 64, ..image.clone() };
        assert_ne!(content(&image), content(&turned), "the same bytes in another shape");
    }

    /// Of twenty pictures the cut one fits best, as a part of a training image and not the other way round.
    #[test]
    fn the_nearest_image_comes_first_with_how_it_fits() {
        let thumbnail = |image: &Image| Thumbnail::of(image).expect("it is not flat");
        let image = picture(100, 0);
        let others = (0..19).map(|place| Hashes::of(&thumbnail(&image.cut(0, 0, 20 + 2 * place, 30))));
        let train: Vec<Hashes> = others.chain([Hashes::of(&thumbnail(&image))]).collect();
        let near = Query::of(&thumbnail(&image.cut(0, 10, 90, 90))).nearest(&train, &|_| true);
        let (place, fit) = near[0];
        assert_eq!((near.len(), place, fit.of_train, fit.mirrored), (CANDIDATES, 19, true, false));
        assert_eq!((fit.part.left, fit.part.side), (0.0, NINE_TENTHS));
        let without = Query::of(&thumbnail(&image)).nearest(&train, &|place| place != 19);
        assert!(without.iter().all(|(place, _)| *place != 19));
    }
}
