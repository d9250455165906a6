//! Who is measured against whom, at what.

/// One work, done by our program and by its peers.
#[derive(Debug)]
pub(super) struct Contest {
    pub(super) name: &'static str,
    /// What an item is.
    pub(super) item: &'static str,
    /// The arguments of `prescient-bench`.
    pub(super) ours: &'static str,
    /// The peers: a name, and the script below `bench/peers` with its arguments.
    pub(super) peers: &'static [(&'static str, &'static str)],
    /// What our rate must be, of the best peer's.
    pub(super) wanted: f64,
}

/// What came of a contest: each contestant's rates in items per second, turn by turn; ours first.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) contest: &'static Contest,
    pub(super) rates: Vec<(&'static str, Vec<f64>)>,
}

pub(super) const CPU: &[Contest] = &[
    Contest {
        name: "training step, small CNN, 28 px, batch 128",
        item: "image",
        ours: "train-step --net mnist --batch 128 --steps 5",
        peers: &[
            ("PyTorch", "train_step.py --net mnist --batch 128 --steps 5"),
            ("PyTorch, channels last", "train_step.py --net mnist --batch 128 --steps 5 --layout channels-last"),
        ],
        wanted: 1.0,
    },
    Contest {
        name: "training step, ResNet18, 64 px, batch 32",
        item: "image",
        ours: "train-step --size 64 --batch 32 --steps 1",
        peers: &[
            ("PyTorch", "train_step.py --size 64 --batch 32 --steps 1"),
            ("PyTorch, channels last", "train_step.py --size 64 --batch 32 --steps 1 --layout channels-last"),
        ],
        wanted: 1.0,
    },
    Contest {
        name: "training step, ResNet18, 224 px, batch 16",
        item: "image",
        ours: "train-step --size 224 --batch 16 --steps 1",
        peers: &[
            ("PyTorch", "train_step.py --size 224 --batch 16 --steps 1"),
            ("PyTorch, channels last", "train_step.py --size 224 --batch 16 --steps 1 --layout channels-last"),
        ],
        wanted: 1.0,
    },
    // What is wanted is said of training, which decodes an image once and keeps it: of all epochs but the first.
    Contest {
        name: "data path, first epoch: from JPEGs of 224 px to normalized batches of 64 px, 2 workers",
        item: "image",
        ours: "data-path --root target/bench/photos --size 64 --workers 2 --normalize",
        peers: &[
            ("torchvision", "data_path.py --root target/bench/photos/train --size 64 --workers 2"),
            ("torchvision, v2", "data_path.py --root target/bench/photos/train --size 64 --workers 2 --v2"),
        ],
        wanted: 1.0,
    },
    Contest {
        name: "data path, later epochs: the same photos, which ours has kept in memory",
        item: "image",
        ours: "data-path --root target/bench/photos --keep-mib 2048 --size 64 --workers 2 --normalize",
        peers: &[
            ("torchvision", "data_path.py --root target/bench/photos/train --size 64 --workers 2"),
            ("torchvision, v2", "data_path.py --root target/bench/photos/train --size 64 --workers 2 --v2"),
            (
                "torchvision, v2, decoded once",
                "data_path.py --root target/bench/photos/train --size 64 --workers 2 --v2 --keep",
            ),
        ],
        wanted: 3.0,
    },
    Contest {
        name: "MMD and its slope, 500 + 500 features of 512, 5 bandwidths",
        item: "evaluation",
        ours: "mmd --steps 10",
        peers: &[("PyTorch, block by block", "mmd.py --steps 10"), ("PyTorch, joined", "mmd.py --steps 10 --joined")],
        wanted: 2.0,
    },
    Contest {
        name: "SVM, 12,500 + 500 features of 512",
        item: "fit",
        ours: "svm --features target/bench/features.npy --labels target/bench/labels.npy",
        peers: &[("scikit-learn", "svm.py --features target/bench/features.npy --labels target/bench/labels.npy")],
        wanted: 20.0,
    },
];

pub(super) const GPU: &[Contest] = &[
    Contest {
        name: "distilled training step, ResNet18, 64 px, batch 256",
        item: "image",
        // cuDNN times its kernels for both.
        ours: "train-step --device cuda --size 64 --batch 256 --distill --steps 20 --tune 4",
        peers: &[
            (
                "PyTorch bf16, channels last",
                "train_step.py --device cuda --size 64 --batch 256 --distill --steps 20 --layout channels-last --precision bf16",
            ),
            (
                "the same, fused optimizer, the step as one CUDA graph",
                "train_step.py --device cuda --size 64 --batch 256 --distill --steps 20 --layout channels-last --precision bf16 --fused --graph",
            ),
            (
                "the same, torch.compile",
                "train_step.py --device cuda --size 64 --batch 256 --distill --steps 20 --layout channels-last --precision bf16 --compile",
            ),
        ],
        wanted: 2.0,
    },
    Contest {
        name: "distilled training step, ResNet18, 224 px, batch 128",
        item: "image",
        ours: "train-step --device cuda --size 224 --batch 128 --distill --steps 10 --tune 4",
        peers: &[
            (
                "PyTorch bf16, channels last",
                "train_step.py --device cuda --size 224 --batch 128 --distill --steps 10 --layout channels-last --precision bf16",
            ),
            (
                "the same, fused optimizer, the step as one CUDA graph",
                "train_step.py --device cuda --size 224 --batch 128 --distill --steps 10 --layout channels-last --precision bf16 --fused --graph",
            ),
            (
                "the same, torch.compile",
                "train_step.py --device cuda --size 224 --batch 128 --distill --steps 10 --layout channels-last --precision bf16 --compile",
            ),
        ],
        wanted: 2.1,
    },
    Contest {
        name: "features of MobileNetV2, 224 px, batch 256",
        item: "image",
        ours: "extract --device cuda --batch 256 --steps 20",
        peers: &[("PyTorch bf16, channels last", "extract.py --device cuda --bf16 --batch 256 --steps 20")],
        wanted: 1.2,
    },
    Contest {
        name: "generator step, 1,000 real features of 512",
        item: "step",
        ours: "generator-step --device cuda --steps 50",
        peers: &[
            ("PyTorch", "generator_step.py --device cuda --steps 50"),
            ("PyTorch, torch.compile", "generator_step.py --device cuda --steps 50 --compile"),
        ],
        wanted: 3.0,
    },
];
