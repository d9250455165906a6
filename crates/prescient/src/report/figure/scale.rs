//! From values to places: a linear scale, and where its ticks go.

/// Values from `low` to `high` on places from `from` to `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    pub(super) fn new((low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, from, to }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Round values within the scale, about `count` of them.
    pub(super) fn ticks(&self, count: usize) -> Vec<f64> {
        let step = round_step((self.high - self.low) / count.max(1) as f64);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|tick| tick as f64 * step).collect()
    }
}

/// The scale from `low` to `high` that ends on round values, `low` and `high` included.
pub(super) fn rounded(low: f64, high: f64, count: usize) -> (f64, f64) {
    let step = round_step((high - low).max(1e-9) / count.max(1) as f64);
    ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step)
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= step * (1.0 - 1e-9)).unwrap_or(10.0);
    times * power
}

/// A tick as people read it: as many digits as its step needs.
pub(super) fn label(value: f64, ticks: &[f64]) -> String {
    let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    let digits = if step.is_finite() { (-step.log10().floor()).clamp(0.0, 6.0) as usize } else { 1 };
    let text = format!("{value:.digits$}");
    if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_ticks_by_hand() {
        let scale = Scale::new((0.0, 100.0), (200.0, 0.0));
        assert_eq!([0.0, 25.0, 100.0].map(|value| scale.place(value)), [200.0, 150.0, 0.0]);
        assert_eq!(scale.ticks(5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(rounded(-3.1, 11.7, 4), (-5.0, 15.0));
    }

    #[test]
    fn labels_have_the_digits_they_need() {
        let ticks = Scale::new((0.0, 0.3), (0.0, 1.0)).ticks(3);
        let labels: Vec<String> = ticks.iter().map(|tick| label(*tick, &ticks)).collect();
        assert_eq!(labels, ["0", "0.1", "0.2", "0.3"]);
    }

    #[test]
    fn one_value_alone_is_a_scale_too() {
        let scale = Scale::new((3.0, 3.0), (0.0, 10.0));
        assert!(scale.place(3.0).is_finite() && !scale.ticks(3).is_empty());
    }
}
