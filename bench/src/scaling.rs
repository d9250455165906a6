//! How cost grows: an epoch with its images, the generator with the classes seen, the SVM with its features.
//!
//! Each work is timed at several sizes, and `time = a · size^b` is fitted to them: b = 1 is linear. Prints a table and
//! draws a chart, both axes logarithmic.

use super::ends::{ENOUGH, Ends};
use super::made_up::MadeUp;
use clap::Args;
use prescient::class::Slot;
use prescient::experiment::{Experiment, Recipe};
use prescient::ghost::generator::Gmmn;
use prescient::ghost::svm::{Rows, SvmSettings, fit};
use prescient::ghost::{FeatureBank, GeneratorKind};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tch::{Device, Kind, Tensor};

#[derive(Debug, Args)]
pub(super) struct Scaling {
    #[arg(long, default_value = "cpu")]
    device: String,
    /// The chart to write, an SVG
    #[arg(long)]
    chart: Option<PathBuf>,
}

/// One work at several sizes.
pub(super) struct Growth {
    pub(super) name: &'static str,
    pub(super) size: &'static str,
    /// Sizes and seconds.
    pub(super) points: Vec<(f64, f64)>,
}

impl Scaling {
    pub(super) fn run(self) {
        let device = super::device(&self.device);
        let all = [epochs(device), generators(device), planes()];
        println!("| | sizes | seconds | exponent |\n| --- | --- | --- | --- |");
        for growth in &all {
            let joined = |numbers: Vec<String>| numbers.join(", ");
            let sizes = joined(growth.points.iter().map(|(size, _)| size.to_string()).collect());
            let seconds = joined(growth.points.iter().map(|(_, seconds)| format!("{seconds:.3}")).collect());
            println!("| {} | {sizes} {} | {seconds} | {:.2} |", growth.name, growth.size, growth.line().1);
        }
        if let Some(path) = self.chart {
            std::fs::write(&path, chart(&all)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

/// An epoch of the first task, ResNet18, by images.
fn epochs(device: Device) -> Growth {
    let (sizes, pixels): (&[usize], u32) = match device.is_cuda() {
        true => (&[4_000, 8_000, 16_000, 32_000], 64),
        false => (&[128, 256, 512, 1024], 32),
    };
    let recipe = format!(
        "[data]\nkind = \"synthetic\"\n[images]\ncrop = \"resized 0.25\"\nflip = true\n\
                  [scenario]\nsplit = \"10+1\"\n[model]\nextractor = {{ kind = \"resnet18\" }}\n\
                  [train]\nepochs = {ENOUGH}\nbatch_size = 128\n"
    );
    let seconds = |images: usize| {
        let recipe = Recipe::parse(&recipe, Path::new("scaling.toml")).unwrap_or_else(|error| panic!("{error}"));
        // Ten of eleven classes are the first task's.
        let dataset = Arc::new(MadeUp::new(11, (images * 11 / 10, 22), pixels));
        let out = std::env::temp_dir().join(format!("scaling-{}-{images}", std::process::id()));
        let mut ends = Ends::default();
        Experiment::with_dataset(recipe, dataset, device)
            .and_then(|experiment| experiment.run(&out, Some(1), &mut ends))
            .unwrap_or_else(|error| panic!("{error}"));
        let _ = std::fs::remove_dir_all(out);
        ends.last_two(1)
    };
    let points = sizes.iter().map(|&images| (images as f64, seconds(images))).collect();
    Growth { name: "an epoch of main training", size: "images", points }
}

/// The generator by classes seen: ten epochs with 500 features of each on a GPU, two with 100 on a CPU.
fn generators(device: Device) -> Growth {
    let options = (Kind::Float, device);
    let (epochs, features) = if device.is_cuda() { (10, 500) } else { (2, 100) };
    let seconds = |classes: u16| {
        let attributes = Tensor::rand([i64::from(classes) + 1, 85], options);
        let settings = Gmmn { epochs, lr: 1e-5, ..Default::default() };
        let bank: FeatureBank =
            (0..classes).map(|class| (Slot(u32::from(class)), Tensor::rand([features, 512], options))).collect();
        let mut generator =
            GeneratorKind::Gmmn(settings).build(&attributes, 512, 1, true).expect("a GMMN is a generator");
        generator.fit(&bank, 1, &mut |_, _| ());
        super::synchronize(device);
        let began = Instant::now();
        generator.fit(&bank, 1, &mut |_, _| ());
        super::synchronize(device);
        began.elapsed().as_secs_f64()
    };
    let points = [5u16, 10, 20, 40].iter().map(|&classes| (f64::from(classes), seconds(classes))).collect();
    Growth { name: "the generator", size: "classes", points }
}

/// One plane between 500 ghosts and all seen features, on one core.
fn planes() -> Growth {
    let around = |count: i64, classes: i64| -> Vec<f32> {
        tch::manual_seed(count);
        let means = Tensor::randn([classes, 512], (Kind::Float, Device::Cpu));
        let of = Tensor::arange(count, (Kind::Int64, Device::Cpu)).remainder(classes);
        let rows = means.index_select(0, &of) + Tensor::randn([count, 512], (Kind::Float, Device::Cpu));
        let length = rows.square().sum_dim_intlist([1i64].as_slice(), true, Kind::Float).sqrt();
        Vec::try_from((rows / length).flatten(0, -1)).expect("numbers")
    };
    let ghosts = around(500, 1);
    let seconds = |seen: i64| {
        let seen = around(seen, 25);
        let mut times: Vec<f64> = (0..5)
            .map(|_| {
                let began = Instant::now();
                let plane = fit(Rows::new(&seen, 512), Rows::new(&ghosts, 512), SvmSettings::default());
                assert!(plane.bias.is_finite());
                began.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[2]
    };
    let points = [3_125i64, 6_250, 12_500, 25_000].iter().map(|&seen| (seen as f64, seconds(seen))).collect();
    Growth { name: "a plane of the SVM", size: "features", points }
}

impl Growth {
    /// `(a, b)` of `a · size^b`, by least squares of the logarithms.
    fn line(&self) -> (f64, f64) {
        let logs: Vec<(f64, f64)> = self.points.iter().map(|(size, seconds)| (size.ln(), seconds.ln())).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
        let (x, y) = (mean(|log| log.0), mean(|log| log.1));
        let slope = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum::<f64>()
            / logs.iter().map(|log| (log.0 - x).powi(2)).sum::<f64>();
        ((y - slope * x).exp(), slope)
    }
}

const WIDE: f64 = 250.0;
const HIGH: f64 = 190.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 34.0;

/// The works side by side.
pub(super) fn chart(all: &[Growth]) -> String {
    let (width, height) = (all.len() as f64 * (WIDE + LEFT + 18.0), HIGH + TOP + 48.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\" \
         aria-label=\"Seconds by size, with fitted lines\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (number, growth) in all.iter().enumerate() {
        panel(&mut svg, growth, LEFT + number as f64 * (WIDE + LEFT + 18.0));
    }
    svg + "</svg>\n"
}

fn panel(svg: &mut String, growth: &Growth, left: f64) {
    let (factor, exponent) = growth.line();
    let fitted = |size: f64| factor * size.powf(exponent);
    let (first, last) = (growth.points[0].0, growth.points[growth.points.len() - 1].0);
    let lows = growth.points.iter().map(|point| point.1).fold(fitted(first), f64::min) / 1.3;
    let highs = growth.points.iter().map(|point| point.1).fold(fitted(last), f64::max) * 1.3;
    let x = |size: f64| left + (size / first * 1.15).ln() / (last / first * 1.3).ln() * WIDE;
    let y = |seconds: f64| TOP + HIGH - (seconds / lows).ln() / (highs / lows).ln() * HIGH;
    let mut text = |at: (f64, f64), anchor: &str, colour: &str, words: &str| {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{words}</text>",
            at.0, at.1
        );
    };
    text((left, TOP - 14.0), "start", "#111", &format!("{}: exponent {exponent:.2}", growth.name));
    text((left + WIDE / 2.0, TOP + HIGH + 38.0), "middle", "#555", growth.size);
    for (size, seconds) in &growth.points {
        text((x(*size), TOP + HIGH + 20.0), "middle", "#555", &size.to_string());
        let label = if *seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") };
        text((x(*size), y(*seconds) - 9.0), "middle", "#555", &label);
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{left} {TOP}V{:.1}H{:.1}\" fill=\"none\" stroke=\"#999\"/>\n\
         <path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"#c2410c\" stroke-width=\"1.5\"/>",
        TOP + HIGH,
        left + WIDE,
        x(first),
        y(fitted(first)),
        x(last),
        y(fitted(last))
    );
    for (size, seconds) in &growth.points {
        let _ = writeln!(svg, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"#1d4ed8\"/>", x(*size), y(*seconds));
    }
}
