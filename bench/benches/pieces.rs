//! The pieces that a run is made of, one by one: `cargo bench -p prescient-bench`. How they compare with others is for
//! `cargo xtask bench`; this is to see what a change to one of them does.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use prescient::data::{Augmentation, Channels, Crop, Dataset, Image, Subset, Synthetic, SyntheticSettings, View};
use prescient::engine::{Loader, Pass};
use prescient::ghost::svm::{Rows, SvmSettings, fit};
use prescient::loss::Mmd;
use prescient::memory::herd;
use prescient::protocol::Sealed;
use prescient::scenario::{Order, Scenario};
use prescient::seeds::Seeds;
use std::hint::black_box;
use std::sync::Arc;
use tch::{Device, Kind, Tensor};

/// `count` rows of `width` numbers, the same every time, around `middle`.
fn rows(count: usize, width: usize, middle: f32) -> Vec<Vec<f32>> {
    let number = |at: usize| middle + ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / (1 << 24) as f32;
    (0..count).map(|row| (0..width).map(|column| number(row * width + column)).collect()).collect()
}

fn cropped(view_size: u32) -> View {
    let augmentation = Augmentation { crop: Crop::Resized { area: 0.08 }, flip: true };
    View { size: view_size, resize: view_size, augmentation }
}

/// A random part of a photo, scaled, mirrored half of the time, as planes.
fn crop_and_resize(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("crop and resize");
    for (side, size) in [(64, 64), (256, 64), (256, 224)] {
        let pixels = (0..side * side * 3).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let image = Image { width: side, height: side, channels: Channels::Rgb, pixels };
        let (view, mut out, mut place) = (cropped(size), Vec::new(), 0);
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("{side} to {size}"), |bencher| {
            bencher.iter(|| {
                place += 1;
                out.clear();
                let crop = view.train_crop(side, side, &mut Seeds::new(1).stream("crop", place));
                view.render(black_box(&image), crop, &mut out);
            });
        });
    }
    group.finish();
}

/// An epoch of drawn images that are at hand: what the loader itself costs.
fn loader(criterion: &mut Criterion) {
    let dataset = Arc::new(Synthetic::new(&SyntheticSettings { train: 100, test: 1 }));
    let split = dataset.catalogue().len().to_string().parse().expect("a split");
    let scenario = Scenario::new(dataset.catalogue().names(), &Order::Listed, &split).expect("a scenario");
    let samples = dataset.samples(Subset::Train).to_vec();
    let sealed = Sealed::new(dataset, scenario);
    let data = Arc::new(sealed.open(&sealed.scenario().task(1), []));
    let loader = Loader::new(data, cropped(32), 128, 2);
    let mut group = criterion.benchmark_group("loader");
    group.throughput(Throughput::Elements(samples.len() as u64));
    group.bench_function("an epoch of 32 px", |bencher| {
        bencher.iter(|| {
            loader
                .pass(&samples, Pass::Train(Seeds::new(1)))
                .map(|batch| batch.expect("drawn").slots.len())
                .sum::<usize>()
        });
    });
    group.finish();
}

fn mmd(criterion: &mut Criterion) {
    tch::set_num_threads(1);
    let numbers =
        |middle| Tensor::from_slice(&rows(500, 512, middle).concat()).reshape([500, 512]).to_kind(Kind::Float);
    let (real, fake) = (numbers(0.0).to_device(Device::Cpu), numbers(0.1));
    let mmd = Mmd::default();
    let target = mmd.target(&real);
    criterion.bench_function("MMD and its slope, 500 + 500 × 512", |bencher| {
        bencher.iter(|| mmd.value_and_grad(&target, black_box(&fake)));
    });
}

fn svm(criterion: &mut Criterion) {
    let (negatives, positives) = (rows(2500, 512, 0.0).concat(), rows(500, 512, 0.02).concat());
    criterion.bench_function("SVM, 2,500 + 500 × 512", |bencher| {
        bencher.iter(|| fit(Rows::new(&negatives, 512), Rows::new(&positives, 512), SvmSettings::default()));
    });
}

fn herding(criterion: &mut Criterion) {
    criterion.bench_function("herding, 20 of 500 × 512", |bencher| {
        bencher.iter_batched(|| rows(500, 512, 0.0), |rows| herd(&rows, 20), BatchSize::LargeInput);
    });
}

criterion_group! {
    name = pieces;
    config = Criterion::default().sample_size(20);
    targets = crop_and_resize, loader, mmd, svm, herding
}
criterion_main!(pieces);
