//! The log-odds of two kinds as a line over one number, by logistic regression.

/// One case: the number, whether it is of the second kind, and how much it counts.
pub(super) type Case = (f64, bool, f64);

/// Steps of Newton's method, at most.
const STEPS: usize = 50;

/// Bias and slope of the least surprise; the slope is never negative, for a larger number never speaks for the first kind.
///
/// As in Platt (1999), a case counts as slightly less than certain, `(n + 1) / (n + 2)` of its kind with `n` cases: where the
/// number parts the two kinds, the slope would have no end.
pub(super) fn logistic(cases: &[Case]) -> (f64, f64) {
    let count = |kind: bool| cases.iter().filter(|case| case.1 == kind).count() as f64;
    let sum = |kind: bool| cases.iter().filter(|case| case.1 == kind).map(|case| case.2).sum::<f64>();
    let targets = [1.0 / (count(false) + 2.0), (count(true) + 1.0) / (count(true) + 2.0)];
    // Numbers of the size of 1: Newton's steps are sound then.
    let size = (cases.iter().map(|case| case.0 * case.0).sum::<f64>() / cases.len().max(1) as f64).sqrt().max(1e-9);
    let scaled: Vec<(f64, f64, f64)> =
        cases.iter().map(|&(number, kind, weight)| (number / size, targets[usize::from(kind)], weight)).collect();
    let prior = (sum(true).max(1e-9) / sum(false).max(1e-9)).ln();
    let surprise = |bias: f64, slope: f64| -> f64 {
        let of = |&(number, target, weight): &(f64, f64, f64)| {
            let odds = bias + slope * number;
            // log(1 + e^odds) − target·odds.
            weight * (odds.max(0.0) + (-odds.abs()).exp().ln_1p() - target * odds)
        };
        scaled.iter().map(of).sum()
    };
    let (mut bias, mut slope) = (prior, 0.0);
    for _ in 0..STEPS {
        let (mut gradient, mut curve) = ([0.0; 2], [1e-12, 0.0, 1e-12]);
        for &(number, target, weight) in &scaled {
            let likely = 1.0 / (1.0 + (-(bias + slope * number)).exp());
            let (error, spread) = (weight * (likely - target), weight * likely * (1.0 - likely));
            gradient = [gradient[0] + error, gradient[1] + error * number];
            curve = [curve[0] + spread, curve[1] + spread * number, curve[2] + spread * number * number];
        }
        let determinant = (curve[0] * curve[2] - curve[1] * curve[1]).max(1e-18);
        let step = [
            (curve[2] * gradient[0] - curve[1] * gradient[1]) / determinant,
            (curve[0] * gradient[1] - curve[1] * gradient[0]) / determinant,
        ];
        // Half as far until it is no worse.
        let (now, mut length) = (surprise(bias, slope), 1.0);
        while surprise(bias - length * step[0], slope - length * step[1]) > now && length > 1e-6 {
            length /= 2.0;
        }
        (bias, slope) = (bias - length * step[0], slope - length * step[1]);
        if length * (step[0].abs() + step[1].abs()) < 1e-9 {
            break;
        }
    }
    match slope > 0.0 {
        true => (bias, slope / size),
        false => (prior, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 0, one of four is of the second kind: log-odds −ln 3. At 10, three of four: ln 3. So bias −ln 3 and slope 2 ln 3 / 10.
    /// A thousand times each, the targets are nearly certain.
    #[test]
    fn odds_by_hand() {
        let cases: Vec<Case> = (0..8000)
            .map(|place| (if place % 2 == 0 { 0.0 } else { 10.0 }, (place / 2 % 4 == 0) ^ (place % 2 == 1), 1.0))
            .collect();
        let (bias, slope) = logistic(&cases);
        assert!((bias + 3f64.ln()).abs() < 5e-3 && (slope - 0.2 * 3f64.ln()).abs() < 1e-3, "{bias} {slope}");
    }

    /// The second kind counts three times as much, and the number says nothing: odds of 3.
    #[test]
    fn a_number_that_says_nothing_leaves_the_shares() {
        let cases = [(1.0, false, 1.0), (1.0, true, 3.0), (-1.0, false, 1.0), (-1.0, true, 3.0)];
        let (bias, slope) = logistic(&cases);
        assert!(slope.abs() < 1e-6, "{slope}");
        assert!(bias > 0.0 && bias < 3f64.ln() + 1e-6, "{bias}");
        // A number that speaks for the wrong kind is not listened to.
        assert_eq!(logistic(&[(1.0, false, 1.0), (-1.0, true, 3.0)]), (3f64.ln(), 0.0));
    }

    #[test]
    fn two_kinds_that_a_number_parts_leave_a_slope_that_is_finite() {
        let (bias, slope) = logistic(&[(-1.0, false, 1.0), (1.0, true, 1.0), (-2.0, false, 1.0), (2.0, true, 1.0)]);
        assert!(bias.abs() < 1e-6 && slope > 0.5 && slope < 3.0, "{bias} {slope}");
    }
}
