//! Who works when: threads that decode photos, steps of main training and, where there is one, the GPU.
//!
//! A real run of one task, looked on from outside: a dataset that notes when each photo is read, an observer that notes
//! when each step was taken, and `nvidia-smi` for what the GPU does, of which it gives a mean over up to a second. Prints
//! what a step takes in each epoch, and draws it. Photos are decoded once: on a CPU beside the first epoch, for a GPU
//! before it. A GPU does its steps later than they are asked for; the last of an epoch is done when all are.

use clap::Args;
use prescient::catalogue::Catalogue;
use prescient::class::ClassId;
use prescient::data::{
    CachedDataset, Channels, Dataset, Folder, FolderSettings, Image, Normalization, Sample, Subset, memory_for_images,
};
use prescient::error::DataError;
use prescient::experiment::{Experiment, Recipe};
use prescient::learner::{Event, Observer};
use prescient::scenario::Order;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Instant;

#[derive(Debug, Args)]
pub(super) struct Timeline {
    /// A folder or .zip with `train/CLASS/*` and `test/CLASS/*`
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Classes to learn
    #[arg(long, default_value_t = 2)]
    classes: usize,
    #[arg(long, default_value_t = 3)]
    epochs: usize,
    #[arg(long, default_value_t = 32)]
    batch: usize,
    /// The chart to write, an SVG
    #[arg(long)]
    chart: Option<PathBuf>,
}

/// From and to, in seconds since the beginning.
type Span = (f64, f64);

/// What was seen.
#[derive(Default)]
struct Seen {
    /// Photos read, and by which thread.
    read: Vec<(ThreadId, Span)>,
    /// Steps of main training, epoch by epoch: when each was done, and before them when the stage or epoch began.
    epochs: Vec<Vec<f64>>,
    /// Shares of time in which the GPU had work, and when that was said.
    gpu: Vec<(f64, f64)>,
}

impl Timeline {
    pub(super) fn run(self) {
        let device = super::device(&self.device);
        let photos = Folder::open(&self.root, &FolderSettings::new(&self.root)).unwrap_or_else(|e| panic!("{e}"));
        let all = photos.catalogue().len();
        assert!(self.classes > 0 && self.classes < all, "--classes: expected 1 to {}, found {}", all - 1, self.classes);
        assert!(self.epochs > 0, "--epochs: expected at least 1");
        let rest = all - self.classes;
        let recipe = format!(
            "[data]\nkind = \"synthetic\"\n[images]\ncrop = \"resized 0.08\"\nflip = true\n\
             [scenario]\nsplit = \"{}+{rest}\"\n[model]\nextractor = {{ kind = \"resnet18\" }}\n\
             [train]\nepochs = {}\nbatch_size = {}\n",
            self.classes, self.epochs, self.batch
        );
        let recipe = Recipe::parse(&recipe, Path::new("timeline.toml")).unwrap_or_else(|error| panic!("{error}"));
        let began = Instant::now();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let dataset = Watched { photos, began, seen: Arc::clone(&seen) };
        let kept = CachedDataset::new(Arc::new(dataset), memory_for_images());
        let out = std::env::temp_dir().join(format!("timeline-{}", std::process::id()));
        let gpu = device.is_cuda().then(|| watch_gpu(began, &seen)).flatten();
        let mut steps = Steps { began, seen: Arc::clone(&seen), trains: false };
        Experiment::with_dataset(recipe, Arc::new(kept), device)
            .and_then(|experiment| experiment.run(&out, Some(1), &mut steps))
            .unwrap_or_else(|error| panic!("{error}"));
        drop(gpu);
        let _ = std::fs::remove_dir_all(out);
        let seen = seen.lock().expect("nobody failed holding it");
        print!("{}", seen.table());
        if let Some(path) = self.chart {
            std::fs::write(&path, seen.chart()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

/// Photos, and when they were read.
struct Watched {
    photos: Folder,
    began: Instant,
    seen: Arc<Mutex<Seen>>,
}

impl Dataset for Watched {
    fn catalogue(&self) -> &Catalogue {
        self.photos.catalogue()
    }

    fn samples(&self, subset: Subset) -> &[Sample] {
        self.photos.samples(subset)
    }

    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        let from = self.began.elapsed().as_secs_f64();
        let image = self.photos.image(sample);
        let to = self.began.elapsed().as_secs_f64();
        self.seen.lock().expect("nobody failed holding it").read.push((std::thread::current().id(), (from, to)));
        image
    }

    fn name(&self, sample: &Sample) -> String {
        self.photos.name(sample)
    }

    fn channels(&self) -> Channels {
        self.photos.channels()
    }

    fn normalization(&self) -> Normalization {
        self.photos.normalization()
    }

    fn size(&self) -> u32 {
        self.photos.size()
    }

    fn resize(&self) -> u32 {
        self.photos.resize()
    }

    fn order(&self, order: &Order) -> Option<Vec<ClassId>> {
        self.photos.order(order)
    }
}

/// Notes when steps of main training are done.
struct Steps {
    began: Instant,
    seen: Arc<Mutex<Seen>>,
    trains: bool,
}

impl Observer for Steps {
    fn on_event(&mut self, event: &Event<'_>) {
        let now = self.began.elapsed().as_secs_f64();
        let mut seen = self.seen.lock().expect("nobody failed holding it");
        match event {
            Event::StageStarted { stage, .. } => {
                self.trains = *stage == "train";
                if self.trains {
                    // An epoch that another stage held up begins now.
                    seen.epochs.pop_if(|epoch| epoch.len() == 1);
                    seen.epochs.push(vec![now]);
                }
            }
            Event::Step if self.trains => seen.epochs.last_mut().expect("an epoch has begun").push(now),
            Event::Epoch { stage: "train", epoch, of, .. } => {
                // A GPU does its steps later than they are asked for; the losses of an epoch are read when all are done.
                *seen.epochs.last_mut().and_then(|epoch| epoch.last_mut()).expect("steps were taken") = now;
                if epoch < of {
                    seen.epochs.push(vec![now]);
                }
            }
            _ => (),
        }
    }
}

/// A program that listens, and ends with us.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Listens to `nvidia-smi`, where there is one.
fn watch_gpu(began: Instant, seen: &Arc<Mutex<Seen>>) -> Option<Watch> {
    let ask = ["-i", "0", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "50"];
    let mut program = Command::new("nvidia-smi").args(ask).stdout(Stdio::piped()).spawn().ok()?;
    let lines = BufReader::new(program.stdout.take()?).lines();
    let seen = Arc::clone(seen);
    std::thread::spawn(move || {
        for share in lines.map_while(Result::ok).filter_map(|line| line.trim().parse::<f64>().ok()) {
            let now = began.elapsed().as_secs_f64();
            seen.lock().expect("nobody failed holding it").gpu.push((now, share / 100.0));
        }
    });
    Some(Watch(program))
}

impl Seen {
    fn table(&self) -> String {
        let mut table = "| epoch | steps | seconds | a step | photos read | decoding, all threads |\n\
                         | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
        let reads = |from: f64, to: f64| {
            let times = self.read.iter().map(|read| read.1).filter(|read| read.0 >= from && read.0 < to);
            let times: Vec<f64> = times.map(|read| read.1 - read.0).collect();
            // From 0, for the sum of nothing is −0.
            format!("{} | {:.2} s", times.len(), times.iter().fold(0.0, |sum, time| sum + time))
        };
        let _ = writeln!(table, "| before | | | | {} |", reads(0.0, self.epochs[0][0]));
        for (number, epoch) in self.epochs.iter().enumerate() {
            let (from, to, steps) = (epoch[0], epoch[epoch.len() - 1], epoch.len() - 1);
            let step = (to - from) / steps as f64 * 1e3;
            let seen = reads(from, to);
            let _ = writeln!(table, "| {} | {steps} | {:.2} | {step:.1} ms | {seen} |", number + 1, to - from);
        }
        if let Some(share) = self.busy() {
            let _ = writeln!(
                table,
                "\nFrom a second after the first epoch on the GPU had work {:.0} % of the time.",
                share * 100.0
            );
        }
        table
    }

    /// The share of time in which the GPU had work after the first epoch, which also starts CUDA, chooses kernels and
    /// records the step. What is said in its first second is left out: it is a mean that may reach back into that.
    fn busy(&self) -> Option<f64> {
        const REACH: f64 = 1.0;
        let from = self.epochs.get(1)?[0] + REACH;
        let to = *self.epochs.last()?.last()?;
        let shares: Vec<f64> =
            self.gpu.iter().filter(|(at, _)| (from..=to).contains(at)).map(|(_, share)| *share).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    fn chart(&self) -> String {
        const LEFT: f64 = 90.0;
        const WIDE: f64 = 800.0;
        const LANE: f64 = 30.0;
        /// Room for a word and a number.
        const WORD: f64 = 50.0;
        let start = self.read.iter().map(|read| read.1.0).fold(self.epochs[0][0], f64::min);
        let end = self.epochs.last().and_then(|epoch| epoch.last()).copied().unwrap_or(start + 1.0);
        let x = |at: f64| LEFT + (at - start) / (end - start) * WIDE;
        let readers = readers(self.read.iter().copied().filter(|read| read.1.0 <= end));
        let lanes = readers.len() + 1 + usize::from(!self.gpu.is_empty());
        let height = lanes as f64 * (LANE + 8.0) + 60.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {height}\" width=\"{0}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"12\" role=\"img\" \
             aria-label=\"When photos are decoded and when steps are taken\">\n\
             <rect width=\"{0}\" height=\"{height}\" fill=\"#fff\"/>\n",
            LEFT + WIDE + 20.0
        );
        let mut top = 24.0;
        let mut lane = |svg: &mut String, name: &str| {
            let place = top;
            top += LANE + 8.0;
            let _ = writeln!(
                svg,
                "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#111\">{name}</text>",
                LEFT - 8.0,
                place + LANE / 2.0 + 4.0
            );
            place
        };
        for (number, reads) in readers.iter().enumerate() {
            let place = lane(&mut svg, &format!("reader {}", number + 1));
            let mut path = String::new();
            for (from, to) in reads {
                // So wide that it is seen.
                let to = x(*to).max(x(*from) + 0.3);
                let _ = write!(path, "M{:.2} {place:.1}H{to:.2}v{LANE}H{:.2}z", x(*from), x(*from));
            }
            let _ = writeln!(svg, "<path d=\"{path}\" fill=\"#1d4ed8\"/>");
        }
        let place = lane(&mut svg, if self.gpu.is_empty() { "steps" } else { "steps asked" });
        for (number, epoch) in self.epochs.iter().enumerate() {
            for (index, step) in epoch.windows(2).enumerate() {
                let colour = if index % 2 == 0 { "#c2410c" } else { "#fb923c" };
                let wide = x(step[1]) - x(step[0]);
                let _ = writeln!(
                    svg,
                    "<rect x=\"{:.2}\" y=\"{place:.1}\" width=\"{wide:.2}\" height=\"{LANE}\" fill=\"{colour}\"/>",
                    x(step[0])
                );
            }
            let (from, to) = (x(epoch[0]), x(epoch[epoch.len() - 1]));
            let _ = writeln!(
                svg,
                "<path d=\"M{from:.1} 18V{:.1}\" stroke=\"#111\" stroke-dasharray=\"3 3\"/>\n\
                 <text x=\"{:.1}\" y=\"14\" text-anchor=\"middle\" fill=\"#111\">{}{}</text>",
                place + LANE,
                (from + to) / 2.0,
                if to - from > WORD { "epoch " } else { "" },
                number + 1
            );
        }
        if !self.gpu.is_empty() {
            let place = lane(&mut svg, "GPU busy");
            let points: String = self
                .gpu
                .iter()
                .filter(|(at, _)| *at >= start && *at <= end)
                .map(|(at, share)| format!("{:.1},{:.1} ", x(*at), place + LANE * (1.0 - share)))
                .collect();
            let _ =
                writeln!(svg, "<polyline points=\"{points}\" fill=\"none\" stroke=\"#15803d\" stroke-width=\"1.5\"/>");
        }
        for tick in 0..=8 {
            let at = start + (end - start) * f64::from(tick) / 8.0;
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{:.1} s</text>",
                x(at),
                height - 12.0,
                at - start
            );
        }
        svg + "</svg>\n"
    }
}

/// What each reader did. Threads that one stage starts take the places of those that an earlier one has ended.
fn readers(reads: impl Iterator<Item = (ThreadId, Span)>) -> Vec<Vec<Span>> {
    let mut threads: Vec<(ThreadId, Vec<Span>)> = Vec::new();
    for (thread, span) in reads {
        match threads.iter_mut().find(|(known, _)| *known == thread) {
            Some((_, spans)) => spans.push(span),
            None => threads.push((thread, vec![span])),
        }
    }
    let mut lanes: Vec<Vec<Span>> = Vec::new();
    for (_, spans) in threads {
        match lanes.iter_mut().find(|lane| lane[lane.len() - 1].1 <= spans[0].0) {
            Some(lane) => lane.extend(spans),
            None => lanes.push(spans),
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> ThreadId {
        std::thread::spawn(|| std::thread::current().id()).join().expect("it does nothing else")
    }

    /// Two threads take turns; a third begins when the first has ended, and takes its place.
    #[test]
    fn a_thread_has_a_lane_until_it_ends() {
        let (one, two, three) = (id(), id(), id());
        let reads = [(one, (0.0, 1.0)), (two, (1.0, 2.0)), (one, (2.0, 3.0)), (three, (4.0, 5.0))];
        let lanes = readers(reads.into_iter());
        assert_eq!(lanes, [vec![(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)], vec![(1.0, 2.0)]]);
    }

    /// Two steps from 1 s to 2 s, 500 ms each; one photo of 0.2 s before, one of 0.1 s meanwhile. Of the GPU what is said
    /// from 3 s on counts.
    #[test]
    fn a_table_by_hand() {
        let read = vec![(id(), (0.5, 0.7)), (id(), (1.2, 1.3))];
        let epochs = vec![vec![1.0, 1.4, 2.0], vec![2.0, 4.0]];
        let seen = Seen { read, epochs, gpu: vec![(1.5, 0.1), (2.5, 0.5), (3.2, 0.8), (3.6, 1.0), (4.5, 0.0)] };
        let table = seen.table();
        assert!(
            table.contains("\n| before | | | | 1 | 0.20 s |\n| 1 | 2 | 1.00 | 500.0 ms | 1 | 0.10 s |\n"),
            "{table}"
        );
        assert!(
            table.ends_with("\nFrom a second after the first epoch on the GPU had work 90 % of the time.\n"),
            "{table}"
        );
    }
}
