//! Both passes, number by number, on any machine.

use super::weights::BITS;
use super::{BETWEEN, Work, fifteen_bits};

impl Work<'_> {
    pub(super) fn portable<const CHANNELS: usize>(self) {
        let Self { pixels, stride, needed, across, down, between, columns, out } = self;
        for (row, between) in pixels.chunks(stride).zip(between.chunks_exact_mut(CHANNELS * columns)) {
            let pixels = row[..needed].as_chunks::<CHANNELS>().0;
            for (x, (first, weights)) in across.places().enumerate() {
                let values: [i16; CHANNELS] = match (&pixels[first..], weights) {
                    ([one, other, ..], [_, second]) => std::array::from_fn(|channel| {
                        blend(i16::from(one[channel]) << BETWEEN, i16::from(other[channel]) << BETWEEN, *second)
                    }),
                    (pixels, weights) => std::array::from_fn(|channel| {
                        let values = pixels.iter().map(|pixel| i32::from(pixel[channel]));
                        sum::<{ BITS - BETWEEN }>(values, weights) as i16
                    }),
                };
                values.into_iter().enumerate().for_each(|(channel, value)| between[channel * columns + x] = value);
            }
        }
        let (width, height, row) = (across.first.len(), down.first.len(), CHANNELS * columns);
        for (y, (first, weights)) in down.places().enumerate() {
            for channel in 0..CHANNELS {
                let rows = &between[first * row + channel * columns..];
                let out = &mut out[(channel * height + y) * width..][..width];
                match weights {
                    [_, second] => {
                        for ((out, one), other) in out.iter_mut().zip(rows).zip(&rows[row..]) {
                            *out = ((blend(*one, *other, *second) + (1 << (BETWEEN - 1))) >> BETWEEN) as u8;
                        }
                    }
                    _ => {
                        for (x, out) in out.iter_mut().enumerate() {
                            let values = rows[x..].iter().step_by(row).map(|value| i32::from(*value));
                            *out = sum::<{ BITS + BETWEEN }>(values, weights) as u8;
                        }
                    }
                }
            }
        }
    }
}

/// `a + (b − a)·w`.
#[inline(always)]
fn blend(a: i16, b: i16, weight: i16) -> i16 {
    a + ((i32::from(b - a) * i32::from(fifteen_bits(weight)) + (1 << 14)) >> 15) as i16
}

/// `Σ w·v`, rounded to `SHIFT` bits less.
#[inline(always)]
fn sum<const SHIFT: u32>(values: impl Iterator<Item = i32>, weights: &[i16]) -> i32 {
    let sum = values.zip(weights).fold(1 << (SHIFT - 1), |sum, (value, weight)| sum + value * i32::from(*weight));
    sum >> SHIFT
}
