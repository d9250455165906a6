//! The paper's tables with our numbers beside them.
//!
//! A table is known here: its rows, what the paper reports for each, and the recipe that gives our number. Filled in from
//! records it can be shown in any [`Format`](crate::report::Format), and gives the same bytes each time.

mod figures;
mod filled;
mod notes;

pub use figures::TABLES;
pub use filled::{Filled, Outcome, Outcomes};

use crate::experiment::{PRESETS, Preset};

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
    /// The mean over tasks of the accuracy over all classes, with no offset on the scores: the paper's.
    Continual,
    /// The same of the model's own answers, with its offset where it has one.
    Calibrated,
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

/// What a row is in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A base model.
    Base,
    /// The base model with the Ghost model's extra training of seen proxies, and no ghosts.
    Control,
    /// A model with ghosts, which is compared with the control too.
    Ghosts,
    /// Joint training.
    Other,
}

/// A row, of AwA2 and of aP&Y.
#[derive(Clone, Copy, Debug)]
struct Row {
    label: &'static str,
    part: Part,
    /// The recipe's name without dataset and preset; the whole name for MNIST.
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

/// Rows of a table on one dataset, with one preset.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The dataset.
    pub data: &'static str,
    /// How its classes arrive.
    pub protocol: &'static str,
    /// Whose settings its rows have; none where each recipe has its own.
    pub preset: Option<Preset>,
    /// The base model.
    pub base: &'static str,
    /// Its rows; the others are compared with the first, and those with ghosts with the control.
    pub rows: Vec<SectionRow>,
}

/// A row of a table on one dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct SectionRow {
    /// As the paper calls it.
    pub label: &'static str,
    /// What it is in its block.
    pub part: Part,
    /// The recipe's name.
    pub recipe: String,
    /// What the paper reports, for each of [`PaperTable::references`].
    pub paper: Vec<Reported>,
}

/// Which rows of a table are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The datasets: those of [`PAPER_DATASETS`] unless others are named.
    pub datasets: Vec<String>,
    /// The presets.
    pub presets: Vec<Preset>,
}

/// The paper's datasets.
pub const PAPER_DATASETS: [&str; 2] = ["awa2", "apy"];

impl Default for Wanted {
    fn default() -> Self {
        Self { datasets: PAPER_DATASETS.map(String::from).to_vec(), presets: PRESETS.to_vec() }
    }
}

impl Wanted {
    /// Whether other photos stand in for the paper's.
    fn stands_in(&self) -> bool {
        !self.datasets.iter().all(|name| PAPER_DATASETS.contains(&name.as_str()))
    }
}

/// A dataset that tables 1 to 4 can be about.
struct Data {
    /// What its recipes' names begin with.
    kind: &'static str,
    /// What tables call it.
    name: &'static str,
    /// The protocol that starts with half of the classes.
    half: &'static str,
    /// The protocol that starts as zero-shot learning does.
    zero_shot: &'static str,
}

/// The paper's, then those that can stand in for them.
const DATASETS: [Data; 5] = [
    Data { kind: "awa2", name: "AwA2", half: "25+5x5", zero_shot: "40+5x2" },
    Data { kind: "apy", name: "aP&Y", half: "16+8x2", zero_shot: "20+6x2" },
    Data { kind: "animals12", name: "animals12", half: "6+2+2+2", zero_shot: "8+2x2" },
    Data { kind: "animals50", name: "animals50", half: "25+5x5", zero_shot: "40+5x2" },
    Data { kind: "awa43", name: "awa43", half: "23+4x5", zero_shot: "33+5x2" },
];

impl Measure {
    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Continual => "continual",
            Measure::Calibrated => "calibrated",
            Measure::Final => "final",
        }
    }

    fn of(self, reported: &Reported) -> Option<Figure> {
        match self {
            Measure::Continual => reported.continual,
            // The paper has no offset.
            Measure::Calibrated => None,
            Measure::Final => reported.last,
        }
    }
}

impl PaperTable {
    /// Its rows on each dataset and in each preset. MNIST is one dataset, and its recipes have their own settings.
    pub fn sections(&self, wanted: &Wanted) -> Vec<Section> {
        if self.start == Start::Digits {
            let digits = |block: &Block| Section {
                data: "MNIST",
                protocol: block.about,
                preset: None,
                base: "PODNet",
                rows: rows(block, str::to_owned, |row| vec![row.awa2]),
            };
            return self.blocks.iter().map(digits).collect();
        }
        let mut sections = Vec::new();
        for data in DATASETS.iter().filter(|data| wanted.datasets.iter().any(|name| name == data.kind)) {
            let protocol = if self.start == Start::ZeroShot { data.zero_shot } else { data.half };
            let nothing = Reported { continual: None, last: None };
            let reported = |row: &Row| match (data.kind, wanted.stands_in()) {
                ("awa2", false) => vec![row.awa2],
                ("apy", false) => vec![row.apy],
                ("awa2", true) => vec![row.awa2, nothing],
                ("apy", true) => vec![nothing, row.apy],
                _ => vec![row.awa2, row.apy],
            };
            for (block, preset) in self.blocks.iter().flat_map(|block| wanted.presets.iter().map(move |p| (block, *p)))
            {
                let suffix = if preset == Preset::Paper { "-paper" } else { "" };
                let recipe = |row: &str| format!("{}-{row}{suffix}", data.kind);
                let rows = rows(block, recipe, reported);
                sections.push(Section { data: data.name, protocol, preset: Some(preset), base: block.about, rows });
            }
        }
        sections
    }

    /// What the paper's numbers are called in each row.
    pub fn references(&self, wanted: &Wanted) -> Vec<String> {
        match self.start != Start::Digits && wanted.stands_in() {
            true => ["AwA2", "aP&Y"].map(|name| format!("paper, {name}")).to_vec(),
            false => vec!["paper".to_owned()],
        }
    }
}

fn rows(block: &Block, recipe: impl Fn(&str) -> String, paper: impl Fn(&Row) -> Vec<Reported>) -> Vec<SectionRow> {
    let row =
        |row: &Row| SectionRow { label: row.label, part: row.part, recipe: recipe(row.recipe), paper: paper(row) };
    block.rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Recipe;
    use crate::experiment::recipes::{find, table_datasets};
    use crate::scenario::Split;

    fn everything() -> Wanted {
        Wanted { datasets: table_datasets().to_vec(), presets: PRESETS.to_vec() }
    }

    /// A header that quoted another number than the table would send its reader astray.
    #[test]
    fn headers_quote_the_papers_numbers() {
        let quoted = |figure: Figure| match figure.deviation {
            Some(deviation) => format!("{:.2} ± {deviation:.2}", figure.mean),
            None => format!("{:.0} %", figure.mean),
        };
        let mut rows = 0;
        for row in TABLES.iter().flat_map(|table| table.sections(&everything())).flat_map(|section| section.rows) {
            let header = find(&row.recipe).expect("a recipe for each row").0;
            for figure in row.paper.iter().flat_map(|reported| [reported.continual, reported.last]).flatten() {
                assert!(header.contains(&quoted(figure)), "{}: {}", row.recipe, quoted(figure));
            }
            rows += 1;
        }
        assert!(rows > 200, "{rows}");
    }

    /// The protocols and presets that tables name are those of their recipes, but for rows that learn all classes in one task.
    #[test]
    fn tables_name_the_protocols_of_their_recipes() {
        for section in TABLES.iter().flat_map(|table| table.sections(&everything())) {
            let named: Split = section.protocol.parse().expect("a split");
            for row in &section.rows {
                let recipe = Recipe::find(&row.recipe).expect("a recipe");
                let split = recipe.scenario.split.expect("a split");
                let joint = ["full oracle", "joint training"].contains(&row.label);
                assert!(split == named || (joint && split.sizes().len() == 1), "{}", row.recipe);
                assert!(section.preset.is_none_or(|preset| preset == recipe.preset), "{}", row.recipe);
                assert_eq!(row.part == Part::Ghosts, recipe.ghosts.enabled(), "{}", row.recipe);
                assert_eq!(row.part == Part::Control, recipe.complete.seen_only, "{}", row.recipe);
            }
        }
    }

    #[test]
    fn every_block_has_a_control_and_every_dataset_its_rows() {
        for table in TABLES {
            for section in table.sections(&everything()) {
                let controls = section.rows.iter().filter(|row| row.part == Part::Control).count();
                assert_eq!(controls, 1, "{}, {}", table.name, section.data);
            }
        }
        let known: Vec<&str> = DATASETS.iter().map(|data| data.kind).collect();
        assert!(
            table_datasets().iter().all(|name| known.contains(&name.as_str())) && known.len() == table_datasets().len()
        );
    }

    #[test]
    fn mnist_is_mnist_whatever_stands_in_for_photos() {
        let table = |name: &str| TABLES.iter().find(|table| table.name == name).expect("a table");
        let animals = Wanted { datasets: vec!["animals12".to_owned()], presets: vec![Preset::Tuned] };
        assert_eq!(table("mnist").sections(&animals), table("mnist").sections(&Wanted::default()));
        assert_eq!(table("table1").sections(&animals).len(), 2);
        assert_eq!(table("table1").sections(&Wanted::default()).len(), 8);
    }
}
