//! The paper's tables with our numbers beside them.
//!
//! A table is known here: its rows, what the paper reports for each, and the recipe that gives our number. Filled in from
//! records it can be shown in any [`Format`](crate::report::Format), and gives the same bytes each time.

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

/// How a table's runs start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// With half of the classes.
    Half,
    /// With the training classes of zero-shot learning.
    ZeroShot,
    /// With digits, in a protocol for each block.
    Digits,
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
    /// The base model; for MNIST the protocol.
    about: &'static str,
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
    start: Start,
    blocks: &'static [Block],
}

/// Rows of a table on one dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The dataset.
    pub data: &'static str,
    /// How its classes arrive.
    pub protocol: &'static str,
    /// The base model.
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

/// A dataset that tables 1 to 4 can be about.
struct Data {
    /// What its recipes' names begin with.
    kind: &'static str,
    /// What the paper calls it.
    name: &'static str,
    /// The protocol that starts with half of the classes.
    half: &'static str,
    /// The protocol that starts as zero-shot learning does.
    zero_shot: &'static str,
}

/// The paper's.
const DATASETS: [Data; 2] = [
    Data { kind: "awa2", name: "AwA2", half: "25+5x5", zero_shot: "40+5x2" },
    Data { kind: "apy", name: "aP&Y", half: "16+8x2", zero_shot: "20+6x2" },
];

/// What can stand in for them.
const STAND_INS: [Data; 2] = [
    Data { kind: "animals12", name: "animals12", half: "6+2+2+2", zero_shot: "8+2x2" },
    Data { kind: "animals50", name: "animals50", half: "25+5x5", zero_shot: "40+5x2" },
];

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
    /// Its rows, on the paper's data or on what stands in for it. MNIST is at hand for everybody, and nothing stands in.
    pub fn sections(&self, stand_in: Option<&str>) -> Vec<Section> {
        let data: Vec<&Data> = match (self.start, self.replaced(stand_in)) {
            (Start::Digits, _) => {
                let section =
                    |block: &Block| section(block, "MNIST", block.about, "PODNet", str::to_owned, |row| vec![row.awa2]);
                return self.blocks.iter().map(section).collect();
            }
            (_, Some(stand_in)) => vec![stand_in],
            (_, None) => DATASETS.iter().collect(),
        };
        let mut sections = Vec::new();
        for data in data {
            let protocol = if self.start == Start::ZeroShot { data.zero_shot } else { data.half };
            let reported = |row: &Row| match data.kind {
                "awa2" => vec![row.awa2],
                "apy" => vec![row.apy],
                _ => vec![row.awa2, row.apy],
            };
            let recipe = |row: &str| format!("{}-{row}", data.kind);
            let section = |block: &Block| section(block, data.name, protocol, block.about, recipe, reported);
            sections.extend(self.blocks.iter().map(section));
        }
        sections
    }

    /// What the paper's numbers are called in each row.
    pub fn references(&self, stand_in: Option<&str>) -> Vec<String> {
        match self.replaced(stand_in) {
            Some(_) => DATASETS.iter().map(|data| format!("paper, {}", data.name)).collect(),
            None => vec!["paper".to_owned()],
        }
    }

    /// What stands in for the paper's photos, in a table that has photos.
    fn replaced(&self, stand_in: Option<&str>) -> Option<&'static Data> {
        let known = STAND_INS.iter().find(|data| Some(data.kind) == stand_in);
        known.filter(|_| self.start != Start::Digits)
    }
}

fn section(
    block: &Block,
    data: &'static str,
    protocol: &'static str,
    base: &'static str,
    recipe: impl Fn(&str) -> String,
    paper: impl Fn(&Row) -> Vec<Reported>,
) -> Section {
    let row = |row: &Row| SectionRow { label: row.label, recipe: recipe(row.recipe), paper: paper(row) };
    Section { data, protocol, base, rows: block.rows.iter().map(row).collect() }
}
