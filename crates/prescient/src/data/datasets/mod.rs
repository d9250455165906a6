//! Every dataset, a module each.

pub(crate) mod apy;
pub(crate) mod awa2;
pub(crate) mod features;
pub(crate) mod folder;
pub(crate) mod mnist;
pub(crate) mod pack;
pub(crate) mod photos;
pub(crate) mod shares;
pub(crate) mod synthetic;

pub use apy::{Apy, ApySettings};
pub use awa2::{Awa2, Awa2Settings, Matrix};
pub use features::{Features, FeaturesSettings};
pub use folder::{Folder, FolderSettings};
pub use mnist::{Mnist, MnistSettings};
pub use pack::{Fit, Pack, PackSettings, framed, pack};
pub use synthetic::{Synthetic, SyntheticSettings};
