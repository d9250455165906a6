//! Models compared over the same seeds, with what a reviewer asks for: intervals, paired tests, and a correction for several
//! comparisons. Made from records alone.
//!
//! Runs of one recipe that differ in their seeds are one model. Each model is compared with the baseline seed by seed
//! (Student's paired test). Where there is one seed only, it is compared image by image (bootstrap, and McNemar's test for the
//! final accuracy), and the words say that this tells nothing of other seeds.

mod group;
mod json;
mod measure;
mod shown;

use crate::class::Slot;
use crate::error::CompareError;
use crate::evaluation::statistics::{Difference, Summary, bootstrap, holm, mcnemar, paired};
use crate::experiment::Record;
use group::Group;
use measure::Measure;

/// Below this chance is no explanation.
const LEVEL: f64 = 0.05;

/// A baseline, and models compared with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    baseline: String,
    baseline_seeds: Vec<u32>,
    rows: Vec<Row>,
    /// What must be said beside the numbers.
    notes: Vec<String>,
}

/// A model compared with the baseline by one measure. Shares, not percent.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    model: String,
    /// Why its numbers are no results, where they are none.
    stamp: Option<String>,
    measure: Measure,
    baseline: Summary,
    ours: Summary,
    evidence: Evidence,
    difference: Difference,
    /// Corrected for as many comparisons as there are models.
    p: f64,
    /// How many these are.
    comparisons: usize,
}

/// What a difference rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    /// So many seeds that both models have.
    Seeds(usize),
    /// One seed, and so many test images.
    Images(usize),
}

impl Comparison {
    /// Compares runs, each with its name. The baseline is the model of the run at `baseline`.
    pub fn new(runs: &[(String, Record)], baseline: usize) -> Result<Self, CompareError> {
        let groups = Group::of(runs)?;
        let holds = |group: &&Group| group.holds(&runs[baseline].0);
        let base = groups.iter().find(holds).expect("every run is in a group");
        let models: Vec<&Group> = groups.iter().filter(|group| !holds(group)).collect();
        if models.is_empty() {
            return Err(CompareError::OneRecipe { name: base.name.clone() });
        }
        let mut rows = Vec::new();
        let mut notes: Vec<String> =
            groups.iter().filter_map(|group| Some(format!("{}: {}", group.name, group.stamp()?))).collect();
        for measure in Measure::ALL {
            let mut compared: Vec<Row> =
                models.iter().filter_map(|model| row(measure, base, model, &mut notes)).collect();
            let chances: Vec<f64> = compared.iter().map(|row| row.difference.p).collect();
            for (row, p) in compared.iter_mut().zip(holm(&chances)) {
                (row.p, row.comparisons) = (p, chances.len());
            }
            rows.extend(compared);
        }
        // Model by model for the reader; measure by measure was for the correction.
        rows.sort_by_key(|row| models.iter().position(|model| model.name == row.model));
        if rows.iter().any(|row| matches!(row.evidence, Evidence::Images(_))) {
            let note = "One seed: an interval over test images says what other images might show, not what another seed \
                        would.";
            notes.push(note.to_owned());
        }
        Ok(Self { baseline: base.name.clone(), baseline_seeds: base.seeds(), rows, notes })
    }
}

/// The model against the baseline; none, and a note why, where nothing can be paired.
fn row(measure: Measure, base: &Group, model: &Group, notes: &mut Vec<String>) -> Option<Row> {
    let mut note = |text: String| {
        if !notes.contains(&text) {
            notes.push(text);
        }
    };
    if !base.same_tasks(model) && measure != Measure::Final {
        note(format!(
            "{}: its tasks are others than the baseline's, or its classes come in another order, so final accuracy alone is compared",
            model.name
        ));
        return None;
    }
    let pairs = base.pairs(model);
    if pairs.is_empty() {
        note(format!("{}: it shares no seed with the baseline, so nothing is compared", model.name));
        return None;
    }
    let alone = base.runs.len() + model.runs.len() - 2 * pairs.len();
    if alone > 0 {
        note(format!("{}: {alone} runs have no twin of the same seed and are left out", model.name));
    }
    let value = |record: &Record| measure.value(record);
    let values: Vec<(f64, f64)> = pairs.iter().filter_map(|(base, model)| value(base).zip(value(model))).collect();
    let (bases, ours): (Vec<f64>, Vec<f64>) = values.iter().copied().unzip();
    let differences: Vec<f64> = values.iter().map(|(base, ours)| ours - base).collect();
    let (evidence, difference) = match paired(&differences) {
        Some(difference) => (Evidence::Seeds(differences.len()), difference),
        None => match by_image(measure, pairs[0].0, pairs[0].1) {
            Some(found) => found,
            None => {
                note(format!(
                    "{}: with one seed, runs are compared image by image, which needs the same tasks in both: give them the same \
                     `scenario.split` and the same `scenario.order`, such as `file order.txt`, or more seeds",
                    model.name
                ));
                return None;
            }
        },
    };
    let summary = |values: &[f64]| Summary::of(values);
    Some(Row {
        model: model.name.clone(),
        stamp: model.stamp(),
        measure,
        baseline: summary(&bases)?,
        ours: summary(&ours)?,
        evidence,
        difference,
        p: difference.p,
        comparisons: 1,
    })
}

/// One run of each, image by image; none where they did not answer for the same images in the same order.
fn by_image(measure: Measure, base: &Record, model: &Record) -> Option<(Evidence, Difference)> {
    let truth = measure::truth(base)?;
    if truth != measure::truth(model)? || !base.start.same_tasks(&model.start) {
        return None;
    }
    let (base, ours) = (measure.scores(base)?, measure.scores(model)?);
    let differences: Vec<f64> = base.iter().zip(&ours).map(|(base, ours)| ours - base).collect();
    let classes: Vec<(Slot, f64)> = truth.iter().copied().zip(differences.iter().copied()).collect();
    let mut difference = bootstrap(&classes)?;
    if measure == Measure::Final {
        let count = |wanted: fn(f64) -> bool| differences.iter().filter(|difference| wanted(**difference)).count();
        difference.p = mcnemar(count(|difference| difference < 0.0), count(|difference| difference > 0.0));
    }
    Some((Evidence::Images(differences.len()), difference))
}
