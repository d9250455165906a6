//! Which columns of class information are used, and which of them no photo may show: a price, the number of an article.

use crate::catalogue::{BlockKind, Catalogue};

/// So many columns are named.
const NAMED: usize = 8;

/// Of fewer classes nothing is concluded from values: legs of four animals may well be 0, 2, 4 and 6.
const FEWEST: usize = 5;

/// From here on single precision does not tell whole numbers apart.
const LARGE: f64 = 16_777_216.0;

/// The last words of names that stand for no property which can be seen.
const UNSEEN: &[&str] =
    &["id", "sku", "ean", "gtin", "upc", "isbn", "asin", "code", "number", "price", "cost", "stock"];

impl Catalogue {
    /// What is used of class information, as in `stripes, horns, descriptions`; nothing where there is none.
    pub fn columns_text(&self) -> String {
        let named: Vec<String> = self
            .blocks()
            .iter()
            .flat_map(|block| match block.kind {
                BlockKind::Attributes => self.attribute_names()[block.columns.clone()].to_vec(),
                BlockKind::Text => vec!["descriptions".to_owned()],
                BlockKind::Names => vec!["names of classes".to_owned()],
            })
            .collect();
        listed(&named)
    }
}

/// `a, b and 3 more`.
pub(crate) fn listed(names: &[String]) -> String {
    match names.len().saturating_sub(NAMED) {
        0 | 1 => names.join(", "),
        more => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}

/// Whether a column called `name` with these values looks like a price or a number of each class, which no photo shows.
pub(crate) fn is_numbering(name: &str, values: &[f64]) -> bool {
    let last = name.split(|letter: char| !letter.is_alphanumeric()).rfind(|word| !word.is_empty());
    if last.is_some_and(|word| UNSEEN.contains(&word.to_lowercase().as_str())) {
        return true;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let differ = sorted.windows(2).all(|pair| pair[0] != pair[1]);
    let large = sorted.last().is_some_and(|value| *value >= LARGE);
    values.len() >= FEWEST && values.iter().all(|value| value.fract() == 0.0) && (differ || large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_photo_shows_is_seen_by_its_name_or_its_values() {
        let twice = [9.5, 9.5, 3.0];
        assert!(
            ["price", "Unit Price", "product_id", "SKU", "article-number"]
                .iter()
                .all(|name| is_numbering(name, &twice))
        );
        assert!(!["stripes", "number of legs", "valid", "priceless"].iter().any(|name| is_numbering(name, &twice)));
        assert!(is_numbering("row", &[3.0, 1.0, 4.0, 15.0, 9.0]));
        assert!(!is_numbering("legs", &[0.0, 2.0, 4.0, 6.0]), "too few to tell");
        assert!(!is_numbering("legs", &[0.0, 2.0, 4.0, 4.0, 8.0]), "two are the same");
        assert!(!is_numbering("weight", &[0.5, 1.0, 2.0, 3.0, 4.0]), "one is no whole number");
        let large = [4_006_381_333_931.0f64; 5].map(|number| f64::from(number as f32));
        assert!(is_numbering("article", &large), "single precision may not tell them apart");
    }

    #[test]
    fn columns_are_named_up_to_a_number() {
        let names = |count: usize| (0..count).map(|place| format!("a{place}")).collect::<Vec<_>>();
        let table = |count: usize| Catalogue::new(names(1), names(count), vec![vec![1.0; count]]);
        assert_eq!(table(3).columns_text(), "a0, a1, a2");
        assert_eq!(table(11).columns_text(), "a0, a1, a2, a3, a4, a5, a6, a7 and 3 more");
        assert_eq!(Catalogue::bare(names(2)).columns_text(), "");
    }
}
