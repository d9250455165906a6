//! Several comparisons with one baseline: Holm's correction.
//!
//! Of twenty comparisons between equals one has p < 0.05 by chance. Sorted, the smallest of `m` values counts `m` times, the
//! next `m − 1` times, and so on, and none less than the one before.

/// The corrected values, each in its place.
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&one, &other| values[one].total_cmp(&values[other]));
    let mut corrected = vec![0.0; values.len()];
    let mut least = 0.0f64;
    for (rank, &index) in order.iter().enumerate() {
        least = least.max((values.len() - rank) as f64 * values[index]).min(1.0);
        corrected[index] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorted 0.01, 0.03, 0.04: times 3, 2, 1 gives 0.03, 0.06, 0.04, and 0.04 must not be less than 0.06.
    #[test]
    fn three_values_by_hand() {
        assert_eq!(holm(&[0.04, 0.01, 0.03]), [0.06, 0.03, 0.06]);
    }

    #[test]
    fn one_value_stays_and_none_exceeds_one() {
        assert_eq!(holm(&[0.2]), [0.2]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
