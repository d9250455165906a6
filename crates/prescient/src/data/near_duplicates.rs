//! Which test images show what a training image shows: as it is or mirrored, as a whole or cropped.
//!
//! Two comparisons of thumbnails. The perceptual hash finds the few training images that a test image may be a copy of. A finer one
//! lays the two on each other, moves and scales one of them until they agree best, and takes the cosine between their gradients:
//!
//! ```text
//! likeness(a, b) = max over part p  of  cos(∇a, ∇b[p])
//! ```
//!
//! How alike distinct images are depends on the data: two photos of trousers on white are more alike than a photo and its crop.
//! So the limit is taken from the data, from how near test images come to training images of *other* classes, of which they are
//! no copies. With `m` the median of the logarithm of `1 − likeness` there and `σ` how far it spreads below that, a pair is a near
//! duplicate if
//!
//! ```text
//! ln(1 − likeness) ≤ m − 6.5 σ          and          1 − likeness ≤ ⅒ · min(1, k / 40)
//! ```
//!
//! where `k` is over how many of its 121 places the gradient of the plainer one is spread: one dark thing on white looks like any other.

use crate::data::perceptual_hash::{Fit, Hashes, Query};
use crate::data::thumbnail::{Part, Thumbnail};
use rayon::prelude::*;
use std::fmt;

/// Cells across and down at which gradients are compared: fewer than a thumbnail has, so that a part of it is as sharp as the whole.
const FINE: usize = 12;
/// The smallest part that is taken for a copy.
const SMALLEST: f32 = 0.8;
/// Less alike than this, two images are not called so, whatever the data is. Of 600 altered copies of photos 597 are more alike, and no
/// two distinct drawings of one kind are.
const LEAST: f32 = 0.9;
/// Images whose gradient is spread over fewer places must be more alike, in proportion.
const RICH: f32 = 40.0;
/// How many times the spread of distinct images a copy lies below their median.
const BEYOND: f32 = 6.5;
/// So many test images are compared with other classes to find the limit; with fewer than the second, the data tells nothing.
const REFERENCES: (usize, usize) = (400, 20);

/// A test image and the training image that it looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearDuplicate {
    /// Its place among the test images.
    pub test: usize,
    /// Its place among the training images.
    pub train: usize,
    /// How alike the two are: 1 is the same.
    pub likeness: f32,
    /// Whether one of them is mirrored.
    pub mirrored: bool,
}

impl fmt::Display for NearDuplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:.0} % alike", if self.mirrored { "mirrored, " } else { "" }, 100.0 * self.likeness)
    }
}

/// An image: its thumbnail, and a number for its class.
pub type Seen = (Thumbnail, usize);

/// Each test image that looks like a training image, with the one that it looks most like.
pub fn near_duplicates(learned: &[Seen], test: &[Seen]) -> Vec<NearDuplicate> {
    let hashes: Vec<Hashes> = learned.par_iter().map(|(thumbnail, _)| Hashes::of(thumbnail)).collect();
    let nearest = |place: usize, may: &(dyn Fn(usize) -> bool + Sync)| -> Option<NearDuplicate> {
        let (thumbnail, _) = &test[place];
        let candidates = Query::of(thumbnail).nearest(&hashes, may);
        let compared = candidates.into_iter().map(|(train, fit)| {
            let likeness = likeness(thumbnail, &learned[train].0, fit);
            NearDuplicate { test: place, train, likeness, mirrored: fit.mirrored }
        });
        compared.max_by(|one, other| one.likeness.total_cmp(&other.likeness))
    };
    let step = test.len().div_ceil(REFERENCES.0).max(1);
    let references: Vec<usize> = (0..test.len()).step_by(step).collect();
    let of_others =
        references.into_par_iter().filter_map(|place| nearest(place, &|other| learned[other].1 != test[place].1));
    let least = least(of_others.map(|pair| 1.0 - pair.likeness).collect());
    let found = (0..test.len()).into_par_iter().filter_map(|place| nearest(place, &|_| true));
    found.filter(|pair| pair.likeness >= least.max(least_of(&test[pair.test].0, &learned[pair.train].0))).collect()
}

/// How alike two images must be to be called so, where distinct ones are as far from each other as `distances` say.
fn least(mut distances: Vec<f32>) -> f32 {
    if distances.len() < REFERENCES.1 {
        return LEAST;
    }
    distances.sort_by(f32::total_cmp);
    let at = |share: f32| distances[(share * (distances.len() - 1) as f32) as usize].max(1e-4).ln();
    let (median, quartile) = (at(0.5), at(0.25));
    // A quarter of normal numbers lies 0.674 spreads below their median.
    let spread = (median - quartile) / 0.674;
    LEAST.max(1.0 - (median - BEYOND * spread).exp())
}

/// How alike these two must be, whatever the data is.
fn least_of(one: &Thumbnail, other: &Thumbnail) -> f32 {
    let [one, other] = [one, other].map(|thumbnail| Gradient::of(thumbnail, Part::WHOLE).places());
    1.0 - (1.0 - LEAST) * (one.min(other) / RICH).min(1.0)
}

/// How alike two images are where they lie on each other best, beginning at `fit`.
fn likeness(test: &Thumbnail, train: &Thumbnail, fit: Fit) -> f32 {
    let test = if fit.mirrored { test.mirrored() } else { *test };
    let (whole, other) = if fit.of_train { (&test, train) } else { (train, &test) };
    let fixed = Gradient::of(whole, Part::WHOLE);
    let at = |part: Part| (fixed.cosine(&Gradient::of(other, part)), part);
    let mut best = at(fit.part);
    for step in [0.04f32, 0.02, 0.01] {
        for _ in 0..2 {
            for (right, down, wider) in [
                (1.0, 0.0, 0.0),
                (-1.0, 0.0, 0.0),
                (0.0, 1.0, 0.0),
                (0.0, -1.0, 0.0),
                (-0.5, -0.5, 1.0),
                (0.5, 0.5, -1.0),
            ] {
                let Part { left, top, side } = best.1;
                let part = Part { left: left + step * right, top: top + step * down, side: side + step * wider };
                let inside = |from: f32| (-0.03..=1.03 - part.side).contains(&from);
                if (SMALLEST..=1.0).contains(&part.side) && inside(part.left) && inside(part.top) {
                    best = [best, at(part)].into_iter().fold(best, |best, new| if new.0 > best.0 { new } else { best });
                }
            }
        }
    }
    best.0
}

/// How light changes from cell to cell, as a direction.
struct Gradient([[[f32; 2]; FINE - 1]; FINE - 1]);

impl Gradient {
    fn of(thumbnail: &Thumbnail, part: Part) -> Self {
        let cells: [[f32; FINE]; FINE] = thumbnail.sampled(part);
        let at = |y: usize, x: usize| [cells[y][x + 1] - cells[y][x], cells[y + 1][x] - cells[y][x]];
        let mut slopes: [[[f32; 2]; FINE - 1]; FINE - 1] = std::array::from_fn(|y| std::array::from_fn(|x| at(y, x)));
        let length = slopes.as_flattened().as_flattened().iter().map(|slope| slope * slope).sum::<f32>().sqrt();
        let scale = 1.0 / length.max(1e-6);
        slopes.as_flattened_mut().as_flattened_mut().iter_mut().for_each(|slope| *slope *= scale);
        Self(slopes)
    }

    /// Over how many places it is spread: as many as there are where it is the same everywhere, 1 where it is in one place.
    fn places(&self) -> f32 {
        let squares = self.0.as_flattened().iter().map(|[right, down]| right * right + down * down);
        let (sum, of_squares) = squares.fold((0.0, 0.0), |(sum, of), square| (sum + square, of + square * square));
        sum * sum / of_squares.max(1e-12)
    }

    fn cosine(&self, other: &Self) -> f32 {
        let flat = |gradient: &Self| gradient.0.as_flattened().as_flattened().to_vec();
        flat(self).iter().zip(flat(other)).map(|(a, b)| a * b).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::thumbnail::tests::picture;

    fn seen(image: &crate::data::Image) -> Seen {
        (Thumbnail::of(image).expect("it is not flat"), 0)
    }

    #[test]
    fn a_copy_is_found_as_it_is_mirrored_and_cropped() {
        let image = picture(100, 0);
        let mut pixels = image.pixels.to_vec();
        pixels.as_chunks_mut::<3>().0.chunks_exact_mut(100).for_each(<[[u8; 3]]>::reverse);
        let mirror = crate::data::Image { pixels: pixels.into(), ..image.clone() };
        for (copy, mirrored, least) in [
            (image.clone(), false, 0.9999),
            (picture(60, 10), false, 0.99),
            (mirror, true, 0.999),
            (image.cut(3, 6, 90, 90), false, 0.97),
        ] {
            for (one, other) in [(&image, &copy), (&copy, &image)] {
                let found = near_duplicates(&[seen(one)], &[seen(other)]);
                assert_eq!(found.len(), 1);
                assert!(found[0].likeness >= least && found[0].mirrored == mirrored, "{:?}", found[0]);
            }
        }
    }

    /// A gradient that is the same in all 121 places, and one in a single place: one dark pixel on white must agree to 1 part in 400.
    #[test]
    fn plain_images_must_be_more_alike() {
        let even = Gradient([[[1.0, 0.0]; FINE - 1]; FINE - 1]);
        assert!((even.places() - 121.0).abs() < 1e-3);
        let mut one = Gradient([[[0.0; 2]; FINE - 1]; FINE - 1]);
        one.0[3][4] = [0.6, 0.8];
        assert!((one.places() - 1.0).abs() < 1e-6);
        let rich = Thumbnail::of(&picture(64, 0)).expect("it is not flat");
        assert_eq!(least_of(&rich, &rich), LEAST);
    }

    /// Sixteen by sixteen patches of any light.
    #[test]
    fn what_shows_something_else_is_not_alike() {
        let patches = |seed: u32| {
            let light = |place: u32| {
                let mixed = (place ^ seed.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
                ((mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35) >> 24) as u8
            };
            let pixels = (0..64 * 64).flat_map(|at| [light(at / 64 / 4 * 16 + at % 64 / 4); 3]).collect();
            crate::data::Image { width: 64, height: 64, channels: crate::data::Channels::Rgb, pixels }
        };
        let train: Vec<Seen> = (0..20).map(|seed| seen(&patches(1000 * seed))).collect();
        assert_eq!(near_duplicates(&train, &[seen(&patches(777))]), []);
        assert_eq!(near_duplicates(&train, &[seen(&patches(7000))]).len(), 1);
    }

    /// Distances of 0.48 to 0.52: a median of 0.5, a quartile of 0.49, a spread of ln(0.5/0.49)/0.674 = 0.030, and 0.5 · e^(−6.5 · 0.03) = 0.41
    /// is more than is allowed in any case. From 0.01 to 1, evenly on a logarithmic scale, almost nothing is: the median is 0.1, the
    /// quartile 0.0316, the spread ln(3.16)/0.674 = 1.708, and ln 0.1 − 6.5 · 1.708 = −13.4.
    #[test]
    fn the_limit_comes_from_the_data() {
        let even: Vec<f32> = (0..101).map(|place| 0.48 + 0.000_4 * place as f32).collect();
        assert_eq!(least(even), LEAST);
        let wide: Vec<f32> = (0..101).map(|place| 10f32.powf(-2.0 + 0.02 * place as f32)).collect();
        let limit = least(wide);
        assert!((1.0 - limit - (-13.4f32).exp()).abs() < 1e-6, "{limit}");
        assert_eq!(least(vec![0.001; 19]), LEAST, "too few to tell");
    }

    #[test]
    fn it_says_how_alike_they_are() {
        let near = NearDuplicate { test: 0, train: 0, likeness: 0.934, mirrored: true };
        assert_eq!(near.to_string(), "mirrored, 93 % alike");
    }
}
