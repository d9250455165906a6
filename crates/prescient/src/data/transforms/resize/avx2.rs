//! Both passes in the wide registers of x86-64 (AVX2), for images in colour: the same numbers as the portable ones.
//!
//! Along the width eight places are worked on at once. Those of an enlargement lie at most a pixel apart, so one load has
//! all that four of them need:
//!
//! ```text
//! a load       r g b r g b r g b r g b r g b r            from the first pixel of four places
//! a shuffle    r r r r  g g g g                           the first pixel of each, 16 bits a channel; another for blue
//! a shuffle    r r r r  g g g g                           the second pixel of each
//! multiply     a + (b − a)·w
//! ```
//!
//! A reduction has many weights a place, and every multiplication takes two of them:
//!
//! ```text
//! a load       r g b r g b …                              from a pixel of one place
//! a shuffle    r r  g g  b b  0 0                         two pixels, 16 bits a channel
//! multiply     r·v + r·w   g·v + g·w   b·v + b·w   0      with the pair of weights v, w
//! ```
//!
//! No closure holds a step of it: one that the compiler does not inline is compiled without wide registers.

use super::weights::{BITS, Weights};
use super::{BETWEEN, COLUMNS, Work, fifteen_bits};
use pulp::NullaryFnOnce;
use pulp::bytemuck::cast;
use pulp::x86::V3;
use std::arch::x86_64::__m256i;

/// How many places are worked on at once along the width.
const PLACES: usize = 8;
/// The bytes of a load.
const LOAD: usize = 16;
/// A shuffle of half a register: for each byte where it comes from, or [`NONE`] for 0.
type Shuffle = [i8; 16];
/// Stays negative when a few are added.
const NONE: i8 = i8::MIN;
/// Two pixels r g b r g b to r r g g b b, 16 bits each.
const PAIRS: [Shuffle; 2] = [[0, NONE, 3, NONE, 1, NONE, 4, NONE, 2, NONE, 5, NONE, NONE, NONE, NONE, NONE]; 2];
/// Two pixels r g b 0 r g b 0, 16 bits each, to r r g g b b 0 0.
const APART: [Shuffle; 2] = [[0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15]; 2];

/// That this machine has wide registers.
pub(super) fn detect() -> Option<V3> {
    V3::try_new()
}

/// The weights along the width as the registers take them.
#[derive(Default)]
pub(super) struct Lanes {
    /// Of an enlargement.
    near: Vec<Near>,
    /// Of a reduction: where the first pixel of each place begins in a row, in bytes.
    first: Vec<[u32; PLACES]>,
    /// `[PLACES at once, 4, pairs]`: two weights of a place and of the fourth after it.
    weights: Vec<[[i16; 2]; 8]>,
    /// A row, where the image ends too soon for the last load.
    row: Vec<u8>,
}

/// Eight places of an enlargement.
struct Near {
    /// Where the loads begin, in bytes of the row.
    at: [u32; 2],
    /// The first pixels of the places: red and green, then blue twice.
    shuffles: [[Shuffle; 2]; 2],
    /// The weights of the second pixels, those of each four places twice.
    weights: [[i16; 4]; 4],
}

impl Near {
    fn new(first: &[u32], weights: &[[i16; 2]]) -> Self {
        // Beyond the last place there is nothing: the pixels of the last, and no weight.
        let first: [u32; PLACES] = std::array::from_fn(|place| first[place.min(first.len() - 1)]);
        let weight = |place: usize| weights.get(place).map_or(0, |weights| fifteen_bits(weights[1]));
        let weights = [0, 4].map(|half| [half, half + 1, half + 2, half + 3].map(weight));
        // A mirrored row goes down.
        let bases = [0, 4].map(|half| first[half].min(first[half + 3]));
        let shuffle = |half: usize, channels: [i8; 2]| -> Shuffle {
            let [a, b, c, d] = [0, 1, 2, 3].map(|place| 3 * (first[4 * half + place] - bases[half]) as i8);
            let of = |channel: i8| [a + channel, NONE, b + channel, NONE, c + channel, NONE, d + channel, NONE];
            cast(channels.map(of))
        };
        Self {
            at: bases.map(|base| 3 * base),
            shuffles: [[0, 1], [2, 2]].map(|channels| [shuffle(0, channels), shuffle(1, channels)]),
            weights: [weights[0], weights[0], weights[1], weights[1]],
        }
    }
}

impl Lanes {
    fn fill(&mut self, across: &Weights) {
        self.near.clear();
        self.first.clear();
        self.weights.clear();
        let (first, taps) = (&across.first, across.taps);
        if taps == 2 {
            let weights = across.weights.as_chunks().0.chunks(PLACES);
            self.near.extend(first.chunks(PLACES).zip(weights).map(|(first, weights)| Near::new(first, weights)));
            return;
        }
        for start in (0..first.len()).step_by(PLACES) {
            self.first.push(std::array::from_fn(|place| 3 * first[(first.len() - 1).min(start + place)]));
            for place in start..start + PLACES / 2 {
                let [one, other] = [place, place + PLACES / 2]
                    .map(|place| across.weights.get(place * taps..(place + 1) * taps).unwrap_or_default());
                self.weights.extend((0..taps.div_ceil(2)).map(|pair| {
                    let [one, other] = [one, other].map(|weights| {
                        [2 * pair, 2 * pair + 1].map(|tap| weights.get(tap).copied().unwrap_or_default())
                    });
                    [one, one, one, one, other, other, other, other]
                }));
            }
        }
    }
}

impl Work<'_> {
    pub(super) fn avx2(self, lanes: &mut Lanes) {
        let simd = detect().expect("it was asked whether there are wide registers");
        simd.vectorize(Resized { simd, lanes, work: self });
    }
}

/// A type and not a closure, for all of it must be compiled for wide registers.
struct Resized<'a> {
    simd: V3,
    lanes: &'a mut Lanes,
    work: Work<'a>,
}

impl NullaryFnOnce for Resized<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { simd, lanes, work: Work { pixels, stride, needed, across, down, between, columns, out } } = self;
        lanes.fill(across);
        let (width, height) = (across.first.len(), down.first.len());
        let mut done = 0;
        for (y, (first, weights)) in down.places().enumerate() {
            // Each row just before it is needed, and while it lies near.
            for row in done..first + weights.len() {
                narrow(simd, lanes, &pixels[row * stride..], needed, across.taps, &mut between[row * 3 * columns..]);
            }
            done = first + weights.len();
            for channel in 0..3 {
                let out = &mut out[(channel * height + y) * width..][..width];
                shorten(simd, &between[(first * 3 + channel) * columns..], columns, weights, out);
            }
        }
    }
}

/// One row, scaled along its width: into a row of red, of green, of blue.
#[inline(always)]
fn narrow(simd: V3, lanes: &mut Lanes, pixels: &[u8], needed: usize, taps: usize, out: &mut [i16]) {
    let Lanes { near, first, weights, row } = lanes;
    let pixels = pixels.get(..needed + LOAD).unwrap_or_else(|| {
        row.clear();
        row.extend_from_slice(&pixels[..needed]);
        row.resize(needed + LOAD, 0);
        row
    });
    let columns = near.len().max(first.len()) * PLACES;
    let columns = columns.next_multiple_of(COLUMNS);
    let (red, others) = out.split_at_mut(columns);
    let (green, blue) = others.split_at_mut(columns);
    let groups = red.as_chunks_mut().0.iter_mut().zip(green.as_chunks_mut().0).zip(blue.as_chunks_mut().0);
    if taps == 2 {
        for (((red, green), blue), near) in groups.zip(near.iter()) {
            put(simd, enlarged(simd, pixels, near), [red, green, blue]);
        }
    } else {
        let weights = weights.chunks_exact(4 * taps.div_ceil(2));
        for ((((red, green), blue), first), weights) in groups.zip(first.iter()).zip(weights) {
            put(simd, reduced(simd, pixels, first, weights), [red, green, blue]);
        }
    }
}

/// `a + (b − a)·w` of eight places: red and green of four, red and green of the next four; and blue.
#[inline(always)]
fn enlarged(simd: V3, row: &[u8], near: &Near) -> [__m256i; 2] {
    let pixels: __m256i = cast([load(row, near.at[0] as usize), load(row, near.at[1] as usize)]);
    let mut out = [pixels; 2];
    for (out, shuffle) in out.iter_mut().zip(near.shuffles) {
        let first: __m256i = cast(shuffle);
        let second = simd.avx2._mm256_add_epi8(first, cast([3i8; 32]));
        let one = simd.avx2._mm256_slli_epi16::<{ BETWEEN as i32 }>(simd.avx2._mm256_shuffle_epi8(pixels, first));
        let other = simd.avx2._mm256_slli_epi16::<{ BETWEEN as i32 }>(simd.avx2._mm256_shuffle_epi8(pixels, second));
        let step = simd.avx2._mm256_mulhrs_epi16(simd.avx2._mm256_sub_epi16(other, one), cast(near.weights));
        *out = simd.avx2._mm256_add_epi16(one, step);
    }
    out
}

/// The same with as many weights a place as there are.
#[inline(always)]
fn reduced(simd: V3, row: &[u8], first: &[u32; PLACES], weights: &[[[i16; 2]; 8]]) -> [__m256i; 2] {
    let pairs = weights.len() / 4;
    let mut sums = [cast([1i32 << (BITS - BETWEEN - 1); 8]); 4];
    for place in 0..4 {
        let (one, other) = (&row[first[place] as usize..], &row[first[place + PLACES / 2] as usize..]);
        for (pair, weights) in weights[place * pairs..][..pairs].iter().enumerate() {
            let pixels = cast([load(one, 6 * pair), load(other, 6 * pair)]);
            let channels = simd.avx2._mm256_shuffle_epi8(pixels, cast(PAIRS));
            let weighted = simd.avx2._mm256_madd_epi16(channels, cast(*weights));
            sums[place] = simd.avx2._mm256_add_epi32(sums[place], weighted);
        }
        sums[place] = simd.avx2._mm256_srai_epi32::<{ (BITS - BETWEEN) as i32 }>(sums[place]);
    }
    let one = simd.avx2._mm256_shuffle_epi8(simd.avx2._mm256_packs_epi32(sums[0], sums[1]), cast(APART));
    let other = simd.avx2._mm256_shuffle_epi8(simd.avx2._mm256_packs_epi32(sums[2], sums[3]), cast(APART));
    [simd.avx2._mm256_unpacklo_epi32(one, other), simd.avx2._mm256_unpackhi_epi32(one, other)]
}

/// Eight pixels to their places in the rows of the planes.
#[inline(always)]
fn put(simd: V3, [red_green, blue]: [__m256i; 2], rows: [&mut [i16; PLACES]; 3]) {
    let [red, green] = cast(simd.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(red_green));
    let [blue, _]: [[i16; PLACES]; 2] = cast(simd.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(blue));
    *rows[0] = red;
    *rows[1] = green;
    *rows[2] = blue;
}

#[inline(always)]
fn load(bytes: &[u8], at: usize) -> [u8; LOAD] {
    *bytes[at..].first_chunk().expect("a row has as many bytes more")
}

/// As many rows of one channel as there are weights, added up to one and rounded to bytes.
#[inline(always)]
fn shorten(simd: V3, rows: &[i16], columns: usize, weights: &[i16], out: &mut [u8]) {
    let next = 3 * columns;
    if let [_, second] = weights {
        let (one, other) = (rows[..columns].as_chunks().0, rows[next..next + columns].as_chunks().0);
        for ((one, other), out) in one.iter().zip(other).zip(out.chunks_mut(COLUMNS)) {
            store(blend(simd, one, other, *second), out);
        }
    } else {
        for (group, out) in out.chunks_mut(COLUMNS).enumerate() {
            store(sum(simd, &rows[group * COLUMNS..], next, weights), out);
        }
    }
}

#[inline(always)]
fn store(bytes: [u8; COLUMNS], out: &mut [u8]) {
    match out.first_chunk_mut() {
        Some(out) => *out = bytes,
        None => out.copy_from_slice(&bytes[..out.len()]),
    }
}

#[inline(always)]
fn blend(simd: V3, one: &[i16; COLUMNS], other: &[i16; COLUMNS], second: i16) -> [u8; COLUMNS] {
    let (one, other) = (cast(*one), cast(*other));
    let step = simd.avx2._mm256_mulhrs_epi16(simd.avx2._mm256_sub_epi16(other, one), cast([fifteen_bits(second); 16]));
    let value = simd.avx2._mm256_add_epi16(simd.avx2._mm256_add_epi16(one, step), cast([1i16 << (BETWEEN - 1); 16]));
    bytes(simd, simd.avx2._mm256_srai_epi16::<{ BETWEEN as i32 }>(value))
}

#[inline(always)]
fn sum(simd: V3, rows: &[i16], next: usize, weights: &[i16]) -> [u8; COLUMNS] {
    let mut sums = [cast([1i32 << (BITS + BETWEEN - 1); 8]); 2];
    for (pair, weights) in weights.chunks(2).enumerate() {
        // Without a second row it has no weight, and the first stands for it.
        let (second, step) = if weights.len() == 2 { (weights[1], next) } else { (0, 0) };
        let (one, other) = (load_row(rows, 2 * pair * next), load_row(rows, 2 * pair * next + step));
        let pair = cast([[weights[0], second]; 8]);
        let halves = [simd.avx2._mm256_unpacklo_epi16(one, other), simd.avx2._mm256_unpackhi_epi16(one, other)];
        for half in 0..2 {
            sums[half] = simd.avx2._mm256_add_epi32(sums[half], simd.avx2._mm256_madd_epi16(halves[half], pair));
        }
    }
    let low = simd.avx2._mm256_srai_epi32::<{ (BITS + BETWEEN) as i32 }>(sums[0]);
    let high = simd.avx2._mm256_srai_epi32::<{ (BITS + BETWEEN) as i32 }>(sums[1]);
    bytes(simd, simd.avx2._mm256_packs_epi32(low, high))
}

#[inline(always)]
fn load_row(values: &[i16], at: usize) -> __m256i {
    cast(*values[at..].first_chunk::<COLUMNS>().expect("rows are as many numbers long"))
}

#[inline(always)]
fn bytes(simd: V3, values: __m256i) -> [u8; COLUMNS] {
    let packed = simd.avx2._mm256_packus_epi16(values, values);
    let [bytes, _]: [[u8; COLUMNS]; 2] = cast(simd.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(packed));
    bytes
}
