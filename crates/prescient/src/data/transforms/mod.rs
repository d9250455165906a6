//! What a model gets of an image: a window of it, resized to a square, mirrored or moved on request.
//!
//! There is one definition of resizing, the triangle filter of Pillow and torchvision (`antialias=True`). With a window
//! that begins at `l` and is `e` wide, scaled to `n` pixels, the weight of pixel `i` in pixel `x` of the result is
//!
//! ```text
//! s = e / n                                    pixels of the image in a pixel of the result
//! a_x(i) ∝ [1 − |i + ½ − l − (x + ½)·s| / max(s, 1)]₊            Σ_i a_x(i) = 1
//!
//! result[c, y, x] = Σ_j Σ_i  b_y(j) · a_x(i) · image[j, i, c]
//! ```
//!
//! and the same for `b` along the height. Mirroring swaps the columns of the result; moving it lets black in. Bytes are
//! rounded once, at the end. All users of pixels follow it: batches made by threads, packs and perceptual hashes through
//! `resize`, images that lie on a device through the tensors of the device cache and its kernel, which do not round at all.
//! Tests compare all of them: they differ by at most one grey level.

pub(crate) mod resize;
mod view;

pub use view::{Augmentation, Crop, CropParams, Normalization, View, Window};
