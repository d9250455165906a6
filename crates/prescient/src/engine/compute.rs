//! How numbers are computed: their precision and how images lie in memory. What is learned is the same; how fast is not.

use serde::{Deserialize, Serialize};
use tch::{Device, Tensor};
use torch_shim::{After, Gpu};

/// How to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compute {
    /// The precision of `f`'s products. Weights, losses (MMD too) and normalization stay in single precision.
    pub precision: Precision,
    /// How images and maps lie in memory. This and what follows are no keys of a recipe: benchmarks and tests set them.
    #[serde(skip)]
    pub layout: Layout,
    /// Whether a GPU captures a step as a CUDA graph and replays it with one call.
    #[serde(skip)]
    pub cuda_graphs: bool,
    /// Whether a GPU uses kernels of our own, which do in one pass over memory what libtorch does in several.
    #[serde(skip)]
    pub fused_kernels: bool,
    /// How many algorithms cuDNN times for each convolution before it takes the fastest; 0: it takes the one its heuristic
    /// prefers. Timing takes seconds for each size of a batch and pays after some ten thousand steps.
    #[serde(skip)]
    pub cudnn_benchmark: u8,
}

impl Default for Compute {
    fn default() -> Self {
        Self {
            precision: Precision::default(),
            layout: Layout::default(),
            cuda_graphs: true,
            fused_kernels: true,
            cudnn_benchmark: 0,
        }
    }
}

/// The precision of products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// `bf16` on a GPU since Ampere, which multiplies in it; else `fp32`.
    #[default]
    Auto,
    /// Single precision.
    Fp32,
    /// Single precision with products rounded to ten bits; a GPU's only.
    Tf32,
    /// Half the bytes, the range of single precision.
    Bf16,
}

/// How images lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// `channels-last` where that is faster: on a GPU, and on a CPU for large images.
    #[default]
    Auto,
    /// Plane by plane.
    Planes,
    /// Pixel by pixel.
    ChannelsLast,
}

/// From so many pixels a side, a CPU is faster on pixels than on planes: a ResNet18 at 64 pixels by a tenth, while a small
/// network at 28 is slower by a fifth.
const LARGE: usize = 48;

impl Compute {
    /// With nothing left open, for images of `size` pixels.
    pub fn on(self, device: Device, size: usize) -> Self {
        let precision = match self.precision {
            Precision::Auto if device.is_cuda() && multiplies_in_bf16(torch_shim::about_gpu(device)) => Precision::Bf16,
            Precision::Auto => Precision::Fp32,
            chosen => chosen,
        };
        let layout = match self.layout {
            Layout::Auto if device.is_cuda() || size >= LARGE => Layout::ChannelsLast,
            Layout::Auto => Layout::Planes,
            chosen => chosen,
        };
        Self { precision, layout, ..self }
    }
}

/// Whether a GPU multiplies in bf16; one that does not tell is taken for a new one.
fn multiplies_in_bf16(gpu: Option<Gpu>) -> bool {
    gpu.is_none_or(|gpu| gpu.generation >= 8)
}

/// Whether our kernels take these maps.
pub fn has_kernels(maps: &Tensor) -> bool {
    torch_shim::kernels_fit(maps) && has_kernels_on(maps.device())
}

/// Whether our kernels take these maps where a bias is added, with what follows it.
pub fn has_bias(maps: &Tensor, after: After<'_>) -> bool {
    let fits = if after.pool { torch_shim::kernels_fit } else { torch_shim::bias_fits };
    fits(maps) && has_kernels_on(maps.device())
}

/// Whether our kernels take these images and this weight of a first convolution, with what follows it.
pub fn has_stem(images: &Tensor, weight: &Tensor) -> bool {
    has_kernels_on(images.device()) && torch_shim::stem_fits(images, weight)
}

/// Whether our kernels serve on this device; a warning says once why not, where a GPU goes without.
pub fn has_kernels_on(device: Device) -> bool {
    torch_shim::kernels_ready(device, |error| {
        tracing::warn!("this GPU goes without kernels of our own, and is slower for it: {error}");
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Volta and Turing are 7, Ampere is 8.
    #[test]
    fn an_older_gpu_is_not_asked_for_bf16() {
        let of = |generation| Some(Gpu { generation, free_bytes: 0 });
        assert_eq!([of(7), of(8), of(9), None].map(multiplies_in_bf16), [false, true, true, true]);
    }

    #[test]
    fn what_is_left_open_depends_on_device_and_size() {
        let auto = |device, size| {
            let Compute { precision, layout, .. } = Compute::default().on(device, size);
            (precision, layout)
        };
        assert_eq!(auto(Device::Cpu, 32), (Precision::Fp32, Layout::Planes));
        assert_eq!(auto(Device::Cpu, 64), (Precision::Fp32, Layout::ChannelsLast));
        assert_eq!(auto(Device::Cpu, 224), (Precision::Fp32, Layout::ChannelsLast));
        assert_eq!(auto(Device::Cuda(0), 64), (Precision::Bf16, Layout::ChannelsLast));
        let chosen = Compute { precision: Precision::Tf32, layout: Layout::Planes, ..Default::default() };
        assert_eq!(chosen.on(Device::Cuda(0), 224), chosen);
    }
}
