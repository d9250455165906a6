//! Words and numbers as people read them.

use prescient::evaluation::Worth;
use prescient::project::Tally;

/// `1 photo`, `3 photos`.
pub(super) fn count(count: u64, one: &str) -> String {
    match (count, one.strip_suffix('s')) {
        (1, _) => format!("1 {one}"),
        (_, Some(_)) => format!("{count} {one}es"),
        (_, None) => format!("{count} {one}s"),
    }
}

/// `a, b, c and 4 more`.
pub(super) fn list(names: &[String], most: usize) -> String {
    match names.len().saturating_sub(most) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..most].join(", ")),
    }
}

/// `87.5 %`; nothing of nothing.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}

/// `87.5 % (35 of 40; 95 % interval 73.9 to 94.5)`.
pub(super) fn evidence(tally: &Tally) -> String {
    let interval = tally
        .interval()
        .map_or_else(String::new, |(low, high)| format!("; 95 % interval {:.1} to {:.1}", 100.0 * low, 100.0 * high));
    format!("{} ({} of {}{interval})", percent(tally.share()), tally.right, tally.of)
}

/// Why classes without photos are not guessed at.
pub(super) fn why_not(worth: Option<&Worth>) -> &str {
    worth.and_then(|worth| worth.why_not.as_deref()).unwrap_or("nothing was learned yet")
}

/// `12.3 MB`.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.0} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// `2026-11-18 02:31 UTC`, from seconds since 1970. Days are counted from 1 March of the year 0, so that a leap day comes last.
pub(super) fn date(seconds: u64) -> String {
    let (days, rest) = ((seconds / 86_400) as i64 + 719_468, seconds % 86_400);
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest % 3600 / 60)
}

/// Rows in columns, the first line a header: the first column and the last are held left, numbers right.
pub(super) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cell = |(place, cell): (usize, &String)| match place == 0 || place + 1 == count {
            true => format!("{cell:<width$}", width = widths[place]),
            false => format!("{cell:>width$}", width = widths[place]),
        };
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!([count(1, "photo"), count(3, "photo"), count(2, "class")], ["1 photo", "3 photos", "2 classes"]);
        assert_eq!([bytes(900_000), bytes(12_345_678)], ["900 KB", "12.3 MB"]);
        assert_eq!(evidence(&Tally { right: 8, of: 10 }), "80.0 % (8 of 10; 95 % interval 49.0 to 94.3)");
        assert_eq!(list(&["a", "b", "c"].map(String::from), 2), "a, b and 1 more");
    }

    #[test]
    fn days_by_hand() {
        let dates = [0, 951_782_400, 1_709_251_199, 1_794_969_060].map(date);
        let expected = ["1970-01-01 00:00 UTC", "2000-02-29 00:00 UTC", "2024-02-29 23:59 UTC", "2026-11-18 02:31 UTC"];
        assert_eq!(dates, expected);
    }
}
