//! What is known of every class in advance: its name, and its attributes `E`.

use crate::catalogue::{Block, BlockKind, csv, words};
use crate::class::ClassId;
use crate::error::DataError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The names of the classes and the attributes of each, aligned by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalogue {
    names: Vec<String>,
    attribute_names: Vec<String>,
    /// Row by row, `[classes, attributes]`.
    attributes: Vec<f32>,
    /// Which columns come from which source, in order.
    blocks: Vec<Block>,
}

impl Catalogue {
    /// Classes of which nothing is known but the name.
    pub fn bare(names: Vec<String>) -> Self {
        Self { names, ..Self::default() }
    }

    /// Classes with attributes, a row a class.
    ///
    /// # Panics
    /// If a row has another length than there are attribute names.
    pub fn new(names: Vec<String>, attribute_names: Vec<String>, rows: Vec<Vec<f32>>) -> Self {
        assert_eq!(names.len(), rows.len(), "one row a class");
        assert!(rows.iter().all(|row| row.len() == attribute_names.len()), "one value an attribute");
        let blocks = match attribute_names.len() {
            0 => Vec::new(),
            width => vec![Block::of_attributes("attributes", 0..width)],
        };
        Self { names, attribute_names, attributes: rows.concat(), blocks }
    }

    /// The same columns from other sources.
    ///
    /// # Panics
    /// If the blocks are not one after the other, from the first column to the last.
    pub(crate) fn with_blocks(self, blocks: Vec<Block>) -> Self {
        let end = blocks.iter().fold(0, |end, block| {
            assert!(block.columns.start == end && block.columns.end >= end, "blocks follow each other");
            block.columns.end
        });
        assert_eq!(end, self.attribute_names.len(), "a block for each column");
        Self { blocks, ..self }
    }

    /// The same from a source called `name`.
    pub(super) fn called_after(mut self, name: &str) -> Self {
        self.blocks.iter_mut().for_each(|block| block.name = name.to_owned());
        self
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
        self.names.iter().position(|other| other == name).map(|index| ClassId(index as u32))
    }

    /// The names of the attributes.
    pub fn attribute_names(&self) -> &[String] {
        &self.attribute_names
    }

    /// Which columns come from which source, in order: what a learner can tell apart, and say what each is worth.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
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
        Self::new(self.names.clone(), self.attribute_names.clone(), rows).with_blocks(self.blocks.clone())
    }

    /// The classes called `names`.
    ///
    /// # Panics
    /// If a name is not in the catalogue.
    pub fn ids(&self, names: &[String]) -> Vec<ClassId> {
        names.iter().map(|name| self.find(name).expect("the caller has compared the names")).collect()
    }

    /// Reads a CSV: a header (`class`, then the attributes' names), then a row a class. The cells of a column `description`
    /// are words, which are embedded.
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
        Self::from_sheet(csv::sheet(bytes, path)?, path)
    }

    /// The same from a sheet that was read already.
    pub(crate) fn from_sheet(sheet: csv::Sheet, path: &Path) -> Result<Self, DataError> {
        let csv::Table { names, attribute_names, attributes, descriptions } = csv::table(sheet, path)?;
        let source = path.file_name().unwrap_or_default().to_string_lossy();
        let described =
            descriptions.map(|texts| words::embedded(&names, &texts, &source, BlockKind::Text)).transpose()?;
        let width = attribute_names.len();
        let rows = (0..names.len()).map(|row| attributes[row * width..][..width].to_vec()).collect();
        let numbers = Self::new(names, attribute_names, rows).called_after(&source);
        // Both are of one file, and what each is worth is told by its name.
        let called = |part: Self, what: &str| part.called_after(&format!("{source}: {what}"));
        Ok(match described {
            Some(described) if width > 0 => called(numbers, "numbers").joined(&called(described, "descriptions")),
            Some(described) => numbers.joined(&described),
            None => numbers,
        })
    }

    /// Classes that are known by their names alone, taken as words.
    pub(crate) fn from_names(names: &[String]) -> Result<Self, DataError> {
        words::from_names(names)
    }

    /// The same classes in the order of `names`, each with its own row.
    ///
    /// # Panics
    /// If a name is not in the catalogue.
    pub fn arranged(&self, names: &[String]) -> Self {
        // By a map: there may be very many.
        let places: BTreeMap<&String, u32> = self.names.iter().zip(0..).collect();
        let rows = names.iter().map(|name| {
            let place = places.get(name).expect("the caller has compared the names");
            self.attributes(ClassId(*place)).to_vec()
        });
        Self::new(names.to_vec(), self.attribute_names.clone(), rows.collect()).with_blocks(self.blocks.clone())
    }

    /// Two sources side by side: for each class of this one, its attributes and then those of `other`.
    ///
    /// # Panics
    /// If a name is not in `other`.
    pub fn joined(&self, other: &Catalogue) -> Self {
        let other = other.arranged(&self.names);
        let rows = (0..self.len()).map(|index| {
            let class = ClassId(index as u32);
            [self.attributes(class), other.attributes(class)].concat()
        });
        let attribute_names = [self.attribute_names.clone(), other.attribute_names.clone()].concat();
        let further = other.blocks.iter().map(|block| block.moved(self.attribute_names.len()));
        let blocks = self.blocks.iter().cloned().chain(further).collect();
        Self::new(self.names.clone(), attribute_names, rows.collect()).with_blocks(blocks)
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
        let blocks: Vec<_> = both.blocks().iter().map(|block| (block.kind, block.columns.clone())).collect();
        assert_eq!(blocks, [(BlockKind::Attributes, 0..1), (BlockKind::Attributes, 1..2)]);
        assert_eq!(both.arranged(both.names()), both);
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
