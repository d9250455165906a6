//! What integration tests share.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, missing_docs)]

mod required;

#[allow(unused_imports, reason = "each test uses some of it")]
pub use required::{fashion_mnist, real_data, skip};

use prescient::audit::audit;
use prescient::data::{Channels, Dataset, Files, Image, Source, Subset, Synthetic, SyntheticSettings};
use prescient::experiment::record::{Digests, Line};
use prescient::experiment::{Experiment, Recipe, Record, overridden};
use prescient::learner::{Event, Observer, Silent};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tch::Device;

/// A small run on drawn images: three tasks, seconds on two cores.
pub fn small_recipe() -> Recipe {
    let text = r#"
        seed = 1
        [scenario]
        split = "12+6+6"
        [model]
        extractor = { kind = "small-cnn", features = 32, width = 8 }
        [train]
        epochs = 2
        batch_size = 32
        [finetune]
        epochs = 3
        [memory]
        per_class = 5
    "#;
    let mut recipe = Recipe::parse(text, Path::new("small.toml")).unwrap();
    recipe.data = Source::Synthetic(SyntheticSettings { train: 20, test: 8 }).into();
    recipe
}

/// A run of the Ghost model with every stage, in seconds.
pub const GHOST: &str = r#"
seed = 1
data = { kind = "synthetic", train = 24, test = 4 }
scenario.split = "12+6+6"
model.extractor = { kind = "small-cnn", features = 32, width = 8 }
memory.per_class = 5
train = { epochs = 6, batch_size = 32 }
finetune.epochs = 2
complete.epochs = 2
ghosts = { per_class = 20, generator = { kind = "gmmn", epochs = 10, hidden = 32 } }
"#;

/// The same in closed form.
pub const CLOSED_FORM: &str = r#"
seed = 1
data = { kind = "synthetic", train = 24, test = 4 }
scenario.split = "12+6+6"
learner.kind = "closed-form"
model.extractor = { kind = "small-cnn", features = 32, width = 8 }
"#;

/// Runs a recipe to its end.
pub fn run(recipe: Recipe, out: &Path) -> Record {
    Experiment::new(recipe, Device::Cpu).unwrap().run(out, None, &mut Silent).unwrap()
}

/// What stages were begun, with how many steps.
#[derive(Default)]
pub struct Stages(Vec<(&'static str, usize)>);

impl Stages {
    /// The steps of every stage called `name`.
    pub fn of(&self, name: &str) -> Vec<usize> {
        self.0.iter().filter(|(stage, _)| *stage == name).map(|(_, steps)| *steps).collect()
    }
}

impl Observer for Stages {
    fn on_event(&mut self, event: &Event<'_>) {
        if let Event::StageStarted { stage, steps } = event {
            self.0.push((stage, *steps));
        }
    }
}

/// A run's record, byte for byte.
pub fn bytes(run: &Path) -> Vec<u8> {
    std::fs::read(run.join("record.jsonl")).unwrap()
}

/// The names of the loss's terms in the main training of task 2.
pub fn terms_of_task_2(record: &Record) -> Vec<String> {
    let epochs = record.epochs().filter(|epoch| epoch.stage == "train" && epoch.task == 2);
    epochs.flat_map(|epoch| epoch.terms.keys().cloned()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Every file below a folder, in order.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Everything in two run folders is the same, but for times.
#[track_caller]
pub fn assert_same_run(one: &Path, other: &Path) {
    let names = |run: &Path| -> Vec<PathBuf> {
        files_below(run).iter().map(|file| file.strip_prefix(run).unwrap().to_owned()).collect()
    };
    assert_eq!(names(one), names(other));
    for name in names(one) {
        if !name.ends_with("telemetry.json") && !name.ends_with("events.out.tfevents.prescient") {
            let read = |run: &Path| std::fs::read(run.join(&name)).unwrap();
            assert!(read(one) == read(other), "`{}` has other bytes", name.display());
        }
    }
    let told = |run: &Path| std::fs::metadata(run.join("events.out.tfevents.prescient")).unwrap().len();
    assert_eq!(told(one), told(other), "TensorBoard was told something else");
}

/// What a task kept to be drawn.
pub fn features(run: &Path, task: usize) -> Vec<u8> {
    std::fs::read(run.join(format!("tasks/{task:02}/features.safetensors"))).unwrap()
}

/// An image of one colour with a little noise, of the given size.
pub fn patch(width: u32, height: u32, color: [u8; 3]) -> Image {
    let pixels = (0..width * height)
        .flat_map(|p| color.map(|c| c.wrapping_add((p.wrapping_mul(2_654_435_761) >> 28) as u8)))
        .collect();
    Image { width, height, channels: Channels::Rgb, pixels }
}

/// `train/CLASS/N.png` and `test/CLASS/N.png` for a few classes, and the table of their attributes.
pub fn photo_folder(at: &Path, classes: &[&str]) -> PathBuf {
    for (index, class) in classes.iter().enumerate() {
        for (side, count) in [("train", 4), ("test", 2)] {
            let folder = at.join(side).join(class);
            std::fs::create_dir_all(&folder).unwrap();
            for image in 0..count {
                let color = [40 * index as u8, 200 - 30 * index as u8, 20 * image + 7 * u8::from(side == "test")];
                patch(20, 16, color).write_png(&folder.join(format!("{image}.png"))).unwrap();
            }
        }
    }
    let rows: String = classes.iter().enumerate().map(|(i, class)| format!("{class},{i},1\n")).collect();
    let table = at.join("attributes.csv");
    std::fs::write(&table, format!("class,number,one\n{rows}")).unwrap();
    table
}

/// Drawings of as many different things as there are `classes`, no two alike: `train/CLASS/N.png` and `test/CLASS/N.png`.
pub fn drawn_photos(at: &Path, classes: &[&str], train: usize, test: usize) {
    let drawn = Synthetic::new(&SyntheticSettings { train, test });
    for (subset, side) in [(Subset::Train, "train"), (Subset::Test, "test")] {
        for (index, class) in classes.iter().enumerate() {
            let folder = at.join(side).join(class);
            std::fs::create_dir_all(&folder).unwrap();
            let samples = drawn.samples(subset).iter().filter(|sample| sample.class.index() == index);
            for (number, sample) in samples.enumerate() {
                drawn.image(sample).unwrap().write_png(&folder.join(format!("{number}.png"))).unwrap();
            }
        }
    }
}

/// Real photos of animals, 64×64 JPEGs: `count` of the test side of `animals12`, spread over its classes.
pub fn real_photos(count: usize) -> Option<Vec<Vec<u8>>> {
    let files = Files::open(&real_data("animals12")?.join("images.zip")).unwrap();
    let classes = files.entries("test/").unwrap();
    let by_class: Vec<Vec<String>> = classes.iter().map(|class| files.entries(class).unwrap()).collect();
    let names = (0..count).map(|i| &by_class[i % by_class.len()][i / by_class.len()]);
    Some(names.map(|name| files.read(name).unwrap()).collect())
}

/// Real photos in a folder, to be linked to under the names of a dataset that cannot be had here.
pub struct Album {
    photos: Vec<PathBuf>,
    next: usize,
}

impl Album {
    /// Writes so many different photos to `at`.
    pub fn new(at: &Path, count: usize) -> Option<Self> {
        let bytes = real_photos(count)?;
        std::fs::create_dir_all(at).unwrap();
        let photos: Vec<PathBuf> = (0..count).map(|i| at.join(format!("{i}.jpg"))).collect();
        photos.iter().zip(bytes).for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
        Some(Self { photos, next: 0 })
    }

    /// The next photo, under the name `path`.
    pub fn place(&mut self, path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::hard_link(&self.photos[self.next % self.photos.len()], path).unwrap();
        self.next += 1;
    }
}

/// The auditor has nothing against an honest run, and something against one that is stamped as an oracle. With `near` it
/// looks for images that are almost alike, too.
#[track_caller]
pub fn assert_audited(run: &Path, near: bool) {
    let oracle = Record::read(&run.join("record.jsonl")).unwrap().start.oracle;
    let audit = audit(run, near).unwrap();
    let failed: Vec<_> = audit.checks.iter().filter(|check| !check.holds).map(|check| &check.says).collect();
    assert_eq!(failed.is_empty(), oracle.is_none(), "{}: {failed:?}", run.display());
}

/// Every recipe of `recipes` on the data that `sets` say, as small as can be, and audited.
pub fn assert_recipes_pass(recipes: &[(String, String)], sets: &[String], at: &Path) {
    let small = [
        "images.size=16",
        "model.extractor.width=4",
        "train.epochs=1",
        "finetune.epochs=1",
        "ghosts.per_class=20",
        "ghosts.generator.epochs=2",
        "complete.epochs=1",
    ];
    let sets: Vec<String> = small.iter().map(ToString::to_string).chain(sets.iter().cloned()).collect();
    for (name, text) in recipes {
        let recipe = overridden(text, Path::new(name), &sets).unwrap();
        let run = at.join(name);
        let ran = Experiment::new(recipe, Device::Cpu).and_then(|experiment| experiment.run(&run, None, &mut Silent));
        ran.unwrap_or_else(|error| panic!("{name}: {}", error.message()));
        assert_audited(&run, false);
    }
}

/// Name and text of each recipe that comes along and whose name begins so; rows of tables with our settings alone.
pub fn recipes_of(data: &str) -> Vec<(String, String)> {
    let named = prescient::experiment::recipes::built_in().iter().filter(|recipe| recipe.name.starts_with(data));
    let ours = named.filter(|recipe| !(recipe.is_row && recipe.name.ends_with("-paper")));
    ours.map(|recipe| (recipe.name.clone(), recipe.text.clone())).collect()
}

/// The files of a folder, copied to another.
pub fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        std::fs::write(to.join(entry.file_name()), std::fs::read(entry.path()).unwrap()).unwrap();
    }
}

/// The lines of a file that have something on them.
pub fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
}

/// Features of drawings, as NumPy would save them: `train.npy` and `test.npy`, and the class of each row in `train.txt` and
/// `test.txt`. A feature is the mean colour of each of sixteen parts of a drawing.
pub fn drawn_features(at: &Path, classes: &[&str], train: usize, test: usize) {
    std::fs::create_dir_all(at).unwrap();
    let drawn = Synthetic::new(&SyntheticSettings { train, test });
    for (subset, side) in [(Subset::Train, "train"), (Subset::Test, "test")] {
        let samples: Vec<_> =
            drawn.samples(subset).iter().filter(|sample| sample.class.index() < classes.len()).collect();
        let rows: Vec<Vec<f32>> = samples.iter().map(|sample| colours(&drawn.image(sample).unwrap())).collect();
        std::fs::write(at.join(format!("{side}.npy")), npy(&rows)).unwrap();
        let names: String = samples.iter().map(|sample| format!("{}\n", classes[sample.class.index()])).collect();
        std::fs::write(at.join(format!("{side}.txt")), names).unwrap();
    }
}

/// The mean red, green and blue of each part, four across and four down; grey is 0, for directions are compared.
fn colours(image: &Image) -> Vec<f32> {
    let part = image.width / 4;
    let mut sums = vec![-0.5; 48];
    for (at, byte) in image.pixels.iter().enumerate() {
        let (pixel, channel) = (at as u32 / 3, at % 3);
        let (x, y) = ((pixel % image.width) / part, (pixel / image.width) / part);
        sums[(y * 4 + x) as usize * 3 + channel] += f32::from(*byte) / (255 * part * part) as f32;
    }
    sums
}

/// Twelve classes `c0` to `c11` whose features follow from five attributes, as `drawn_features` writes them, and the table
/// `attributes.csv` of them beside it. Noise is drawn by hand, so that it is the same everywhere.
pub fn described_features(at: &Path, train: usize, test: usize) {
    const CLASSES: usize = 12;
    let mut state = 7u64;
    let mut draw = || {
        // The sum of four even numbers is about normal.
        let mut even = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        even() + even() + even() + even()
    };
    let mut matrix = |rows: usize, columns: usize| -> Vec<Vec<f32>> {
        (0..rows).map(|_| (0..columns).map(|_| draw()).collect()).collect()
    };
    let (attributes, map) = (matrix(CLASSES, 5), matrix(5, 16));
    let mean = |row: &Vec<f32>, column: usize| row.iter().zip(&map).map(|(value, to)| value * to[column]).sum::<f32>();
    std::fs::create_dir_all(at).unwrap();
    for (side, count) in [("train", train), ("test", test)] {
        let noise = matrix(CLASSES * count, 16);
        let of = |(place, noise): (usize, &Vec<f32>)| -> Vec<f32> {
            noise.iter().enumerate().map(|(column, noise)| mean(&attributes[place / count], column) + noise).collect()
        };
        let rows: Vec<Vec<f32>> = noise.iter().enumerate().map(of).collect();
        std::fs::write(at.join(format!("{side}.npy")), npy(&rows)).unwrap();
        let names: String = (0..rows.len()).map(|place| format!("c{}\n", place / count)).collect();
        std::fs::write(at.join(format!("{side}.txt")), names).unwrap();
    }
    let row = |(class, values): (usize, &Vec<f32>)| {
        let values: Vec<String> = values.iter().map(f32::to_string).collect();
        format!("c{class},{}\n", values.join(","))
    };
    let rows: String = attributes.iter().enumerate().map(row).collect();
    std::fs::write(at.join("attributes.csv"), format!("class,a,b,c,d,e\n{rows}")).unwrap();
}

/// A recipe of the closed form on [`described_features`] in `at`, with the table or without.
pub fn described_recipe(at: &Path, described: bool, shots: Option<usize>) -> Recipe {
    let attributes = if described { format!("\"{}\"", at.join("attributes.csv").display()) } else { String::new() };
    let shots = shots.map_or_else(String::new, |shots| format!(", shots = {shots}"));
    let order = at.join("order.txt");
    std::fs::write(&order, (0..12).map(|class| format!("c{class}\n")).collect::<String>()).unwrap();
    let text = format!(
        "seed = 1\ndata = {{ kind = \"features\", path = \"{}\", attributes = [{attributes}]{shots} }}\n\
         scenario = {{ split = \"8+4\", order = \"file {}\" }}\nlearner = {{ kind = \"closed-form\" }}\n\
         model.extractor = {{ kind = \"identity\" }}\n",
        at.display(),
        order.display()
    );
    text.parse().unwrap()
}

/// A matrix of f32 as `numpy.save` writes it.
pub fn npy(rows: &[Vec<f32>]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows.len(), rows[0].len());
    let numbers = rows.iter().flatten().flat_map(|value| value.to_le_bytes());
    let head = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    head.into_iter().chain(numbers).collect()
}

/// Makes the digests of a run's record those of its files, as one would who changes a run and covers it up.
pub fn reseal(run: &Path) {
    let path = run.join("record.jsonl");
    let mut before = String::new();
    for line in std::fs::read_to_string(&path).unwrap().lines() {
        match serde_json::from_str(line).unwrap() {
            Line::Digests(Digests { task, files, .. }) => {
                let folder = run.join(format!("tasks/{task:02}"));
                let digest = |name: String| {
                    let bytes = std::fs::read(folder.join(&name)).unwrap();
                    (name, blake3::hash(&bytes).to_hex().to_string())
                };
                let files = files.into_keys().map(digest).collect();
                let line = Line::Digests(Digests::new(task, files, &before)).to_json() + "\n";
                before.push_str(&line);
                let own = folder.join("record.jsonl");
                let text = std::fs::read_to_string(&own).unwrap();
                let kept: String =
                    text.split_inclusive('\n').filter(|line| !line.contains(r#""line":"digests""#)).collect();
                std::fs::write(own, kept + &line).unwrap();
            }
            _ => before.push_str(&format!("{line}\n")),
        }
    }
    std::fs::write(path, before).unwrap();
}
