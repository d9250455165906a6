//! Set-up from beginning to end, on made-up machines: the programs it calls are shell scripts in a temporary folder.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;

use super::download::sha256;
use super::*;

/// A Python with pip whose index is the folder `$INDEX`. `$PIP_DOES` has it fail, or stop halfway.
const PYTHON: &str = r#"
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
const PYTHON_WITH_TORCH: &str = r#"
case "$1" in
-c) echo "$TORCH_VERSION"; echo "$TORCH" ;;
*) exit 1 ;;
esac
"#;

/// A machine with a repository, a cache, a path and an index, all in one temporary folder.
struct Machine {
    environment: Environment,
    folder: tempfile::TempDir,
    checksums: [String; 2],
}

impl Machine {
    /// Neither Python nor compiler.
    fn bare() -> Self {
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
    fn new() -> Self {
        let machine = Self::bare();
        machine.program("c++", "exit 0");
        machine.program("python3", PYTHON);
        machine
    }

    fn program(&self, name: &str, body: &str) {
        script(&self.at("bin").join(name), body);
    }

    fn set(&mut self, name: &str, value: impl Into<std::ffi::OsString>) {
        self.environment.variables.insert(name.into(), value.into());
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn setup_for(&self, wish: Wish) -> Result<PathBuf, Error> {
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

    fn setup(&self) -> Result<PathBuf, Error> {
        self.setup_for(Wish::Whichever)
    }

    /// Where `.libtorch` leads.
    fn linked(&self) -> PathBuf {
        fs::read_link(self.environment.link()).expect("a link")
    }

    /// What pip was asked for, in order.
    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.at("index/log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The names in the cache.
    fn cache(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("cache")).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// A libtorch of the user's own, as an archive unpacks.
    fn libtorch(&self, name: &str, version: &str) -> PathBuf {
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
fn script(path: &Path, body: &str) {
    let written = std::process::Command::new("/bin/sh")
        .args(["-c", r#"printf '%s' "$1" > "$2" && chmod 755 "$2""#, "sh"])
        .arg(format!("#!/bin/sh\n{body}\n"))
        .arg(path)
        .status();
    assert!(written.expect("a shell").success());
}

fn wheel(path: &Path, files: &[(&str, &str)]) {
    let mut archive = zip::ZipWriter::new(fs::File::create(path).expect("a file"));
    for (name, text) in files {
        archive.start_file(*name, SimpleFileOptions::default()).expect("room");
        archive.write_all(text.as_bytes()).expect("room");
    }
    archive.finish().expect("room");
}

#[test]
fn a_fresh_machine_fetches_unpacks_and_links() {
    let machine = Machine::new();
    assert_eq!(machine.setup().expect("set up"), machine.environment.link());
    let folder = machine.at("cache/libtorch-2.11.0-cpu");
    assert_eq!(machine.linked(), folder);
    assert_eq!(machine.cache(), ["libtorch-2.11.0-cpu", "lock"]);
    assert_eq!(machine.log(), ["download torch", "download cudart"]);

    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("unpacked");
    assert_eq!(read("lib/libtorch_cpu.so"), "the code of the cpu half");
    assert_eq!(read("lib/libcudart.so.13"), "the runtime");
    assert_eq!(read("lib/libtorch.so"), "INPUT(libtorch_cpu.so)\n");
    assert_eq!(read("include/ATen/ATen.h"), "#pragma once");
    assert_eq!(read("build-version"), "2.11.0");
    assert!(!folder.join("lib/libtorch_cuda.so").exists());
}

#[test]
fn the_second_time_nothing_is_fetched() {
    let machine = Machine::new();
    machine.setup().expect("set up");
    machine.setup().expect("set up");
    assert_eq!(machine.log().len(), 2);
}

#[test]
fn another_checkout_shares_the_cache() {
    let machine = Machine::new();
    machine.setup().expect("set up");
    fs::remove_file(machine.environment.link()).expect("removed");
    machine.setup().expect("set up");
    assert_eq!(machine.log().len(), 2);
}

#[test]
fn without_a_compiler_nothing_is_fetched() {
    let machine = Machine::bare();
    machine.program("python3", PYTHON);
    let error = machine.setup().expect_err("no compiler");
    assert_eq!(error.to_string(), "no C++ compiler: `c++` is not on the path");
    assert!(error.hint().contains("build-essential"));
    assert!(machine.log().is_empty());
}

#[test]
fn the_compiler_may_be_named() {
    let mut machine = Machine::new();
    machine.set("CXX", "nowhere++ -O2");
    let error = machine.setup().expect_err("no such compiler");
    assert_eq!(error.to_string(), "no C++ compiler: `nowhere++` is not on the path");
    machine.set("CXX", machine.at("bin/c++"));
    machine.setup().expect("set up");
}

#[test]
fn without_python_or_pip_the_package_is_named() {
    let machine = Machine::bare();
    machine.program("c++", "exit 0");
    let error = machine.setup().expect_err("no python");
    assert!(matches!(error, Error::NoPython) && error.hint().contains("python3-pip"), "{error}");
    assert!(error.hint().contains("LIBTORCH"));

    machine.program("python3", "exit 1");
    let error = machine.setup().expect_err("no pip");
    assert!(matches!(error, Error::NoPip { .. }) && error.hint().contains("python3-pip"), "{error}");
}

#[test]
fn a_failing_network_leaves_nothing_half_done() {
    let mut machine = Machine::new();
    for failure in ["fail", "half"] {
        machine.set("PIP_DOES", failure);
        let error = machine.setup().expect_err("no network");
        assert!(matches!(error, Error::Pip { .. }) && error.hint().contains("network"), "{error}");
        assert_eq!(machine.cache(), ["downloads", "lock"]);
        assert!(fs::read_dir(machine.at("cache/downloads")).expect("a folder").next().is_none());
        assert!(!machine.environment.link().exists());
    }
    machine.set("PIP_DOES", "");
    machine.setup().expect("set up");
}

#[test]
fn what_a_killed_setup_left_is_cleared_and_its_whole_wheels_are_kept() {
    let machine = Machine::new();
    for leftover in ["downloads.partial-1", "libtorch.partial-1", "downloads"] {
        fs::create_dir_all(machine.at("cache").join(leftover)).expect("a folder");
    }
    fs::write(machine.at("cache/downloads.partial-1/torch.whl"), "half").expect("a file");
    fs::copy(machine.at("index/torch.whl"), machine.at("cache/downloads/torch.whl")).expect("copied");
    fs::write(machine.at("cache/downloads/cudart.whl"), "half").expect("a file");

    machine.setup().expect("set up");
    assert_eq!(machine.log(), ["download cudart"]);
    assert_eq!(machine.cache(), ["libtorch-2.11.0-cpu", "lock"]);
}

#[test]
fn wheels_put_in_place_by_hand_need_neither_network_nor_python() {
    let machine = Machine::bare();
    machine.program("c++", "exit 0");
    fs::create_dir_all(machine.at("cache/downloads")).expect("a folder");
    for name in ["torch.whl", "cudart.whl"] {
        fs::copy(machine.at("index").join(name), machine.at("cache/downloads").join(name)).expect("copied");
    }
    machine.setup().expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
}

#[test]
fn a_wrong_wheel_is_refused_and_removed() {
    let mut machine = Machine::new();
    machine.set("PIP_DOES", "wrong");
    let error = machine.setup().expect_err("the wrong content");
    assert!(matches!(error, Error::Checksum { .. }), "{error}");
    assert!(error.to_string().contains(&machine.checksums[0]));
    assert_eq!(machine.cache(), ["downloads", "lock"]);
    assert!(fs::read_dir(machine.at("cache/downloads")).expect("a folder").next().is_none());

    machine.set("PIP_DOES", "other");
    let error = machine.setup().expect_err("another wheel");
    assert!(matches!(error, Error::OtherWheel { .. }) && error.hint().contains("PIP_INDEX_URL"), "{error}");
}

#[test]
fn a_damaged_cache_is_noticed_and_fetched_anew() {
    let machine = Machine::new();
    machine.setup().expect("set up");
    let library = machine.at("cache/libtorch-2.11.0-cpu/lib/libtorch_cpu.so");
    fs::write(&library, "cut").expect("damaged");
    machine.setup().expect("set up");
    assert_eq!(fs::read_to_string(&library).expect("whole again"), "the code of the cpu half");
    fs::remove_file(machine.at("cache/libtorch-2.11.0-cpu/include/ATen/ATen.h")).expect("damaged");
    machine.setup().expect("set up");
    assert_eq!(machine.log().len(), 6);
}

#[test]
fn a_link_that_leads_nowhere_is_made_anew() {
    let machine = Machine::new();
    std::os::unix::fs::symlink(machine.at("gone"), machine.environment.link()).expect("a link");
    machine.setup().expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
}

#[test]
fn a_folder_in_the_place_of_the_link_is_left_alone() {
    let machine = Machine::new();
    fs::create_dir(machine.environment.link()).expect("a folder");
    fs::write(machine.environment.link().join("thesis.tex"), "five years").expect("a file");
    let error = machine.setup().expect_err("not ours");
    assert!(matches!(error, Error::NotALink { .. }), "{error}");
    assert!(machine.environment.link().join("thesis.tex").exists());
    assert!(machine.log().is_empty());
}

#[test]
fn a_libtorch_of_the_users_own_wins() {
    let mut machine = Machine::new();
    machine.setup().expect("set up");
    let own = machine.libtorch("own", "2.11.0+cpu\n");
    machine.set("LIBTORCH", &own);
    assert_eq!(machine.setup().expect("found"), own);
}

#[test]
fn a_libtorch_of_another_version_is_refused() {
    let mut machine = Machine::new();
    let own = machine.libtorch("own", "2.10.0");
    machine.set("LIBTORCH", &own);
    let error = machine.setup().expect_err("too old");
    assert!(error.to_string().contains("expected version 2.11.0, found 2.10.0"), "{error}");
    machine.set("LIBTORCH", machine.at("nowhere"));
    let error = machine.setup().expect_err("not there");
    assert!(error.to_string().contains("is not a folder"), "{error}");
    assert!(error.hint().contains("unset"));
    assert!(machine.log().is_empty());
}

#[test]
fn a_python_with_torch_is_used_as_it_is() {
    let mut machine = Machine::new();
    let torch = machine.libtorch("site-packages/torch", "2.11.0+cu130");
    machine.program("python3", PYTHON_WITH_TORCH);
    machine.set("TORCH", &torch);
    machine.set("TORCH_VERSION", "2.11.0+cu130");
    machine.setup().expect("found");
    assert_eq!(machine.linked(), torch);
    assert!(machine.cache().is_empty());
}

#[test]
fn a_python_with_another_torch_is_passed_over() {
    let mut machine = Machine::new();
    let torch = machine.libtorch("site-packages/torch", "2.10.0");
    machine.program("python3", PYTHON_WITH_TORCH);
    machine.set("TORCH", &torch);
    machine.set("TORCH_VERSION", "2.10.0");
    // That Python has no pip, so there is nothing left to try.
    assert!(matches!(machine.setup(), Err(Error::NoPip { .. })));
}

#[test]
fn an_active_virtual_environment_comes_first() {
    let mut machine = Machine::new();
    let torch = machine.libtorch("site-packages/torch", "2.11.0");
    fs::create_dir_all(machine.at("venv/bin")).expect("a folder");
    script(&machine.at("venv/bin/python"), PYTHON_WITH_TORCH);
    machine.set("VIRTUAL_ENV", machine.at("venv"));
    machine.set("TORCH", &torch);
    machine.set("TORCH_VERSION", "2.11.0");
    machine.setup().expect("found");
    assert_eq!(machine.linked(), torch);

    // Without torch, and without pip, as uv makes them: the other Python's pip serves.
    machine.set("TORCH_VERSION", "none");
    fs::remove_file(machine.environment.link()).expect("removed");
    machine.setup().expect("fetched");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
}

#[test]
fn a_gpu_decides_for_cuda() {
    let machine = Machine::new();
    machine.program("nvidia-smi", "echo 'GPU 0: NVIDIA H200 (UUID: GPU-0)'");
    machine.setup().expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cuda/torch"));
    assert_eq!(machine.log(), ["install torch"]);
    assert_eq!(machine.cache(), ["libtorch-2.11.0-cuda", "lock"]);
    machine.setup().expect("set up");
    assert_eq!(machine.log().len(), 1);
}

#[test]
fn a_damaged_package_of_nvidias_is_noticed_too() {
    let machine = Machine::new();
    machine.setup_for(Wish::Cuda).expect("set up");
    fs::remove_file(machine.at("cache/libtorch-2.11.0-cuda/nvidia/lib/libcudart.so")).expect("damaged");
    machine.setup().expect("set up again, as the machine has no GPU for the CPU");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
}

#[test]
fn a_driver_without_a_gpu_does_not() {
    let machine = Machine::new();
    for answer in ["echo 'No devices found'", "echo 'GPU 0: broken'; exit 9"] {
        machine.program("nvidia-smi", answer);
        machine.setup().expect("set up");
        assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
        fs::remove_file(machine.environment.link()).expect("removed");
    }
}

#[test]
fn a_flag_overrules_the_gpu_and_is_remembered_by_the_link() {
    let machine = Machine::new();
    machine.program("nvidia-smi", "echo 'GPU 0: NVIDIA H200 (UUID: GPU-0)'");
    machine.setup_for(Wish::Cpu).expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
    machine.setup().expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cpu"));
    machine.setup_for(Wish::Cuda).expect("set up");
    assert_eq!(machine.linked(), machine.at("cache/libtorch-2.11.0-cuda/torch"));
}

#[test]
fn going_over_to_the_other_half_has_torch_sys_built_anew() {
    let mut machine = Machine::new();
    machine.program("cargo", r#"echo "$@" >> "$INDEX/cargo""#);
    machine.set("CARGO", machine.at("bin/cargo"));
    let asked = |machine: &Machine| fs::read_to_string(machine.at("index/cargo")).unwrap_or_default();
    machine.setup_for(Wish::Cpu).expect("set up");
    machine.setup_for(Wish::Cpu).expect("set up");
    assert_eq!(asked(&machine), "");
    machine.setup_for(Wish::Cuda).expect("set up");
    assert_eq!(
        asked(&machine),
        "clean --quiet --package torch-sys --profile dev\nclean --quiet --package torch-sys --profile release\n"
    );
}

#[test]
fn other_platforms_are_told_what_to_do() {
    let mut machine = Machine::new();
    machine.environment.platform = ("macos", "aarch64");
    let error = machine.setup().expect_err("nothing to fetch");
    assert!(error.to_string().contains("macos on aarch64") && error.hint().contains("LIBTORCH"), "{error}");
}

#[test]
fn a_full_disk_is_noticed_before_the_download() {
    let machine = Machine::new();
    machine.program("df", "echo Filesystem; echo '/dev/disk 100 99 1 99% /'");
    let error = machine.setup().expect_err("no room");
    assert!(matches!(error, Error::NoRoom { .. }) && error.hint().contains("PRESCIENT_CACHE"), "{error}");
    assert!(machine.log().is_empty());
}

#[test]
fn two_setups_at_once_fetch_once() {
    let here = Machine::new();
    let mut there = Machine::new();
    there.set("PRESCIENT_CACHE", here.at("cache"));
    there.set("INDEX", here.at("index"));
    there.checksums = here.checksums.clone();
    std::thread::scope(|scope| {
        for each in [scope.spawn(|| here.setup()), scope.spawn(|| there.setup())] {
            each.join().expect("no panic").expect("set up");
        }
    });
    assert_eq!(here.log(), ["download torch", "download cudart"]);
    assert_eq!(here.linked(), there.linked());
}
