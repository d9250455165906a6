//! Sums of Gaussians over many distances, on a CPU, in one pass.
//!
//! libtorch would go over the matrix four times for each bandwidth. Here each distance is read once; and where one rate
//! is twice another, as the paper's mostly are, its Gaussian is the other's square, not another exponential.

use rayon::prelude::*;

/// Distances that one thread takes at a time.
const PART: usize = 1 << 14;

/// One term of the sum: `exp(−rate · d)`, and how it is come by.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Term {
    rate: f32,
    /// The square of the term before.
    squared: bool,
}

fn terms(rates: &[f64]) -> Vec<Term> {
    let mut rates: Vec<f32> = rates.iter().map(|rate| *rate as f32).collect();
    rates.sort_by(f32::total_cmp);
    let before = std::iter::once(None).chain(rates.iter().copied().map(Some));
    let term = |(&rate, before): (&f32, Option<f32>)| Term { rate, squared: before.is_some_and(|b| rate == 2.0 * b) };
    rates.iter().zip(before).map(term).collect()
}

/// What the weighed pairs add up to.
#[derive(Debug)]
pub(super) struct Sums {
    /// The weights of each row.
    pub(super) rows: Vec<f32>,
    /// `Σ exp(−rate · d)` over the first columns and over the others.
    pub(super) kernels: [f64; 2],
}

/// Puts `Σ rate · exp(−rate · d)` in the place of each product of two samples, row by row, times the `factor` of its side;
/// the sides meet at column `split`. `d` is their squared distance, which their product and squared lengths give.
pub(super) fn weigh(
    products: &mut [f32],
    (of_rows, of_columns): (&[f32], &[f32]),
    split: usize,
    factors: [f32; 2],
    rates: &[f64],
) -> Sums {
    let terms = terms(rates);
    let width = of_columns.len();
    let part = (PART / width).max(1);
    let mut rows = vec![0.0; of_rows.len()];
    let parts = products.par_chunks_mut(part * width).zip(of_rows.par_chunks(part)).zip(rows.par_chunks_mut(part));
    let kernels = parts.map(|((products, of_rows), totals)| {
        pulp::Arch::new().dispatch(|| {
            let mut kernels = [0.0; 2];
            for ((row, own), total) in products.chunks_exact_mut(width).zip(of_rows).zip(totals.iter_mut()) {
                let (left, right) = row.split_at_mut(split);
                let (of_left, of_right) = of_columns.split_at(split);
                for (side, places, others) in [(0, left, of_left), (1, right, of_right)] {
                    let (kernel, weight) = weigh_run(places, *own, others, factors[side], &terms);
                    kernels[side] += f64::from(kernel);
                    *total += weight;
                }
            }
            kernels
        })
    });
    let kernels = kernels.reduce(|| [0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    Sums { rows, kernels }
}

/// One run of products, of a few thousand at most: its sums, of kernels and of weights, fit single precision.
#[inline(always)]
fn weigh_run(places: &mut [f32], own: f32, others: &[f32], factor: f32, terms: &[Term]) -> (f32, f32) {
    const LANES: usize = 16;
    let (mut kernels, mut weights) = ([0.0f32; LANES], [0.0f32; LANES]);
    // Rounding can leave a distance to oneself just below 0.
    let apart = |product: f32, other: f32| at_least(own + other - 2.0 * product, 0.0);
    let whole = places.len() / LANES * LANES;
    let (runs, rest) = places.split_at_mut(whole);
    for (run, others) in runs.chunks_exact_mut(LANES).zip(others.chunks_exact(LANES)) {
        let (mut distance, mut kernel, mut weight) = ([0.0f32; LANES], [0.0f32; LANES], [0.0f32; LANES]);
        for lane in 0..LANES {
            distance[lane] = apart(run[lane], others[lane]);
        }
        for term in terms {
            for lane in 0..LANES {
                kernel[lane] =
                    if term.squared { kernel[lane] * kernel[lane] } else { exponential(-term.rate * distance[lane]) };
                weight[lane] += term.rate * kernel[lane];
                kernels[lane] += kernel[lane];
            }
        }
        for lane in 0..LANES {
            run[lane] = factor * weight[lane];
            weights[lane] += run[lane];
        }
    }
    let (mut kernel_sum, mut weight_sum) = (kernels.iter().sum::<f32>(), weights.iter().sum::<f32>());
    for (place, other) in rest.iter_mut().zip(&others[whole..]) {
        let (distance, mut kernel, mut weight) = (apart(*place, *other), 0.0, 0.0);
        for term in terms {
            kernel = if term.squared { kernel * kernel } else { exponential(-term.rate * distance) };
            weight += term.rate * kernel;
            kernel_sum += kernel;
        }
        *place = factor * weight;
        weight_sum += *place;
    }
    (kernel_sum, weight_sum)
}

/// `x`, and at least `least`. What is no number stays none, where `max` would hide it: a generator that has diverged is to be told.
#[inline(always)]
fn at_least(x: f32, least: f32) -> f32 {
    if x < least { least } else { x }
}

/// `eˣ` for `x ≤ 0` in single precision, without a branch: many at a time. As `x` falls, so does the last bit that is
/// right; but then the value is next to nothing.
///
/// `2^(n + r)` with `n` whole and `|r| ≤ ½`: `n` goes into the exponent's bits, `2^r` is a polynomial.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    // Adding it leaves n + 127 in the lowest bits, rounded.
    const SHIFT: f32 = 12_582_912.0 + 127.0;
    // e^−87 is the last before the exponent's bits run out: as good as 0.
    let power = at_least(x, -87.0) * std::f32::consts::LOG2_E;
    let shifted = power + SHIFT;
    let rest = power - (shifted - SHIFT);
    let mut value = 1.535_336_2e-4_f32;
    for coefficient in [1.339_887_4e-3, 9.618_437e-3, 5.550_332_4e-2, 2.402_264_8e-1, 6.931_472e-1, 1.0] {
        value = value * rest + coefficient;
    }
    value * f32::from_bits(shifted.to_bits() << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_those_of_the_library() {
        for step in 0..100_000 {
            let x = -(step as f32) * 0.000_9;
            let (found, expected) = (exponential(x), x.max(-87.0).exp());
            assert!((found - expected).abs() <= 2.5e-7 * (1.0 - x) * expected, "{x}: {found}, expected {expected}");
        }
        assert!(exponential(-1e9) < 1e-37);
    }

    /// In the part that goes many at a time, and in the rest.
    #[test]
    fn a_product_that_is_no_number_makes_the_loss_none() {
        for (columns, at) in [(1, 0), (40, 3), (40, 39)] {
            let mut products = vec![1.0; columns];
            products[at] = f32::NAN;
            let Sums { kernels, .. } = weigh(&mut products, (&[1.0], &vec![1.0; columns]), columns, [1.0; 2], &[0.5]);
            assert!(kernels[0].is_nan() && products[at].is_nan(), "{columns} columns: {kernels:?}");
        }
    }

    /// Samples 1 against 1 and 3: products 1 and 3, squared lengths 1, 1 and 9, so that d = 0 and 4. Rates ¼, ½ (its double)
    /// and 2; d = 0: sum 3, weight 2.75. d = 4: e^−1 + e^−2 + e^−8, ¼e^−1 + ½e^−2 + 2e^−8. One column on each side; weights
    /// doubled on the left, negative on the right.
    #[test]
    fn two_distances_by_hand() {
        let mut weights = [1.0, 3.0];
        let Sums { rows, kernels } = weigh(&mut weights, (&[1.0], &[1.0, 9.0]), 1, [2.0, -1.0], &[2.0, 0.25, 0.5]);
        let e = |x: f64| x.exp();
        assert!((kernels[0] - 3.0).abs() < 1e-6 && (kernels[1] - (e(-1.0) + e(-2.0) + e(-8.0))).abs() < 1e-6);
        assert!((f64::from(weights[0]) - 5.5).abs() < 1e-6);
        let right = -(0.25 * e(-1.0) + 0.5 * e(-2.0) + 2.0 * e(-8.0));
        assert!((f64::from(weights[1]) - right).abs() < 1e-6);
        assert!((f64::from(rows[0]) - (5.5 + right)).abs() < 1e-6);
    }

    /// 37 columns: runs of sixteen and a remainder give what one number at a time gives.
    #[test]
    fn a_row_of_any_length() {
        let rates = [0.25, 0.1, 0.05, 0.025, 0.0125, 0.006_25];
        let distances: Vec<f32> = (0..3 * 37).map(|place| place as f32 * 0.7).collect();
        // Of samples whose squared lengths are 100 and 7.
        let mut found: Vec<f32> = distances.iter().map(|distance| (107.0 - distance) / 2.0).collect();
        let Sums { rows, kernels: sums } = weigh(&mut found, (&[100.0; 3], &[7.0; 37]), 20, [1.0, 1.0], &rates);
        let mut expected = [0.0; 2];
        for (place, distance) in distances.iter().enumerate() {
            let kernel = |rate: &f64| (-rate * f64::from(*distance)).exp();
            expected[usize::from(place % 37 >= 20)] += rates.iter().map(kernel).sum::<f64>();
            let weight: f64 = rates.iter().map(|rate| rate * kernel(rate)).sum();
            assert!((f64::from(found[place]) - weight).abs() < 1e-5);
        }
        for (row, sum) in found.chunks_exact(37).zip(rows) {
            assert!((row.iter().sum::<f32>() - sum).abs() < 1e-4);
        }
        assert!((sums[0] - expected[0]).abs() < 1e-4 && (sums[1] - expected[1]).abs() < 1e-4);
    }
}
