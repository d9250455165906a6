//! Prescient continual learning: an image classifier that is taught its classes task by task, does not forget, and
//! already guesses at classes whose images have not arrived yet.
//!
//! A **catalogue** says what is known of every class in advance; a **scenario** deals the classes out in tasks; a
//! **learner** learns one task after the other; a **predictor** is what answers after a task; a **record** keeps what
//! happened; a **report** shows it.
//!
//! ```text
//!  recipe.toml ──► Experiment                                                 (experiment)
//!                      │
//!  images ────┐        ▼
//!             ├──► Dataset ──► Scenario ──► Sealed ──► TaskData of t = 1, 2, … T
//!  attributes ┘   + Catalogue                             │     (data, catalogue, scenario, protocol)
//!                                                         ▼
//!  ┌─────────────────────────────────── Learner::learn, task t: Algorithm 1 ───────────┐
//!  │  images of C^t ─┐                                                                 │
//!  │                 ├─► Extractor f ── h ──┬─► CosineClassifier ── ŷ ──► Nca          │
//!  │  Memory ────────┘      │               │       (Eq. 1)             (Eq. 2, 4)      │
//!  │  (s per past class)    │        ghosts of C^{t+1:T} ──► Planes ──► SvmReg (Eq. 5) │
//!  │         f^{t−1} ──► Distillation ───────────────────────────► Terms (Eq. 3, 6)    │
//!  │        (frozen)     (Pod, LessForget)                               │             │
//!  │                                                                  SGD step         │
//!  │  Memory ◄── herding      h of C^{1:t} ──► Generator g (Eq. 7) ──► ghosts          │
//!  └────────────────────────────────────────────────────────┬──────────────────────────┘
//!                                                           ▼
//!                    new photos ──► Predictor ◄── f, proxies of all classes, offset     (predictor)
//!                                       │
//!                  test images ──► Evaluator ──► Answers ──► Record (JSON lines) ──► Metrics, report, audit
//! ```
//!
//! # The paper in the code
//!
//! | paper | code |
//! | --- | --- |
//! | section 2, the setting | [`scenario`], [`protocol`] |
//! | Algorithm 1 | [`learner::GhostLearner`], whose stages [`learner::ghost::Plan`] decides |
//! | Eq. 1, cosine classifier | [`classifier::CosineClassifier`] |
//! | Eq. 2, NCA | [`loss::Nca`] |
//! | Eq. 3, the base loss | [`loss::Terms`] |
//! | Eq. 4, NCA with ghosts | [`loss::Nca`], [`learner::GhostSettings`] |
//! | Eq. 5, latent regularization | [`loss::SvmReg`], [`ghost::svm`] |
//! | Eq. 6, the Ghost model's loss | [`loss::Terms`] |
//! | Eq. 7, the generator's loss | [`loss::Mmd`], [`ghost::Generator`] |
//! | distillation | [`loss::Pod`], [`loss::LessForget`] |
//! | rehearsal memory, herding | [`memory`] |
//!
//! # Quick start
//!
//! ```
//! use prescient::learner::Silent;
//! use prescient::{Experiment, Predictor, Recipe};
//! use std::path::Path;
//!
//! let recipe: Recipe = r#"
//!     data = { kind = "synthetic", train = 4, test = 2 }
//!     scenario.split = "12+12"
//!     model.extractor = { kind = "small-cnn", features = 16 }
//!     train.epochs = 1
//!     finetune.epochs = 1
//!     ghosts.generator = { kind = "gaussian" }
//! "#
//! .parse()?;
//! # let folder = tempfile::tempdir().expect("a temporary folder");
//! # let runs = folder.path();
//! # /*
//! let runs = Path::new("runs");
//! # */
//! let experiment = Experiment::new(recipe, tch::Device::Cpu)?;
//! let record = experiment.run(&runs.join("mine"), None, &mut Silent)?;
//! println!("{}", prescient::report::text(&record));
//!
//! let predictor = Predictor::load(runs.join("mine"))?;
//! assert_eq!(predictor.seen().len(), 24);
//! # assert_eq!(record.evaluations().count(), 2);
//! # Ok::<(), prescient::error::Error>(())
//! ```
//!
//! `examples/` has a run of a recipe, a task loop of one's own, and a program that loads a model and classifies photos.

pub mod audit;
pub mod catalogue;
pub mod class;
pub mod classifier;
pub mod data;
pub mod disk;
pub mod engine;
pub mod error;
pub mod evaluation;
pub mod experiment;
pub mod export;
pub mod extractor;
pub mod ghost;
pub mod learner;
pub mod loss;
pub mod memory;
pub mod predictor;
pub mod project;
pub mod protocol;
pub mod report;
#[cfg(test)]
#[path = "../tests/common/required.rs"]
mod required;
pub mod scenario;
pub mod seeds;
pub mod text;
pub mod weights;

pub use data::{Channels, Image};
pub use error::{Error, Result};
pub use experiment::{Experiment, Recipe, Record};
pub use learner::Learner;
pub use predictor::{Prediction, Predictor};
pub use project::Project;
