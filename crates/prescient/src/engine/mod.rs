//! How training is carried out: batches, optimizers, captured steps, precision.

mod adam;
mod batches;
mod capture;
mod compute;
mod device_cache;
mod draw;
mod follow;
mod loader;
pub mod norm;
pub mod processes;
mod sgd;
mod steps;
mod tensors;

pub use adam::Adam;
pub use batches::{DeviceBatch, DeviceTestBatch, Preprocessing, TaskBatches};
pub use capture::{capture, repeat};
pub use compute::{Compute, Layout, Precision, has_bias, has_kernels, has_kernels_on, has_stem};
pub use device_cache::DeviceCache;
pub use draw::with_seed;
pub use follow::{Changing, Follow};
pub(crate) use loader::pieces;
pub use loader::{Batch, Loader, Pass, TestBatch};
pub use processes::{Place, Processes};
pub use sgd::{Schedule, Sgd};
pub use steps::{Steps, Values};
pub(crate) use tensors::tensor_bytes;
pub use tensors::{TensorFile, write_tensors};
