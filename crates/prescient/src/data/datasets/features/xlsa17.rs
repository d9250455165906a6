//! xlsa17's features: ResNet101's of the zero-shot benchmarks of Xian et al., in `res101.mat` beside `att_splits.mat`.
//!
//! ```text
//! res101.mat       features [2048, n]    labels [n, 1], from 1    image_files {n, 1}
//! att_splits.mat   allclasses_names      trainval_loc  test_seen_loc  test_unseen_loc, from 1      att
//! ```
//!
//! Their split is kept where it has both sides: images of seen classes are learned from (`trainval_loc`) or asked about
//! (`test_seen_loc`). Their unseen classes are there to be asked about alone; here they arrive one day, so each is dealt
//! out by the seed, four fifths to learn from. No row is on both sides.

use crate::data::datasets::features::table::{Names, Table, Values};
use crate::data::datasets::features::{Found, fault, named};
use crate::data::datasets::shares::{SPLIT_SEED, four_fifths};
use crate::data::formats::mat::{self, Value};
use crate::error::DataError;
use crate::seeds::Seeds;
use mapped::Mapped;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const HINT: &str = "xlsa17's `res101.mat` has `features`, a column a sample, and `labels`; its `att_splits.mat` has \
                    `allclasses_names`, `trainval_loc`, `test_seen_loc` and `test_unseen_loc`";

pub(crate) fn read(folder: &Path) -> Result<Found, DataError> {
    let (features, splits) = (folder.join("res101.mat"), folder.join("att_splits.mat"));
    let splits = Variables::read(&splits)?;
    let names = named::list(splits.texts("allclasses_names")?, &splits.path)?;
    let mut res101 = Variables::read(&features)?;
    let labels = res101.numbers("labels")?;
    let classes = named::numbered(&labels, 1, &names, &features)?;
    let files = res101.texts("image_files").ok().filter(|files| files.len() == classes.len());
    let files = files.map(|files| short(&files)).unwrap_or_else(|| (0..classes.len()).map(place).collect());
    let (width, values) = res101.columns("features")?;
    if values.len() != width * classes.len() {
        let expected = format!("a column of `features` for each of {} labels", classes.len());
        return Err(fault(&features, expected, (values.len() / width.max(1)).to_string(), HINT));
    }

    let mut sides = [splits.places("trainval_loc", &classes)?, splits.places("test_seen_loc", &classes)?];
    let unseen = splits.places("test_unseen_loc", &classes)?;
    let mut once = BTreeSet::new();
    if let Some(row) = sides.iter().chain([&unseen]).flatten().find(|row| !once.insert(**row)) {
        let found = format!("row {} twice", row + 1);
        return Err(fault(&splits.path, "every row in one of the three lists at most".to_owned(), found, HINT));
    }
    let seen: BTreeSet<&String> = sides[0].iter().map(|&row| &classes[row]).collect();
    let (first, last): (Vec<String>, Vec<String>) = names.iter().cloned().partition(|name| seen.contains(name));
    let proposed = [first, last].concat();
    for (number, rows) in by_class(&unseen, &classes).into_values().enumerate() {
        let (train, test) = four_fifths(rows, &mut Seeds::new(SPLIT_SEED).stream("xlsa17", number));
        sides[0].extend(train);
        sides[1].extend(test);
    }
    let table = |mut rows: Vec<usize>| {
        rows.sort_unstable();
        let numbers = rows.iter().flat_map(|&row| &values[row * width..][..width]).copied().collect();
        let (shape, numbers) = ([rows.len(), width], Values::InMemory(numbers));
        let of = |texts: &[String]| rows.iter().map(|&row| texts[row].clone()).collect();
        Table::new(&features, Names::Photos(of(&files)), shape, numbers, of(&classes))
    };
    let [train, test] = sides.map(table);
    let attributes = Some(splits.path.clone());
    Ok(Found { train: train?, test: test?, classes: Some(names), attributes, proposed: Some(proposed) })
}

/// The rows of each class, in the order of the classes' names.
fn by_class<'a>(rows: &[usize], classes: &'a [String]) -> BTreeMap<&'a String, Vec<usize>> {
    let mut by_class: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for &row in rows {
        by_class.entry(&classes[row]).or_default().push(row);
    }
    by_class.values_mut().for_each(|rows| rows.sort_unstable());
    by_class
}

/// Folder and file of each photo, without the folders of the machine it was on; by place where two are the same.
fn short(files: &[String]) -> Vec<String> {
    let short = |file: &String| {
        let parts: Vec<&str> = file.trim().split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        parts[parts.len().saturating_sub(2)..].join("/")
    };
    let names: Vec<String> = files.iter().map(short).collect();
    let distinct = names.iter().collect::<BTreeSet<_>>().len() == names.len();
    if distinct { names } else { (0..names.len()).map(place).collect() }
}

fn place(row: usize) -> String {
    format!("features[{row}]")
}

/// The variables of a `.mat`.
struct Variables {
    path: std::path::PathBuf,
    variables: BTreeMap<String, Value>,
}

impl Variables {
    fn read(path: &Path) -> Result<Self, DataError> {
        let bytes = Mapped::open(path).map_err(DataError::io(path))?;
        Ok(Self { path: path.to_owned(), variables: mat::read(&bytes, path)? })
    }

    fn missing(&self, name: &str) -> DataError {
        let names = self.variables.keys().filter(|name| !name.is_empty()).map(|name| format!("`{name}`"));
        let there = names.collect::<Vec<_>>().join(", ");
        let found = if there.is_empty() { "none".to_owned() } else { there };
        fault(&self.path, format!("a variable `{name}`"), found, HINT)
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, DataError> {
        match self.variables.get(name) {
            Some(Value::Texts(texts)) => Ok(texts.iter().map(|text| text.trim().to_owned()).collect()),
            _ => Err(self.missing(name)),
        }
    }

    fn numbers(&self, name: &str) -> Result<Vec<f64>, DataError> {
        match self.variables.get(name) {
            Some(Value::Numbers { values, .. }) => Ok(values.clone()),
            _ => Err(self.missing(name)),
        }
    }

    /// The length of a column, and the numbers column by column. Taken out, for they are most of the file.
    fn columns(&mut self, name: &str) -> Result<(usize, Vec<f32>), DataError> {
        match self.variables.remove(name) {
            Some(Value::Numbers { shape: [rows, _], values }) => {
                Ok((rows, values.into_iter().map(|value| value as f32).collect()))
            }
            _ => Err(self.missing(name)),
        }
    }

    /// Places among the rows, counted from 0.
    fn places(&self, name: &str, rows: &[String]) -> Result<Vec<usize>, DataError> {
        let place = |&number: &f64| {
            let inside = number.fract() == 0.0 && (1.0..=rows.len() as f64).contains(&number);
            inside.then(|| number as usize - 1).ok_or_else(|| {
                fault(&self.path, format!("places from 1 to {} in `{name}`", rows.len()), number.to_string(), HINT)
            })
        };
        self.numbers(name)?.iter().map(place).collect()
    }
}
