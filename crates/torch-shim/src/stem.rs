//! The first convolution of a network for small images, with all that follows it, without the map between (`cuda/stem.cu`).
//!
//! That map has 64 channels at the size of the image: at 64 pixels and batches of 256 it takes 134 MB, and a fifth of a
//! distilled step's kernels was spent on making, reading and learning through it (`docs/bench/2026-11-18-gpu.md`).

use tch::{Kind, Tensor};

use crate::kernels::{Norm, generation, made, of_channels};
use crate::{ffi, is_channels_last};

/// Channels that come in, and that go out.
const CHANNELS: (i64, i64) = (3, 64);
/// The widest image of which a block keeps some rows: `STEM_WIDTH` of `stem.cu`.
const WIDEST: i64 = 256;
/// Ampere, the first GPUs whose tensor cores multiply in bf16.
const GENERATION: u32 = 8;

/// Whether `images` and the convolution's `weight` are such as [`stem`] takes, on a GPU where our kernels serve: images of
/// 3 channels and at most 256 pixels wide, weights of 3×3 to 64 channels, bf16, channels last. The convolution has a stride of 1 and a
/// border of 1.
pub fn stem_fits(images: &Tensor, weight: &Tensor) -> bool {
    let size = images.size();
    let is_ours = |tensor: &Tensor| tensor.kind() == Kind::BFloat16 && is_channels_last(tensor);
    images.device().is_cuda()
        && weight.device() == images.device()
        && weight.size() == [CHANNELS.1, CHANNELS.0, 3, 3]
        && size.len() == 4
        && size[1] == CHANNELS.0
        && (1..=WIDEST).contains(&size[3])
        && images.numel() > 0
        && !images.requires_grad()
        && is_ours(images)
        && is_ours(weight)
        && generation(images.device(), |_| ()).is_some_and(|generation| generation >= GENERATION)
}

/// `pool(ReLU(BatchNorm(weight ∗ images)))` in training, pooled over windows of 3×3 with a stride of 2; autograd knows the way back to
/// the weight and BatchNorm's factors.
///
/// # Panics
/// If images and weight do not [fit](stem_fits).
pub fn stem(images: &Tensor, weight: &Tensor, norm: &Norm<'_>) -> Tensor {
    assert!(stem_fits(images, weight), "images that our stem takes: {images:?}, {weight:?}");
    norm.check(CHANNELS.1, images);
    made(|result| {
        // SAFETY: all are live tensors, only borrowed, whose sizes, kinds, layout and devices were checked.
        unsafe {
            ffi::shim_stem(
                images.as_ptr(),
                weight.as_ptr(),
                norm.gamma.as_ptr(),
                norm.beta.as_ptr(),
                norm.running_mean.as_ptr(),
                norm.running_var.as_ptr(),
                norm.momentum,
                norm.epsilon,
                result,
            )
        }
    })
}

/// `pool(ReLU(weight ∗ images + bias))`; autograd knows nothing of it.
///
/// # Panics
/// As [`stem`].
pub fn stem_with_bias(images: &Tensor, weight: &Tensor, bias: &Tensor) -> Tensor {
    assert!(stem_fits(images, weight), "images that our stem takes: {images:?}, {weight:?}");
    of_channels(bias, CHANNELS.1, images);
    // SAFETY: as in `stem`.
    made(|result| unsafe { ffi::shim_stem_with_bias(images.as_ptr(), weight.as_ptr(), bias.as_ptr(), result) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Device;

    #[test]
    fn a_cpu_goes_another_way() {
        let like = |size: [i64; 4]| Tensor::zeros(size, (Kind::BFloat16, Device::Cpu));
        assert!(!stem_fits(&like([2, 3, 8, 8]), &like([64, 3, 3, 3])));
    }
}
