//! What the paper reports, row by row, as printed (arXiv 2006.13748v1), and the recipe of each row.

use crate::report::paper::{Block, Figure, Measure, PaperTable, Part, Reported, Row, Start};

const fn figure(mean: f64, deviation: f64) -> Option<Figure> {
    Some(Figure { mean, deviation: Some(deviation) })
}

const fn both(continual: Option<Figure>, last: Option<Figure>) -> Reported {
    Reported { continual, last }
}

const NOTHING: Reported = both(None, None);

const BASELINE: &str = "baseline";
const CONTROL: &str = "control, no ghosts";
const GHOST: &str = "+ nca-ghost";
const SVM: &str = "+ nca-ghost + svm-reg";

/// The control of a block, of which the paper reports nothing.
const fn control(recipe: &'static str) -> Row {
    Row { label: CONTROL, part: Part::Control, recipe, awa2: NOTHING, apy: NOTHING }
}

/// Tables 1 and 2, the columns of PODNet.
const PODNET: &[Row] = &[
    Row {
        label: BASELINE,
        recipe: "podnet",
        part: Part::Base,
        awa2: both(figure(62.92, 0.12), figure(77.63, 0.06)),
        apy: both(figure(58.64, 0.66), figure(57.80, 0.97)),
    },
    control("podnet-control"),
    Row {
        label: GHOST,
        recipe: "podnet-ghost",
        part: Part::Ghosts,
        awa2: both(figure(68.31, 0.36), figure(78.70, 0.46)),
        apy: both(figure(62.08, 0.25), figure(62.47, 0.40)),
    },
    Row {
        label: SVM,
        recipe: "podnet-ghost-svm",
        part: Part::Ghosts,
        awa2: both(figure(68.46, 0.47), figure(79.08, 0.53)),
        apy: both(figure(62.73, 0.60), figure(63.30, 0.98)),
    },
];

/// Tables 1 and 2, the columns of UCIR.
const UCIR: &[Row] = &[
    Row {
        label: BASELINE,
        recipe: "ucir",
        part: Part::Base,
        awa2: both(figure(54.80, 0.40), figure(67.07, 0.81)),
        apy: both(figure(43.42, 0.21), figure(42.23, 1.34)),
    },
    control("ucir-control"),
    Row {
        label: GHOST,
        recipe: "ucir-ghost",
        part: Part::Ghosts,
        awa2: both(figure(57.88, 0.27), figure(67.43, 0.08)),
        apy: both(figure(50.23, 0.29), figure(44.17, 1.48)),
    },
    Row {
        label: SVM,
        recipe: "ucir-ghost-svm",
        part: Part::Ghosts,
        awa2: both(figure(58.08, 0.46), figure(67.53, 0.45)),
        apy: both(figure(50.91, 0.56), figure(45.97, 0.26)),
    },
];

/// Table 3.
const ZERO_SHOT: &[Row] = &[
    Row {
        label: BASELINE,
        recipe: "zero-shot-podnet",
        part: Part::Base,
        awa2: both(figure(82.84, 0.10), figure(84.70, 0.10)),
        apy: both(figure(67.57, 0.41), figure(65.23, 0.50)),
    },
    control("zero-shot-podnet-control"),
    Row {
        label: GHOST,
        recipe: "zero-shot-podnet-ghost",
        part: Part::Ghosts,
        awa2: both(figure(84.99, 0.17), figure(86.57, 0.49)),
        apy: both(figure(68.80, 0.98), figure(67.93, 1.24)),
    },
    Row {
        label: SVM,
        recipe: "zero-shot-podnet-ghost-svm",
        part: Part::Ghosts,
        awa2: both(figure(84.47, 0.15), figure(85.73, 0.40)),
        apy: both(figure(69.02, 0.46), figure(67.97, 0.60)),
    },
];

/// Table 4.
const GENERATED: &[Row] = &[
    Row { label: "our model", ..PODNET[3] },
    control("podnet-control"),
    Row {
        label: "w/ real features",
        recipe: "real",
        part: Part::Ghosts,
        awa2: both(figure(67.65, 0.50), figure(78.83, 0.31)),
        apy: both(figure(61.88, 0.52), figure(61.70, 0.26)),
    },
    Row {
        label: "partial oracle",
        recipe: "partial-oracle",
        part: Part::Ghosts,
        awa2: both(figure(72.94, 0.25), figure(84.60, 0.28)),
        apy: both(figure(63.81, 0.29), figure(68.03, 1.42)),
    },
    Row {
        label: "full oracle",
        recipe: "full-oracle",
        part: Part::Other,
        awa2: both(None, figure(95.40, 0.02)),
        apy: both(None, figure(97.40, 0.30)),
    },
];

/// A row of the experiments with MNIST, of which the text gives a final accuracy without a deviation, or none.
const fn mnist(label: &'static str, part: Part, recipe: &'static str, last: Option<f64>) -> Row {
    let last = match last {
        Some(mean) => Some(Figure { mean, deviation: None }),
        None => None,
    };
    Row { label, part, recipe, awa2: both(None, last), apy: NOTHING }
}

/// Section 4.1.
const MNIST_3: &[Row] = &[
    mnist(BASELINE, Part::Base, "mnist3-podnet", Some(44.0)),
    mnist(CONTROL, Part::Control, "mnist3-control", None),
    mnist("ghost model, paper's timing", Part::Ghosts, "mnist3-ghost-paper", Some(66.0)),
    mnist("ghost model, our timing", Part::Ghosts, "mnist3-ghost", Some(66.0)),
    mnist("joint training", Part::Other, "mnist-joint", Some(69.0)),
];

/// The supplement, which shows pictures alone.
const MNIST_6: &[Row] = &[
    mnist(BASELINE, Part::Base, "mnist6-podnet", None),
    mnist(CONTROL, Part::Control, "mnist6-control", None),
    mnist("ghost model, our timing", Part::Ghosts, "mnist6-ghost", None),
    mnist("joint training", Part::Other, "mnist-joint", None),
];

const HALVES: &[Block] = &[Block { about: "PODNet", rows: PODNET }, Block { about: "UCIR", rows: UCIR }];

/// Every table.
pub const TABLES: &[PaperTable] = &[
    PaperTable {
        name: "table1",
        title: "Table 1: continual accuracy on AwA2 and aP&Y for PODNet and UCIR",
        measures: &[Measure::Continual, Measure::Calibrated],
        start: Start::Half,
        blocks: HALVES,
    },
    PaperTable {
        name: "table2",
        title: "Table 2: final accuracy on AwA2 and aP&Y for PODNet and UCIR",
        measures: &[Measure::Final],
        start: Start::Half,
        blocks: HALVES,
    },
    PaperTable {
        name: "table3",
        title: "Table 3: an initial task as large as in zero-shot learning, PODNet on AwA2 and aP&Y",
        measures: &[Measure::Continual, Measure::Calibrated, Measure::Final],
        start: Start::ZeroShot,
        blocks: &[Block { about: "PODNet", rows: ZERO_SHOT }],
    },
    PaperTable {
        name: "table4",
        title: "Table 4: generated ghosts against features of actual future images, PODNet on AwA2 and aP&Y",
        measures: &[Measure::Continual, Measure::Calibrated, Measure::Final],
        start: Start::Half,
        blocks: &[Block { about: "PODNet", rows: GENERATED }],
    },
    PaperTable {
        name: "mnist",
        title: "MNIST with 2-d features: three tasks (section 4.1) and six (supplement)",
        measures: &[Measure::Continual, Measure::Calibrated, Measure::Final],
        start: Start::Digits,
        blocks: &[Block { about: "6+2+2", rows: MNIST_3 }, Block { about: "5+5x1", rows: MNIST_6 }],
    },
];
