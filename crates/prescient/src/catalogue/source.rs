//! One source of class information, as a recipe names it: a path, or a table with a path and what else is needed.

use crate::catalogue::words::NAMES;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;

/// One source of class information. Its name says what it is; `names` stands for the names of the classes themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttributeSource {
    /// The file or folder; a relative path is looked for in the working directory, then below the data root.
    pub path: PathBuf,
    /// The names of the rows of a `.npy`, where no `.txt` beside it has them.
    pub classes: Option<Vec<String>>,
    /// Which variable of a `.mat` holds the attributes; `att` unless given.
    pub variable: Option<String>,
}

/// As it is written when a path alone is not enough.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    path: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    classes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
}

impl AttributeSource {
    /// A source that needs nothing but its path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Whether the names of the classes are meant.
    pub fn is_names(&self) -> bool {
        self.path.as_os_str() == NAMES
    }
}

impl Serialize for AttributeSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            Self { path, classes: None, variable: None } => path.serialize(serializer),
            Self { path, classes, variable } => Table { path, classes, variable }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for AttributeSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// By hand: serde's untagged enums would swallow which key of the table is wrong.
        struct PathOrTable;

        impl<'de> Visitor<'de> for PathOrTable {
            type Value = AttributeSource;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a path, or a table with `path`")
            }

            fn visit_str<E>(self, path: &str) -> Result<Self::Value, E> {
                Ok(AttributeSource::new(path))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let Table { path, classes, variable } = Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(AttributeSource { path, classes, variable })
            }
        }
        deserializer.deserialize_any(PathOrTable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Recipe {
        attributes: Vec<AttributeSource>,
    }

    fn read(text: &str) -> Result<Recipe, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn a_path_or_a_table() {
        let text =
            r#"attributes = ["a.csv", { path = "b.npy", classes = ["cat"] }, { path = "c.mat", variable = "x" }]"#;
        let recipe = read(text).expect("three sources");
        assert_eq!(recipe.attributes[0], AttributeSource::new("a.csv"));
        assert_eq!(recipe.attributes[1].classes.as_deref(), Some(&["cat".to_owned()][..]));
        assert_eq!(recipe.attributes[2].variable.as_deref(), Some("x"));
        let written = toml::to_string(&recipe).expect("plain data");
        assert_eq!(read(&written).expect("its own text"), recipe);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let says = |text| read(text).expect_err(text).message().to_owned();
        assert!(says("attributes = [{ path = \"a\", clases = [] }]").contains("unknown field `clases`"));
        assert!(says("attributes = [{ classes = [] }]").contains("missing field `path`"));
        assert!(says("attributes = [3]").contains("expected a path, or a table with `path`"));
    }
}
