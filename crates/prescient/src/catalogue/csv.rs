//! A table of classes: a header, then a row a class with numbers, a description, or both.

use crate::class::spelled;
use crate::error::DataError;
use std::collections::BTreeSet;
use std::path::Path;

/// The column whose cells are words.
const DESCRIPTION: &str = "description";

const HINT: &str = "a table of classes has a header `class,ATTRIBUTE,…` and one row a class, every value a number; a column \
                    `description` has a few words for every class";

const WORKBOOK: &str = "a workbook of a spreadsheet program";

const ENCODING: &str = "open it in the spreadsheet program and save it as \"CSV UTF-8\"";

/// A table, read.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    pub(super) names: Vec<String>,
    /// Of the columns with numbers.
    pub(super) attribute_names: Vec<String>,
    /// Row by row.
    pub(super) attributes: Vec<f32>,
    /// For each class, where the table has them.
    pub(super) descriptions: Option<Vec<String>>,
}

/// A table as it stands: a header that starts with `class`, and a row for each class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sheet {
    /// The names of the columns, the first of them `class`.
    pub(crate) header: Vec<String>,
    /// A class each, and the line where it stands.
    pub(crate) rows: Vec<(Option<u64>, Vec<String>)>,
}

/// Whether the cells of a column are words.
pub(crate) fn is_words(column: &str) -> bool {
    column.eq_ignore_ascii_case(DESCRIPTION)
}

fn malformed(path: &Path, line: Option<u64>, expected: &str, found: String) -> DataError {
    let line = line.map(|line| line as usize);
    DataError::Malformed { path: path.to_owned(), line, expected: expected.to_owned(), found, hint: HINT.to_owned() }
}

/// A file whose letters cannot be read.
fn encoded(path: &Path, line: Option<u64>, found: &str) -> DataError {
    let (line, expected, found) = (line.map(|line| line as usize), "UTF-8 text".to_owned(), found.to_owned());
    DataError::Malformed { path: path.to_owned(), line, expected, found, hint: ENCODING.to_owned() }
}

/// A file that is a workbook by its name.
pub(super) fn workbook(path: &Path) -> DataError {
    encoded(path, None, WORKBOOK)
}

/// What a file is instead of a CSV in UTF-8, where its first bytes tell.
fn other_kind(bytes: &[u8]) -> Option<&'static str> {
    let begins = |starts: [&[u8]; 2]| starts.iter().any(|start| bytes.starts_with(start));
    // Workbooks of today are zip archives; those before 2007 begin with the other.
    if begins([b"PK\x03\x04", b"\xd0\xcf\x11\xe0"]) {
        Some(WORKBOOK)
    } else if begins([b"\xff\xfe", b"\xfe\xff"]) || bytes.iter().take(64).any(|byte| *byte == 0) {
        Some("text in UTF-16")
    } else {
        None
    }
}

/// Reads a sheet; cells are separated by commas, semicolons or tabs, whichever follows `class` in the header.
pub(crate) fn sheet(bytes: &[u8], path: &Path) -> Result<Sheet, DataError> {
    let malformed = |line, expected: &str, found| malformed(path, line, expected, found);
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).delimiter(delimiter(bytes)).trim(csv::Trim::All).from_reader(bytes);
    let unreadable = |error: csv::Error| {
        let line = error.position().map(|position| Lines::new(bytes).of(position));
        encoded(path, line, "bytes that are not")
    };
    if let Some(found) = other_kind(bytes) {
        return Err(encoded(path, None, found));
    }

    let header = reader.headers().map_err(unreadable)?.clone();
    match header.get(0).map(|first| first.trim_start_matches('\u{feff}')) {
        Some(first) if first.eq_ignore_ascii_case("class") => {}
        None | Some("") => {
            return Err(malformed(None, "a header that starts with `class`", "an empty file".to_owned()));
        }
        Some(other) => return Err(malformed(Some(1), "a header that starts with `class`", format!("`{other}`"))),
    }
    let mut before = BTreeSet::new();
    if let Some(name) = header.iter().skip(1).find(|name| !before.insert(*name)) {
        return Err(malformed(Some(1), "every attribute once", format!("`{name}` a second time")));
    }
    let words = header.iter().any(is_words);
    let names = std::iter::once("class").chain(header.iter().skip(1));
    let mut sheet = Sheet { header: names.map(String::from).collect(), rows: Vec::new() };
    let mut named = BTreeSet::new();
    let mut lines = Lines::new(bytes);
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let line = record.position().map(|position| lines.of(position));
        let name = spelled(&record[0]);
        if record.len() != header.len() {
            let expected = format!("{} attributes", header.len() - 1);
            let found = record.len().saturating_sub(1);
            // A sentence with a comma in it is the likely cause.
            let unquoted = words && found >= header.len();
            let quotes = if unquoted { ": a description with a comma needs quotes around it" } else { "" };
            return Err(malformed(line, &expected, format!("{found}{quotes}")));
        }
        if name.is_empty() {
            return Err(malformed(line, "the name of a class", "an empty cell".to_owned()));
        }
        if !named.insert(name.clone()) {
            return Err(malformed(line, "every class once", format!("`{name}` a second time")));
        }
        let cells = record.iter().zip(header.iter()).enumerate();
        let plain = |(column, (cell, attribute)): (usize, (&str, &str))| match column {
            0 => name.clone(),
            _ if is_words(attribute) => cell.to_owned(),
            _ => with_point(cell, delimiter(bytes)),
        };
        sheet.rows.push((line, cells.map(plain).collect()));
    }
    Ok(sheet)
}

/// What the cells of a sheet say; none may be empty.
pub(super) fn table(sheet: Sheet, path: &Path) -> Result<Table, DataError> {
    let malformed = |line, expected: &str, found| malformed(path, line, expected, found);
    let Sheet { header, rows } = sheet;
    if header.len() < 2 {
        return Err(malformed(Some(1), "at least one attribute beside `class`", "none".to_owned()));
    }
    let mut table = Table {
        names: Vec::new(),
        attribute_names: header.iter().skip(1).filter(|name| !is_words(name)).cloned().collect(),
        attributes: Vec::new(),
        descriptions: header.iter().any(|name| is_words(name)).then(Vec::new),
    };
    for (line, cells) in rows {
        let mut cells = cells.into_iter();
        let name = cells.next().expect("a class");
        for (cell, attribute) in cells.zip(&header[1..]) {
            if is_words(attribute) {
                if cell.is_empty() {
                    return Err(malformed(line, &format!("a description of `{name}`"), "an empty cell".to_owned()));
                }
                table.descriptions.get_or_insert_default().push(cell);
                continue;
            }
            let number = cell.parse().ok().filter(|value: &f32| value.is_finite());
            let value = number
                .ok_or_else(|| malformed(line, &format!("a finite number for `{attribute}`"), format!("`{cell}`")))?;
            table.attributes.push(value);
        }
        table.names.push(name);
    }
    match table.names.is_empty() {
        true => Err(malformed(None, "at least one class below the header", "none".to_owned())),
        false => Ok(table),
    }
}

/// The lines on which records begin, asked for one after the other. The reader's own numbers are of where it stopped before: in
/// the midst of CR LF, and above lines that are empty.
struct Lines<'a> {
    bytes: &'a [u8],
    /// So far lines are counted.
    at: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, line: 1 }
    }

    fn of(&mut self, position: &csv::Position) -> u64 {
        let is_end = |byte: &&u8| b"\r\n".contains(byte);
        let stopped = (position.byte() as usize).clamp(self.at, self.bytes.len());
        let begins = stopped + self.bytes[stopped..].iter().take_while(is_end).count();
        let passed = &self.bytes[self.at..begins];
        let pairs = passed.windows(2).filter(|pair| pair == b"\r\n").count();
        self.line += (passed.iter().filter(is_end).count() - pairs) as u64;
        self.at = begins;
        self.line
    }
}

/// What follows the first word of the header. Spreadsheets of some countries write semicolons.
fn delimiter(bytes: &[u8]) -> u8 {
    bytes.iter().copied().take_while(|byte| *byte != b'\n').find(|byte| b",;\t".contains(byte)).unwrap_or(b',')
}

/// A number with a point in it. Where a comma does not separate cells it may stand for the point, as those countries write it.
fn with_point(cell: &str, delimiter: u8) -> String {
    let pointed = cell.replacen(',', ".", 1);
    if delimiter != b',' && pointed.parse::<f32>().is_ok() { pointed } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Table, DataError> {
        let path = Path::new("a.csv");
        table(sheet(text.as_bytes(), path)?, path)
    }

    /// As a spreadsheet in German writes it; two commas are no number, and in a table with commas neither is one.
    #[test]
    fn a_comma_is_the_point_where_semicolons_separate() {
        let table = parse("Class;legs;fur\ncat;4;0,25\nant;6;-1,5\n").expect("a table");
        assert_eq!(table.attributes, [4.0, 0.25, 6.0, -1.5]);
        assert!(parse("class;fur\ncat;1,000,5\n").is_err() && parse("class,fur\ncat,\"0,25\"\n").is_err());
    }

    #[test]
    fn numbers_and_words_side_by_side() {
        let table =
            parse("class,legs,description,fur\ncat,4,\"soft, and it purrs\",1\nant,6,small,0\n").expect("a table");
        assert_eq!(table.names, ["cat", "ant"]);
        assert_eq!(table.attribute_names, ["legs", "fur"]);
        assert_eq!(table.attributes, [4.0, 1.0, 6.0, 0.0]);
        assert_eq!(table.descriptions.expect("words"), ["soft, and it purrs", "small"]);
    }

    #[test]
    fn words_alone_are_enough() {
        let table = parse("class,description\ncat,it purrs\n").expect("a table");
        assert!(table.attribute_names.is_empty() && table.attributes.is_empty());
        assert_eq!(parse("class,legs\ncat,4\n").expect("a table").descriptions, None);
    }

    #[test]
    fn other_spreadsheets_are_read_too() {
        let expected = parse("class,legs,description\ncat,4,it purrs\n").expect("commas");
        assert_eq!(parse("Class;legs;Description\r\ncat;4;it purrs\r\n").expect("semicolons"), expected);
        assert_eq!(parse("\u{feff}CLASS\tlegs\tdescription\ncat\t4\tit purrs\n").expect("tabs"), expected);
        assert_eq!(
            parse("class;description\ncat;soft, furry\n").expect("a table").descriptions.expect("words"),
            ["soft, furry"]
        );
    }

    /// LF, CR LF as Excel writes it, and CR; the fault stands in the fifth line, after an empty one and a cell of two lines.
    #[test]
    fn lines_are_counted_whatever_ends_them() {
        for end in ["\n", "\r\n", "\r"] {
            let says = |lines: &[&str]| parse(&lines.join(end)).expect_err("a fault").to_string();
            let twice = says(&["class,legs", "cat,4", "", "ant,6", "cat,4", "bee,6"]);
            assert_eq!(twice, "`a.csv`, line 5: expected every class once, found `cat` a second time", "{end:?}");
            let empty = says(&["class,description", "cat,\"it", "purrs\"", "ant,small", "bee,"]);
            assert_eq!(empty, "`a.csv`, line 5: expected a description of `bee`, found an empty cell", "{end:?}");
        }
        let bytes = b"class,description\r\ncat,fine\r\ndog,caf\xe9\r\n";
        let error = sheet(bytes, Path::new("a.csv")).expect_err("Latin-1").to_string();
        assert_eq!(error, "`a.csv`, line 3: expected UTF-8 text, found bytes that are not");
    }

    /// As Excel saves them: its own kind, Unicode text, and a CSV in the encoding of the country.
    #[test]
    fn what_is_no_csv_in_utf_8_says_how_to_save_it() {
        let utf_16: Vec<u8> = "\u{feff}class\tlegs\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let kinds: [(&[u8], &str); 4] = [
            (b"PK\x03\x04\x14\0", "found a workbook"),
            (&utf_16, "found text in UTF-16"),
            (&utf_16[2..], "found text in UTF-16"),
            (b"class;Gr\xf6\xdfe\r\n", "line 1: expected UTF-8 text, found bytes that are not"),
        ];
        for (bytes, part) in kinds {
            let error = sheet(bytes, Path::new("a.csv")).expect_err(part);
            assert!(error.to_string().contains(part), "{error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("\"CSV UTF-8\"")), "{:?}", error.hint());
        }
    }

    #[test]
    fn faulty_descriptions_are_told_by_line() {
        let says = |text| parse(text).expect_err(text).to_string();
        assert_eq!(
            says("class,description\ncat,it purrs\ndog,\n"),
            "`a.csv`, line 3: expected a description of `dog`, found an empty cell"
        );
        assert_eq!(
            says("class,description\ncat,\" \"\n"),
            "`a.csv`, line 2: expected a description of `cat`, found an empty cell"
        );
        assert_eq!(says("class,description\ncat\n"), "`a.csv`, line 2: expected 1 attributes, found 0");
        assert_eq!(
            says("class,description\ncat,soft, furry\n"),
            "`a.csv`, line 2: expected 1 attributes, found 2: a description with a comma needs quotes around it"
        );
        let bytes = b"class,description\ncat,fine\ndog,caf\xe9\n";
        let error = sheet(bytes, Path::new("a.csv")).expect_err("Latin-1").to_string();
        assert_eq!(error, "`a.csv`, line 3: expected UTF-8 text, found bytes that are not");
    }
}
