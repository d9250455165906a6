//! A number over seeds: its mean and its sample deviation.

/// Several values of one number, summed up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many values.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their sample deviation, with `n − 1`; none for a single value.
    pub deviation: Option<f64>,
}

impl Summary {
    /// The values summed up; none where there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (count > 1).then(|| (squares / (count - 1) as f64).sqrt());
        Some(Self { count, mean, deviation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's 77.63 ± 0.06 are the accuracies 77.6, 77.6 and 77.7: the mean is 232.9 / 3, the squares add up to
    /// 0.02 / 3, and √(0.01 / 3) = 0.0577.
    #[test]
    fn mean_and_deviation_by_hand() {
        let summary = Summary::of(&[77.6, 77.6, 77.7]).expect("three values");
        assert_eq!(summary.count, 3);
        assert!((summary.mean - 77.633_333_333).abs() < 1e-8);
        assert!((summary.deviation.expect("several") - 0.057_735_027).abs() < 1e-8);
    }

    #[test]
    fn one_value_has_no_deviation_and_none_no_mean() {
        assert_eq!(Summary::of(&[0.5]), Some(Summary { count: 1, mean: 0.5, deviation: None }));
        assert_eq!(Summary::of(&[]), None);
    }
}
