//! A made-up machine for the tests of set-up: the programs it calls are shell scripts in a temporary folder.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;

use super::download::sha256;
use super::*;

/// A Python with pip whose index is the folder `$INDEX`. `$PIP_DOES` has it fail, or stop halfway.
pub(super) const PYTHON: &str = r#"
PATH=/usr/bin:/bin
case "$1 $2 $3" in
-c*) exit 1 ;;
"-m pip --version") exit 0 ;;
esac
verb="" dest="" name=""
for arg in "$@"; do
    case "$previous" in --dest | --target) dest="$arg" ;; esac
    case "$arg" in download | install) verb="$arg" ;; *===*) name="${arg%%===*}" ;; esac
    previous="$arg"
done
echo "$verb $name" >> "$INDEX/log"
case "$PIP_DOES" in
fail) exit 1 ;;
half) echo "cut sho" > "$dest/$name.whl"; exit 1 ;;
other) echo "what?" > "$dest/other.whl"; exit 0 ;;
wrong) echo "not the wheel" > "$dest/$name.whl"; exit 0 ;;
esac
if [ "$verb" = install ]; then
    mkdir -p "$dest/torch/lib" "$dest/torch/include" "$dest/nvidia/lib"
    echo code > "$dest/torch/lib/libtorch_cpu.so"
    echo code > "$dest/torch/lib/libtorch_cuda.so"
    echo head > "$dest/torch/include/ATen.h"
    echo code > "$dest/nvidia/lib/libcudart.so"
    exit 0
fi
cp "$INDEX/$name.whl" "$dest/"
"#;

/// A Python without pip, that has torch in the folder `$TORCH`, of version `$TORCH_VERSION`.
pub(super) const PYTHON_WITH_TORCH: &str = r#"
case "$1" in
-c) echo "$TORCH_VERSION"; echo "$TORCH" ;;
*) exit 1 ;;
esac
"#;

/// A machine with a repository, a cache, a path and an index, all in one temporary folder.
pub(super) struct Machine {
    pub(super) environment: Environment,
    pub(super) folder: tempfile::TempDir,
    pub(super) checksums: [String; 2],
}

impl Machine {
    /// Neither Python nor compiler.
    pub(super) fn bare() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["root", "bin", "index"] {
            fs::create_dir(at(name)).expect("a folder");
        }
        let torch = [
            ("torch/lib/libtorch_cpu.so", "the code of the cpu half"),
            ("torch/lib/libtorch_cuda.so", "the code of the cuda half"),
            ("torch/lib/libtorch.so", "asks for both"),
            ("torch/include/ATen/ATen.h", "#pragma once"),
            ("torch/__init__.py", "import this"),
        ];
        wheel(&at("index/torch.whl"), &torch);
        wheel(&at("index/cudart.whl"), &[("nvidia/lib/libcudart.so.13", "the runtime")]);
        let checksums = ["torch", "cudart"].map(|name| sha256(&at(&format!("index/{name}.whl"))).expect("read"));
        let variables =
            [("PATH", "bin"), ("PRESCIENT_CACHE", "cache"), ("INDEX", "index"), ("LIBTORCH", "root/.libtorch")];
        let variables = variables.map(|(name, place)| (name.into(), at(place).into())).into();
        let environment = Environment { root: at("root"), variables, platform: ("linux", "x86_64") };
        Self { environment, folder, checksums }
    }

    /// With a compiler and a Python that has pip.
    pub(super) fn new() -> Self {
        let machine = Self::bare();
        machine.program("c++", "exit 0");
        machine.program("python3", PYTHON);
        machine
    }

    pub(super) fn program(&self, name: &str, body: &str) {
        script(&self.at("bin").join(name), body);
    }

    pub(super) fn set(&mut self, name: &str, value: impl Into<std::ffi::OsString>) {
        self.environment.variables.insert(name.into(), value.into());
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn setup_for(&self, wish: Wish) -> Result<PathBuf, Error> {
        let wheel = |name, index: usize| Wheel {
            requirement: ["torch===2.11.0", "cudart===13"][index],
            platform: "any",
            file: name,
            sha256: &self.checksums[index],
            size: 1000,
            parts: &[
                ("torch/include/", "include/"),
                ("torch/lib/libtorch_cpu.so", "lib/libtorch_cpu.so"),
                ("nvidia/lib/libcudart.so.13", "lib/libcudart.so.13"),
            ],
        };
        ensure_from(&self.environment, wish, &[wheel("torch.whl", 0), wheel("cudart.whl", 1)])
    }

    pub(super) fn setup(&self) -> Result<PathBuf, Error> {
        self.setup_for(Wish::Whichever)
    }

    /// Where `.libtorch` leads.
    pub(super) fn linked(&self) -> PathBuf {
        fs::read_link(self.environment.link()).expect("a link")
    }

    /// What pip was asked for, in order.
    pub(super) fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.at("index/log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The names in the cache.
    pub(super) fn cache(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("cache")).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// A libtorch of the user's own, as an archive unpacks.
    pub(super) fn libtorch(&self, name: &str, version: &str) -> PathBuf {
        let folder = self.at(name);
        fs::create_dir_all(folder.join("lib")).expect("a folder");
        fs::create_dir_all(folder.join("include")).expect("a folder");
        fs::write(folder.join("lib/libtorch_cpu.so"), "code").expect("a file");
        fs::write(folder.join("build-version"), version).expect("a file");
        folder
    }
}

/// Makes a program. A shell writes it: were the file open for writing in this process, a test that starts a child
/// at that moment would hand it on, and running the script would fail as "text file busy".
pub(super) fn script(path: &Path, body: &str) {
    let written = std::process::Command::new("/bin/sh")
        .args(["-c", r#"printf '%s' "$1" > "$2" && chmod 755 "$2""#, "sh"])
        .arg(format!("#!/bin/sh\n{body}\n"))
        .arg(path)
        .status();
    assert!(written.expect("a shell").success());
}

pub(super) fn wheel(path: &Path, files: &[(&str, &str)]) {
    let mut archive = zip::ZipWriter::new(fs::File::create(path).expect("a file"));
    for (name, text) in files {
        archive.start_file(*name, SimpleFileOptions::default()).expect("room");
        archive.write_all(text.as_bytes()).expect("room");
    }
    archive.finish().expect("room");
}
