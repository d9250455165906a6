//! A linear support vector machine, on plain slices: LIBSVM's C-SVC, solved by dual coordinate descent.
//!
//! ```text
//! min  ½‖w‖² + C Σ_i [ 1 − y_i (w·x_i + b) ]₊        over w and b, b free
//! ```
//!
//! Coordinate descent wants the dual without `Σ y_i α_i = 0`, the price of a free `b`. So that constraint goes into an
//! augmented Lagrangian: its multiplier is `b`, its penalty one more feature. A few rounds of descent, each starting
//! where the last one ended, bring the sum to 0.
//!
//! Most of many samples lie far behind the plane and never matter. So the descent works on some of them; once it has
//! settled there, all others are looked at once, and those on the wrong side of their margin join the work.

use crate::seeds::Seeds;
use rand::seq::SliceRandom;

/// How an SVM is fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SvmSettings {
    /// `C`: the price of a sample on the wrong side.
    pub cost: f32,
    /// How far from optimal a sample may stay.
    pub tolerance: f32,
}

impl Default for SvmSettings {
    fn default() -> Self {
        Self { cost: 1.0, tolerance: 1e-4 }
    }
}

/// A plane: `w·x + b` is positive on the side of the positives.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// `w`.
    pub normal: Vec<f32>,
    /// `b`.
    pub bias: f32,
}

impl Plane {
    /// On which side `x` is, and how far.
    pub fn decision(&self, x: &[f32]) -> f32 {
        dot(&self.normal, x) + self.bias
    }
}

/// Rows of numbers, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    values: &'a [f32],
    width: usize,
}

impl<'a> Rows<'a> {
    /// `values` cut into rows of `width`.
    ///
    /// # Panics
    /// If they do not come out even.
    pub fn new(values: &'a [f32], width: usize) -> Self {
        assert!(width > 0 && values.len().is_multiple_of(width), "{} values in rows of {width}", values.len());
        Self { values, width }
    }

    fn len(self) -> usize {
        self.values.len() / self.width
    }

    fn row(self, index: usize) -> &'a [f32] {
        &self.values[index * self.width..][..self.width]
    }
}

/// At most so many passes in all. Far more than separable or mixed data has needed.
const PASSES: usize = 2000;

/// At most so many passes between two updates of the multiplier.
const ROUND: usize = 20;

/// The plane between `negatives` and `positives`.
///
/// # Panics
/// If a side is empty or the widths differ.
pub fn fit(negatives: Rows<'_>, positives: Rows<'_>, settings: SvmSettings) -> Plane {
    assert!(negatives.len() > 0 && positives.len() > 0, "a plane stands between two sides");
    assert_eq!(negatives.width, positives.width, "both sides have features of one width");
    // Compiled for several processors, so that wide registers are used where there are some. The order of sums is the
    // same for all, and so is the plane.
    pulp::Arch::new().dispatch(|| descend(negatives, positives, settings))
}

#[inline(always)]
fn descend(negatives: Rows<'_>, positives: Rows<'_>, settings: SvmSettings) -> Plane {
    let (cost, minus) = (settings.cost, negatives.len());
    let count = minus + positives.len();
    let row = |i: usize| if i < minus { negatives.row(i) } else { positives.row(i - minus) };
    let sign = |i: usize| if i < minus { -1.0f32 } else { 1.0 };
    let squares: Vec<f32> = (0..count).map(|i| dot(row(i), row(i))).collect();
    // As heavy as a sample: heavier slows the descent, lighter needs more rounds.
    let penalty = squares.iter().sum::<f32>() / count as f32;

    let mut alpha = vec![0.0f32; count];
    let mut normal = vec![0.0f32; negatives.width];
    let (mut multiplier, mut sum) = (0.0f32, 0.0f32);
    // The samples at work come first; of those, the first `active` have not settled at a bound.
    let (mut order, mut work) = at_work(minus, count);
    let mut active = work;
    let mut stream = Seeds::new(0).stream("svm", 0);
    let (mut widest_up, mut widest_down) = (f32::INFINITY, f32::NEG_INFINITY);
    // Roughly at first: what joins the work later would undo a fine answer.
    let mut tolerance = settings.tolerance.max(0.1);

    let mut since_update = 0;
    for _ in 0..PASSES {
        order[..active].shuffle(&mut stream);
        let (mut up, mut down) = (f32::NEG_INFINITY, f32::INFINITY);
        let mut place = 0;
        while place < active {
            let i = order[place];
            let (x, y) = (row(i), sign(i));
            let gradient = y * (dot(&normal, x) + multiplier + penalty * sum) - 1.0;
            // A sample at its bound that pulls further out sits out until the others have settled.
            let projected = if alpha[i] <= 0.0 {
                if gradient > widest_up {
                    active -= 1;
                    order.swap(place, active);
                    continue;
                }
                gradient.min(0.0)
            } else if alpha[i] >= cost {
                if gradient < widest_down {
                    active -= 1;
                    order.swap(place, active);
                    continue;
                }
                gradient.max(0.0)
            } else {
                gradient
            };
            up = up.max(projected);
            down = down.min(projected);
            if projected.abs() > 1e-12 {
                let before = alpha[i];
                alpha[i] = (before - gradient / (squares[i] + penalty)).clamp(0.0, cost);
                let step = (alpha[i] - before) * y;
                sum += step;
                normal.iter_mut().zip(x).for_each(|(w, x)| *w += step * x);
            }
            place += 1;
        }
        let settled = up - down <= tolerance;
        widest_up = if up <= 0.0 { f32::INFINITY } else { up };
        widest_down = if down >= 0.0 { f32::NEG_INFINITY } else { down };
        since_update += 1;
        if settled && active == work && sum.abs() * penalty <= tolerance {
            let bias = multiplier + penalty * sum;
            let (before, mut missed) = (work, false);
            for place in before..count {
                let i = order[place];
                let gradient = sign(i) * (dot(&normal, row(i)) + bias) - 1.0;
                if gradient < 0.0 {
                    order.swap(place, work);
                    work += 1;
                    missed |= gradient < -settings.tolerance;
                }
            }
            if tolerance <= settings.tolerance && !missed {
                break;
            }
            debug_assert!(work > before || tolerance > settings.tolerance, "either more work or finer work");
            tolerance = settings.tolerance.max(tolerance * 0.1);
        } else if settled || since_update >= ROUND {
            // Near-copies among the samples can keep the descent from settling for long; the multiplier need not wait.
            if active == work || since_update >= ROUND {
                multiplier += penalty * sum;
            }
        } else {
            continue;
        }
        // Those that sat out are looked at again.
        (active, since_update) = (work, 0);
        (widest_up, widest_down) = (f32::INFINITY, f32::NEG_INFINITY);
    }
    Plane { normal, bias: multiplier + penalty * sum }
}

/// All samples, the first ones to work on in front, and how many those are: every one of a small side, one in ten of a
/// large one.
fn at_work(minus: usize, count: usize) -> (Vec<usize>, usize) {
    const LARGE: usize = 2000;
    let one_in = |side: usize| if side > LARGE { 10 } else { 1 };
    let (negative, positive) = (one_in(minus), one_in(count - minus));
    let works = |i: &usize| if *i < minus { i.is_multiple_of(negative) } else { (i - minus).is_multiple_of(positive) };
    let (mut order, rest): (Vec<usize>, Vec<usize>) = (0..count).partition(works);
    let work = order.len();
    order.extend(rest);
    (order, work)
}

/// So many sums side by side: enough for four of the widest registers, for one alone waits for itself.
const LANES: usize = 32;

#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (a_runs, b_runs) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a_runs.remainder().iter().zip(b_runs.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_runs.zip(b_runs) {
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    lanes.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::RngExt;

    fn fit_tight(negatives: &[f32], positives: &[f32], width: usize, cost: f32) -> Plane {
        let settings = SvmSettings { cost, tolerance: 1e-5 };
        fit(Rows::new(negatives, width), Rows::new(positives, width), settings)
    }

    /// −1 against 3 on a line, C large: the widest margin is w = ½, b = −½ (decisions −1 and 1).
    #[test]
    fn two_points_by_hand() {
        let plane = fit_tight(&[-1.0], &[3.0], 1, 100.0);
        assert!((plane.normal[0] - 0.5).abs() < 1e-4 && (plane.bias + 0.5).abs() < 1e-4, "{plane:?}");
    }

    /// The same with C = 0.05 < ⅛: both α stop at C, w = 0.05 · (3 + 1) = 0.2.
    #[test]
    fn a_small_cost_gives_way() {
        let plane = fit_tight(&[-1.0], &[3.0], 1, 0.05);
        assert!((plane.normal[0] - 0.2).abs() < 1e-4, "{plane:?}");
    }

    /// 5,000 samples on one side: the descent starts on 500 of them, and must still end at the minimum over all.
    #[test]
    fn what_was_not_at_work_counts_too() {
        let mut stream = Seeds::new(4).stream("test", 0);
        let mut draw = |n: usize, shift: f32| -> Vec<f32> {
            (0..4 * n).map(|_| stream.random_range(-1.0f32..1.0) + shift).collect()
        };
        let (negatives, positives) = (draw(5000, 0.0), draw(100, 0.9));
        assert_eq!(at_work(5000, 5100).1, 600);
        let plane = fit_tight(&negatives, &positives, 4, 1.0);
        let best = objective(&plane, &negatives, &positives, 1.0);
        for change in 0..5 {
            for by in [-1e-2f32, 1e-2] {
                let mut other = plane.clone();
                match other.normal.get_mut(change) {
                    Some(weight) => *weight += by,
                    None => other.bias += by,
                }
                assert!(objective(&other, &negatives, &positives, 1.0) >= best - 1e-4 * best);
            }
        }
    }

    /// ½‖w‖² + C Σ [1 − y(w·x + b)]₊.
    fn objective(plane: &Plane, negatives: &[f32], positives: &[f32], cost: f32) -> f64 {
        let width = plane.normal.len();
        let hinge = |x: &[f32], y: f32| f64::from((1.0 - y * plane.decision(x)).max(0.0));
        let losses =
            negatives.chunks(width).map(|x| hinge(x, -1.0)).chain(positives.chunks(width).map(|x| hinge(x, 1.0)));
        let norm: f64 = plane.normal.iter().map(|w| f64::from(*w).powi(2)).sum();
        norm / 2.0 + f64::from(cost) * losses.sum::<f64>()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// No small change of the plane is any better: it is a minimum of a convex function.
        #[test]
        fn no_neighbour_is_better(seed: u64, minus in 2usize..30, plus in 2usize..20, width in 1usize..6) {
            let mut stream = Seeds::new(seed).stream("test", 0);
            let mut draw = |n: usize, shift: f32| -> Vec<f32> {
                (0..n).map(|_| stream.random_range(-1.0f32..1.0) + shift).collect()
            };
            let (negatives, positives) = (draw(minus * width, 0.0), draw(plus * width, 0.5));
            let plane = fit_tight(&negatives, &positives, width, 1.0);
            let best = objective(&plane, &negatives, &positives, 1.0);
            for change in 0..=width {
                for by in [-1e-2f32, 1e-2] {
                    let mut other = plane.clone();
                    match other.normal.get_mut(change) {
                        Some(weight) => *weight += by,
                        None => other.bias += by,
                    }
                    prop_assert!(objective(&other, &negatives, &positives, 1.0) >= best - 1e-3);
                }
            }
        }
    }
}
