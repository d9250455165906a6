//! The paper's tables with our numbers beside them.
//!
//! A table is known here: its rows, what the paper reports for each, and the recipe that gives our number. Filled in from
//! records it can be shown in any [`Format`](super::Format), and gives the same bytes each time.

mod figures;
mod filled;

pub use figures::TABLES;
pub use filled::{Filled, Outcome, Outcomes};

/// A number as the paper prints it, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The mean over its seeds.
    pub mean: f64,
    /// Their deviation, where it gives one.
    pub deviation: Option<f64>,
}

/// What the paper reports for a row on one dataset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reported {
    /// Continual accuracy.
    pub continual: Option<Figure>,
    /// Final accuracy.
    pub last: Option<Figure>,
}

/// What a table measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The mean over tasks of the accuracy over all classes.
    Continual,
    /// The accuracy over all classes after the last task.
    Final,
}

/// A row, of AwA2 and of aP&Y.
#[derive(Clone, Copy, Debug)]
struct Row {
    label: &'static str,
    /// The recipe's name without the dataset's; the whole name for MNIST.
    recipe: &'static str,
    awa2: Reported,
    apy: Reported,
}

/// Rows that are compared with the first of them.
#[derive(Clone, Copy, Debug)]
struct Block {
    base: &'static str,
    rows: &'static [Row],
}

/// A table of the paper.
#[derive(Clone, Copy, Debug)]
pub struct PaperTable {
    /// As the command line and files call it.
    pub name: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// What it measures.
    pub measures: &'static [Measure],
    blocks: &'static [Block],
}

/// Rows of a table on one dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The dataset.
    pub data: String,
    /// The base model, or for MNIST the protocol.
    pub base: &'static str,
    /// Its rows; the others are compared with the first.
    pub rows: Vec<SectionRow>,
}

/// A row of a table on one dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct SectionRow {
    /// As the paper calls it.
    pub label: &'static str,
    /// The recipe's name.
    pub recipe: String,
    /// What the paper reports, for each of [`PaperTable::references`].
    pub paper: Vec<Reported>,
}

/// A dataset of the paper: what its recipes' names begin with, and what the paper calls it.
const DATASETS: [(&str, &str); 2] = [("awa2", "AwA2"), ("apy", "aP&Y")];

impl Measure {
    /// The metric's name.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Continual => "continual",
            Measure::Final => "final",
        }
    }

    fn of(self, reported: &Reported) -> Option<Figure> {
        match self {
            Measure::Continual => reported.continual,
            Measure::Final => reported.last,
        }
    }
}

impl PaperTable {
    /// Whether the paper's photos can be replaced by a stand-in. MNIST is at hand for everybody.
    fn takes_stand_in(&self) -> bool {
        self.name != "mnist"
    }

    /// Its rows, on the paper's data or on what stands in for it.
    pub fn sections(&self, stand_in: Option<&str>) -> Vec<Section> {
        let section = |data: &str, block: &Block, recipe: &dyn Fn(&Row) -> String, paper: &dyn Fn(&Row) -> Vec<_>| {
            let row = |row: &Row| SectionRow { label: row.label, recipe: recipe(row), paper: paper(row) };
            Section { data: data.to_owned(), base: block.base, rows: block.rows.iter().map(row).collect() }
        };
        let mut sections = Vec::new();
        match stand_in.filter(|_| self.takes_stand_in()) {
            Some(data) => sections.extend(self.blocks.iter().map(|block| {
                section(data, block, &|row| format!("{data}-{}", row.recipe), &|row| vec![row.awa2, row.apy])
            })),
            None if self.takes_stand_in() => {
                for (index, (kind, name)) in DATASETS.iter().enumerate() {
                    sections.extend(self.blocks.iter().map(|block| {
                        section(name, block, &|row| format!("{kind}-{}", row.recipe), &|row| {
                            vec![[row.awa2, row.apy][index]]
                        })
                    }));
                }
            }
            None => sections.extend(
                self.blocks
                    .iter()
                    .map(|block| section("MNIST", block, &|row| row.recipe.to_owned(), &|row| vec![row.awa2])),
            ),
        }
        sections
    }

    /// What the paper's numbers are called in each row.
    pub fn references(&self, stand_in: Option<&str>) -> Vec<String> {
        match stand_in.filter(|_| self.takes_stand_in()) {
            Some(_) => DATASETS.iter().map(|(_, name)| format!("paper, {name}")).collect(),
            None => vec!["paper".to_owned()],
        }
    }
}
