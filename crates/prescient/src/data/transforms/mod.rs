//! What a model sees of an image: cropped, resized, mirrored.

pub(crate) mod resize;
mod view;

pub use view::{Augmentation, Crop, CropParams, Normalization, View, Window};
