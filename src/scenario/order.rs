//! In which order the classes arrive.

use crate::class::ClassId;
use crate::error::ScenarioError;
use crate::seeds::Seeds;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How the classes are put in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Order {
    /// As the dataset lists them: the paper's choice, so that seeds change training and nothing else.
    #[default]
    Listed,
    /// Shuffled by a seed of its own, so that several runs can share an order.
    Shuffled {
        /// The seed of the order.
        seed: u64,
    },
    /// From a file: one class name a line.
    File {
        /// The file; a relative path is looked for in the working directory, then below the data root.
        path: PathBuf,
    },
}

impl Order {
    /// The classes called `names`, in order of arrival.
    pub fn arrange(&self, names: &[String]) -> Result<Vec<ClassId>, ScenarioError> {
        let listed = (0..names.len()).map(|index| ClassId(index as u16));
        match self {
            Order::Listed => Ok(listed.collect()),
            Order::Shuffled { seed } => {
                let mut order: Vec<_> = listed.collect();
                order.shuffle(&mut Seeds::new(*seed).stream("order", 0));
                Ok(order)
            }
            Order::File { path } => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| ScenarioError::OrderFile { path: path.clone(), source })?;
                from_lines(&text, names, path)
            }
        }
    }
}

fn from_lines(text: &str, names: &[String], path: &std::path::Path) -> Result<Vec<ClassId>, ScenarioError> {
    let ids: BTreeMap<&str, ClassId> = names.iter().enumerate().map(|(i, n)| (n.as_str(), ClassId(i as u16))).collect();
    let mut line_of = BTreeMap::new();
    let mut order = Vec::new();
    for (index, name) in text.lines().map(str::trim).enumerate().filter(|(_, name)| !name.is_empty()) {
        let at_line = |reason: String| ScenarioError::OrderLine { path: path.to_owned(), line: index + 1, reason };
        let class =
            *ids.get(name).ok_or_else(|| at_line(format!("expected a class of the dataset, found `{name}`")))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn names() -> Vec<String> {
        ["ant", "bee", "cat"].map(String::from).to_vec()
    }

    #[test]
    fn a_file_decides() {
        let order = from_lines("cat\n\n ant \nbee\n", &names(), Path::new("o.txt")).expect("a full order");
        assert_eq!(order, [ClassId(2), ClassId(0), ClassId(1)]);
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
