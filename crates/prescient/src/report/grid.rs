//! A table in the forms that people paste elsewhere: plain text, Markdown, CSV and LaTeX.

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For the terminal.
    Text,
    /// For a README.
    Markdown,
    /// For a spreadsheet.
    Csv,
    /// For a paper: a `tabular` with the rules of booktabs.
    Latex,
}

/// Rows of cells under a header.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// What the columns are called.
    pub header: Vec<String>,
    /// As many cells a row as the header has.
    pub rows: Vec<Vec<String>>,
    /// So many columns hold words and are flush left; the others hold numbers.
    pub words: usize,
}

impl Grid {
    /// The table in a form.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Text => self.text(),
            Format::Markdown => self.markdown(),
            Format::Csv => self.csv(),
            Format::Latex => self.latex(),
        }
    }

    fn text(&self) -> String {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let width = |column: usize| lines().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column < self.words {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        line(&self.header) + &rule.join("  ") + "\n" + &self.rows.iter().map(line).collect::<String>()
    }

    fn markdown(&self) -> String {
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<&str> =
            (0..self.header.len()).map(|column| if column < self.words { "---" } else { "---:" }).collect();
        let body: String = self.rows.iter().map(line).collect();
        format!("{}| {} |\n{body}", line(&self.header), rule.join(" | "))
    }

    fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in std::iter::once(&self.header).chain(&self.rows) {
            writer.write_record(row).expect("memory can be written, and rows are as wide as the header");
        }
        String::from_utf8(writer.into_inner().expect("memory can be written")).expect("cells are text")
    }

    fn latex(&self) -> String {
        let columns = "l".repeat(self.words) + &"r".repeat(self.header.len() - self.words);
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().map(|cell| latex_text(cell)).collect();
            format!("  {} \\\\\n", cells.join(" & "))
        };
        let body: String = self.rows.iter().map(line).collect();
        format!(
            "\\begin{{tabular}}{{{columns}}}\n  \\toprule\n{}  \\midrule\n{body}  \\bottomrule\n\\end{{tabular}}\n",
            line(&self.header)
        )
    }
}

/// Plain text as LaTeX reads it.
pub(super) fn latex_text(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' | '%' | '#' | '_' | '$' | '{' | '}' => out.extend(['\\', letter]),
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '±' => out.push_str("$\\pm$"),
            '×' => out.push_str("$\\times$"),
            '−' => out.push_str("$-$"),
            '–' => out.push_str("--"),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let cells = |row: [&str; 3]| row.map(String::from).to_vec();
        let rows = vec![cells(["aP&Y", "base_1", "58.6 ± 0.7"]), cells(["a|b", "x, \"y\"", "–"])];
        Grid { header: cells(["data", "model", "%"]), rows, words: 2 }
    }

    #[test]
    fn words_are_flush_left_and_numbers_flush_right() {
        let expected = "data  model            %\n\
                        ────  ──────  ──────────\n\
                        aP&Y  base_1  58.6 ± 0.7\n\
                        a|b   x, \"y\"           –\n";
        assert_eq!(grid().render(Format::Text), expected);
    }

    #[test]
    fn what_a_form_takes_for_its_own_is_escaped() {
        let markdown = "| data | model | % |\n| --- | --- | ---: |\n\
                        | aP&Y | base_1 | 58.6 ± 0.7 |\n| a\\|b | x, \"y\" | – |\n";
        assert_eq!(grid().render(Format::Markdown), markdown);
        assert_eq!(grid().render(Format::Csv), "data,model,%\naP&Y,base_1,58.6 ± 0.7\na|b,\"x, \"\"y\"\"\",–\n");
        let latex = "\\begin{tabular}{llr}\n  \\toprule\n  data & model & \\% \\\\\n  \\midrule\n  \
                     aP\\&Y & base\\_1 & 58.6 $\\pm$ 0.7 \\\\\n  a|b & x, \"y\" & -- \\\\\n  \\bottomrule\n\\end{tabular}\n";
        assert_eq!(grid().render(Format::Latex), latex);
    }
}
