//! Shows a record. Reads nothing else: no model, no data.

mod text;

pub use text::text;
