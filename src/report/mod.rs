//! What a run found, as text. Made from the record alone: no data, no model, no GPU.

mod compare;
mod grid;
mod inspection;
pub mod paper;
mod side;
mod tables;
mod text;

pub use compare::Comparison;
pub use grid::{Format, Grid};
pub use inspection::inspection;
pub use side::side_by_side;
pub use tables::tables;
pub use text::text;
