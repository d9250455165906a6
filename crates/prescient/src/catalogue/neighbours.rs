//! How similar classes are by what is known of them, and which cannot be told apart.

use crate::catalogue::{Catalogue, is_numbering};
use crate::class::ClassId;
use std::collections::BTreeMap;
use std::fmt;

/// Rows whose difference is at most this part of their length are taken for the same.
const NEARLY: f64 = 0.02;

/// Of more classes than this not every pair is compared: only those whose rows are the same are told.
const MANY: usize = 5_000;

/// Another class, and how similar it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Which class.
    pub class: ClassId,
    /// The cosine of the angle between the two rows; 0 where one is all zeros.
    pub similarity: f64,
}

/// The `count` classes most similar to `class`, the most similar first.
pub fn nearest(catalogue: &Catalogue, class: ClassId, count: usize) -> Vec<Neighbour> {
    let own = catalogue.attributes(class);
    let others = (0..catalogue.len()).map(|index| ClassId(index as u32)).filter(|other| *other != class);
    let mut neighbours: Vec<Neighbour> =
        others.map(|class| Neighbour { class, similarity: cosine(own, catalogue.attributes(class)) }).collect();
    neighbours.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
    neighbours.truncate(count);
    neighbours
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}

/// The length of the difference of two rows, as a part of the longer one.
fn apart(a: &[f32], b: &[f32]) -> f64 {
    let difference: Vec<f32> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let longer = dot(a, a).max(dot(b, b));
    if longer > 0.0 { (dot(&difference, &difference) / longer).sqrt() } else { 0.0 }
}

/// Something about class information that a person should look at.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Two names that differ in case, spaces or punctuation alone.
    SameName(String, String),
    /// Two classes with the same attributes: nothing imagined of one differs from the other.
    Identical(String, String),
    /// Two classes with nearly the same attributes.
    Alike(String, String),
    /// A class of which nothing but zeros is known.
    Blank(String),
    /// An attribute that is the same for all classes.
    Constant(String),
    /// Two attributes that are the same for each class.
    SameAttribute(String, String),
    /// An attribute that looks like a price or a number of each class.
    Numbering(String),
}

impl Warning {
    /// Whether it is about what an attribute means, and not about classes.
    pub(crate) fn is_of_meaning(&self) -> bool {
        matches!(self, Self::Numbering(_))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameName(a, b) => write!(
                formatter,
                "`{a}` and `{b}` may be one class twice: their names differ in case or punctuation alone"
            ),
            Self::Identical(a, b) => write!(
                formatter,
                "`{a}` and `{b}` have the same attributes: they cannot be told apart before their images arrive"
            ),
            Self::Alike(a, b) => write!(
                formatter,
                "`{a}` and `{b}` have nearly the same attributes: they can hardly be told apart before their images arrive"
            ),
            Self::Blank(a) => write!(formatter, "`{a}` has zeros alone: nothing can be imagined of it"),
            Self::Constant(a) => {
                write!(formatter, "the attribute `{a}` is the same for all classes: it tells none apart")
            }
            Self::SameAttribute(a, b) => write!(
                formatter,
                "the attributes `{a}` and `{b}` are the same for every class: one of them may be a copy"
            ),
            Self::Numbering(a) => write!(
                formatter,
                "the column `{a}` is used to imagine classes: if no photo shows it, as with a price or an article number, leave it out"
            ),
        }
    }
}

/// All that a person should look at.
pub fn warnings(catalogue: &Catalogue) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut plain: BTreeMap<String, &String> = BTreeMap::new();
    for name in catalogue.names() {
        let letters: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        if let Some(before) = plain.insert(letters, name) {
            warnings.push(Warning::SameName(before.clone(), name.clone()));
        }
    }
    let rows: Vec<(&String, &[f32])> = catalogue.rows().collect();
    let mut same: BTreeMap<Vec<u32>, &String> = BTreeMap::new();
    for (index, (name, row)) in rows.iter().enumerate() {
        if row.iter().all(|&value| value == 0.0) && !row.is_empty() {
            warnings.push(Warning::Blank((*name).clone()));
            continue;
        }
        if rows.len() > MANY {
            if let Some(before) = same.insert(row.iter().map(|value| (value + 0.0).to_bits()).collect(), *name) {
                warnings.push(Warning::Identical(before.clone(), (*name).clone()));
            }
            continue;
        }
        for (other_name, other) in &rows[index + 1..] {
            match apart(row, other) {
                0.0 => warnings.push(Warning::Identical((*name).clone(), (*other_name).clone())),
                part if part <= NEARLY => warnings.push(Warning::Alike((*name).clone(), (*other_name).clone())),
                _ => {}
            }
        }
    }
    warnings.extend(column_warnings(catalogue));
    warnings
}

fn column_warnings(catalogue: &Catalogue) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut columns: BTreeMap<Vec<u32>, &String> = BTreeMap::new();
    // A direction of a text's embedding has no meaning of its own.
    let given = catalogue.blocks().iter().filter(|block| !block.is_words()).flat_map(|block| block.columns.clone());
    for at in given {
        let name = &catalogue.attribute_names()[at];
        // `+ 0.0` makes one zero of two.
        let column: Vec<u32> = catalogue.rows().map(|(_, row)| (row[at] + 0.0).to_bits()).collect();
        let values: Vec<f64> = catalogue.rows().map(|(_, row)| f64::from(row[at])).collect();
        if is_numbering(name, &values) {
            warnings.push(Warning::Numbering(name.clone()));
        }
        if column.len() > 1 && column.iter().all(|value| *value == column[0]) {
            warnings.push(Warning::Constant(name.clone()));
        } else if let Some(before) = columns.insert(column, name) {
            warnings.push(Warning::SameAttribute(before.clone(), name.clone()));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(rows: &[(&str, [f32; 3])]) -> Catalogue {
        let names = rows.iter().map(|(name, _)| (*name).to_owned()).collect();
        let attributes = ["a", "b", "c"].map(String::from).to_vec();
        Catalogue::new(names, attributes, rows.iter().map(|(_, row)| row.to_vec()).collect())
    }

    /// cos((3, 4), (4, 3)) = 24 / 25; (3, 4) and (−4, 3) are at right angles.
    #[test]
    fn the_most_similar_comes_first() {
        let classes = catalogue(&[("cat", [3.0, 4.0, 0.0]), ("ant", [-4.0, 3.0, 0.0]), ("dog", [4.0, 3.0, 0.0])]);
        let found = nearest(&classes, ClassId(0), 5);
        assert_eq!(found.iter().map(|neighbour| neighbour.class.0).collect::<Vec<_>>(), [2, 1]);
        assert!((found[0].similarity - 0.96).abs() < 1e-12 && found[1].similarity.abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_told_apart_is_told() {
        let classes = catalogue(&[
            ("polar bear", [1.0, 5.0, 7.0]),
            ("polar_Bear", [2.0, 5.0, 7.0]),
            ("wolf", [100.0, 5.0, 0.0]),
            ("dog", [101.0, 5.0, 0.0]),
            ("hound", [100.0, 5.0, 0.0]),
        ]);
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let found = warnings(&classes);
        let expected = [
            {
                let (a, b) = pair("polar bear", "polar_Bear");
                Warning::SameName(a, b)
            },
            {
                let (a, b) = pair("wolf", "dog");
                Warning::Alike(a, b)
            },
            {
                let (a, b) = pair("wolf", "hound");
                Warning::Identical(a, b)
            },
            {
                let (a, b) = pair("dog", "hound");
                Warning::Alike(a, b)
            },
            Warning::Constant("b".to_owned()),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn zeros_and_copied_attributes_are_told() {
        let classes = catalogue(&[("cat", [1.0, 1.0, 2.0]), ("ant", [0.0, 0.0, 0.0])]);
        let same = Warning::SameAttribute("a".to_owned(), "b".to_owned());
        assert_eq!(warnings(&classes), [Warning::Blank("ant".to_owned()), same]);
        assert_eq!(nearest(&classes, ClassId(1), 1)[0].similarity, 0.0);
    }
}
