//! Outcomes as a page.

use super::contest::Outcome;
use std::time::{SystemTime, UNIX_EPOCH};

/// The smallest, the middle and the largest of some numbers.
fn spread(numbers: &[f64]) -> [f64; 3] {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.as_slice() {
        [] => [f64::NAN; 3],
        all => [all[0], all[all.len() / 2], all[all.len() - 1]],
    }
}

/// A line for each contestant: its rate, and ours over it, turn by turn.
pub(super) fn rows(outcome: &Outcome) -> Vec<String> {
    let ours = &outcome.rates[0].1;
    let row = |(place, (name, rates)): (usize, &(&'static str, Vec<f64>))| {
        let [_, middle, _] = spread(rates);
        let rate = format!("| {name} | {} {}s/s |", figures(middle), outcome.contest.item);
        if place == 0 {
            return format!("{rate} |");
        }
        let ratios: Vec<f64> = ours.iter().zip(rates).map(|(ours, theirs)| ours / theirs).collect();
        let [least, middle, most] = spread(&ratios);
        format!("{rate} {middle:.2} × ({least:.2} to {most:.2}) |")
    };
    outcome.rates.iter().enumerate().map(row).collect()
}

/// A peer that is shown beside the others and not counted: it takes minutes to start and is mostly slower.
const BESIDE: &str = "torch.compile";

/// Our median ratio to the best of the peers that count.
fn verdict(outcome: &Outcome) -> f64 {
    let ours = &outcome.rates[0].1;
    let ratio = |rates: &Vec<f64>| {
        let ratios: Vec<f64> = ours.iter().zip(rates).map(|(ours, theirs)| ours / theirs).collect();
        spread(&ratios)[1]
    };
    let counted = outcome.rates[1..].iter().filter(|(name, _)| !name.contains(BESIDE));
    counted.map(|(_, rates)| ratio(rates)).fold(f64::INFINITY, f64::min)
}

/// The whole page.
pub(super) fn page(outcomes: &[Outcome], command: &str, turns: usize, machine: &str) -> String {
    let mut page = format!(
        "# {} on {machine}\n\n`{command}`: {turns} turns; in each every contestant runs one round. A ratio is ours over theirs, the \
         median over turns, beside the smallest and the largest.\n",
        today()
    );
    for outcome in outcomes {
        let (found, wanted) = (verdict(outcome), outcome.contest.wanted);
        let reached = if found >= wanted { "reached" } else { "**not reached**" };
        page.push_str(&format!(
            "\n## {}\n\nWanted: {wanted} × the best peer. Found: {found:.2} ×, {reached}.\n\n| | rate | ours over it |\n| --- | --- | --- |\n{}\n",
            outcome.contest.name,
            rows(outcome).join("\n")
        ));
        page.push_str(&format!("\n`prescient-bench {}`\n", outcome.contest.ours));
        let took_part = |name: &str| outcome.rates.iter().any(|(other, _)| *other == name);
        for (_, script) in outcome.contest.peers.iter().filter(|(name, _)| took_part(name)) {
            page.push_str(&format!("`python bench/peers/{script}`\n"));
        }
    }
    page
}

/// Three figures.
fn figures(number: f64) -> String {
    let places = (2 - number.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{number:.places$}")
}

/// The processor, or the GPU, as the system names it.
pub(super) fn machine(gpu: bool) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if gpu {
        let asked =
            std::process::Command::new("nvidia-smi").args(["--query-gpu=name", "--format=csv,noheader"]).output();
        if let Ok(answer) = asked {
            return String::from_utf8_lossy(&answer.stdout).lines().next().unwrap_or("a GPU").to_owned();
        }
    }
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    format!("{cores} cores of {}", name.map_or("a CPU", |(_, name)| name.trim()))
}

/// The date, from the clock, as `2026-11-15`.
pub(super) fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400);
    date(days as i64)
}

/// The date `days` days after the first of 1970 (Howard Hinnant's way around the calendar).
fn date(days: i64) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::contest::Contest;

    static CONTEST: Contest =
        Contest { name: "a race", item: "lap", ours: "race", peers: &[("them", "race.py")], wanted: 1.5 };

    /// Ours 10, 20, 30 against 10, 10, 10: ratios 1, 2, 3.
    #[test]
    fn ratios_are_taken_turn_by_turn() {
        let rates = vec![("ours", vec![10.0, 20.0, 30.0]), ("them", vec![10.0, 10.0, 10.0])];
        let outcome = Outcome { contest: &CONTEST, rates };
        assert_eq!(rows(&outcome), ["| ours | 20.0 laps/s | |", "| them | 10.0 laps/s | 2.00 × (1.00 to 3.00) |"]);
        let page = page(&[outcome], "cargo xtask bench", 3, "a machine");
        assert!(page.contains("Wanted: 1.5 × the best peer. Found: 2.00 ×, reached."), "{page}");
    }

    #[test]
    fn the_best_peer_counts() {
        let rates = vec![("ours", vec![12.0]), ("slow", vec![1.0]), ("fast", vec![10.0])];
        assert!((verdict(&Outcome { contest: &CONTEST, rates }) - 1.2).abs() < 1e-9);
    }

    #[test]
    fn days_become_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(20_772), "2026-11-15");
        assert_eq!(date(19_782), "2024-02-29");
    }

    #[test]
    fn rates_have_three_figures() {
        assert_eq!([0.0123, 1.234, 45.67, 1234.5].map(figures), ["0.0123", "1.23", "45.7", "1234"]);
    }
}
