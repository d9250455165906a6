//! In which order the classes arrive.

use crate::class::ClassId;
use crate::error::ScenarioError;
use crate::seeds::Seeds;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// How the classes are put in order. In a recipe it is one string: `listed`, `shuffled 7`, `standard`, `proposed` or
/// `file order.txt`.
///
/// ```
/// use prescient::class::ClassId;
/// use prescient::scenario::Order;
///
/// let names = ["ant", "bee", "cat"].map(String::from);
/// assert_eq!(Order::Listed.arrange(&names)?, [ClassId(0), ClassId(1), ClassId(2)]);
/// assert_eq!("shuffled 7".parse::<Order>()?, Order::Shuffled { seed: 7 });
/// # Ok::<(), prescient::error::ScenarioError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Order {
    /// As the dataset lists them: the paper's choice, so that seeds change training and nothing else.
    #[default]
    Listed,
    /// Shuffled by a seed of its own, so that several runs can share an order.
    Shuffled {
        /// The seed of the order.
        seed: u64,
    },
    /// The training classes of the dataset's standard zero-shot split, then its test classes. AwA2 and aP&Y have one, and
    /// list their classes so.
    Standard,
    /// The same by the split that Xian et al. proposed: its test classes are not among ImageNet's.
    Proposed,
    /// From a file: one class name a line.
    File {
        /// The file; a relative path is looked for in the working directory, then below the data root.
        path: PathBuf,
    },
}

impl Order {
    /// What can be written in a recipe.
    pub const FORMS: &'static str = "`listed`, `shuffled SEED`, `standard`, `proposed` or `file PATH`";

    /// The classes called `names`, in order of arrival. `Standard` and `Proposed` are the dataset's to know: here they are
    /// an error.
    pub fn arrange(&self, names: &[String]) -> Result<Vec<ClassId>, ScenarioError> {
        let listed = (0..names.len()).map(|index| ClassId(index as u32));
        match self {
            Order::Listed => Ok(listed.collect()),
            Order::Shuffled { seed } => {
                let mut order: Vec<_> = listed.collect();
                order.shuffle(&mut Seeds::new(*seed).stream("order", 0));
                Ok(order)
            }
            Order::Standard => Err(ScenarioError::OrderUnknown { order: "standard" }),
            Order::Proposed => Err(ScenarioError::OrderUnknown { order: "proposed" }),
            Order::File { path } => {
                let text = crate::disk::read_text(path)
                    .map_err(|source| ScenarioError::OrderFile { path: path.clone(), source })?;
                from_lines(&text, names, path)
            }
        }
    }
}

impl FromStr for Order {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let text = text.trim();
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match (first, rest.trim()) {
            ("listed", "") => Ok(Order::Listed),
            ("standard", "") => Ok(Order::Standard),
            ("proposed", "") => Ok(Order::Proposed),
            ("file", path) if !path.is_empty() => Ok(Order::File { path: path.into() }),
            ("shuffled", seed) if seed.parse::<u64>().is_ok() => {
                Ok(Order::Shuffled { seed: seed.parse().expect("parsed above") })
            }
            _ => Err(ScenarioError::Order { text: text.to_owned(), expected: Self::FORMS }),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Listed => f.write_str("listed"),
            Order::Shuffled { seed } => write!(f, "shuffled {seed}"),
            Order::Standard => f.write_str("standard"),
            Order::Proposed => f.write_str("proposed"),
            Order::File { path } => write!(f, "file {}", path.display()),
        }
    }
}

impl TryFrom<String> for Order {
    type Error = ScenarioError;

    fn try_from(text: String) -> Result<Self, ScenarioError> {
        text.parse()
    }
}

impl From<Order> for String {
    fn from(order: Order) -> String {
        order.to_string()
    }
}

/// The classes called `names` with the `test` classes of a zero-shot split moved to the end, in the order of `test`.
pub fn zero_shot_order(names: &[String], test: &[&str]) -> Vec<String> {
    let train = names.iter().filter(|name| !test.contains(&name.as_str())).cloned();
    let test = test.iter().map(|name| (*name).to_owned()).filter(|name| names.contains(name));
    train.chain(test).collect()
}

fn from_lines(text: &str, names: &[String], path: &std::path::Path) -> Result<Vec<ClassId>, ScenarioError> {
    let ids: BTreeMap<&str, ClassId> = names.iter().enumerate().map(|(i, n)| (n.as_str(), ClassId(i as u32))).collect();
    let mut line_of = BTreeMap::new();
    let mut order = Vec::new();
    // Of a table the first column counts: so a run without class information can have the order of one with it.
    let table = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    let names_in = text
        .lines()
        .map(|line| crate::class::spelled(if table { first_cell(line) } else { line.trim() }))
        .enumerate()
        .filter(|(_, name)| !name.is_empty());
    let header = |index: usize, name: &str| table && index == 0 && name.eq_ignore_ascii_case("class");
    // A class that is only described has no place in the order.
    let counts = |index: usize, name: &str| !header(index, name) && (!table || ids.contains_key(name));
    for (index, name) in names_in.filter(|(index, name)| counts(*index, name.as_str())) {
        let at_line = |reason: String| ScenarioError::OrderLine { path: path.to_owned(), line: index + 1, reason };
        let class = *ids
            .get(name.as_str())
            .ok_or_else(|| at_line(format!("expected a class of the dataset, found `{name}`")))?;
        if let Some(first) = line_of.insert(class, index + 1) {
            return Err(at_line(format!("`{name}` stands in line {first} already")));
        }
        order.push(class);
    }
    match names.iter().find(|name| !line_of.contains_key(&ids[name.as_str()])) {
        Some(missing) => Err(ScenarioError::OrderIncomplete {
            path: path.to_owned(),
            expected: names.len(),
            found: order.len(),
            missing: missing.clone(),
        }),
        None => Ok(order),
    }
}

/// The first cell of a line of a table.
fn first_cell(line: &str) -> &str {
    line.trim_start_matches('\u{feff}').split([',', ';', '\t']).next().unwrap_or_default().trim_matches(['"', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn names() -> Vec<String> {
        ["ant", "bee", "cat"].map(String::from).to_vec()
    }

    #[test]
    fn an_order_is_one_string() {
        for text in ["listed", "shuffled 7", "standard", "proposed", "file a folder/order.txt"] {
            assert_eq!(text.parse::<Order>().expect(text).to_string(), text);
        }
        assert_eq!(" shuffled  7 ".parse::<Order>().expect("spaces"), Order::Shuffled { seed: 7 });
        for text in ["", "random", "shuffled", "shuffled -1", "listed 3", "file"] {
            let error = text.parse::<Order>().expect_err(text).to_string();
            assert_eq!(error, format!("the order `{text}` cannot be read: expected {}", Order::FORMS));
        }
    }

    #[test]
    fn a_file_decides() {
        let order = from_lines("cat\n\n ant \nbee\n", &names(), Path::new("o.txt")).expect("a full order");
        assert_eq!(order, [ClassId(2), ClassId(0), ClassId(1)]);
    }

    /// `emu` is described and has no image.
    #[test]
    fn a_table_decides_by_its_first_column() {
        let text = "Class;legs\n\"cat\";4\nemu;2\nant;6\nbee;6\n";
        let order = from_lines(text, &names(), Path::new("a.csv")).expect("a full order");
        assert_eq!(order, [ClassId(2), ClassId(0), ClassId(1)]);
    }

    #[test]
    fn test_classes_come_last() {
        assert_eq!(zero_shot_order(&names(), &["cat", "ant"]), ["bee", "cat", "ant"]);
        assert_eq!(zero_shot_order(&names(), &["dog"]), names());
    }

    #[test]
    fn an_order_that_is_the_datasets_to_know() {
        let error = Order::Proposed.arrange(&names()).expect_err("nobody knows").to_string();
        assert_eq!(error, "the dataset has no order called `proposed`");
    }

    #[test]
    fn a_faulty_file_is_told_by_line() {
        let says = |text| from_lines(text, &names(), Path::new("o.txt")).expect_err(text).to_string();
        assert_eq!(says("cat\ndog\n"), "`o.txt`, line 2: expected a class of the dataset, found `dog`");
        assert_eq!(says("cat\nbee\ncat\n"), "`o.txt`, line 3: `cat` stands in line 1 already");
        assert_eq!(says("cat\nbee\n"), "`o.txt`: expected 3 classes, found 2; `ant` is missing");
    }

    #[test]
    fn a_seed_shuffles_the_same_way_each_time() {
        let many: Vec<String> = (0..40).map(|i| format!("c{i}")).collect();
        let order = |seed| Order::Shuffled { seed }.arrange(&many).expect("shuffled");
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        assert_ne!(order(1), Order::Listed.arrange(&many).expect("listed"));
    }
}
