//! Prescient continual learning: an image classifier that is taught its classes task by task, does not forget, and
//! already guesses at classes whose images have not arrived yet.
//!
//! A **catalogue** says what is known of every class in advance; a **scenario** deals the classes out in tasks; a
//! **learner** carries out each task's plan; a **record** keeps what happened; a **report** shows it.
//!
//! ```text
//!  recipe.toml ──► Experiment                                     (experiment)
//!                      │
//!  images ────┐        ▼
//!             ├──► Dataset ──► Scenario ──► Task 1, 2, … T        (data, scenario)
//!  attributes ┘   + Catalogue                  │
//!                                              │   plan(t): Algorithm 1, as data
//!  ┌───────────────────────────────────────────▼───────────── Learner, task t ────────┐
//!  │  images of C^t ─┐                                                                │
//!  │                 ├─► Extractor f ── h ──► CosineClassifier ── ŷ ──► Nca           │
//!  │  Memory ────────┘      │                   (Eq. 1)              (Eq. 2)          │
//!  │  (s per past class)    │                                            │            │
//!  │         f^{t−1} ──► Distillation ──────────────────────────► Terms::total (Eq. 3)│
//!  │        (frozen)     (Pod, LessForget)                               │            │
//!  │                                                                 SGD step         │
//!  │  Memory ◄── herding                         evaluate on all classes ─► Answers ──┼──┐
//!  └──────────────────────────────────────────────────────────────────────────────────┘  │
//!                                                                                        ▼
//!                                         text ◄── Report ◄── Metrics ◄── Record (JSON lines)
//! ```
//!
//! # The paper in the code
//!
//! | paper | code |
//! | --- | --- |
//! | section 2, the setting | [`scenario`] |
//! | Algorithm 1 | [`learner::ghost::plan`] |
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
//! use prescient::experiment::{Experiment, Recipe};
//! use prescient::learner::Silent;
//! use std::path::Path;
//!
//! let text = r#"
//!     data = { kind = "synthetic", train = 4, test = 2 }
//!     scenario = { split = "12+12" }
//!     model = { extractor = { kind = "small-cnn" } }
//!     train = { epochs = 1 }
//!     finetune = { epochs = 1 }
//! "#;
//! let recipe = Recipe::parse(text, Path::new("mine.toml"))?;
//! let experiment = Experiment::new(recipe, tch::Device::Cpu)?;
//! # let folder = tempfile::tempdir().expect("a temporary folder");
//! # let runs = folder.path();
//! # /*
//! let runs = Path::new("runs");
//! # */
//! let record = experiment.run(&runs.join("mine"), None, &mut Silent)?;
//! println!("{}", prescient::report::text(&record));
//! # assert_eq!(record.evaluations().count(), 2);
//! # Ok::<(), prescient::error::Error>(())
//! ```

pub mod audit;
pub mod catalogue;
pub mod class;
pub mod classifier;
pub mod data;
pub mod engine;
pub mod error;
pub mod evaluation;
pub mod experiment;
pub mod extractor;
pub mod ghost;
pub mod learner;
pub mod loss;
pub mod memory;
pub mod predictor;
pub mod protocol;
pub mod report;
pub mod scenario;
pub mod seeds;

pub use data::{Channels, Image};
pub use error::{Error, Result};
pub use experiment::{Experiment, Recipe, Record};
pub use learner::Learner;
pub use predictor::{Prediction, Predictor};
