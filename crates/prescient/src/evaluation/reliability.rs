//! How far probabilities can be believed: what was promised beside what came true.
//!
//! ```text
//!            n_b
//! ECE =  Σ  ───── │ promised_b − true_b │
//!        b    N
//! ```
//!
//! `b` runs over bins of statements that were made with about the same probability: their mean is what was promised, and the share
//! of them that is true is what came of it (Naeini et al., 2015). Bins are equally wide, or hold equally many statements.

/// How many bins there are.
pub const BINS: usize = 15;

/// A statement: its probability, and whether it is true.
pub type Statement = (f64, bool);

/// Statements of about the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// How many.
    pub count: usize,
    /// Their mean probability.
    pub promised: f64,
    /// The share of them that is true.
    pub kept: f64,
}

impl Bin {
    fn new(statements: &[Statement]) -> Option<Self> {
        let count = statements.len();
        let mean = |sum: f64| sum / count as f64;
        (count > 0).then(|| Self {
            count,
            promised: mean(statements.iter().map(|(probability, _)| probability).sum()),
            kept: mean(statements.iter().filter(|(_, is_true)| *is_true).count() as f64),
        })
    }
}

/// Statements by their probability.
#[derive(Clone, Debug, PartialEq)]
pub struct Reliability {
    /// By rising probability; a bin without statements is left out.
    pub bins: Vec<Bin>,
}

impl Reliability {
    /// With [`BINS`] bins of the same width.
    pub fn equal_width(statements: &[Statement]) -> Self {
        let mut bins = vec![Vec::new(); BINS];
        for statement in statements {
            let place = (statement.0 * BINS as f64) as usize;
            bins[place.min(BINS - 1)].push(*statement);
        }
        Self { bins: bins.iter().filter_map(|bin| Bin::new(bin)).collect() }
    }

    /// With [`BINS`] bins of as many statements each, up to one. Few statements in a wide bin cannot hide there.
    pub fn equal_count(statements: &[Statement]) -> Self {
        let mut sorted = statements.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let place = |bin: usize| bin * sorted.len() / BINS;
        Self { bins: (0..BINS).filter_map(|bin| Bin::new(&sorted[place(bin)..place(bin + 1)])).collect() }
    }

    /// The expected calibration error, from 0 to 1; none without statements.
    pub fn error(&self) -> Option<f64> {
        let count: usize = self.bins.iter().map(|bin| bin.count).sum();
        let missed: f64 = self.bins.iter().map(|bin| bin.count as f64 * (bin.promised - bin.kept).abs()).sum();
        (count > 0).then(|| missed / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bins are 1/15 wide. 0.95 and 0.99 are in the last one: promised 0.97, kept 0.5. 0.2 twice in the fourth: promised 0.2,
    /// kept 0. So (2 · 0.47 + 2 · 0.2) / 4 = 0.335. A probability of 1 is in the last bin.
    #[test]
    fn calibration_error_by_hand() {
        let statements = [(0.95, true), (0.99, false), (0.2, false), (0.2, false)];
        let found = Reliability::equal_width(&statements);
        assert_eq!(found.bins.len(), 2);
        assert!((found.error().expect("statements") - 0.335).abs() < 1e-12, "{found:?}");
        assert_eq!(Reliability::equal_width(&[(1.0, true)]).error(), Some(0.0));
        assert_eq!(Reliability::equal_width(&[]).error(), None);
        assert_eq!(Reliability::equal_count(&[]).error(), None);
    }

    /// 30 statements are two in each bin. Each bin promises 0.9 with one of two kept, whatever the other bins do: 0.4.
    #[test]
    fn bins_of_equal_count_part_what_one_wide_bin_would_balance() {
        let statements: Vec<Statement> =
            (0..30).map(|place| if place < 15 { (0.97, true) } else { (0.95, place < 27) }).collect();
        let wide = Reliability::equal_width(&statements);
        let fine = Reliability::equal_count(&statements);
        assert_eq!((wide.bins.len(), fine.bins.len()), (1, 15));
        assert!(fine.bins.iter().all(|bin| bin.count == 2));
        assert!(fine.error() > wide.error(), "{fine:?}");
    }
}
