//! Colours, by day and by night.
//!
//! The ten colours of things are Petroff's (2021), made to be told apart by people who see colours differently. They are
//! never the only sign: names stand beside what they mean.

use std::fmt::Write;

/// How figures look: for the page and for files alike.
pub(in crate::report) const STYLE: &str = include_str!("../page/figure.css");

/// A colour's name, its value on white and on black.
const COLOURS: &[(&str, &str, &str)] = &[
    ("page", "#ffffff", "#14171a"),
    ("panel", "#f5f6f7", "#1d2125"),
    ("ink", "#1b1f24", "#e8eaed"),
    ("faint", "#5c646d", "#a3abb4"),
    ("rule", "#d5d9de", "#3a4047"),
    ("focus", "#0b57d0", "#8ab4f8"),
    ("warn", "#8a1c00", "#ffb59e"),
    ("warn-panel", "#fff0eb", "#3a1a10"),
    ("c0", "#3f90da", "#3f90da"),
    ("c1", "#e08e00", "#ffa90e"),
    ("c2", "#bd1f01", "#e0563b"),
    ("c3", "#7d8f8d", "#94a4a2"),
    ("c4", "#832db6", "#b06be0"),
    ("c5", "#a96b59", "#c08573"),
    ("c6", "#e76300", "#e76300"),
    ("c7", "#9c8f4f", "#b9ac70"),
    ("c8", "#717581", "#8e93a1"),
    ("c9", "#4fb3b7", "#92dadd"),
];

/// How many colours of things there are.
pub(super) const HUES: usize = 10;

/// What files are drawn on.
pub(super) fn background() -> &'static str {
    COLOURS[0].1
}

/// A style with the colours of the day in place of their names: many programs that read SVG know no variables.
pub(super) fn light(style: &str) -> String {
    COLOURS.iter().fold(style.to_owned(), |style, (name, day, _)| style.replace(&format!("var(--{name})"), day))
}

/// The names and values of the page's colours; `night` or day.
pub(in crate::report) fn variables(night: bool) -> String {
    COLOURS.iter().fold(String::new(), |mut text, (name, day, dark)| {
        let _ = write!(text, "--{name}:{};", if night { dark } else { day });
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_needs_no_variables() {
        assert!(STYLE.contains("var(--ink)"));
        assert!(!light(STYLE).contains("var("), "{}", light(STYLE));
    }

    /// Relative luminance as WCAG has it; text must stand out 4.5 to 1.
    #[test]
    fn text_can_be_read_by_day_and_by_night() {
        let luminance = |colour: &str| {
            let part = |place: usize| {
                let value = f64::from(u8::from_str_radix(&colour[place..place + 2], 16).expect("hex")) / 255.0;
                if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let of = |name: &str| *COLOURS.iter().find(|colour| colour.0 == name).expect("a colour");
        let contrast = |a: &str, b: &str| {
            let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
            a.max(b) / a.min(b)
        };
        for (text, ground) in
            [("ink", "page"), ("faint", "page"), ("faint", "panel"), ("focus", "page"), ("warn", "warn-panel")]
        {
            let (text, ground) = (of(text), of(ground));
            assert!(contrast(text.1, ground.1) >= 4.5, "{} on {} by day", text.0, ground.0);
            assert!(contrast(text.2, ground.2) >= 4.5, "{} on {} by night", text.0, ground.0);
        }
    }
}
