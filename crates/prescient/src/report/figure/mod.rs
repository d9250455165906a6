//! Figures: drawings of what a record says, each with its numbers as a table and a sentence for those who cannot see it.
//!
//! A figure is drawn once, here. The page shows it, `--figures` writes it to a file, and a test reads its numbers.

pub(super) mod accuracy;
pub(super) mod classes;
pub(super) mod confusion;
pub(super) mod difference;
pub(super) mod few;
pub(super) mod losses;
pub(super) mod map;
pub(super) mod reliability;
mod scale;
pub(super) mod space;
mod svg;
mod theme;
pub(super) mod times;

pub(super) use svg::escape;
pub(super) use theme::{STYLE, variables};

use svg::Svg;

/// A drawing, its numbers, and what it says.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What its file is called, without the ending.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read it, in a sentence or two.
    pub about: String,
    /// What is to be seen, in words.
    pub alt: String,
    /// The numbers behind it.
    pub table: Table,
    svg: Svg,
}

/// Rows of cells; the first row names the columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Figure {
    /// As a file of its own, on white: for a document or a slide.
    pub fn to_svg(&self) -> String {
        let style = theme::light(STYLE);
        let (width, height) = (svg::number(self.svg.width), svg::number(self.svg.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n<style>{style}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n{}</svg>\n",
            escape(&self.title),
            escape(&self.alt),
            theme::background(),
            self.svg.body
        )
    }

    /// As part of a page, whose style it takes.
    pub(super) fn inline(&self) -> String {
        let (width, height) = (svg::number(self.svg.width), svg::number(self.svg.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"{}\" style=\"max-width:{width}px\">{}</svg>",
            escape(&self.alt),
            self.svg.body
        )
    }
}

impl Table {
    fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|cell| (*cell).to_owned()).collect(), rows: Vec::new() }
    }
}

/// A share in percent, as people read it.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A share in percent for a table, or nothing where there is none.
fn cell(share: Option<f64>) -> String {
    share.map(|share| format!("{:.2}", 100.0 * share)).unwrap_or_default()
}

/// A name as part of a file's name.
pub(super) fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = name.chars().map(plain).collect();
    let parts: Vec<&str> = text.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "run".to_owned() } else { parts.join("-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(file_name("Ghost: seeds 1–3"), "ghost-seeds-1-3");
        assert_eq!(file_name("../../etc"), "etc");
        assert_eq!(file_name("…"), "run");
    }
}
