//! The few shapes that figures are made of, as SVG. Written by hand: ADR 14.

use std::fmt::Write;

/// A drawing in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Svg {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) body: String,
}

/// Where a text is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
        let _ = writeln!(self.body, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
    }

    /// A line through `points`; gaps are where there is none.
    pub(super) fn path(&mut self, class: &str, points: &[Option<(f64, f64)>]) {
        let mut data = String::new();
        let mut drawing = false;
        for point in points {
            if let Some((x, y)) = point {
                let _ = write!(data, "{}{} {}", if drawing { "L" } else { "M" }, number(*x), number(*y));
            }
            drawing = point.is_some();
        }
        let _ = writeln!(self.body, "<path class=\"{class}\" d=\"{data}\"/>");
    }

    /// A closed shape.
    pub(super) fn area(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", number(*x), number(*y))).collect();
        let _ = writeln!(self.body, "<polygon class=\"{class}\" points=\"{}\"/>", points.join(" "));
    }

    /// A rectangle that tells `tip` where one points at it.
    pub(super) fn bar(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), tip: &str) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(number);
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" data-tip=\"{}\"/>",
            escape(tip)
        );
    }

    /// A point that tells `tip` where one points at it.
    pub(super) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, tip: &str) {
        let [x, y, radius] = [x, y, radius].map(number);
        let tip = escape(tip);
        let _ =
            writeln!(self.body, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" data-tip=\"{tip}\"/>");
    }

    pub(super) fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let [x, y, radius] = [x, y, radius].map(number);
        let _ = writeln!(self.body, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>");
    }

    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\"{}>{}</text>",
            number(x),
            number(y),
            held(anchor),
            escape(text)
        );
    }

    /// A text of a given size, turned by some degrees around where it is held.
    pub(super) fn turned(&mut self, (x, y): (f64, f64), anchor: Anchor, degrees: f64, size: f64, text: &str) {
        let [x, y, degrees, size] = [x, y, degrees, size].map(number);
        let turn = if degrees == "0" { String::new() } else { format!(" transform=\"rotate({degrees} {x} {y})\"") };
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" style=\"font-size:{size}px\"{}{turn}>{}</text>",
            held(anchor),
            escape(text)
        );
    }

    /// Opens a group; `attributes` are ours.
    pub(super) fn open(&mut self, attributes: &str) {
        let _ = writeln!(self.body, "<g {attributes}>");
    }

    pub(super) fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    /// Another drawing, moved to `(x, y)`.
    pub(super) fn place(&mut self, other: &Svg, (x, y): (f64, f64)) {
        self.open(&format!("transform=\"translate({} {})\"", number(x), number(y)));
        self.body.push_str(&other.body);
        self.close();
    }
}

fn held(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    }
}

/// A number in as few characters as show in a drawing.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Text as it may stand in SVG and HTML, between tags and in attributes. Names of classes come from users.
pub(in crate::report) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML has no place for these, not even escaped.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// About how wide a text is at a size in pixels: without fonts nobody knows better.
pub(super) fn wide(text: &str, size: f64) -> f64 {
    0.56 * size * text.chars().count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([1.0, -0.04, 2.25, -3.16].map(number), ["1", "0", "2.2", "-3.2"]);
    }

    #[test]
    fn a_hostile_name_stays_text() {
        assert_eq!(
            escape("</script><img src=x onerror='a(\"b\")'>&\u{0}"),
            "&lt;/script&gt;&lt;img src=x onerror=&#39;a(&quot;b&quot;)&#39;&gt;&amp;\u{fffd}"
        );
    }

    #[test]
    fn a_gap_lifts_the_pen() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.path("l", &[Some((0.0, 1.0)), Some((1.0, 2.0)), None, Some((3.0, 4.0))]);
        assert_eq!(svg.body, "<path class=\"l\" d=\"M0 1L1 2M3 4\"/>\n");
    }
}
