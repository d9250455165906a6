//! Two models on the same images: McNemar's exact test.
//!
//! ```text
//! p = min( 1, 2 · P(X ≤ min(b, c)) ),   X ~ Binomial(b + c, ½)
//! ```
//!
//! `b` images are right with the first model alone, `c` with the second alone. Images that both get right, or neither, say
//! nothing of which is better.

use statrs::distribution::{Binomial, DiscreteCDF};

/// How often chance alone would divide the images as unevenly.
pub fn mcnemar(first_alone: usize, second_alone: usize) -> f64 {
    let (fewer, all) = (first_alone.min(second_alone), first_alone + second_alone);
    if all == 0 {
        return 1.0;
    }
    let coin = Binomial::new(0.5, all as u64).expect("a half is a probability");
    (2.0 * coin.cdf(fewer as u64)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 against 5: six coins with at most one head, (1 + 6) / 64, and as much on the other side: 14 / 64.
    #[test]
    fn six_images_by_hand() {
        assert!((mcnemar(1, 5) - 14.0 / 64.0).abs() < 1e-12);
        assert_eq!(mcnemar(1, 5), mcnemar(5, 1));
    }

    #[test]
    fn an_even_division_is_no_sign() {
        assert_eq!(mcnemar(0, 0), 1.0);
        assert_eq!(mcnemar(4, 4), 1.0);
    }
}
