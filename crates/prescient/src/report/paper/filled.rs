//! A table of the paper, filled in from records.

use crate::evaluation::statistics::Summary;
use crate::evaluation::{Run, metrics};
use crate::experiment::{Preset, Record};
use crate::report::grid::{Format, Grid};
use crate::report::paper::{Figure, Measure, PaperTable, Part, Section, SectionRow, Wanted};
use std::collections::BTreeMap;

/// What a finished run says in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    seed: u32,
    stamp: Option<String>,
    /// In percent, without an offset. None where there is one task alone: the paper gives none then.
    continual: Option<f64>,
    /// The same with the run's offset.
    calibrated: Option<f64>,
    /// Whether it has one.
    offset: bool,
    /// In percent.
    last: f64,
}

/// The finished runs of each recipe.
pub type Outcomes = BTreeMap<String, Vec<Outcome>>;

/// A table with our numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// What it is about.
    pub title: &'static str,
    references: Vec<String>,
    measures: &'static [Measure],
    rows: Vec<Row>,
    /// What must be said beside the numbers.
    notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    data: &'static str,
    protocol: &'static str,
    preset: &'static str,
    base: &'static str,
    label: &'static str,
    recipe: String,
    stamp: Option<String>,
    seeds: Vec<u32>,
    /// One for each measure.
    cells: Vec<Cell>,
}

#[derive(Clone, Debug, PartialEq)]
struct Cell {
    /// The paper's number and its difference to that of the section's first row, for each reference.
    paper: Vec<(Option<Figure>, Option<f64>)>,
    ours: Option<Summary>,
    /// The mean difference to the first row over the seeds that both have.
    gain: Option<f64>,
    /// The same to the control row.
    over_control: Option<f64>,
}

impl Outcome {
    /// What a run found; none unless it is finished.
    pub fn of(record: &Record) -> Option<Self> {
        let (run, tasks) = (record.run(), record.start.tasks.len());
        if run.tasks.len() < tasks {
            return None;
        }
        let value = |name: &str, run: &Run| Some(100.0 * metrics::find(name)?.value(run, tasks)?);
        Some(Self {
            seed: record.start.seed,
            stamp: record.start.stamp(),
            continual: value("continual", &run.without_offset()).filter(|_| tasks > 1),
            calibrated: value("continual", &run).filter(|_| tasks > 1),
            offset: run.has_offset(),
            last: value("final", &run)?,
        })
    }

    fn value(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Continual => self.continual,
            Measure::Calibrated => self.calibrated,
            Measure::Final => Some(self.last),
        }
    }
}

impl PaperTable {
    /// The table with what the finished runs found. `notes` are said below it.
    pub fn filled(&self, wanted: &Wanted, runs: &Outcomes, notes: &[String]) -> Filled {
        let rows = self.sections(wanted).iter().flat_map(|section| self.section_rows(section, runs)).collect();
        let mut filled = Filled {
            title: self.title,
            references: self.references(wanted),
            measures: self.measures,
            rows,
            notes: self.notes(wanted),
        };
        filled.notes.extend_from_slice(notes);
        for row in &filled.rows {
            let note = row.stamp.as_ref().map(|stamp| format!("{}: {stamp}", row.label));
            // The same row stands in several blocks.
            filled.notes.extend(note.filter(|note| !filled.notes.contains(note)));
        }
        filled
    }

    fn section_rows(&self, section: &Section, runs: &Outcomes) -> Vec<Row> {
        let none = Vec::new();
        let of = |row: &SectionRow| runs.get(&row.recipe).unwrap_or(&none);
        let first = &section.rows[0];
        let control = section.rows.iter().find(|row| row.part == Part::Control).map(&of);
        let row = |row: &SectionRow| Row {
            data: section.data,
            protocol: section.protocol,
            preset: section.preset.map_or("–", Preset::name),
            base: section.base,
            label: row.label,
            recipe: row.recipe.clone(),
            stamp: of(row).iter().find_map(|outcome| outcome.stamp.clone()),
            seeds: of(row).iter().map(|outcome| outcome.seed).collect(),
            cells: self.cells(row, first, of(row), of(first), control.filter(|_| row.part == Part::Ghosts)),
        };
        section.rows.iter().map(row).collect()
    }

    fn cells(
        &self,
        row: &SectionRow,
        first: &SectionRow,
        ours: &[Outcome],
        base: &[Outcome],
        control: Option<&Vec<Outcome>>,
    ) -> Vec<Cell> {
        let is_first = row.recipe == first.recipe;
        let cell = |measure: &Measure| {
            let paper = row.paper.iter().zip(&first.paper).map(|(reported, first)| {
                let (figure, first) = (measure.of(reported), measure.of(first));
                (figure, figure.zip(first).filter(|_| !is_first).map(|(figure, first)| figure.mean - first.mean))
            });
            // An offset that a row does not have is not a column of its own.
            let shown = *measure != Measure::Calibrated || ours.iter().any(|outcome| outcome.offset);
            let values: Vec<f64> =
                ours.iter().filter(|_| shown).filter_map(|outcome| outcome.value(*measure)).collect();
            Cell {
                paper: paper.collect(),
                ours: Summary::of(&values),
                gain: difference(*measure, ours, base).filter(|_| shown && !is_first),
                over_control: control.and_then(|control| difference(*measure, ours, control)).filter(|_| shown),
            }
        };
        self.measures.iter().map(cell).collect()
    }
}

/// The mean difference over the seeds that both have.
fn difference(measure: Measure, ours: &[Outcome], others: &[Outcome]) -> Option<f64> {
    let differences: Vec<f64> = ours
        .iter()
        .filter_map(|outcome| {
            let twin = others.iter().find(|other| other.seed == outcome.seed)?;
            Some(outcome.value(measure)? - twin.value(measure)?)
        })
        .collect();
    Summary::of(&differences).map(|summary| summary.mean)
}

impl Filled {
    /// The table in a form, with its title and notes; CSV has neither.
    pub fn render(&self, format: Format) -> String {
        let notes = |before: &str, after: &str| -> String {
            self.notes.iter().map(|note| format!("{before}{note}{after}\n")).collect()
        };
        let grid = |format| self.grid().render(format);
        match format {
            Format::Text => format!("{}\n\n{}\n{}", self.title, grid(format), notes("", "")),
            Format::Markdown => format!("### {}\n\n{}\n{}", self.title, grid(format), notes("* ", "")),
            Format::Csv => self.plain().render(format),
            Format::Latex => format!("% {}\n{}{}", self.title, notes("% ", ""), grid(format)),
        }
    }

    /// For people: a number, its deviation and its gain in one cell.
    fn grid(&self) -> Grid {
        let mut header: Vec<String> = ["data", "protocol", "preset", "base", "model"].map(String::from).to_vec();
        for measure in self.measures {
            let several = self.measures.len() > 1;
            let of = |who: &str| if several { format!("{}: {who}", measure.name()) } else { who.to_owned() };
            header.extend(self.references_of(*measure).map(|reference| of(reference)).chain([of("ours")]));
        }
        header.push("seeds".to_owned());
        let row = |row: &Row| {
            let stamp = row.stamp.as_deref().and_then(|stamp| stamp.split(',').next());
            let label = stamp.map_or_else(|| row.label.to_owned(), |stamp| format!("{} ({stamp})", row.label));
            let mut cells = [row.data, row.protocol, row.preset, row.base, &label].map(str::to_owned).to_vec();
            for (measure, cell) in self.measures.iter().zip(&row.cells) {
                let paper = |(figure, gain): &(Option<Figure>, Option<f64>)| {
                    number(figure.map(|figure| (figure.mean, figure.deviation)), *gain, None)
                };
                cells.extend(cell.paper.iter().take(self.references_of(*measure).count()).map(paper));
                let ours = cell.ours.map(|ours| (ours.mean, ours.deviation));
                cells.push(number(ours, cell.gain, cell.over_control));
            }
            let seeds: Vec<String> = row.seeds.iter().map(u32::to_string).collect();
            cells.push(if seeds.is_empty() { "–".to_owned() } else { seeds.join(" ") });
            cells
        };
        Grid { header, rows: self.rows.iter().map(row).collect(), words: 5 }
    }

    /// The paper's numbers that stand beside a measure of ours.
    fn references_of(&self, measure: Measure) -> impl Iterator<Item = &String> {
        self.references.iter().filter(move |_| measure != Measure::Calibrated)
    }

    /// For programs: a number a cell, a line for each row and measure.
    fn plain(&self) -> Grid {
        let mut header =
            ["data", "protocol", "preset", "base", "model", "recipe", "stamp", "measure"].map(String::from).to_vec();
        for who in self.references.iter().map(String::as_str).chain(["ours"]) {
            header.extend(["mean", "deviation", "difference"].map(|what| format!("{who}: {what}")));
        }
        header.extend(["ours: difference to control", "seeds"].map(String::from));
        let digits = |value: Option<f64>| value.map(|value| format!("{value:.4}")).unwrap_or_default();
        let mut rows = Vec::new();
        for row in &self.rows {
            for (measure, cell) in self.measures.iter().zip(&row.cells) {
                let stamp = row.stamp.clone().unwrap_or_default();
                let (recipe, name) = (row.recipe.as_str(), measure.name());
                let names = [row.data, row.protocol, row.preset, row.base, row.label, recipe, &stamp, name];
                let mut cells = names.map(String::from).to_vec();
                for (figure, gain) in &cell.paper {
                    cells.push(digits(figure.map(|figure| figure.mean)));
                    cells.push(digits(figure.and_then(|figure| figure.deviation)));
                    cells.push(digits(*gain));
                }
                cells.push(digits(cell.ours.map(|ours| ours.mean)));
                cells.push(digits(cell.ours.and_then(|ours| ours.deviation)));
                cells.push(digits(cell.gain));
                cells.push(digits(cell.over_control));
                cells.push(row.seeds.iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
                rows.push(cells);
            }
        }
        Grid { words: header.len(), header, rows }
    }
}

/// `68.46 ± 0.47 (+5.54) [+2.10]`, as far as there is something to say.
fn number(value: Option<(f64, Option<f64>)>, gain: Option<f64>, over_control: Option<f64>) -> String {
    let Some((mean, deviation)) = value else { return "–".to_owned() };
    let deviation = deviation.map(|deviation| format!(" ± {deviation:.2}")).unwrap_or_default();
    let gain = gain.map(|gain| format!(" ({gain:+.2})")).unwrap_or_default();
    let over_control = over_control.map(|gain| format!(" [{gain:+.2}]")).unwrap_or_default();
    format!("{mean:.2}{deviation}{gain}{over_control}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::paper::TABLES;

    fn table(name: &str) -> &'static PaperTable {
        TABLES.iter().find(|table| table.name == name).expect("a table")
    }

    fn outcome(seed: u32, continual: f64, last: f64) -> Outcome {
        let (continual, calibrated) = (Some(continual), Some(continual));
        Outcome { seed, stamp: None, continual, calibrated, offset: false, last }
    }

    fn only(datasets: &[&str], presets: &[Preset]) -> Wanted {
        Wanted { datasets: datasets.iter().map(|name| (*name).to_owned()).collect(), presets: presets.to_vec() }
    }

    /// Seeds 1 and 2 of the base are 60 and 62: 61 ± 1.41. Seed 2 of the Ghost model is 66, 4 more than its twin; its seed 3
    /// has none, so it counts in the mean, (66 + 70) / 2, and not in the difference. The control has seed 3: 70 − 67 = 3 is the
    /// gain of ghosts alone. With its offset the Ghost model has 68 and 72.
    #[test]
    fn ours_stands_beside_the_papers() {
        let calibrated = |outcome: Outcome, value| Outcome { calibrated: Some(value), offset: true, ..outcome };
        let ghosts = [outcome(2, 66.0, 75.0), outcome(3, 70.0, 76.0)];
        let [two, three] = ghosts.clone();
        let runs = Outcomes::from([
            ("awa2-podnet".to_owned(), vec![outcome(1, 60.0, 70.0), outcome(2, 62.0, 71.0)]),
            ("awa2-podnet-control".to_owned(), vec![outcome(3, 67.0, 73.0)]),
            ("awa2-podnet-ghost".to_owned(), vec![calibrated(two, 68.0), calibrated(three, 72.0)]),
            ("awa2-podnet-ghost-paper".to_owned(), ghosts.to_vec()),
        ]);
        let text = table("table1").filled(&Wanted::default(), &runs, &["with train.epochs=2".to_owned()]);
        insta::assert_snapshot!(text.render(Format::Text));
    }

    #[test]
    fn a_stand_in_has_both_columns_of_the_paper_and_oracles_their_stamp() {
        let oracle = Outcome { stamp: Some("ORACLE, not a result: it looks".to_owned()), ..outcome(1, 50.0, 60.0) };
        let full = Outcome { continual: None, calibrated: None, ..oracle.clone() };
        let runs = Outcomes::from([
            ("animals12-podnet-ghost-svm".to_owned(), vec![outcome(1, 40.0, 55.5)]),
            ("animals12-real".to_owned(), vec![oracle]),
            ("animals12-full-oracle".to_owned(), vec![full]),
        ]);
        let filled = table("table4").filled(&only(&["animals12"], &[Preset::Tuned]), &runs, &[]);
        insta::assert_snapshot!("stand_in_text", filled.render(Format::Text));
        insta::assert_snapshot!("stand_in_markdown", filled.render(Format::Markdown));
        insta::assert_snapshot!("stand_in_csv", filled.render(Format::Csv));
        insta::assert_snapshot!("stand_in_latex", filled.render(Format::Latex));
    }

    /// The differences that the paper's text speaks of: 68.46 − 62.92 on AwA2, and 66 − 44 on MNIST.
    #[test]
    fn the_papers_own_differences() {
        let paper = only(&["awa2", "apy"], &[Preset::Paper]);
        let csv = |name: &str| table(name).filled(&paper, &Outcomes::new(), &[]).render(Format::Csv);
        assert!(csv("table1").contains(
            "AwA2,25+5x5,paper,PODNet,+ nca-ghost + svm-reg,awa2-podnet-ghost-svm-paper,,continual,68.4600,0.4700,5.5400,,,,,"
        ));
        let mnist =
            "MNIST,6+2+2,–,PODNet,\"ghost model, paper's timing\",mnist3-ghost-paper,,final,66.0000,,22.0000,,,,,";
        assert!(csv("mnist").contains(mnist), "{}", csv("mnist"));
    }

    /// Answers of two tasks, of which only the first has an unseen class: right without the offset is image 0, with it image 1 too.
    #[test]
    fn a_run_counts_with_and_without_its_offset() {
        use crate::class::{Slot, Slots};
        use crate::evaluation::{Answers, Best, Judged};
        let best = |slot, scores: [f32; 2]| Best { slots: vec![Slot(slot); 2], scores: scores.to_vec() };
        let answers = Answers {
            truth: vec![Slot(0), Slot(1)],
            seen: best(0, [0.9, 0.5]),
            unseen: Some(best(1, [0.1, 0.4])),
            own_offset: Some(0.2),
            ..Default::default()
        };
        let judged = Judged { present: Slots::new(0, 1), confusion: answers.confusion(2), answers };
        let run = Run { classes: 2, tasks: vec![judged] };
        let accuracy = |run: &Run| run.tasks[0].confusion.accuracy(run.all());
        assert_eq!((accuracy(&run), accuracy(&run.without_offset())), (Some(1.0), Some(0.5)));
        assert!(run.has_offset() && !run.without_offset().has_offset());
    }
}
