//! How attributes are scaled, each source on its own: a source in percent would drown one in fractions. Embedded words have
//! length 1 as they come, and stay as they are.

use crate::catalogue::Catalogue;
use serde::{Deserialize, Serialize};

/// How the attributes of a source are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// As they are.
    None,
    /// Each class's row `E_c` to length 1, as xlsa17 and the authors' code have it. A row of zeros stays.
    #[default]
    UnitL2,
    /// Each attribute from 0 to 1 over the classes. One that is the same for all becomes 0.
    Range,
}

impl Scale {
    /// The same classes with scaled attributes.
    pub fn scaled(self, catalogue: &Catalogue) -> Catalogue {
        let mut rows: Vec<Vec<f32>> = catalogue.rows().map(|(_, row)| row.to_vec()).collect();
        for block in catalogue.blocks().iter().filter(|block| !block.is_words()) {
            match self {
                Scale::None => {}
                Scale::UnitL2 => rows.iter_mut().for_each(|row| to_unit(&mut row[block.columns.clone()])),
                Scale::Range => block.columns.clone().for_each(|attribute| to_range(&mut rows, attribute)),
            }
        }
        catalogue.with_rows(rows)
    }
}

fn to_unit(row: &mut [f32]) {
    let squares = row.iter().map(|value| value * value).sum::<f32>();
    if squares.is_normal() {
        row.iter_mut().for_each(|value| *value /= squares.sqrt());
        return;
    }
    // Numbers whose squares do not fit into single precision, or zeros.
    let length = row.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        row.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    }
}

fn to_range(rows: &mut [Vec<f32>], attribute: usize) {
    let column = || rows.iter().map(|row| row[attribute]);
    let (least, most) = (column().fold(f32::INFINITY, f32::min), column().fold(f32::NEG_INFINITY, f32::max));
    let width = f64::from(most) - f64::from(least);
    for row in rows {
        let above = f64::from(row[attribute]) - f64::from(least);
        row[attribute] = if width > 0.0 { (above / width) as f32 } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Block, BlockKind};
    use crate::class::ClassId;

    fn scaled(scale: Scale) -> Vec<Vec<f32>> {
        let names = ["ant", "bee", "cat"].map(String::from).to_vec();
        let attributes = ["a", "b"].map(String::from).to_vec();
        let rows = vec![vec![3.0, 4.0], vec![0.0, 0.0], vec![-1.0, 0.0]];
        let catalogue = scale.scaled(&Catalogue::new(names, attributes, rows));
        (0..3).map(|class| catalogue.attributes(ClassId(class)).to_vec()).collect()
    }

    /// √(3² + 4²) = 5; a row of zeros has no direction.
    #[test]
    fn a_row_of_length_one() {
        assert_eq!(scaled(Scale::UnitL2), [[0.6, 0.8], [0.0, 0.0], [-1.0, 0.0]]);
        assert_eq!(scaled(Scale::None), [[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]]);
    }

    #[test]
    fn large_and_small_numbers_have_a_length_too() {
        let names = vec!["ant".to_owned(), "bee".to_owned()];
        let rows = vec![vec![3e30, 4e30], vec![3e-30, 4e-30]];
        let catalogue = Catalogue::new(names, vec!["a".to_owned(), "b".to_owned()], rows);
        let scaled = Scale::UnitL2.scaled(&catalogue);
        for class in [ClassId(0), ClassId(1)] {
            assert!((scaled.attributes(class)[0] - 0.6).abs() < 1e-6, "{:?}", scaled.attributes(class));
        }
    }

    /// Column b is words: it stays, and a is scaled on its own.
    #[test]
    fn words_stay_as_they_are() {
        let block = |name: &str, kind, columns| Block { name: name.to_owned(), kind, columns, digest: None };
        let blocks = vec![block("a", BlockKind::Attributes, 0..1), block("b", BlockKind::Text, 1..2)];
        let names = ["ant", "bee"].map(String::from).to_vec();
        let rows = vec![vec![3.0, 0.6], vec![-1.0, 0.8]];
        let columns = vec!["a".to_owned(), "b 1".to_owned()];
        let catalogue = Catalogue::new(names, columns, rows).with_blocks(blocks.clone());
        let scaled = |scale: Scale| scale.scaled(&catalogue).rows().map(|(_, row)| row.to_vec()).collect::<Vec<_>>();
        assert_eq!(scaled(Scale::UnitL2), [[1.0, 0.6], [-1.0, 0.8]]);
        assert_eq!(scaled(Scale::Range), [[1.0, 0.6], [0.0, 0.8]]);
        assert_eq!(Scale::Range.scaled(&catalogue).blocks(), blocks);
    }

    /// a runs from −1 to 3, b from 0 to 4.
    #[test]
    fn an_attribute_from_zero_to_one() {
        assert_eq!(scaled(Scale::Range), [[1.0, 1.0], [0.25, 0.0], [0.0, 0.0]]);
    }
}
