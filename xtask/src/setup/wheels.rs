//! Which wheels hold the CPU part of libtorch, what is taken from them, and how we know that they are the right ones.
//!
//! The `libtorch_cpu.so` of this build asks for two CUDA libraries even where there is no GPU, so those two come along:
//! 544 MB instead of the 4.7 GB of everything. One build then serves machines with and without a GPU.

/// A wheel, pinned by its content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wheel<'a> {
    /// What pip is asked for.
    pub(super) requirement: &'a str,
    /// The platform tag that the wheel's name carries.
    pub(super) platform: &'a str,
    pub(super) file: &'a str,
    pub(super) sha256: &'a str,
    /// In bytes: what the download takes.
    pub(super) size: u64,
    /// From where in the wheel to where in the libtorch folder; a name that ends in `/` stands for all below.
    pub(super) parts: &'a [(&'a str, &'a str)],
}

pub(super) const CPU: &[Wheel<'static>] = &[
    Wheel {
        requirement: "torch===2.11.0",
        platform: "manylinux_2_28_x86_64",
        file: "torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        sha256: "7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a",
        size: 530_604_548,
        parts: &[
            ("torch/include/", "include/"),
            ("torch/lib/libtorch_cpu.so", "lib/libtorch_cpu.so"),
            ("torch/lib/libc10.so", "lib/libc10.so"),
            ("torch/lib/libgomp.so.1", "lib/libgomp.so.1"),
        ],
    },
    Wheel {
        requirement: "nvidia-cuda-runtime===13.0.96",
        platform: "manylinux2014_x86_64",
        file: "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        sha256: "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
        size: 2_243_632,
        parts: &[("nvidia/cu13/lib/libcudart.so.13", "lib/libcudart.so.13")],
    },
    Wheel {
        requirement: "nvidia-cuda-cupti===13.0.85",
        platform: "manylinux_2_25_x86_64",
        file: "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl",
        sha256: "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8",
        size: 10_715_597,
        parts: &[("nvidia/cu13/lib/libcupti.so.13", "lib/libcupti.so.13")],
    },
];

impl Wheel<'_> {
    /// Where a file of the wheel belongs in the libtorch folder, if anywhere.
    pub(super) fn place(&self, name: &str) -> Option<String> {
        self.parts.iter().find_map(|(from, to)| {
            let rest = name.strip_prefix(from)?;
            // A folder brings all below it, a file only itself.
            if from.ends_with('/') {
                (!name.ends_with('/')).then(|| format!("{to}{rest}"))
            } else {
                rest.is_empty().then(|| (*to).to_owned())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_cpu_needs_is_taken() {
        let torch = &CPU[0];
        assert_eq!(torch.place("torch/include/ATen/ATen.h").expect("taken"), "include/ATen/ATen.h");
        assert_eq!(torch.place("torch/lib/libc10.so").expect("taken"), "lib/libc10.so");
        assert_eq!(torch.place("torch/lib/libc10_cuda.so"), None);
        assert_eq!(torch.place("torch/lib/libtorch_cuda.so"), None);
        assert_eq!(torch.place("torch/lib/libtorch.so"), None);
        assert_eq!(torch.place("torch/include/ATen/"), None);
        assert_eq!(torch.place("torch/__init__.py"), None);
    }
}
