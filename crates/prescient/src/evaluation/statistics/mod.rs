//! What several runs say together, and how far to trust it.

mod bootstrap;
mod holm;
mod mcnemar;
mod paired;
mod summary;

pub use bootstrap::bootstrap;
pub use holm::holm;
pub use mcnemar::mcnemar;
pub use paired::{Difference, SURE, paired};
pub use summary::Summary;
