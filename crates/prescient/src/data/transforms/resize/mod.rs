//! Cuts a window out of an image and scales it to a square of planes, with the triangle filter of Pillow and torchvision.
//!
//! ```text
//! across   t[c, y, x] = Σ_i  a_x(i) · image[y, i, c]         for the rows of the window
//! down     v[c, y, x] = Σ_j  b_y(j) · t[c, j, x]
//! ```
//!
//! A random crop is another window every time, so what is worked out anew for each must be cheap: weights lie in memory
//! that is kept, the window is not copied first, planes and mirror images come out of it without a further pass (ADR 8).
//!
//! All sums are of whole numbers, so registers of any width give the same bytes. On x86-64 both passes use wide ones
//! ([`wide`]). Elsewhere the red, green and blue of a pixel travel through one multiplication, side by side in 64 bits.

#[cfg(target_arch = "x86_64")]
mod wide;

use crate::data::{Image, Window};
use pulp::{Arch, NullaryFnOnce};
use std::cell::RefCell;

/// Weights are whole numbers that add up to this: 8 bits of pixel and 12 of weight leave room for three sums in 63 bits.
const ONE: u32 = 1 << 12;
/// The bits of a channel in a pixel of 64.
const FIELD: u32 = 21;

/// That a machine has wide registers.
#[cfg(target_arch = "x86_64")]
type Wide = pulp::x86::V3;
#[cfg(not(target_arch = "x86_64"))]
type Wide = std::convert::Infallible;

#[cfg(target_arch = "x86_64")]
fn wide_registers() -> Option<Wide> {
    Wide::try_new()
}

#[cfg(not(target_arch = "x86_64"))]
fn wide_registers() -> Option<Wide> {
    None
}

thread_local! {
    static BENCH: RefCell<Bench> = RefCell::new(Bench::default());
}

/// What the work needs and keeps from one image to the next.
#[derive(Default)]
struct Bench {
    across: Weights,
    down: Weights,
    #[cfg(target_arch = "x86_64")]
    lanes: wide::Lanes,
    /// The pixels of one row, their channels side by side.
    row: Vec<u64>,
    /// Each of them as weighted by one, and what the next one is above it.
    steps: Vec<[u64; 2]>,
    /// `[channels, rows of the window, size]`.
    narrowed: Vec<u8>,
}

/// How much of which pixels goes into each pixel of the result, along one side.
#[derive(Default)]
struct Weights {
    /// The first of all pixels that are looked at.
    start: usize,
    /// One more than the last.
    end: usize,
    /// The first pixel of each place, counted from `start`.
    first: Vec<usize>,
    /// As many weights for each, some of them 0.
    taps: usize,
    weights: Vec<u32>,
    /// As real numbers, while they are made.
    exact: Vec<f64>,
}

impl Weights {
    /// For a part of `pixels` pixels from `start` over `extent`, scaled to `size`; back to front if it is mirrored.
    fn fill(&mut self, pixels: u32, start: f64, extent: f64, size: u32, mirrored: bool) {
        let scale = extent / f64::from(size);
        // A reduction looks at every pixel it covers; an enlargement at the two beside its place.
        let reach = scale.max(1.0);
        self.taps = ((2.0 * reach).ceil() as usize).min(pixels as usize);
        self.first.clear();
        self.weights.clear();
        let last = pixels as usize - self.taps;
        for place in 0..size {
            let place = if mirrored { size - 1 - place } else { place };
            let center = start + (f64::from(place) + 0.5) * scale;
            // By way of a signed number, which the processor has an instruction for.
            let first = ((center - reach + 0.5) as i32).max(0) as usize;
            let first = first.min(last);
            self.first.push(first);
            match self.taps {
                // Nearest to an edge the second would be beyond it, and has no weight.
                2 if scale <= 1.0 => {
                    let second = ((center - 0.5 - first as f64).clamp(0.0, 1.0) * f64::from(ONE) + 0.5) as u32;
                    self.weights.extend([ONE - second, second]);
                }
                taps => {
                    let weight = |tap: usize| (1.0 - ((first + tap) as f64 + 0.5 - center).abs() / reach).max(0.0);
                    self.exact.clear();
                    self.exact.extend((0..taps).map(weight));
                    self.push_whole();
                }
            }
        }
        let (one, other) = (self.first[0], self.first[size as usize - 1]);
        (self.start, self.end) = (one.min(other), one.max(other) + self.taps);
        self.first.iter_mut().for_each(|first| *first -= self.start);
    }

    /// The weights in `exact` as whole numbers that add up to one: what rounding leaves over goes to the largest.
    fn push_whole(&mut self) {
        let sum: f64 = self.exact.iter().sum();
        let (at, mut left, mut largest) = (self.weights.len(), i64::from(ONE), 0);
        for (tap, exact) in self.exact.iter().enumerate() {
            let whole = (exact / sum * f64::from(ONE) + 0.5) as u32;
            self.weights.push(whole);
            left -= i64::from(whole);
            if *exact > self.exact[largest] {
                largest = tap;
            }
        }
        let corrected = i64::from(self.weights[at + largest]) + left;
        self.weights[at + largest] = corrected as u32;
    }

    /// The first pixel of each place, and its weights.
    fn places(&self) -> impl Iterator<Item = (usize, &[u32])> {
        self.first.iter().copied().zip(self.weights.chunks_exact(self.taps))
    }
}

/// The window of `image`, scaled to `size` × `size` and mirrored on request: planes one after the other, into `out`.
///
/// # Panics
/// If `out` has another length than the planes.
pub(crate) fn resize(image: &Image, window: Window, size: u32, mirrored: bool, out: &mut [u8]) {
    BENCH.with_borrow_mut(|bench| {
        bench.across.fill(image.width, window.left, window.width, size, mirrored);
        bench.down.fill(image.height, window.top, window.height, size, false);
        bench.resize(image, size as usize, wide_registers(), out);
    });
}

impl Bench {
    /// With the weights as they are, in wide registers if there are any.
    fn resize(&mut self, image: &Image, size: usize, wide: Option<Wide>, out: &mut [u8]) {
        let plane = (self.down.end - self.down.start) * size;
        self.narrowed.resize(usize::from(image.channels) * plane, 0);
        match (image.channels, wide) {
            (1, _) => self.narrow::<1>(image, plane, size),
            #[cfg(target_arch = "x86_64")]
            (3, Some(simd)) => self.narrow_wide(image, plane, simd),
            (3, _) => self.narrow::<3>(image, plane, size),
            (other, _) => unreachable!("images are grey or in colour, not of {other} channels"),
        }
        let Self { narrowed, down, .. } = self;
        Arch::new().dispatch(Shortened { narrowed, plane, down, size, wide, out });
    }

    /// The rows of the window, scaled along their width.
    fn narrow<const CHANNELS: usize>(&mut self, image: &Image, plane: usize, size: usize) {
        let Self { across, down, row, steps, narrowed, .. } = self;
        let stride = image.width as usize * CHANNELS;
        for (y, pixels) in image.pixels.chunks_exact(stride).take(down.end).skip(down.start).enumerate() {
            let pixels = &pixels[across.start * CHANNELS..across.end * CHANNELS];
            row.clear();
            row.extend(pixels.as_chunks::<CHANNELS>().0.iter().map(side_by_side));
            let mut planes = narrowed.chunks_exact_mut(plane);
            let out: [&mut [u8]; CHANNELS] = std::array::from_fn(|_| {
                let plane = planes.next().expect("as many planes as channels");
                &mut plane[y * size..][..size]
            });
            match across.taps {
                2 => between(row, steps, across, out),
                _ => narrow(row, across, out),
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn narrow_wide(&mut self, image: &Image, plane: usize, simd: Wide) {
        let Self { across, down, lanes, narrowed, .. } = self;
        let stride = image.width as usize * 3;
        let pixels = &image.pixels[down.start * stride + across.start * 3..];
        let (red, others) = narrowed.split_at_mut(plane);
        let (green, blue) = others.split_at_mut(plane);
        wide::Narrowed { simd, lanes, across, pixels, stride, out: [red, green, blue] }.run();
    }
}

/// The channels of a pixel in 64 bits.
#[inline(always)]
fn side_by_side<const CHANNELS: usize>(pixel: &[u8; CHANNELS]) -> u64 {
    pixel.iter().rev().fold(0, |sum, byte| sum << FIELD | u64::from(*byte))
}

/// A half in every channel, for rounding.
const fn half(channels: usize) -> u64 {
    let one = (ONE / 2) as u64;
    if channels == 1 { one } else { one | one << FIELD | one << (2 * FIELD) }
}

/// One row of the window, enlarged along its width: `a + (b − a)·w`, for all channels at once. The difference of two
/// channels may be negative and borrow from the next one; the sum gives it back.
#[inline(always)]
fn between<const CHANNELS: usize>(
    row: &[u64],
    steps: &mut Vec<[u64; 2]>,
    across: &Weights,
    out: [&mut [u8]; CHANNELS],
) {
    steps.clear();
    steps.extend(row.iter().zip(&row[1..]).map(|(a, b)| [a * u64::from(ONE) + half(CHANNELS), b.wrapping_sub(*a)]));
    let mut out = out.map(|plane| &mut plane[..across.first.len()]);
    let weights = across.weights.as_chunks::<2>().0;
    for (place, (first, [_, weight])) in across.first.iter().zip(weights).enumerate() {
        let [from, step] = steps[*first];
        put(from.wrapping_add(step.wrapping_mul(u64::from(*weight))), place, &mut out);
    }
}

/// The same for any number of weights.
#[inline(always)]
fn narrow<const CHANNELS: usize>(row: &[u64], across: &Weights, mut out: [&mut [u8]; CHANNELS]) {
    for (place, (first, weights)) in across.places().enumerate() {
        let pixels = row[first..].iter().zip(weights);
        let sum = pixels.fold(half(CHANNELS), |sum, (pixel, weight)| sum + pixel * u64::from(*weight));
        put(sum, place, &mut out);
    }
}

/// The channels of a sum, each to its plane.
#[inline(always)]
fn put<const CHANNELS: usize>(sum: u64, place: usize, out: &mut [&mut [u8]; CHANNELS]) {
    for (channel, plane) in out.iter_mut().enumerate() {
        plane[place] = (sum >> (FIELD * channel as u32 + 12)) as u8;
    }
}

/// Planes whose rows are as wide as they should be, scaled along their height.
///
/// A type and not a closure, for all of it must be compiled for the wide registers that a machine has.
struct Shortened<'a> {
    narrowed: &'a [u8],
    plane: usize,
    down: &'a Weights,
    size: usize,
    wide: Option<Wide>,
    out: &'a mut [u8],
}

impl NullaryFnOnce for Shortened<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { narrowed, plane, down, size, wide, out } = self;
        for (narrowed, out) in narrowed.chunks_exact(plane).zip(out.chunks_exact_mut(size * size)) {
            for ((first, weights), out) in down.places().zip(out.chunks_exact_mut(size)) {
                let rows = &narrowed[first * size..];
                match (weights, wide) {
                    ([_, second], _) => blend(&rows[..size], &rows[size..2 * size], *second, out),
                    #[cfg(target_arch = "x86_64")]
                    (_, Some(simd)) => wide::mean(simd, rows, size, weights, out),
                    _ => mean(rows, size, weights, out),
                }
            }
        }
    }
}

/// Two rows, the second with `second` of its weight. Eight bits of it are enough here, and sixteen lanes take them at once.
#[inline(always)]
fn blend(one: &[u8], other: &[u8], second: u32, out: &mut [u8]) {
    let second = ((second + 8) >> 4) as u16;
    let first = 256 - second;
    for ((a, b), out) in one.iter().zip(other).zip(out) {
        *out = ((u16::from(*a) * first + u16::from(*b) * second + 128) >> 8) as u8;
    }
}

/// As many rows as there are weights.
#[inline(always)]
fn mean(rows: &[u8], size: usize, weights: &[u32], out: &mut [u8]) {
    for (x, out) in out.iter_mut().enumerate() {
        let column = rows[x..].iter().step_by(size);
        let sum = column.zip(weights).fold(ONE / 2, |sum, (byte, weight)| sum + u32::from(*byte) * weight);
        *out = (sum >> 12) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn resized(image: &Image, window: Window, size: u32, mirrored: bool) -> Vec<u8> {
        let mut out = vec![0; usize::from(image.channels) * (size * size) as usize];
        resize(image, window, size, mirrored, &mut out);
        out
    }

    fn whole(image: &Image) -> Window {
        Window { left: 0.0, top: 0.0, width: f64::from(image.width), height: f64::from(image.height) }
    }

    /// An image without two neighbours alike.
    fn scattered(width: u32, height: u32, grey: bool, seed: u64) -> Image {
        let channels = if grey { 1 } else { 3 };
        let count = (width * height) as usize * usize::from(channels);
        let pixels = (0..count as u64).map(|i| (i.wrapping_mul(seed | 1) >> 7) as u8).collect();
        Image { width, height, channels, pixels }
    }

    /// 0 100 enlarged to four: the places are at 0.25, 0.75, 1.25 and 1.75 pixels, the pixels at 0.5 and 1.5; so
    /// 0, 25, 75, 100, the first and last being nearest to the edge.
    #[test]
    fn an_enlargement_by_hand() {
        let image = Image { width: 2, height: 2, channels: 1, pixels: vec![0, 100, 0, 100].into() };
        let rows = resized(&image, whole(&image), 4, false);
        assert_eq!(rows, [0, 25, 75, 100].repeat(4));
        assert_eq!(resized(&image, whole(&image), 4, true), [100, 75, 25, 0].repeat(4));
    }

    /// Four pixels to two: a triangle of reach 2 around 1 covers pixels at 0.5, 1.5 and 2.5 with 3/4, 3/4 and 1/4:
    /// (3·0 + 3·40 + 80) / 7 = 28.57.
    #[test]
    fn a_reduction_by_hand() {
        let image = Image { width: 4, height: 1, channels: 1, pixels: vec![0, 40, 80, 120].into() };
        assert_eq!(resized(&image, whole(&image), 2, false)[..2], [29, 91]);
    }

    /// The same in real numbers, pixel by pixel.
    fn by_definition(image: &Image, window: Window, size: u32) -> Vec<f64> {
        let weights = |place: u32, start: f64, extent: f64, pixels: u32| -> Vec<f64> {
            let scale = extent / f64::from(size);
            let center = start + (f64::from(place) + 0.5) * scale;
            let weight = |at: u32| (1.0 - (f64::from(at) + 0.5 - center).abs() / scale.max(1.0)).max(0.0);
            let weights: Vec<f64> = (0..pixels).map(weight).collect();
            let sum: f64 = weights.iter().sum();
            weights.iter().map(|weight| weight / sum).collect()
        };
        let channels = usize::from(image.channels);
        let mut out = Vec::new();
        for channel in 0..channels {
            for y in 0..size {
                let down = weights(y, window.top, window.height, image.height);
                for x in 0..size {
                    let across = weights(x, window.left, window.width, image.width);
                    let mut sum = 0.0;
                    for (row, b) in down.iter().enumerate() {
                        for (column, a) in across.iter().enumerate() {
                            let at = (row * image.width as usize + column) * channels + channel;
                            sum += a * b * f64::from(image.pixels[at]);
                        }
                    }
                    out.push(sum);
                }
            }
        }
        out
    }

    proptest! {
        /// Wide registers are quicker, and nothing else.
        #[test]
        fn registers_of_any_width_give_the_same_bytes(
            width in 1u32..90, height in 1u32..90, size in 1u32..70, grey: bool, mirrored: bool, seed: u64,
            (left, right, top, bottom) in (0.0f64..0.49, 0.0f64..0.49, 0.0f64..0.49, 0.0f64..0.49),
        ) {
            let image = scattered(width, height, grey, seed);
            let [start, extent] = [left * f64::from(width), (1.0 - left - right) * f64::from(width)];
            let mut bench = Bench::default();
            bench.across.fill(width, start, extent, size, mirrored);
            bench.down.fill(height, top * f64::from(height), (1.0 - top - bottom) * f64::from(height), size, false);
            let [portable, wide] = [None, wide_registers()].map(|wide| {
                let mut out = vec![0; usize::from(image.channels) * (size * size) as usize];
                bench.resize(&image, size as usize, wide, &mut out);
                out
            });
            prop_assert_eq!(portable, wide);
        }

        /// Any window of any image: as defined, up to the two roundings to bytes and the twelve bits of a weight.
        #[test]
        fn every_window_is_scaled_as_defined(
            width in 1u32..20, height in 1u32..20, size in 1u32..16, grey: bool, seed: u64,
            (left, right, top, bottom) in (0.0f64..0.45, 0.0f64..0.45, 0.0f64..0.45, 0.0f64..0.45),
        ) {
            let image = scattered(width, height, grey, seed);
            let (w, h) = (f64::from(width), f64::from(height));
            let window = Window { left: left * w, top: top * h, width: (1.0 - left - right) * w, height: (1.0 - top - bottom) * h };
            let found = resized(&image, window, size, false);
            for (found, exact) in found.iter().zip(by_definition(&image, window, size)) {
                prop_assert!((f64::from(*found) - exact).abs() < 1.6, "{found} for {exact}");
            }
            let mirrored = resized(&image, window, size, true);
            for (row, back) in found.chunks(size as usize).zip(mirrored.chunks(size as usize)) {
                prop_assert!(row.iter().eq(back.iter().rev()));
            }
        }

        #[test]
        fn what_is_flat_stays_as_it_is(width in 1u32..70, height in 1u32..70, size in 1u32..70, value: u8) {
            let image = Image { width, height, channels: 3, pixels: vec![value; (width * height * 3) as usize].into() };
            prop_assert!(resized(&image, whole(&image), size, false).iter().all(|&byte| byte == value));
        }
    }
}
