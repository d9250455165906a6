//! A training step: forward, NCA, backward, SGD; with `--distill` also a frozen teacher, POD and POD-flat.

use clap::Args;
use prescient::classifier::{CosineClassifier, Similarity, fresh_proxies};
use prescient::engine::{Compute, Layout, Precision, Sgd};
use prescient::extractor::{ExtractorKind, Network, ResNet18, SmallCnn, Stem};
use prescient::loss::{Distillation, Nca, Pod, Terms};
use std::time::Instant;
use tch::{Device, Kind, Tensor};
use torch_shim::Graph;

#[derive(Debug, Args)]
pub(super) struct TrainStep {
    /// `resnet18` or `mnist`
    #[arg(long, default_value = "resnet18")]
    net: String,
    #[arg(long)]
    size: Option<usize>,
    #[arg(long, default_value_t = 32)]
    batch: i64,
    #[arg(long, default_value_t = 50)]
    classes: i64,
    #[arg(long, default_value = "cpu")]
    device: String,
    /// `auto`, `nchw` or `channels-last`
    #[arg(long, default_value = "auto")]
    layout: String,
    /// `auto`, `fp32`, `tf32` or `bf16`
    #[arg(long, default_value = "auto")]
    precision: String,
    #[arg(long)]
    distill: bool,
    /// Kernels that cuDNN times for each convolution; 0: it takes the one it believes to be the fastest
    #[arg(long, default_value_t = Compute::default().tune)]
    tune: u8,
    /// Take every step as it comes, without a recording
    #[arg(long)]
    eager: bool,
    /// Steps a round
    #[arg(long, default_value_t = 5)]
    steps: usize,
    /// Say how long each part of a step takes, waiting after each, and end
    #[arg(long)]
    parts: bool,
}

impl TrainStep {
    pub(super) fn run(self) {
        let device = super::device(&self.device);
        let mnist = self.net == "mnist";
        let (backbone, channels, size) = match mnist {
            true => {
                (ExtractorKind::SmallCnn(SmallCnn { features: 64, ..Default::default() }), 1, self.size.unwrap_or(28))
            }
            false => (
                ExtractorKind::ResNet18(ResNet18 { stem: Stem::Small, ..Default::default() }),
                3,
                self.size.unwrap_or(64),
            ),
        };
        let precision = match self.precision.as_str() {
            "fp32" => Precision::Fp32,
            "tf32" => Precision::Tf32,
            "bf16" => Precision::Bf16,
            _ => Precision::Auto,
        };
        let layout = match self.layout.as_str() {
            "nchw" => Layout::Planes,
            "channels-last" => Layout::ChannelsLast,
            _ => Layout::Auto,
        };
        torch_shim::tune(self.tune);
        torch_shim::allow_tf32(precision != Precision::Fp32);
        let compute = Compute { precision, layout, ..Default::default() };
        let network = Network::new(backbone, channels, size, compute, device, 0);
        let teacher = self.distill.then(|| network.frozen());
        let mut classifier = CosineClassifier::new(Similarity::Cosine, true, device);
        classifier.add(&fresh_proxies(self.classes as usize, network.width()).to_device(device));

        let mut parameters = network.parameters();
        parameters.extend(classifier.blocks().iter().map(Tensor::shallow_clone));
        parameters.push(classifier.raw_scale().shallow_clone());
        let sgd = Sgd::new(parameters, 0.9, 1e-4);
        sgd.set_rate(0.1);

        let shape = [self.batch, channels as i64, size as i64, size as i64];
        let pixels = Tensor::randint(256, shape, (Kind::Uint8, device));
        let targets = Tensor::randint(self.classes, [self.batch], (Kind::Int64, device));
        let (nca, pod) = (Nca::default(), Pod::default());
        let images = || (pixels.to_kind(Kind::Float) - 118.0) / 58.0;
        let loss = |images: &Tensor| {
            let extract = || network.extract(images, true);
            let (old, new) = match &teacher {
                Some(teacher) => {
                    let (old, new) = torch_shim::side_by_side(device, || teacher.forward_eval(images), extract);
                    (Some(old), new)
                }
                None => (None, extract()),
            };
            let mut terms = Terms::default();
            terms.push("nca", nca.loss(&classifier.similarities(&new.features), &classifier.scale(), &targets));
            if let Some(old) = old {
                terms.extend(pod.terms(&old, &new), 6f64.sqrt());
            }
            terms.total()
        };
        let step = || sgd.step(&loss(&images()));
        let began = Instant::now();
        for _ in 0..3 {
            step();
        }
        super::synchronize(device);
        eprintln!("the first three steps: {:.1} s", began.elapsed().as_secs_f64());
        if self.parts {
            let timed = |name: &str, work: &dyn Fn() -> Tensor| {
                super::synchronize(device);
                let began = Instant::now();
                for _ in 0..20 {
                    drop(work());
                }
                super::synchronize(device);
                println!("{name:>10} {:.3} ms", began.elapsed().as_secs_f64() * 50.0);
            };
            let seen = images();
            timed("images", &images);
            timed("look", &|| network.forward_eval(&seen).features);
            timed("extract", &|| network.extract(&seen, true).features);
            timed("loss", &|| loss(&seen));
            timed("step", &|| {
                step();
                Tensor::new()
            });
            if device.is_cuda() {
                let recorded = |name: &str, work: &dyn Fn()| {
                    let (graph, ()) = Graph::record(device, work).expect("a recording");
                    timed(name, &|| {
                        graph.replay().expect("a replay");
                        Tensor::new()
                    });
                };
                recorded("g images", &|| drop(images()));
                recorded("g look", &|| drop(network.forward_eval(&seen)));
                recorded("g extract", &|| drop(network.extract(&seen, true)));
                recorded("g loss", &|| drop(loss(&seen)));
                recorded("g backward", &|| loss(&seen).backward());
                recorded("g step", &step);
            }
            return;
        }
        let graph = (!self.eager && matches!(device, Device::Cuda(_)))
            .then(|| Graph::record(device, step).expect("a step can be recorded").0);
        let count = self.steps * self.batch as usize;
        super::serve(device, || {
            for _ in 0..self.steps {
                match &graph {
                    Some(graph) => graph.replay().expect("a replay"),
                    None => step(),
                }
            }
            count
        });
    }
}
