//! xlsa17's `att_splits.mat`: the class information of the zero-shot benchmarks of Xian et al., one column a class.

use crate::catalogue::Catalogue;
use crate::data::formats::mat::{self, Value};
use crate::error::DataError;
use std::path::Path;

/// The attributes in `variable` (`att`: rows of length 1; `original_att`: as published) of the classes in
/// `allclasses_names`.
pub fn from_mat(bytes: &[u8], variable: Option<&str>, path: &Path) -> Result<Catalogue, DataError> {
    let variable = variable.unwrap_or("att");
    let mut variables = mat::read(bytes, path)?;
    let malformed = |expected: String, found: String| {
        DataError::Malformed {
        path: path.to_owned(),
        line: None,
        expected,
        found,
        hint: "xlsa17's `att_splits.mat` has `allclasses_names`, and `att` and `original_att` with a column for each class"
            .to_owned(),
    }
    };
    let there =
        variables.keys().filter(|name| !name.is_empty()).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let missing = |name: &str| {
        malformed(format!("a variable `{name}`"), if there.is_empty() { "none".to_owned() } else { there.clone() })
    };
    let Some(Value::Texts(names)) = variables.remove("allclasses_names") else {
        return Err(missing("allclasses_names"));
    };
    let Some(Value::Numbers { shape: [rows, columns], values }) = variables.remove(variable) else {
        return Err(missing(variable));
    };
    if columns != names.len() || names.is_empty() {
        let expected = format!("a column of `{variable}` for each of {} classes", names.len());
        return Err(malformed(expected, columns.to_string()));
    }
    let classes = values.chunks_exact(rows.max(1)).map(|column| column.iter().map(|&value| value as f32).collect());
    let classes: Vec<Vec<f32>> = classes.collect();
    if classes.len() != names.len() {
        return Err(malformed(format!("at least one attribute in `{variable}`"), "none".to_owned()));
    }
    // The file has no names for them.
    let attributes = (1..=rows).map(|row| format!("{variable} {row}")).collect();
    Ok(Catalogue::new(names.iter().map(|name| name.trim().to_owned()).collect(), attributes, classes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::ClassId;
    use crate::data::formats::mat::tests::{doubles, file, names};

    fn read(bytes: &[u8], variable: Option<&str>) -> Result<Catalogue, DataError> {
        from_mat(bytes, variable, Path::new("att_splits.mat"))
    }

    #[test]
    fn a_column_is_a_class() {
        let bytes =
            file(&[names("allclasses_names", &["cat", "whale"]), doubles("att", [3, 2], &[1., 2., 3., 4., 5., 6.])]);
        let catalogue = read(&bytes, None).expect("a table");
        assert_eq!(catalogue.names(), ["cat", "whale"]);
        assert_eq!(catalogue.attribute_names(), ["att 1", "att 2", "att 3"]);
        assert_eq!(catalogue.attributes(ClassId(1)), [4.0, 5.0, 6.0]);
    }

    #[test]
    fn what_is_missing_is_told() {
        let says = |bytes: &[u8], variable| read(bytes, variable).expect_err("a fault").to_string();
        let bytes = file(&[names("allclasses_names", &["cat"]), doubles("att", [1, 2], &[1., 2.])]);
        assert_eq!(says(&bytes, None), "`att_splits.mat`: expected a column of `att` for each of 1 classes, found 2");
        assert_eq!(
            says(&bytes, Some("original_att")),
            "`att_splits.mat`: expected a variable `original_att`, found `allclasses_names`, `att`"
        );
    }
}
