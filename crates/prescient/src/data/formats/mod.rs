//! Files of others: archives, idx, NumPy's and MATLAB's arrays.

#[cfg(feature = "archives")]
pub(crate) mod archive;
#[cfg(not(feature = "archives"))]
#[path = "no_archive.rs"]
pub(crate) mod archive;
pub(crate) mod files;
pub(crate) mod idx;
pub mod mat;
pub mod npy;

pub use files::{Files, is_image};
pub use idx::Idx;
