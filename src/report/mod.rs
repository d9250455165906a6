//! What a run found, as text, as figures and as a page. Made from the run's folder alone: no data, no model, no GPU.

mod figure;
mod gallery;
mod inspection;
mod page;
mod runs;
mod side;
mod text;
mod tsne;

pub use figure::{Figure, Table};
pub use gallery::{Aspect, Detail, Gallery};
pub use inspection::inspection;
pub use page::page;
pub use runs::{Kind, Mean, ReadRun, Time};
pub use side::side_by_side;
pub use text::text;
