//! What is known of every class in advance: its name, and its attributes `E`.

use crate::class::ClassId;
use crate::error::DataError;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The names of the classes and the attributes of each, aligned by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalogue {
    names: Vec<String>,
    attribute_names: Vec<String>,
    /// Row by row, `[classes, attributes]`.
    attributes: Vec<f32>,
}

impl Catalogue {
    /// Classes of which nothing is known but the name.
    pub fn bare(names: Vec<String>) -> Self {
        Self { names, attribute_names: Vec::new(), attributes: Vec::new() }
    }

    /// Classes with attributes, a row a class.
    ///
    /// # Panics
    /// If a row has another length than there are attribute names.
    pub fn new(names: Vec<String>, attribute_names: Vec<String>, rows: Vec<Vec<f32>>) -> Self {
        assert_eq!(names.len(), rows.len(), "one row a class");
        assert!(rows.iter().all(|row| row.len() == attribute_names.len()), "one value an attribute");
        Self { names, attribute_names, attributes: rows.concat() }
    }

    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names of the classes, by [`ClassId`].
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of one class.
    pub fn name(&self, class: ClassId) -> &str {
        &self.names[class.index()]
    }

    /// The class called `name`.
    pub fn find(&self, name: &str) -> Option<ClassId> {
        self.names.iter().position(|other| other == name).map(|index| ClassId(index as u16))
    }

    /// The names of the attributes.
    pub fn attribute_names(&self) -> &[String] {
        &self.attribute_names
    }

    /// `E_c`: the attributes of one class, scaled as the dataset was opened with: what generators take.
    pub fn attributes(&self, class: ClassId) -> &[f32] {
        let width = self.attribute_names.len();
        &self.attributes[class.index() * width..][..width]
    }

    /// Every class with its row, in order.
    pub fn rows(&self) -> impl Iterator<Item = (&String, &[f32])> {
        self.names.iter().zip(0..).map(|(name, index)| (name, self.attributes(ClassId(index))))
    }

    /// The same classes and attributes with other values, a row a class.
    ///
    /// # Panics
    /// If a row has another length than there are attribute names.
    pub fn with_rows(&self, rows: Vec<Vec<f32>>) -> Self {
        Self::new(self.names.clone(), self.attribute_names.clone(), rows)
    }

    /// The classes called `names`.
    ///
    /// # Panics
    /// If a name is not in the catalogue.
    pub fn ids(&self, names: &[String]) -> Vec<ClassId> {
        names.iter().map(|name| self.find(name).expect("the caller has compared the names")).collect()
    }

    /// Reads a CSV: a header (`class`, then the attributes' names), then a row a class.
    ///
    /// ```
    /// use prescient::catalogue::Catalogue;
    /// use std::path::Path;
    ///
    /// let table = "class,striped,hoofed\nzebra,1,1\ntiger,1,0\n";
    /// let catalogue = Catalogue::from_csv(table.as_bytes(), Path::new("attributes.csv"))?;
    /// let tiger = catalogue.find("tiger").unwrap();
    /// assert_eq!(catalogue.attributes(tiger), [1.0, 0.0]);
    /// # Ok::<(), prescient::error::DataError>(())
    /// ```
    pub fn from_csv(bytes: &[u8], path: &Path) -> Result<Self, DataError> {
        let malformed = |line: Option<u64>, expected: &str, found: String| DataError::Malformed {
            path: path.to_owned(),
            line: line.map(|line| line as usize),
            expected: expected.to_owned(),
            found,
            hint: "a table of attributes has a header `class,ATTRIBUTE,…` and one row a class, every value a number"
                .into(),
        };
        let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(bytes);
        let unreadable = |error: csv::Error| {
            malformed(error.position().map(csv::Position::line), "UTF-8 text", "bytes that are not".to_owned())
        };

        let header = reader.headers().map_err(unreadable)?.clone();
        match header.get(0).map(|first| first.trim_start_matches('\u{feff}')) {
            Some("class") => {}
            None | Some("") => {
                return Err(malformed(None, "a header that starts with `class`", "an empty file".to_owned()));
            }
            Some(other) => return Err(malformed(Some(1), "a header that starts with `class`", format!("`{other}`"))),
        }
        let attribute_names: Vec<String> = header.iter().skip(1).map(String::from).collect();
        if attribute_names.is_empty() {
            return Err(malformed(Some(1), "at least one attribute beside `class`", "none".to_owned()));
        }
        if let Some((_, name)) =
            attribute_names.iter().enumerate().find(|(at, name)| attribute_names[..*at].contains(name))
        {
            return Err(malformed(Some(1), "every attribute once", format!("`{name}` a second time")));
        }

        let mut names: Vec<String> = Vec::new();
        let mut attributes = Vec::new();
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let line = record.position().map(csv::Position::line);
            if record.len() != header.len() {
                let expected = format!("{} attributes", attribute_names.len());
                return Err(malformed(line, &expected, format!("{}", record.len().saturating_sub(1))));
            }
            let name = record[0].to_owned();
            if name.is_empty() {
                return Err(malformed(line, "the name of a class", "an empty cell".to_owned()));
            }
            if names.contains(&name) {
                return Err(malformed(line, "every class once", format!("`{name}` a second time")));
            }
            names.push(name);
            for (cell, attribute) in record.iter().skip(1).zip(&attribute_names) {
                let value: f32 = cell.parse().ok().filter(|value: &f32| value.is_finite()).ok_or_else(|| {
                    malformed(line, &format!("a finite number for `{attribute}`"), format!("`{cell}`"))
                })?;
                attributes.push(value);
            }
        }
        if names.is_empty() {
            return Err(malformed(None, "at least one class below the header", "none".to_owned()));
        }
        Ok(Self { names, attribute_names, attributes })
    }

    /// The same classes in the order of `names`, each with its own row.
    ///
    /// # Panics
    /// If a name is not in the catalogue.
    pub fn arranged(&self, names: &[String]) -> Self {
        let rows = names.iter().map(|name| {
            let class = self.find(name).expect("the caller has compared the names");
            self.attributes(class).to_vec()
        });
        Self::new(names.to_vec(), self.attribute_names.clone(), rows.collect())
    }

    /// Two sources side by side: for each class of this one, its attributes and then those of `other`.
    ///
    /// # Panics
    /// If a name is not in `other`.
    pub fn joined(&self, other: &Catalogue) -> Self {
        let other = other.arranged(&self.names);
        let rows = (0..self.len()).map(|index| {
            let class = ClassId(index as u16);
            [self.attributes(class), other.attributes(class)].concat()
        });
        let attribute_names = [self.attribute_names.clone(), other.attribute_names.clone()].concat();
        Self::new(self.names.clone(), attribute_names, rows.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Catalogue, DataError> {
        Catalogue::from_csv(text.as_bytes(), Path::new("a.csv"))
    }

    #[test]
    fn rows_belong_to_names() {
        let catalogue = read("class,furry,weight\ncat,1,0.25\nwhale, 0 ,9\n").expect("a table");
        assert_eq!(catalogue.names(), ["cat", "whale"]);
        assert_eq!(catalogue.attribute_names(), ["furry", "weight"]);
        assert_eq!(catalogue.attributes(ClassId(1)), [0.0, 9.0]);
        let turned = catalogue.arranged(&["whale".to_owned(), "cat".to_owned()]);
        assert_eq!(turned.attributes(ClassId(1)), [1.0, 0.25]);
    }

    #[test]
    fn sources_join_by_name() {
        let left = read("class,furry\ncat,1\nwhale,0\n").expect("left");
        let right = read("class,legs\nwhale,0\ncat,4\n").expect("right");
        let both = left.joined(&right);
        assert_eq!(both.attributes(ClassId(0)), [1.0, 4.0]);
        assert_eq!(both.attribute_names(), ["furry", "legs"]);
    }

    #[test]
    fn faults_are_told_by_line() {
        let says = |text| read(text).expect_err(text).to_string();
        assert_eq!(says(""), "`a.csv`: expected a header that starts with `class`, found an empty file");
        assert_eq!(says("name,furry\n"), "`a.csv`, line 1: expected a header that starts with `class`, found `name`");
        assert_eq!(says("class\ncat\n"), "`a.csv`, line 1: expected at least one attribute beside `class`, found none");
        assert_eq!(says("class,furry\n"), "`a.csv`: expected at least one class below the header, found none");
        assert_eq!(says("class,a,b\ncat,1,2\ndog,1\n"), "`a.csv`, line 3: expected 2 attributes, found 1");
        assert_eq!(
            says("class,a\ncat,1\ncat,2\n"),
            "`a.csv`, line 3: expected every class once, found `cat` a second time"
        );
        assert_eq!(
            says("class,a,b,a\ncat,1,2,3\n"),
            "`a.csv`, line 1: expected every attribute once, found `a` a second time"
        );
        assert_eq!(says("class,a\ncat,soft\n"), "`a.csv`, line 2: expected a finite number for `a`, found `soft`");
        assert_eq!(says("class,a\ncat,NaN\n"), "`a.csv`, line 2: expected a finite number for `a`, found `NaN`");
    }
}
