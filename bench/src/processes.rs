//! One run in 1, 2 and 4 processes on this machine: what is gained, and what it costs.
//!
//! Each process has one thread, so that more processes have more cores as long as there are some; one process with all cores is
//! beside them. Runs take turns; the fastest of each counts, for whatever else the machine does only adds to it.

use super::scaling::{Growth, chart};
use clap::Args;
use prescient::report::ReadRun;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, Args)]
pub(super) struct Processes {
    /// The program to run
    #[arg(long, default_value = "target/release/prescient")]
    program: PathBuf,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The chart to write, an SVG
    #[arg(long)]
    chart: Option<PathBuf>,
}

const COUNTS: [usize; 3] = [1, 2, 4];

/// ResNet18 as it comes looks at 4,800 drawn images of 32 pixels, and at 480 to test itself.
const CLOSED_FORM: &str = r#"
seed = 1
data = { kind = "synthetic", train = 200, test = 20 }
scenario.split = "24"
learner.kind = "closed-form"
model.extractor = { kind = "resnet18", width = 32 }
"#;

/// Six epochs of it on the same images, 38 steps each, in 4 shards of 32 images.
const TRAINING: &str = r#"
seed = 1
data = { kind = "synthetic", train = 200, test = 20 }
scenario.split = "24"
model.extractor = { kind = "resnet18", width = 16 }
train = { epochs = 6, batch_size = 128, shards = 4 }
"#;

/// What a run took, in seconds.
#[derive(Clone, Copy)]
struct Took {
    /// Its task, without start and end of the program.
    task: f64,
    /// Of all processors, from start to end.
    processor: f64,
}

impl Processes {
    pub(super) fn run(self) {
        let folder = std::env::temp_dir().join(format!("processes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder to write to");
        println!("load at the start: {}", load());
        let works = [("closed form", CLOSED_FORM), ("training in shards", TRAINING)];
        let mut growths = Vec::new();
        for (name, recipe) in works {
            let path = folder.join("recipe.toml");
            std::fs::write(&path, recipe).expect("room on the disk");
            // All cores for one process first, then a core for each.
            let cases: Vec<(usize, bool)> =
                std::iter::once((1, false)).chain(COUNTS.map(|count| (count, true))).collect();
            let mut best: Vec<Option<Took>> = vec![None; cases.len()];
            for _ in 0..self.rounds {
                for ((count, alone), best) in cases.iter().zip(&mut best) {
                    let took = self.once(&path, &folder.join("run"), *count, *alone);
                    *best = Some(best.filter(|best| best.task <= took.task).unwrap_or(took));
                }
            }
            println!("| {name} | task | processor |\n| --- | --- | --- |");
            let mut points = Vec::new();
            for ((count, alone), took) in cases.into_iter().zip(best) {
                let Took { task, processor } = took.expect("a round");
                let threads = if alone { "one thread each" } else { "all cores" };
                println!("| {count}, {threads} | {task:.2} s | {processor:.1} s |");
                if alone {
                    points.push((count as f64, task));
                }
            }
            growths.push(Growth { name, size: "processes of one thread", points });
        }
        println!("load at the end: {}", load());
        if let Some(path) = self.chart {
            std::fs::write(&path, chart(&growths)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        drop(std::fs::remove_dir_all(&folder));
    }

    fn once(&self, recipe: &Path, out: &Path, count: usize, one_thread: bool) -> Took {
        let mut command = Command::new(&self.program);
        command.args(["run", "--device", "cpu", "--processes", &count.to_string(), "--out"]).arg(out).arg(recipe);
        // Features of an earlier run would be taken from there.
        let features = out.with_file_name("features");
        command.env("PRESCIENT_FEATURES", &features).stdout(Stdio::null()).stderr(Stdio::null());
        if one_thread {
            command.env("OMP_NUM_THREADS", "1").env("RAYON_NUM_THREADS", "1");
        }
        let before = processor_seconds();
        assert!(command.status().expect("the program").success(), "{command:?}");
        let processor = processor_seconds() - before;
        let run = ReadRun::read(out).unwrap_or_else(|error| panic!("{error}"));
        let task = run.spent.iter().flatten().map(|spent| spent.seconds).sum();
        for folder in [out, &features] {
            drop(std::fs::remove_dir_all(folder));
        }
        Took { task, processor }
    }
}

/// Of all children that have ended, and theirs: fields 16 and 17 of proc(5)'s `stat`, in hundredths.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after.split_whitespace().skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Of the last minute, five and fifteen.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}
