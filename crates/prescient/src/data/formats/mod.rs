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
#[cfg(feature = "archives")]
pub(crate) mod shards;
#[cfg(not(feature = "archives"))]
#[path = "no_shards.rs"]
pub(crate) mod shards;
#[cfg(feature = "archives")]
mod tree;

pub use files::{Files, is_image, is_unread_photo};
pub use idx::Idx;
