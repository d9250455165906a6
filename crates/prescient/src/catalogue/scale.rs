//! How attributes are scaled, each source on its own: a source in percent would drown one in fractions.

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
        match self {
            Scale::None => {}
            Scale::UnitL2 => rows.iter_mut().for_each(|row| {
                let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
                if length > 0.0 {
                    row.iter_mut().for_each(|value| *value /= length);
                }
            }),
            Scale::Range => {
                for attribute in 0..catalogue.attribute_names().len() {
                    let column = || rows.iter().map(|row| row[attribute]);
                    let (least, most) =
                        (column().fold(f32::INFINITY, f32::min), column().fold(f32::NEG_INFINITY, f32::max));
                    let width = f64::from(most) - f64::from(least);
                    for row in &mut rows {
                        let above = f64::from(row[attribute]) - f64::from(least);
                        row[attribute] = if width > 0.0 { (above / width) as f32 } else { 0.0 };
                    }
                }
            }
        }
        catalogue.with_rows(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// a runs from −1 to 3, b from 0 to 4.
    #[test]
    fn an_attribute_from_zero_to_one() {
        assert_eq!(scaled(Scale::Range), [[1.0, 1.0], [0.25, 0.0], [0.0, 0.0]]);
    }
}
