//! Two models over the same seeds: the mean difference, and how far to trust it.
//!
//! ```text
//!             s                        d̄
//! d̄ ± t ·  ────        p = P( |T| ≥ ────── ),   T with n − 1 degrees of freedom
//!            √n                       s/√n
//! ```
//!
//! `d` are the differences seed by seed, `d̄` and `s` their mean and sample deviation. A seed that is hard for both models is
//! hard for neither of their differences, so pairs say more than two means would.

use crate::evaluation::statistics::{Summary, mcnemar};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// How sure an interval is.
pub const SURE: f64 = 0.95;

/// Shares that differ by less are the same: 0.6 − 0.5 is not 0.5 − 0.4 to the last bit.
const ROUNDING: f64 = 1e-12;

/// A difference, and how far to trust it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean difference.
    pub mean: f64,
    /// Where the true one lies, in 95 of 100 such comparisons.
    pub interval: (f64, f64),
    /// How often chance alone makes so large a difference.
    pub p: f64,
}

/// Student's paired comparison; none for fewer than two differences, which say nothing of how they spread.
///
/// ```
/// use prescient::evaluation::statistics::paired;
///
/// // Ghost − base in points of accuracy, for seeds 1, 2 and 3.
/// let difference = paired(&[2.0, 3.0, 4.0]).unwrap();
/// assert_eq!(difference.mean, 3.0);
/// assert!(difference.interval.0 > 0.0 && difference.p < 0.05);
/// assert_eq!(paired(&[3.0]), None);
/// ```
pub fn paired(differences: &[f64]) -> Option<Difference> {
    let Summary { count, mean, deviation } = Summary::of(differences)?;
    let error = deviation? / (count as f64).sqrt();
    if error < ROUNDING {
        // All differences are the same, by chance: what is left is that all have one sign.
        let p = if mean.abs() < ROUNDING { 1.0 } else { mcnemar(0, count) };
        return Some(Difference { mean, interval: (mean, mean), p });
    }
    let student = StudentsT::new(0.0, 1.0, (count - 1) as f64).expect("at least one degree of freedom");
    let reach = student.inverse_cdf(0.5 + SURE / 2.0) * error;
    Some(Difference { mean, interval: (mean - reach, mean + reach), p: 2.0 * student.sf((mean / error).abs()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2, 3, 4: mean 3, deviation 1, error 1/√3 = 0.57735. With two degrees of freedom t is 4.30265, so the interval
    /// reaches 2.48414 to either side; T = 5.19615, and P(|T| ≥ t) = 1 − t/√(2 + t²) = 1 − 5.19615/√29 = 0.035098.
    #[test]
    fn three_seeds_by_hand() {
        let found = paired(&[2.0, 3.0, 4.0]).expect("three differences");
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-5, "{found}, expected {expected}");
        close(found.mean, 3.0);
        close(found.interval.0, 3.0 - 2.484_138);
        close(found.interval.1, 3.0 + 2.484_138);
        close(found.p, 1.0 - 5.196_152 / 29f64.sqrt());
    }

    #[test]
    fn one_seed_says_nothing() {
        assert_eq!(paired(&[3.0]), None);
        assert_eq!(paired(&[]), None);
    }

    /// Three coins fall alike twice in eight times: no proof, although the deviation is 0.
    #[test]
    fn equal_differences_prove_no_more_than_their_sign() {
        let found = paired(&[2.0; 3]).expect("three differences");
        assert_eq!((found.mean, found.interval), (2.0, (2.0, 2.0)));
        assert!((found.p - 0.25).abs() < 1e-12, "{}", found.p);
        assert_eq!(paired(&[0.0, 0.0]).expect("two").p, 1.0);
        let rounded = paired(&[0.5 - 0.4, 0.6 - 0.5, 0.7 - 0.6]).expect("three differences");
        assert!((rounded.p - 0.25).abs() < 1e-12, "{}", rounded.p);
    }
}
