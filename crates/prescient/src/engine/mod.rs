//! How training is carried out: batches, optimizers, captured steps, precision.

mod adam;
mod capture;
mod compute;
mod draw;
mod loader;
pub mod norm;
mod sgd;

pub use adam::Adam;
pub use capture::{recorded, repeat};
pub use compute::{Compute, Layout, Precision, has_kernels, has_kernels_on};
pub use draw::drawn;
pub use loader::{Batch, Loader, Pass, TestBatch};
pub use sgd::{Schedule, Sgd};
