//! Inputs that are made to exhaust memory or to never end: each is refused with one error, soon, and with at most 512 MiB more than a
//! normal run takes.
#![allow(clippy::unwrap_used)]

#[path = "../../prescient/tests/common/mod.rs"]
mod common;

use common::{npy, photo_folder};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// More than a normal run, in KiB.
const MORE: u64 = 512 << 10;
/// Nothing of all this takes longer, on a busy machine as well.
const SOON: Duration = Duration::from_secs(120);

const RECIPE: &str = "[data]\nkind = \"folder\"\npath = \"photos\"\nattributes = [\"photos/attributes.csv\"]\n[scenario]\nsplit = \"2+1\"\n\
     [model]\nextractor = { kind = \"small-cnn\", width = 4 }\n[train]\nepochs = 1\nbatch_size = 4\n";

/// What a command came to.
struct Done {
    code: Option<i32>,
    said: String,
    /// The most memory that it had at a time, in KiB.
    peak: u64,
}

struct Place(tempfile::TempDir);

impl Place {
    /// Photos, a recipe for them, and a finished run.
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        photo_folder(&place.path("photos"), &["ant", "bee", "cat"]);
        place.write("r.toml", RECIPE);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn does(&self, arguments: &[&str], stdin: &str) -> Done {
        let stdin = std::fs::File::open(stdin).unwrap();
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("prescient"));
        command.current_dir(self.0.path()).args(arguments).stdin(stdin).stdout(Stdio::null());
        command.env("PRESCIENT_FEATURES", self.path("features")).env("PRESCIENT_DATA", self.path("data"));
        let said = std::fs::File::create(self.path("said")).unwrap();
        let mut child = command.stderr(said).spawn().unwrap();
        let (began, mut peak) = (Instant::now(), 0);
        let status = loop {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            peak = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(peak).max(peak);
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > SOON {
                child.kill().unwrap();
                panic!("{arguments:?} does not end");
            }
            std::thread::sleep(Duration::from_millis(3));
        };
        Done { code: status.code(), said: std::fs::read_to_string(self.path("said")).unwrap(), peak }
    }

    /// Runs the recipe with what is set.
    fn runs(&self, sets: &[&str]) -> Done {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let arguments: Vec<&str> =
            ["run", "r.toml", "--out", "out", "--device", "cpu"].into_iter().chain(sets).collect();
        self.does(&arguments, "/dev/null")
    }
}

/// What a normal run takes, and a place with such a run in `run`.
fn normal() -> (Place, u64) {
    let place = Place::new();
    let done = place.does(&["run", "r.toml", "--out", "run", "--device", "cpu"], "/dev/null");
    assert_eq!(done.code, Some(0), "{}", done.said);
    (place, done.peak)
}

#[track_caller]
fn refused(done: &Done, normal: u64, what: &str) {
    println!("{what}: {} MiB more", (done.peak.saturating_sub(normal)) >> 10);
    assert_eq!(done.code, Some(2), "{what}: {}", done.said);
    assert!(done.said.contains("error: ") && !done.said.contains("panicked"), "{what}: {}", done.said);
    assert!(done.said.len() < 20_000, "{what}: {} bytes of error", done.said.len());
    assert!(done.peak < normal + MORE, "{what}: {} MiB, where a normal run takes {}", done.peak >> 10, normal >> 10);
}

/// So many zeros, packed by `encoder`.
fn zeros(mut encoder: impl Write, mebibytes: usize) {
    let zeros = vec![0; 1 << 20];
    (0..mebibytes).for_each(|_| encoder.write_all(&zeros).unwrap());
}

fn zlib(head: &[u8], mebibytes: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(head).unwrap();
    zeros(&mut encoder, mebibytes);
    encoder.finish().unwrap()
}

/// A chunk of a PNG.
fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(kind);
    crc.update(data);
    [&(data.len() as u32).to_be_bytes()[..], kind, data, &crc.sum().to_be_bytes()].concat()
}

/// A PNG of so many pixels, all zero, whose pixels are of kind `colour`: 2 is RGB, 6 RGBA.
fn png(width: u32, height: u32, colour: u8, mebibytes: usize) -> Vec<u8> {
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, colour, 0, 0, 0]].concat();
    let parts = [chunk(b"IHDR", &head), chunk(b"IDAT", &zlib(&[], mebibytes)), chunk(b"IEND", &[])];
    [&b"\x89PNG\r\n\x1a\n"[..], &parts.concat()].concat()
}

#[test]
fn images_that_declare_any_size_or_inflate() {
    let (place, normal) = normal();
    let jpeg = [
        &b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\x03\x01\x22\0\x02\x11\x01\x03\x11\x01"[..],
        &[0xff, 0xda, 0, 12, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0],
        &[0; 200],
        b"\xff\xd9",
    ]
    .concat();
    let webp_body = [&b"WEBPVP8L\x10\0\0\0\x2f\xff\xff\xff\x0f"[..], &[0; 11]].concat();
    let webp = [&b"RIFF"[..], &(webp_body.len() as u32).to_le_bytes(), &webp_body].concat();
    let gif = [
        &b"GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\xff\xff\xff\xff\0\x02"[..],
        &[2, 0x4c, 1, 0, b';'],
    ]
    .concat();
    let bmp = [
        &b"BM"[..],
        &[0; 8],
        &[54, 0, 0, 0, 40, 0, 0, 0],
        &60_000i32.to_le_bytes(),
        &60_000i32.to_le_bytes(),
        &[1, 0, 24, 0],
        &[0; 24],
    ]
    .concat();
    for (name, bytes) in [
        ("size.png", png(60_000, 60_000, 2, 1)),
        ("inflates.png", png(8_500, 8_500, 6, 280)),
        ("size.jpg", jpeg),
        ("size.webp", webp),
        ("size.gif", gif),
        ("size.bmp", bmp),
    ] {
        let at = format!("photos/train/bee/{name}");
        place.write(&at, bytes);
        refused(&place.runs(&[]), normal, name);
        refused(
            &place.does(&["run", "r.toml", "--out", "out", "--no-check", "--device", "cpu"], "/dev/null"),
            normal,
            name,
        );
        refused(&place.does(&["data", "check", "folder", "photos"], "/dev/null"), normal, name);
        refused(&place.does(&["predict", "run", &at], "/dev/null"), normal, name);
        std::fs::remove_file(place.path(&at)).unwrap();
    }
}

/// Each is just allowed, 190 MiB of pixels from 200 KB; there are several, and threads to decode them at once.
#[test]
fn several_images_of_the_largest_size() {
    let (place, normal) = normal();
    let bytes = png(7_000, 7_000, 6, 187);
    (0..6).for_each(|number| place.write(&format!("large/{number}.png"), &bytes));
    let done = place.does(&["predict", "run", "large"], "/dev/null");
    println!("six large images: {} MiB more", done.peak.saturating_sub(normal) >> 10);
    assert_eq!(done.code, Some(0), "{}", done.said);
    assert!(done.peak < normal + MORE, "{} MiB, where a normal run takes {}", done.peak >> 10, normal >> 10);
}

#[test]
fn archives_that_inflate() {
    let (place, normal) = normal();
    let mut writer = zip::ZipWriter::new(std::fs::File::create(place.path("bomb.zip")).unwrap());
    for name in ["train/ant/1.png", "train/bee/1.png", "test/ant/1.png", "test/bee/1.png"] {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zeros(&mut writer, 700);
    }
    writer.finish().unwrap();
    refused(&place.runs(&["data.path=bomb.zip", "data.attributes=[]", "scenario.split=1+1"]), normal, "zip");
    refused(&place.does(&["data", "check", "folder", "bomb.zip"], "/dev/null"), normal, "zip, checked");

    for name in
        ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]
    {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&[2051u32, 1 << 20, 28, 28].map(u32::to_be_bytes).concat()).unwrap();
        zeros(&mut encoder, 800);
        place.write(&format!("data/mnist/{name}.gz"), encoder.finish().unwrap());
    }
    place.write("mnist.toml", "data.kind = \"mnist\"\nscenario.split = \"6+2+2\"\n");
    refused(&place.does(&["run", "mnist.toml", "--out", "out", "--device", "cpu"], "/dev/null"), normal, "gzip");

    // One matrix `att` of bytes: 1 × 700 Mi, packed.
    let count = 700u32 << 20;
    let inner = [
        &[6, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0][..],
        &[5, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0],
        &count.to_le_bytes(),
        &[1, 0, 3, 0, b'a', b't', b't', 0],
        &[2, 0, 0, 0],
        &count.to_le_bytes(),
    ]
    .concat();
    let head = [&[14, 0, 0, 0][..], &(count + inner.len() as u32).to_le_bytes(), &inner].concat();
    let packed = zlib(&head, 700);
    let mat = [&[b' '; 124][..], b"\0\x01IM", &[15, 0, 0, 0], &(packed.len() as u32).to_le_bytes(), &packed].concat();
    place.write("bomb.mat", mat);
    refused(&place.runs(&["data.attributes=[\"bomb.mat\"]"]), normal, "mat");
}

#[test]
fn tables_and_weights_that_declare_any_size() {
    let (place, normal) = normal();
    let shape = |text: &str| {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({text}), }}");
        [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), &[0; 64]].concat()
    };
    let tensors = |header: &str, length: u64| [&length.to_le_bytes()[..], header.as_bytes(), &[0; 64]].concat();
    let declared =
        r#"{"train.features":{"dtype":"F32","shape":[1099511627776,1048576],"data_offsets":[0,4611686018427387904]}}"#;
    place.write("large.npy", shape("4294967296, 4294967296"));
    place.write("large.txt", "ant\nbee\ncat\n");
    place.write("large.safetensors", tensors(declared, declared.len() as u64));
    place.write("header.safetensors", tensors("{", u64::MAX / 2));
    place.write("long.csv", [&b"class,number\nant,1\nbee,"[..], &vec![b'1'; 100 << 20]].concat());
    place.write("features/train.npy", shape("1099511627776, 8"));
    place.write("features/test.npy", npy(&[vec![0.0; 8]]));
    place.write("features/train.txt", "ant\n");
    place.write("features/test.txt", "ant\n");
    for (what, set) in [
        ("npy", "data.attributes=[\"large.npy\"]"),
        ("csv", "data.attributes=[\"long.csv\"]"),
        ("weights", "model.extractor={kind=\"mobilenet-v2\", weights=\"large.safetensors\"}"),
        ("header of weights", "model.extractor={kind=\"mobilenet-v2\", weights=\"header.safetensors\"}"),
    ] {
        refused(&place.runs(&[set]), normal, what);
    }
    for path in ["large.safetensors", "header.safetensors", "features"] {
        place.write("f.toml", format!("data = {{ kind = \"features\", path = \"{path}\" }}\nscenario.split = \"1+1\"\nmodel.extractor.kind = \"identity\"\n"));
        refused(&place.does(&["run", "f.toml", "--out", "out", "--device", "cpu"], "/dev/null"), normal, path);
    }
    place.write("deep.toml", format!("data.exclude = {}", "[".repeat(1 << 20)));
    refused(&place.does(&["run", "deep.toml", "--out", "out"], "/dev/null"), normal, "a deep recipe");
    // A network that would take 150 GB.
    refused(&place.runs(&["model.extractor={kind=\"small-cnn\", width=65536}"]), normal, "a wide network");
}

/// Endless, or never there, in every place where a file is expected.
#[test]
fn devices_and_pipes_in_every_place() {
    let (place, normal) = normal();
    let (endless, pipe) = (place.path("endless"), place.path("pipe"));
    std::os::unix::fs::symlink("/dev/zero", endless).unwrap();
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    for odd in ["endless", "pipe"] {
        let named = |name: &str| {
            let path = place.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let _ = std::fs::remove_file(&path);
            std::os::unix::fs::symlink(place.path(odd), path).unwrap();
        };
        for kind in ["csv", "npy", "mat", "txt"] {
            named(&format!("a.{kind}"));
            refused(&place.runs(&[&format!("data.attributes=[\"a.{kind}\"]")]), normal, &format!("{odd}.{kind}"));
        }
        named("w.pth");
        named("f.safetensors");
        named("f.pack");
        named("order.txt");
        for set in [
            "model.extractor={kind=\"mobilenet-v2\", weights=\"w.pth\"}",
            "model.extractor={kind=\"torchscript\", path=\"w.pth\"}",
            "data.path=w.pth",
            "data={kind=\"features\", path=\"f.safetensors\"}",
            "data={kind=\"pack\", path=\"f.pack\"}",
            "scenario.order=file order.txt",
        ] {
            refused(&place.runs(&[set]), normal, &format!("{odd}: {set}"));
        }
        named("odd.toml");
        for arguments in [
            &["run", "odd.toml", "--out", "out"][..],
            &["predict", "run", "w.pth"],
            &["audit", "--split", "odd.toml"],
            &["weights", "check", "w.pth"],
        ] {
            refused(&place.does(arguments, "/dev/null"), normal, &format!("{odd}: {arguments:?}"));
        }
        // What is no regular file is told by one function: for the run folder that somebody sent, each of its files in turn, one
        // kind is enough.
        if odd == "endless" {
            continue;
        }
        for file in common::files_below(&place.path("run")) {
            let within = file.strip_prefix(place.path("run")).unwrap();
            let name = file.file_name().unwrap().to_str().unwrap();
            let _ = std::fs::remove_dir_all(place.path("sent"));
            for file in common::files_below(&place.path("run")) {
                let copy = place.path("sent").join(file.strip_prefix(place.path("run")).unwrap());
                std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
                std::fs::copy(file, copy).unwrap();
            }
            std::fs::remove_file(place.path("sent").join(within)).unwrap();
            std::os::unix::fs::symlink(place.path(odd), place.path("sent").join(within)).unwrap();
            // The last one may write.
            let verbs: [&[&str]; 4] = [
                &["audit", "sent"],
                &["report", "sent"],
                &["predict", "sent", "photos/test"],
                &["run", "--resume", "sent"],
            ];
            for verb in verbs {
                let done = place.does(verb, "/dev/null");
                let what = format!("{odd} as {} in {verb:?}", within.display());
                let ended = matches!(done.code, Some(0..=2)) && !done.said.contains("panicked");
                assert!(ended, "{what}: {:?} {}", done.code, done.said);
                assert!(done.peak < normal + MORE, "{what}: {} MiB", done.peak >> 10);
                if verb[0] == "audit" && !name.contains("tfevents") {
                    assert_ne!(done.code, Some(0), "{what}");
                }
                let answers =
                    within.starts_with("tasks/02") && ["predictor", "weights"].iter().any(|it| name.starts_with(it));
                if verb[0] == "predict" && answers {
                    assert_eq!(done.code, Some(2), "{what}");
                }
            }
        }
    }
    refused(&place.does(&["predict", "run", "-"], "/dev/zero"), normal, "standard input");
}
