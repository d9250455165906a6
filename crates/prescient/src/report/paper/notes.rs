//! What must be said beside the numbers of a table: what they are, and where a row leaves the paper.

use crate::experiment::{Preset, tuned_changes};
use crate::report::paper::{DATASETS, Measure, PAPER_DATASETS, PaperTable, Start, Wanted};

impl PaperTable {
    /// The notes of the table.
    pub(super) fn notes(&self, wanted: &Wanted) -> Vec<String> {
        let mut notes = vec![
            "Accuracy in percent, all classes competing. In round brackets the difference to the first row of the block, in \
             square brackets that to its control row."
                .to_owned(),
            "control: the base model, its seen proxies trained once more as in the Ghost model, without ghosts; the difference \
             to it is what ghosts alone give. The paper has no such row."
                .to_owned(),
        ];
        if self.measures.contains(&Measure::Final) {
            notes.push(
                "final: after the last task neither model has that extra stage, so the control's final accuracy is the base's."
                    .to_owned(),
            );
        }
        if self.measures.contains(&Measure::Calibrated) {
            notes.push(
                "continual: no offset on the scores, as in the paper. calibrated: the same with the offset of \
                 `calibrate.target`; – where a row has none."
                    .to_owned(),
            );
        }
        notes.extend(self.notes_of_table().map(str::to_owned));
        if self.start == Start::Digits {
            return notes;
        }
        notes.push(
            "The paper's splits share images between training and test (errata 9), ours do not: compare differences, not \
             numbers."
                .to_owned(),
        );
        let others = DATASETS.iter().filter(|data| !PAPER_DATASETS.contains(&data.kind));
        let others: Vec<&str> =
            others.map(|data| data.kind).filter(|kind| wanted.datasets.iter().any(|name| name == kind)).collect();
        if !others.is_empty() {
            notes.push(format!("Not the paper's data: {}; the same rows on other photos.", others.join(", ")));
        }
        for preset in &wanted.presets {
            notes.push(match preset {
                Preset::Paper => "paper: the paper's printed settings. Where it prints none: the complete classifier is trained \
                                  with Adam, the balanced fine-tune has 20 epochs at 0.01 (errata 11), POD compares the \
                                  four stages of ResNet18 where the paper says each block (errata 20)."
                    .to_owned(),
                Preset::Tuned => format!("tuned: our settings, not the paper's: {}.", tuned_changes()),
            });
        }
        notes
    }

    fn notes_of_table(&self) -> impl Iterator<Item = &'static str> {
        let notes: &[&str] = match self.name {
            "table3" => &[
                "The first task has the training classes of the standard zero-shot split; `--set scenario.order=proposed` takes \
                 those of the proposed split (errata 36).",
            ],
            "table4" => &[
                "w/ real features: the ghosts that train are features of actual future images, answers come from generated \
                 ghosts, as in the authors' code; the partial oracle's complete classifier learns from actual features too \
                 (errata 34).",
            ],
            "mnist" => &[
                "our timing: ghosts take part from task 1 on and are drawn anew after every epoch, a digit that arrives starts \
                 from its ghosts' proxy, and task 1 is trained five times; the paper's: once a task, from task 2 on, one \
                 training (errata 5, 16, 26).",
                "All rows see an image of the past twenty times in an epoch and clip gradients; digits have no attributes, so \
                 ghosts are features of actual future digits.",
            ],
            _ => &[],
        };
        notes.iter().copied()
    }
}
