//! What a run found, as text, as figures and as a page. Made from the run's folder alone: no data, no model, no GPU.

mod compare;
mod figure;
mod gallery;
mod grid;
mod inspection;
mod json;
mod kinds;
mod page;
pub mod paper;
mod probabilities;
mod promise;
mod runs;
mod side;
mod tables;
mod text;
#[cfg(feature = "tsne")]
mod tsne;
#[cfg(not(feature = "tsne"))]
#[path = "no_tsne.rs"]
mod tsne;
mod worth;

pub use compare::Comparison;
pub use figure::{Figure, Table};
pub use gallery::{Aspect, Detail, Gallery};
pub use grid::{Format, Grid};
pub use inspection::inspection;
pub use json::json;
pub use page::page;
pub use runs::{Kind, ReadRun, Time};
pub use side::side_by_side;
pub use tables::tables;
pub use text::text;
