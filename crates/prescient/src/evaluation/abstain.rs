//! Answering only where one is sure enough: how much is answered, and how much of that is right.

use serde::{Deserialize, Serialize};

/// What answering only above a confidence gives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abstain {
    /// Answers of at least this probability are given, from 0 to 1.
    pub confidence: f64,
    /// The share of photos that are answered.
    pub coverage: f64,
    /// The share of right answers among those; none where nothing is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Their mean probability: what they promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promised: Option<f64>,
}

/// An answer: its probability, whether it is right, and how many it counts for.
pub type Weighed = (f64, bool, f64);

impl Abstain {
    /// What answering above `confidence` gives on some answers.
    pub fn at(confidence: f64, answers: impl IntoIterator<Item = Weighed>) -> Self {
        let (mut all, mut given, mut right, mut promised) = (0.0, 0.0, 0.0, 0.0);
        for (probability, is_right, weight) in answers {
            all += weight;
            if probability >= confidence {
                given += weight;
                promised += weight * probability;
                right += if is_right { weight } else { 0.0 };
            }
        }
        let share = |part: f64| (given > 0.0).then(|| part / given);
        Self {
            confidence,
            coverage: if all > 0.0 { given / all } else { 0.0 },
            accuracy: share(right),
            promised: share(promised),
        }
    }

    /// The same for every twentieth from 0 to 0.95, and for 0.99: answers are few there, and that is where it matters.
    pub fn curve(answers: &[Weighed]) -> Vec<Self> {
        let steps = (0..20).map(|step| f64::from(step) / 20.0).chain([0.99]);
        steps.map(|confidence| Self::at(confidence, answers.iter().copied())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Above 0.9 lie two answers of weights 1 and 3, the lighter one wrong: 4 of 8 are answered, 3/4 of it right, and
    /// (0.98 + 3 · 0.9) / 4 = 0.92 was promised. At 0.99 nothing is answered.
    #[test]
    fn abstaining_by_hand() {
        let answers = [(0.98, false, 1.0), (0.9, true, 3.0), (0.5, true, 2.0), (0.1, false, 2.0)];
        let found = Abstain::at(0.9, answers);
        assert_eq!((found.coverage, found.accuracy), (0.5, Some(0.75)));
        assert!((found.promised.expect("answers") - 0.92).abs() < 1e-12);
        let curve = Abstain::curve(&answers);
        assert_eq!((curve.len(), curve[0].coverage, curve[0].accuracy), (21, 1.0, Some(5.0 / 8.0)));
        assert_eq!((curve[18].confidence, curve[18]), (0.9, found));
        assert_eq!((curve[20].coverage, curve[20].accuracy), (0.0, None));
        assert_eq!(Abstain::at(0.5, []).coverage, 0.0);
    }
}
