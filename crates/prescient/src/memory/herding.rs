//! iCaRL's herding: exemplars whose running mean follows the mean of their class.
//!
//! ```text
//! x* = arg max  ⟨w, x̂⟩ ,      w ← w + μ − x̂*,      w₀ = μ = mean of x̂,      x̂ = x / ‖x‖
//!       x not chosen
//! ```

/// The rows of `features` to keep, `count` at most, in the order in which they are chosen.
///
/// ```
/// let features = [vec![2.0, 0.0], vec![0.0, 1.0], vec![3.0, 4.0]];
/// assert_eq!(prescient::memory::herd(&features, 2), [2, 0]);
/// ```
pub fn herd(features: &[Vec<f32>], count: usize) -> Vec<usize> {
    // In f64, so that a tie is not decided by the order of a sum.
    let unit: Vec<Vec<f64>> = features.iter().map(|row| unit(row)).collect();
    let Some(width) = unit.first().map(Vec::len) else { return Vec::new() };
    let mut mean = vec![0.0; width];
    for row in &unit {
        add(&mut mean, row, 1.0 / unit.len() as f64);
    }

    let mut wanted = mean.clone();
    let mut left: Vec<usize> = (0..unit.len()).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count && !left.is_empty() {
        let mut best = 0;
        let mut best_score = f64::NEG_INFINITY;
        for (place, &row) in left.iter().enumerate() {
            let score = dot(&wanted, &unit[row]);
            if score > best_score {
                (best, best_score) = (place, score);
            }
        }
        let row = left.remove(best);
        add(&mut wanted, &mean, 1.0);
        add(&mut wanted, &unit[row], -1.0);
        chosen.push(row);
    }
    chosen
}

fn unit(row: &[f32]) -> Vec<f64> {
    let norm = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt().max(1e-12);
    row.iter().map(|&x| f64::from(x) / norm).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn add(to: &mut [f64], row: &[f64], times: f64) {
    to.iter_mut().zip(row).for_each(|(t, r)| *t += times * r);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Unit rows (1, 0), (0, 1), (0.6, 0.8): μ = (0.5333, 0.6).
    /// ⟨μ, x̂⟩ = 0.533, 0.6, 0.8, so row 2 comes first. Then w = 2μ − (0.6, 0.8) = (0.4667, 0.4): row 0 (0.467) before
    /// row 1 (0.4). Then row 1 is left.
    #[test]
    fn order_by_hand() {
        let features = [vec![2.0, 0.0], vec![0.0, 1.0], vec![3.0, 4.0]];
        assert_eq!(herd(&features, 2), [2, 0]);
        assert_eq!(herd(&features, 9), [2, 0, 1]);
    }

    #[test]
    fn nothing_to_choose_from() {
        assert_eq!(herd(&[], 3), [0usize; 0]);
        assert_eq!(herd(&[vec![0.0, 0.0], vec![0.0, 0.0]], 1), [0]);
    }

    proptest! {
        #[test]
        fn no_row_is_chosen_twice(
            rows in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 4), 0..30), count in 0usize..40
        ) {
            let mut chosen = herd(&rows, count);
            prop_assert_eq!(chosen.len(), count.min(rows.len()));
            chosen.sort_unstable();
            chosen.dedup();
            prop_assert_eq!(chosen.len(), count.min(rows.len()));
        }

        #[test]
        fn a_shorter_memory_is_the_beginning_of_a_longer_one(
            rows in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 3), 2..20)
        ) {
            let all = herd(&rows, rows.len());
            prop_assert_eq!(&herd(&rows, rows.len() / 2)[..], &all[..rows.len() / 2]);
        }
    }
}
