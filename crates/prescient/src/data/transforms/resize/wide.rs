//! Both passes in the wide registers of x86-64 (AVX2), for images in colour: the same whole numbers as the portable ones.
//!
//! Along the width eight places are worked on at once, and every multiplication takes two pixels of a place:
//!
//! ```text
//! a load       r g b r g b r g b r g b r g b r            from the first pixel of a place
//! a shuffle    r r  g g  b b  0 0                         two pixels, their channels side by side, 16 bits each
//! multiply     r·v + r·w   g·v + g·w   b·v + b·w   0      with the pair of weights v, w
//! ```
//!
//! Half a register is a place; four registers are added up, rounded, and turned to planes together. The places of an
//! enlargement lie at most a pixel apart: one load has all that four of them need, and only the shuffle differs.
//!
//! No closure holds a step of it: one that the compiler does not inline is compiled without wide registers.

use crate::data::transforms::resize::{ONE, Weights};
use pulp::NullaryFnOnce;
use pulp::bytemuck::cast;
use pulp::x86::V3;
use std::arch::x86_64::{__m128i, __m256i};

/// The bytes of a load: two pixels, and more that have no weight.
const LOAD: usize = 16;
/// How many places are worked on at once along the width.
const PLACES: usize = 8;
/// How many along the height.
const COLUMNS: usize = 16;
/// A shuffle of half a register: for each byte where it comes from, or a negative number for 0.
type Shuffle = [i8; 16];
/// Two pixels to pairs of channels, the upper half of each 0; the first of them is pixel 0, 1, 2 or 3 of a load.
const PAIRS: [Shuffle; 4] = [pairs_from(0), pairs_from(1), pairs_from(2), pairs_from(3)];
/// Four pixels of four bytes to four bytes of each channel.
const APART: [Shuffle; 2] = [[0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]; 2];
/// The channels of both halves one after the other.
const TOGETHER: [i32; 8] = [0, 4, 1, 5, 2, 6, 3, 7];

const fn pairs_from(pixel: i8) -> Shuffle {
    let at = 3 * pixel;
    [at, -1, at + 3, -1, at + 1, -1, at + 4, -1, at + 2, -1, at + 5, -1, -1, -1, -1, -1]
}

/// How four places, and the four after them, come out of one load each: where it begins, and their shuffles of it.
type Shared = ([u32; 2], [[Shuffle; 2]; 4]);

/// The weights along the width as the registers take them.
#[derive(Default)]
pub(crate) struct Lanes {
    /// Where the first pixel of each place begins in a row, in bytes.
    first: Vec<[u32; PLACES]>,
    /// `[PLACES at once, 4, pairs of weights]`: those of a place and of the fourth after it.
    weights: Vec<[[i16; 2]; 8]>,
    /// Of an enlargement.
    shared: Vec<Shared>,
    /// Pairs of weights a place has.
    pairs: usize,
    /// A row, where the image ends too soon for the last load.
    row: Vec<u8>,
}

impl Lanes {
    fn fill(&mut self, across: &Weights) {
        self.pairs = across.taps.div_ceil(2);
        self.first.clear();
        self.weights.clear();
        self.shared.clear();
        for start in (0..across.first.len()).step_by(PLACES) {
            // Beyond the last place there is nothing: the pixels of the last, and no weight.
            let last = across.first.len() - 1;
            self.first.push(std::array::from_fn(|place| 3 * across.first[last.min(start + place)] as u32));
            for place in start..start + PLACES / 2 {
                let [one, other] = [place, place + PLACES / 2].map(|place| {
                    across.weights.get(place * across.taps..(place + 1) * across.taps).unwrap_or_default()
                });
                self.weights.extend((0..self.pairs).map(|pair| {
                    let [one, other] = [one, other].map(|weights| {
                        let weight = |tap: usize| weights.get(tap).map_or(0, |weight| *weight as i16);
                        [weight(2 * pair), weight(2 * pair + 1)]
                    });
                    [one, one, one, one, other, other, other, other]
                }));
            }
        }
        if across.taps == 2 {
            self.shared.extend(self.first.iter().map(shared));
        }
    }
}

fn shared(first: &[u32; PLACES]) -> Shared {
    // A mirrored row goes down.
    let bases = [0, PLACES / 2].map(|half| first[half].min(first[half + PLACES / 2 - 1]));
    let shuffle = |place: usize, base: u32| PAIRS[((first[place] - base) / 3) as usize];
    (bases, std::array::from_fn(|place| [shuffle(place, bases[0]), shuffle(place + PLACES / 2, bases[1])]))
}

/// The rows of a window, scaled along their width.
pub(crate) struct Narrowed<'a> {
    pub(crate) simd: V3,
    pub(crate) lanes: &'a mut Lanes,
    pub(crate) across: &'a Weights,
    /// The image from the first pixel of the window on.
    pub(crate) pixels: &'a [u8],
    /// The bytes of a row of the image.
    pub(crate) stride: usize,
    /// Planes one after the other.
    pub(crate) out: [&'a mut [u8]; 3],
}

impl Narrowed<'_> {
    pub(crate) fn run(self) {
        self.simd.vectorize(self)
    }
}

impl NullaryFnOnce for Narrowed<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { simd, lanes, across, pixels, stride, out: [red, green, blue] } = self;
        lanes.fill(across);
        let Lanes { first, weights, shared, pairs, row } = lanes;
        let (size, bytes) = (across.first.len(), 3 * (across.end - across.start));
        let planes = red.chunks_exact_mut(size).zip(green.chunks_exact_mut(size)).zip(blue.chunks_exact_mut(size));
        for (y, ((red, green), blue)) in planes.enumerate() {
            let from = &pixels[y * stride..];
            let source = from.get(..bytes + LOAD).unwrap_or_else(|| {
                row.clear();
                row.extend_from_slice(&from[..bytes]);
                row.resize(bytes + LOAD, 0);
                row
            });
            if across.taps == 2 {
                for (group, (shared, weights)) in shared.iter().zip(weights.as_chunks().0).enumerate() {
                    put(simd, enlarged(simd, source, shared, weights), group, [red, green, blue]);
                }
            } else {
                for (group, (first, weights)) in first.iter().zip(weights.chunks_exact(4 * *pairs)).enumerate() {
                    put(simd, reduced(simd, source, first, weights, *pairs), group, [red, green, blue]);
                }
            }
        }
    }
}

/// Eight places with two weights each.
#[inline(always)]
fn enlarged(simd: V3, row: &[u8], (bases, shuffles): &Shared, weights: &[[[i16; 2]; 8]; 4]) -> [__m256i; 4] {
    let pixels = cast([load(row, bases[0] as usize), load(row, bases[1] as usize)]);
    let mut sums = [cast([(ONE / 2) as i32; 8]); 4];
    for place in 0..4 {
        let channels = simd.avx2._mm256_shuffle_epi8(pixels, cast(shuffles[place]));
        let weighted = simd.avx2._mm256_madd_epi16(channels, cast(weights[place]));
        sums[place] = simd.avx2._mm256_add_epi32(sums[place], weighted);
    }
    sums
}

/// Eight places with so many pairs of weights each.
#[inline(always)]
fn reduced(simd: V3, row: &[u8], first: &[u32; PLACES], weights: &[[[i16; 2]; 8]], pairs: usize) -> [__m256i; 4] {
    let mut sums = [cast([(ONE / 2) as i32; 8]); 4];
    for place in 0..4 {
        let (one, other) = (&row[first[place] as usize..], &row[first[place + PLACES / 2] as usize..]);
        for (pair, weights) in weights[place * pairs..][..pairs].iter().enumerate() {
            let pixels = cast([load(one, 6 * pair), load(other, 6 * pair)]);
            let channels = simd.avx2._mm256_shuffle_epi8(pixels, cast([PAIRS[0]; 2]));
            let weighted = simd.avx2._mm256_madd_epi16(channels, cast(*weights));
            sums[place] = simd.avx2._mm256_add_epi32(sums[place], weighted);
        }
    }
    sums
}

/// Eight pixels to their places in the rows of the planes.
#[inline(always)]
fn put(simd: V3, sums: [__m256i; 4], group: usize, rows: [&mut [u8]; 3]) {
    let [red, green, blue, _] = planes_of(simd, sums);
    for (row, bytes) in rows.into_iter().zip([red, green, blue]) {
        let row = &mut row[group * PLACES..];
        // All of them in most rows, and then without a loop.
        match row.first_chunk_mut() {
            Some(row) => *row = bytes,
            None => row.copy_from_slice(&bytes[..row.len()]),
        }
    }
}

#[inline(always)]
fn load(bytes: &[u8], at: usize) -> [u8; LOAD] {
    *bytes[at..].first_chunk().expect("a row has as many bytes more")
}

/// Eight pixels, four numbers of 32 bits each, rounded to bytes: all of red, of green, of blue, and nothing.
#[inline(always)]
fn planes_of(simd: V3, sums: [__m256i; 4]) -> [[u8; PLACES]; 4] {
    let [a, b, c, d] = sums.map(|sum| simd.avx2._mm256_srai_epi32::<12>(sum));
    let (ab, cd) = (simd.avx2._mm256_packs_epi32(a, b), simd.avx2._mm256_packs_epi32(c, d));
    let pixels = simd.avx2._mm256_packus_epi16(ab, cd);
    let apart = simd.avx2._mm256_shuffle_epi8(pixels, cast(APART));
    cast(simd.avx2._mm256_permutevar8x32_epi32(apart, cast(TOGETHER)))
}

/// As many rows of `size` bytes as there are weights, added up to one.
#[inline(always)]
pub(crate) fn mean(simd: V3, rows: &[u8], size: usize, weights: &[u32], out: &mut [u8]) {
    let whole = size - size % COLUMNS;
    for at in (0..whole).step_by(COLUMNS) {
        let mut sums = [cast([(ONE / 2) as i32; 8]); 2];
        for (rows, weights) in rows.chunks(2 * size).zip(weights.chunks(2)) {
            let second = weights.get(1).copied().unwrap_or_default();
            // Without a second row it has no weight, and the first stands for it.
            let next = if weights.len() == 2 { size } else { 0 };
            let [one, other]: [__m128i; 2] = [at, at + next].map(|at| cast(load(rows, at)));
            let pair = cast([[weights[0] as i16, second as i16]; 8]);
            let halves = [simd.sse2._mm_unpacklo_epi8(one, other), simd.sse2._mm_unpackhi_epi8(one, other)];
            for (sum, half) in sums.iter_mut().zip(halves) {
                let weighted = simd.avx2._mm256_madd_epi16(simd.avx2._mm256_cvtepu8_epi16(half), pair);
                *sum = simd.avx2._mm256_add_epi32(*sum, weighted);
            }
        }
        let sums: [[i32; 8]; 2] = cast(sums.map(|sum| simd.avx2._mm256_srai_epi32::<12>(sum)));
        for (out, sum) in out[at..at + COLUMNS].iter_mut().zip(sums.as_flattened()) {
            *out = *sum as u8;
        }
    }
    crate::data::transforms::resize::mean(&rows[whole..], size, weights, &mut out[whole..]);
}
