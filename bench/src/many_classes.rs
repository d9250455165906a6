//! The closed form with very many photos and classes: features are drawn, written to files and read again, for what is measured is
//! reading, adding up and merging.

use clap::Args;
use prescient::catalogue::Catalogue;
use prescient::engine::with_seed;
use prescient::learner::Target;
use prescient::learner::closed_form::{Information, Sums, fit};
use prescient::predictor::Head;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tch::{Device, Kind, Tensor};

/// Features read at a time.
const ROWS: usize = 8192;
/// Files that the features lie in: as many parts as there may be processes.
const FILES: usize = 4;

#[derive(Debug, Args)]
pub(super) struct ManyClasses {
    #[arg(long, default_value_t = 1_000_000)]
    photos: usize,
    #[arg(long, default_value_t = 10_000)]
    classes: usize,
    /// Numbers of a feature
    #[arg(long, default_value_t = 512)]
    width: usize,
    /// Where the features are written: 4 bytes a number
    #[arg(long, default_value = "/tmp/many-classes")]
    folder: PathBuf,
}

impl ManyClasses {
    pub(super) fn run(self) {
        std::fs::create_dir_all(&self.folder).expect("a folder to write to");
        let files: Vec<PathBuf> = (0..FILES).map(|file| self.folder.join(format!("{file}.f32"))).collect();
        let each = self.photos.div_ceil(FILES);
        files.iter().enumerate().for_each(|(file, path)| self.draw(path, file, each));
        let names: Vec<String> = (0..self.classes).map(|class| format!("class {class:05}")).collect();
        let timed = |work: &dyn Fn()| {
            let began = Instant::now();
            work();
            began.elapsed().as_secs_f64()
        };
        // Once before, so that all times are those of files that the system has in memory.
        let read_all = || files.iter().for_each(|path| self.read(path, &mut |_, _| {}));
        read_all();
        let reading = timed(&read_all);
        println!("reading {} features of {} numbers: {reading:.2} s", each * FILES, self.width);

        torch_shim::reset_peak_memory(Device::Cpu);
        let mut whole = None;
        for parts in [1, 2, 4] {
            let began = Instant::now();
            let sums: Vec<Sums> = files.chunks(FILES / parts).map(|files| self.sums(files, each, &names)).collect();
            let learning = began.elapsed().as_secs_f64();
            let began = Instant::now();
            let merged = sums.into_iter().reduce(|mut sums, more| {
                sums.merge(more);
                sums
            });
            let merged = merged.expect("a part");
            let merging = began.elapsed().as_secs_f64();
            println!(
                "{parts} parts: reading and adding up {learning:.2} s ({:+.0} % on reading), merging {merging:.2} s, peak {:.2} GB",
                (learning / reading - 1.0) * 100.0,
                torch_shim::peak_ram().unwrap_or_default() as f64 / 1e9
            );
            let (scores, fitting) = self.scores(&merged, &names, &files[0]);
            match &whole {
                None => {
                    println!(
                        "fitting {fitting:.1} s, peak {:.2} GB",
                        torch_shim::peak_ram().unwrap_or_default() as f64 / 1e9
                    );
                    whole = Some(scores);
                }
                Some(whole) => {
                    let apart = (&scores - whole).abs().max().double_value(&[]);
                    let size = whole.abs().max().double_value(&[]);
                    println!("scores of {parts} parts: at most {apart:.2e} apart, of at most {size:.0}");
                }
            }
        }
        let (classes, width) = (self.classes as f64, self.width as f64);
        println!(
            "added up over processes: {:.1} MB",
            8.0 * (classes + classes * width + 5.0 * width * (width + 1.0) / 2.0) / 1e6
        );
        drop(std::fs::remove_dir_all(&self.folder));
    }

    /// Writes features of length 1 around the means of their classes.
    fn draw(&self, path: &Path, file: usize, count: usize) {
        let options = (Kind::Float, Device::Cpu);
        let means = with_seed(1, || Tensor::randn([self.classes as i64, self.width as i64], options));
        let mut out = BufWriter::new(File::create(path).expect("a file to write"));
        for start in (0..count).step_by(ROWS) {
            let rows = ROWS.min(count - start);
            let classes: Vec<i64> = (start..start + rows).map(|row| self.class(file * count + row) as i64).collect();
            let noise =
                with_seed((file * count + start) as i64, || Tensor::randn([rows as i64, self.width as i64], options));
            let features = means.index_select(0, &Tensor::from_slice(&classes)) + noise;
            let norm = features.square().sum_dim_intlist([1i64].as_slice(), true, Kind::Float).sqrt();
            let values = Vec::<f32>::try_from((features / norm).view([-1])).expect("numbers");
            let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
            out.write_all(&bytes).expect("room on the disk");
        }
    }

    /// The class of a photo: all come in turns, so that every chunk has photos of thousands.
    fn class(&self, photo: usize) -> usize {
        photo % self.classes
    }

    /// Reads the features of a file, so many at a time: `take` gets the first one's number and the rows.
    fn read(&self, path: &Path, take: &mut dyn FnMut(usize, Tensor)) {
        let mut file = File::open(path).expect("a file that was written");
        let mut bytes = vec![0u8; ROWS * self.width * 4];
        let mut start = 0;
        loop {
            let mut filled = 0;
            while filled < bytes.len() {
                match file.read(&mut bytes[filled..]).expect("readable") {
                    0 => break,
                    more => filled += more,
                }
            }
            if filled == 0 {
                return;
            }
            let rows = filled / 4 / self.width;
            let shape = [rows as i64, self.width as i64];
            take(start, Tensor::from_data_size(&bytes[..filled], &shape, Kind::Float));
            start += rows;
        }
    }

    fn sums(&self, files: &[PathBuf], each: usize, names: &[String]) -> Sums {
        let mut sums = Sums::new(self.width, false);
        for path in files {
            let file: usize = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok()).expect("a number");
            self.read(path, &mut |start, features| {
                let photos = file * each + start..file * each + start + features.size()[0] as usize;
                let classes: Vec<&str> = photos.clone().map(|photo| names[self.class(photo)].as_str()).collect();
                let digests: Vec<[u8; 32]> = photos.map(digest).collect();
                sums.add_all(&classes, &features, &digests).expect("plain numbers");
            });
        }
        sums
    }

    /// The scores of some features for all classes, and how long the fit took.
    fn scores(&self, sums: &Sums, names: &[String], file: &Path) -> (Tensor, f64) {
        let began = Instant::now();
        let nothing = Information::new(&Catalogue::bare(names.to_vec()));
        let fitted = fit(sums, &nothing, Target::Accuracy).expect("a fit");
        let fitting = began.elapsed().as_secs_f64();
        let mut some = None;
        self.read(file, &mut |start, features| {
            if start == 0 {
                some = Some(features.narrow(0, 0, 500.min(features.size()[0])).copy());
            }
        });
        let head = Head::Gaussian(fitted.head(names));
        (head.scores(&some.expect("features").to_kind(Kind::Double)), fitting)
    }
}

/// As good as a digest: numbers that come in no order.
fn digest(photo: usize) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (place, part) in bytes.chunks_exact_mut(8).enumerate() {
        let mixed = (photo as u64 + place as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        part.copy_from_slice(&mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9).to_be_bytes());
    }
    bytes
}
