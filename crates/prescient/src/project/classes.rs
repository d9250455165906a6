//! The catalogue of a project as people write it: a CSV with a row for each class. Cells may be empty: what is not known of a
//! class is filled in so that it says nothing.

use crate::catalogue::csv::{self, Sheet, is_words};
use crate::catalogue::{self, AttributeSource, Catalogue, Warning, as_words, is_numbering, listed};
use crate::class::distance;
use crate::data::resolve;
use crate::error::DataError;
use std::path::{Path, PathBuf};

/// A catalogue: names alone, descriptions, attributes, or both.
///
/// ```
/// use prescient::project::ClassTable;
///
/// let table = ClassTable::parse(b"class,striped,hoofed\nzebra,1,1\ntiger,1,0\n", "classes.csv".as_ref())?;
/// assert_eq!(table.names().collect::<Vec<_>>(), ["zebra", "tiger"]);
/// # Ok::<(), prescient::error::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassTable {
    sheet: Sheet,
    /// Named in errors.
    path: PathBuf,
}

impl ClassTable {
    /// Reads a CSV, or class information in one of the other forms that `prescient classes` reads.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let place = resolve(path);
        let name = place.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let other = name.ends_with(".mat") || name.ends_with(".npy") || name.starts_with("predicate-matrix");
        if !place.is_dir() && !other {
            let bytes = crate::disk::read(&place, crate::disk::IMAGE).map_err(DataError::io(&place))?;
            return Self::parse(&bytes, path);
        }
        let catalogue = catalogue::read(&AttributeSource::new(path))?;
        let header = std::iter::once("class".to_owned()).chain(catalogue.attribute_names().iter().cloned());
        let row = |(name, values): (&String, &[f32])| {
            (None, std::iter::once(name.clone()).chain(values.iter().map(f32::to_string)).collect())
        };
        let rows = catalogue.rows().map(row).collect();
        Ok(Self { sheet: Sheet { header: header.collect(), rows }, path: path.to_owned() })
    }

    /// Reads the bytes of a CSV; `path` is named in errors.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, DataError> {
        let sheet = csv::sheet(bytes, path)?;
        if sheet.rows.is_empty() {
            return Err(DataError::Malformed {
                path: path.to_owned(),
                line: None,
                expected: "at least one class below the header".to_owned(),
                found: "none".to_owned(),
                hint: "a table of classes has a header that starts with `class` and one row a class".to_owned(),
            });
        }
        Ok(Self { sheet, path: path.to_owned() })
    }

    /// The names of the classes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sheet.rows.iter().map(|(_, cells)| cells[0].as_str())
    }

    /// Whether more is known of a class than its name, where the table says more of any.
    pub fn describes(&self, class: &str) -> bool {
        let row = self.sheet.rows.iter().find(|(_, cells)| cells[0] == class);
        row.is_some_and(|(_, cells)| cells.len() == 1 || cells[1..].iter().any(|cell| !cell.is_empty()))
    }

    /// What kind of information it has, in words.
    pub fn kind(&self) -> &'static str {
        let words = self.sheet.header.iter().any(|column| is_words(column));
        match (self.sheet.header.len(), words) {
            (1, _) => "names alone",
            (2, true) => "descriptions",
            (_, true) => "attributes and descriptions",
            (_, false) => "attributes",
        }
    }

    /// The columns that classes are known by.
    pub fn columns(&self) -> &[String] {
        &self.sheet.header[1..]
    }

    /// What kind of information it has, in words, with the columns where there are several.
    pub fn about(&self) -> String {
        match self.columns() {
            [] => self.kind().to_owned(),
            [only] if is_words(only) => self.kind().to_owned(),
            columns => format!("{} ({})", self.kind(), listed(columns)),
        }
    }

    /// What a person should look at: columns that look like a price or a number of each class, which no photo shows.
    pub fn warnings(&self) -> Vec<Warning> {
        let numbers = |column: usize| -> Vec<f64> {
            self.sheet.rows.iter().filter_map(|(_, cells)| cells[column].parse().ok()).collect()
        };
        let columns = self.sheet.header.iter().enumerate().skip(1).filter(|(_, name)| !is_words(name));
        let numbering = columns.filter(|(column, name)| is_numbering(name, &numbers(*column)));
        numbering.map(|(_, name)| Warning::Numbering(name.clone())).collect()
    }

    /// The same as a CSV.
    pub(super) fn to_csv(&self) -> Vec<u8> {
        let mut writer = ::csv::Writer::from_writer(Vec::new());
        let cells = self.sheet.rows.iter().map(|(_, cells)| cells);
        for row in std::iter::once(&self.sheet.header).chain(cells) {
            writer.write_record(row).expect("memory, and rows of one length");
        }
        writer.into_inner().expect("memory")
    }

    /// A class of which nothing is known but its name.
    pub(super) fn add(&mut self, class: &str) {
        let mut cells = vec![String::new(); self.sheet.header.len()];
        cells[0] = class.to_owned();
        self.sheet.rows.push((None, cells));
    }

    pub(super) fn remove(&mut self, class: &str) {
        self.sheet.rows.retain(|(_, cells)| cells[0] != class);
    }

    pub(super) fn rename(&mut self, class: &str, name: &str) {
        for (_, cells) in self.sheet.rows.iter_mut().filter(|(_, cells)| cells[0] == class) {
            cells[0] = name.to_owned();
        }
    }

    /// What a learner knows classes by. Attributes that are not there are the mean of those that are, and say nothing; a class
    /// without a description is described by its name.
    pub(super) fn catalogue(&self) -> Result<Catalogue, DataError> {
        if self.sheet.header.len() == 1 {
            return Catalogue::from_names(&self.names().map(String::from).collect::<Vec<_>>());
        }
        let mut sheet = self.sheet.clone();
        for column in 1..sheet.header.len() {
            let words = is_words(&sheet.header[column]);
            let known = sheet.rows.iter().filter_map(|(_, cells)| cells[column].parse::<f64>().ok());
            let (count, sum) = known.fold((0.0f64, 0.0), |(count, sum), value| (count + 1.0, sum + value));
            let mean = (sum / count.max(1.0)) as f32;
            for (_, cells) in sheet.rows.iter_mut().filter(|(_, cells)| cells[column].is_empty()) {
                cells[column] = if words { as_words(&cells[0]) } else { mean.to_string() };
            }
        }
        Catalogue::from_sheet(sheet, &self.path)
    }

    /// The class that a folder's name means: to the letter, else the only one that is written with the same words.
    pub(super) fn find(&self, folder: &str) -> Option<&str> {
        if let Some(name) = self.names().find(|name| *name == folder) {
            return Some(name);
        }
        let words = |name: &str| as_words(name).to_lowercase();
        let mut alike = self.names().filter(|name| words(name) == words(folder));
        alike.next().filter(|_| alike.next().is_none())
    }

    /// Names that come close to one that is none: by a letter or two.
    pub(super) fn near(&self, name: &str) -> Vec<String> {
        let words = |name: &str| as_words(name).to_lowercase();
        let name = words(name);
        let allowed = match name.chars().count() {
            0..4 => 0,
            4..9 => 1,
            _ => 2,
        };
        let close = self.names().map(|other| (distance(&words(other), &name), other));
        let mut close: Vec<(usize, &str)> = close.filter(|(far, _)| *far <= allowed).collect();
        close.sort();
        close.into_iter().take(3).map(|(_, other)| other.to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::ClassId;

    fn table(text: &str) -> ClassTable {
        ClassTable::parse(text.as_bytes(), Path::new("a.csv")).expect("a table")
    }

    /// Weights 2 and 4 are known: the class without one has 3, their mean.
    #[test]
    fn what_is_not_known_says_nothing() {
        let table = table("class,weight\ncat,2\ndog,4\nokapi,\n");
        assert_eq!(table.catalogue().expect("numbers").attributes(ClassId(2)), [3.0]);
        assert!(table.describes("cat") && !table.describes("okapi") && !table.describes("gnu"));
    }

    /// Article numbers in double precision: single precision would not tell them apart.
    #[test]
    fn columns_that_no_photo_shows_are_told() {
        let rows: String =
            (0..5).map(|row| format!("c{row},{},{},word\n", row % 2, 4_006_381_333_931u64 + row)).collect();
        let table = table(&format!("class,striped,article,description\n{rows}"));
        assert_eq!(table.warnings(), [Warning::Numbering("article".to_owned())]);
        assert_eq!(table.about(), "attributes and descriptions (striped, article, description)");
    }

    #[test]
    fn classes_come_go_and_change_their_names() {
        let mut table = table("class,weight\ncat,2\n\"dog, small\",4\n");
        table.add("okapi");
        table.rename("cat", "house cat");
        table.remove("dog, small");
        assert_eq!(String::from_utf8(table.to_csv()).expect("text"), "class,weight\nhouse cat,2\nokapi,\n");
    }

    /// `ä` as one letter in the first, as an `a` and its dots in the second: one class, twice.
    #[test]
    fn a_name_has_one_spelling() {
        let decomposed = "Ha\u{308}ngebauchschwein";
        let table = table(&format!("class,legs\n{decomposed},4\n"));
        assert_eq!(table.names().collect::<Vec<_>>(), ["H\u{e4}ngebauchschwein"]);
        let twice = format!("class\nH\u{e4}ngebauchschwein\n{decomposed}\n");
        assert!(ClassTable::parse(twice.as_bytes(), Path::new("a.csv")).is_err());
        let lesson = crate::project::Lesson::new("a").with(decomposed, "1.jpg", Vec::new());
        assert_eq!(lesson.folders().into_iter().collect::<Vec<_>>(), table.names().collect::<Vec<_>>());
    }

    #[test]
    fn a_folder_means_the_class_of_the_same_words_and_typos_are_seen() {
        let table = table("class\ngiant+panda\nred panda\nzebra\nox\n");
        assert_eq!(table.find("Giant Panda"), Some("giant+panda"));
        assert_eq!(table.find("giant_panda"), Some("giant+panda"));
        assert_eq!((table.find("panda"), table.find("ox")), (None, Some("ox")));
        assert_eq!((table.near("zbera"), table.near("zebras")), (vec!["zebra".to_owned()], vec!["zebra".to_owned()]));
        assert_eq!(table.near("giant pnda"), ["giant+panda"]);
        assert!(table.near("fox").is_empty(), "short names are far apart");
    }
}
