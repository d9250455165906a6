//! Text that fits a terminal: sentences go on below, between words, and a wide table goes on below with its first columns once more.

/// The text in lines of at most `width` columns. A word that is longer stays whole: it may be a path. So do lines that begin with a
/// quote, which are there to be pasted.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < lines.len() {
        let (line, below) = (lines[at], lines.get(at + 1).and_then(|line| Table::ruled(line)));
        if let Some(table) = below.filter(|table| table.width() > width) {
            let rows = lines[at + 2..].iter().take_while(|line| table.holds(line)).count();
            let parts = table.parts(&lines[at..at + 2 + rows], width);
            out.extend(parts.join("\n\n").split('\n').map(String::from));
            at += 2 + rows;
            continue;
        }
        match line.chars().count() <= width || line.trim_start().starts_with('"') {
            true => out.push(line.to_owned()),
            false => out.extend(sentence(line, width)),
        }
        at += 1;
    }
    out.join("\n")
}

/// A line that is too long, in several. What is broken off stands below the last column of its line, or below its first word and
/// two to the right.
fn sentence(line: &str, width: usize) -> Vec<String> {
    let below = " ".repeat(hanging(line, width));
    let (mut lines, mut current, mut words) = (Vec::new(), String::new(), 0);
    // A run of spaces is a gap between columns and stays with the word behind it.
    for word in line.split_inclusive(' ').fold(Vec::new(), with_gaps) {
        let ends = current.chars().count() + word.trim_end().chars().count();
        if ends > width && words > 0 {
            lines.push(current.trim_end().to_owned());
            (current, words) = (below.clone() + word.trim_start(), 1);
        } else {
            words += usize::from(!word.trim().is_empty());
            current.push_str(&word);
        }
    }
    lines.push(current.trim_end().to_owned());
    lines
}

/// Words, each with the spaces before it. A number keeps its `%`.
fn with_gaps(mut words: Vec<String>, part: &str) -> Vec<String> {
    match words.last_mut() {
        Some(last) if last.trim().is_empty() || part.starts_with('%') => last.push_str(part),
        _ => words.push(part.to_owned()),
    }
    words
}

/// Where a line goes on that is too long: where its last column begins, if that leaves half of the width.
fn hanging(line: &str, width: usize) -> usize {
    let letters: Vec<char> = line.chars().collect();
    let first = letters.iter().take_while(|letter| **letter == ' ').count();
    let starts = |at: &usize| letters[*at] != ' ' && letters[at - 2..*at] == [' ', ' '];
    let column = (first + 3..letters.len()).rev().find(starts).filter(|at| *at <= width / 2);
    column.unwrap_or((first + 2).min(width / 2))
}

/// The columns of a table: where each begins and ends.
struct Table(Vec<(usize, usize)>);

impl Table {
    /// From the rule below its header: `────  ───`.
    fn ruled(line: &str) -> Option<Self> {
        let lengths: Vec<usize> = line.split("  ").map(|part| part.chars().count()).collect();
        let is_rule = line.contains('─') && line.split("  ").all(|part| part.chars().all(|letter| letter == '─'));
        let column = |begin: &mut usize, length: &usize| {
            let place = (*begin, *begin + length);
            *begin += length + 2;
            Some(place)
        };
        (is_rule && lengths.len() > 1).then(|| Self(lengths.iter().scan(0, column).collect()))
    }

    fn width(&self) -> usize {
        self.0.last().map_or(0, |(_, end)| *end)
    }

    /// Whether a line is a row: nothing stands between its columns.
    fn holds(&self, line: &str) -> bool {
        let letters: Vec<char> = line.chars().collect();
        let gaps = self.0.iter().flat_map(|(_, end)| [*end, end + 1]);
        !line.trim().is_empty() && gaps.into_iter().all(|at| letters.get(at).is_none_or(|letter| *letter == ' '))
    }

    /// The lines with as many columns as fit, then with the next ones; those that name a row are in each part.
    fn parts(&self, lines: &[&str], width: usize) -> Vec<String> {
        let wide = |columns: &[usize]| columns.iter().map(|at| self.0[*at].1 - self.0[*at].0 + 2).sum::<usize>() - 2;
        let names: Vec<usize> =
            (0..self.0.len()).take_while(|column| *column == 0 || self.is_words(lines, *column)).collect();
        let names = if wide(&names) > width * 3 / 4 { vec![0] } else { names };
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for column in names.len()..self.0.len() {
            match parts.last_mut() {
                Some(part) if wide(&[&part[..], &[column]].concat()) <= width => part.push(column),
                _ => parts.push([&names[..], &[column]].concat()),
            }
        }
        let row = |line: &&str, columns: &[usize]| {
            let cells: Vec<String> = columns.iter().map(|column| self.cell(line, *column)).collect();
            cells.join("  ").trim_end().to_owned()
        };
        let part = |columns: &Vec<usize>| lines.iter().map(|line| row(line, columns)).collect::<Vec<_>>().join("\n");
        parts.iter().map(part).collect()
    }

    fn cell(&self, line: &str, column: usize) -> String {
        let (begin, end) = self.0[column];
        let cell: String = line.chars().skip(begin).take(end - begin).collect();
        format!("{cell:<width$}", width = end - begin)
    }

    /// Whether a column is flush left.
    fn is_words(&self, lines: &[&str], column: usize) -> bool {
        let cells: Vec<String> = lines.iter().map(|line| self.cell(line, column)).collect();
        cells.iter().all(|cell| !cell.starts_with(' ') || cell.trim().is_empty())
            && cells.iter().any(|cell| cell.ends_with(' ') && !cell.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_goes_on_below_between_words() {
        assert_eq!(folded("one two three", 13), "one two three");
        assert_eq!(folded("one two three\n", 9), "one two\n  three\n");
        assert_eq!(folded("  one two three four", 11), "  one two\n    three\n    four");
        assert_eq!(folded("one of 11 % now", 10), "one of\n  11 % now");
    }

    #[test]
    fn what_stands_in_columns_goes_on_below_the_last_of_them() {
        assert_eq!(folded("a    b  one two three", 18), "a    b  one two\n        three");
        // That column would leave too little room.
        assert_eq!(folded("a    bbbbbbbbb  one two", 18), "a    bbbbbbbbb\n  one two");
    }

    #[test]
    fn a_path_stays_whole_and_so_does_what_is_pasted() {
        assert_eq!(folded("see /a/very/long/path now", 10), "see\n  /a/very/long/path\n  now");
        assert_eq!(folded("/a/very/long/path", 10), "/a/very/long/path");
        assert_eq!(folded("    \"train/my cat/1.png\",", 10), "    \"train/my cat/1.png\",");
    }

    #[test]
    fn a_wide_table_goes_on_below_with_what_names_its_rows() {
        let table =
            "task  model  a    b\n────  ─────  ─  ───\n   1  base   1  2.5\n   2  ghost     3.5\nboth are good\n";
        assert_eq!(folded(table, 19), table);
        let narrow = "task  model  a\n────  ─────  ─\n   1  base   1\n   2  ghost\n\n\
                      task  model    b\n────  ─────  ───\n   1  base   2.5\n   2  ghost  3.5\nboth are good\n";
        assert_eq!(folded(table, 17), narrow);
    }
}
